"""One thread alone has one outcome: the models, the simulated machine and compiled code agree on it, bit for bit."""

from __future__ import annotations

import random

import pytest

from devices.simulated_runs import device as simulated
from gpudiy.harness.incantation import Incantation
from gpudiy.litmus import Test, read_test
from gpudiy.models.library import load_model
from gpudiy.models.verdict import outcomes

WIDTHS = (16, 32, 64)
BINARY = ("add.t", "sub.t", "mul.lo.t", "min.t", "max.t", "and.b", "or.b", "xor.b")
ATOMIC = ("exch.b", "add.u", "min.t", "max.t", "and.b", "or.b", "xor.b", "cas.b")
NEVER_READ = "z = &x; far = 0x123456789;"


class Program:
    """Draws a thread: registers and locations of all widths, literals at the ends of their ranges."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.registers = {f"{kind}{bits}": f"{kind}{bits}" for kind in "sub" for bits in WIDTHS}
        self.at = {"h": 16, "x": 32, "y": 64}

    def test(self) -> Test:
        declared = [f"0:.reg .{type} {name} = {self.literal(type)};" for name, type in self.registers.items()]
        memory = [f"{name} = {self.literal(f'u{bits}')};" for name, bits in self.at.items()]
        rows = [self.row() for _ in range(8)]
        shown = "".join(f" {name};" for name in (*(f"0:{name}" for name in self.registers), *self.at, "z", "far"))
        tree = "(device (kernel (cta (warp P0))))"
        spaces = ", ".join(f"{name}: global" for name in (*self.at, "z", "far"))
        lines = ["GPU_PTX alone", *declared, "0:.reg .pred p;", *memory, NEVER_READ, "P0", *rows, tree, spaces]
        return read_test("\n".join([*lines, f"locations [{shown}]", "exists (x=1)"]))

    def row(self) -> str:
        dice = self.dice
        guard = dice.choice(("", "", "@p ", "@!p "))
        bits = dice.choice(WIDTHS)
        kind = f"{dice.choice('su')}{bits}"
        into = self.register(bits)
        which = dice.randrange(8)
        if which == 0:
            return f"{guard}setp.{dice.choice(('eq', 'lt', 'ge'))}.{kind} p,{self.operand(bits)},{self.operand(bits)}"
        if which == 1:
            source = dice.choice(WIDTHS)
            return f"{guard}cvt.{kind}.{dice.choice('su')}{source} {into},{self.register(source)}"
        if which == 2:
            shift = dice.choice(("shl.b", "shr.s", "shr.u", "shr.b"))
            distance = dice.choice(("0", "1", str(bits - 1), str(bits), str(bits + 1)))
            return f"{guard}{shift}{bits} {into},{self.operand(bits)},{distance}"
        if which == 3:
            return f"{guard}selp.b{bits} {into},{self.operand(bits)},{self.operand(bits)},p"
        if which in (4, 5):
            name, held = dice.choice(list(self.at.items()))
            if held == 16 or which == 4:
                access = dice.choice((f"ld.b{held} {self.register(held)},[{name}]", f"st.b{held} [{name}],"))
                return guard + access + (self.operand(held) if access.endswith(",") else "")
            operation = dice.choice(ATOMIC).replace(".t", f".{dice.choice('su')}")
            first = f"{self.operand(held)}," if operation.startswith("cas") else ""
            return f"{guard}atom.{operation}{held} {self.register(held)},[{name}],{first}{self.operand(held)}"
        operation = dice.choice(BINARY).replace(".t", f".{kind[0]}")
        return f"{guard}{operation}{bits} {into},{self.operand(bits)},{self.operand(bits)}"

    def register(self, bits: int) -> str:
        return self.dice.choice([name for name in self.registers if name.endswith(str(bits))])

    def operand(self, bits: int) -> str:
        return self.register(bits) if self.dice.randrange(2) else self.literal(f"u{bits}")

    def literal(self, type: str) -> str:
        bits = int(type[1:])
        return str(self.dice.choice((0, 1, 3, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1)))


def programs(count: int) -> list[Test]:
    return [Program(seed).test() for seed in range(count)]


def test_the_simulated_machine_computes_as_the_models_do() -> None:
    for test in programs(120):
        assert set(simulated("sc").run(test, Incantation(), 10, 1).outcomes) == set(outcomes(test, load_model("sc")))


def test_compiled_code_computes_as_the_models_do() -> None:
    pytest.importorskip("pyopencl")
    from gpudiy.devices.opencl import OpenClDevice
    from gpudiy.devices.opencl_platform import choose, find_devices

    if not find_devices():
        pytest.skip("there is no OpenCL device")
    device = OpenClDevice(*choose(""))
    runnable = [test for test in programs(40) if device.obstacle(test) is None][:12]
    assert len(runnable) == 12
    device.prepare(runnable)
    for test in runnable:
        assert set(device.run(test, Incantation(), 10, 1).outcomes) == set(outcomes(test, load_model("sc")))
