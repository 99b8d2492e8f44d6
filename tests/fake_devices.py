"""Devices that misbehave, each test in its own way: by the name of the test."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gpudiy.devices.device import Chip, DeviceError, Observation
from gpudiy.devices.opening import Listing, UnknownDevice
from gpudiy.harness.incantation import Incantation
from gpudiy.litmus import Test, read_test
from gpudiy.logs.record import Ending, Liveness

OPENER = "fake_devices:open_fake"
LIVE = Liveness(meetings=10, overlaps=10, stress_accesses=10)
SB = """GPU_PTX {name}
{{0:.reg .s32 r2; 1:.reg .s32 r2;}}
 P0 | P1 ;
 st.cg.s32 [x],{value} | st.cg.s32 [y],1 ;
 ld.cg.s32 r2,[y] | ld.cg.s32 r2,[x] ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
x: global, y: global
{quantifier} (0:r2=0 /\\ 1:r2=0)
"""


def fake_test(name: str, quantifier: str = "exists") -> Test:
    """A test whose name tells the device what to do; each has a meaning of its own."""
    value = 1 + sum(ord(letter) * 31**place for place, letter in enumerate(name)) % 1_000_000
    return read_test(SB.format(name=name, value=value, quantifier=quantifier))


class FakeDevice:
    """Sees the weak outcome once in 1,000 iterations; that of a tunable test, with few lines of stress, more often."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.prepared: list[str] = []

    @property
    def chip(self) -> Chip:
        return Chip(self.name, "fake chip", driver="1.0", groups=2, group_size=1)

    def obstacle(self, test: Test) -> str | None:
        if test.name.startswith("crash-when-asked"):
            os._exit(5)
        return "it has too many threads" if test.name.startswith("impossible") else None

    def prepare(self, tests: Sequence[Test]) -> None:
        for test in tests:
            if test.name.startswith("crash-in-build"):
                os.kill(os.getpid(), signal.SIGSEGV)
            if test.name.startswith("bad-build"):
                raise DeviceError("line 3 does not compile", Ending.BUILD_FAILED)
            self.prepared.append(test.name)

    def run(self, test: Test, incantation: Incantation, iterations: int, seed: int) -> Observation:
        assert test.name in self.prepared
        name = test.name.split(".")[0]
        if name in FAULTS:
            FAULTS[name]()
        dice = random.Random(seed)
        chance = 0.01 / incantation.stress_lines if name.startswith("tunable") else 0.001
        weak = sum(dice.random() < chance for _ in range(iterations)) if not name.startswith("strong") else 0
        if name == "miscount":
            iterations -= 1
        counts = Counter({(0, 0): weak, (0, 1): iterations - weak})
        liveness = Liveness() if name == "strong-dead" else LIVE
        return Observation({(0, 0, 0): iterations} if name == "misshapen" else counts, liveness, 0.001)


class FakeGpu(FakeDevice):
    """A GPU whose clocks rise from launch to launch; each run is one launch, and times are those of its clock.

    The weak outcome shows only while clocks are low, so that a launch that must not count is noticed if it does.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.launched = 0

    @property
    def chip(self) -> Chip:
        return Chip(self.name, "fake GPU", driver="1.0", groups=2, group_size=32, launches=True, gpu=True)

    def run(self, test: Test, incantation: Incantation, iterations: int, seed: int) -> Observation:
        slow = RISING[self.launched] if self.launched < len(RISING) else 1
        self.launched += 1
        if test.name.startswith("restless"):
            slow = 1 + self.launched % 2
        counts = {(0, 0): iterations if slow > 1 else 0, (0, 1): 0 if slow > 1 else iterations}
        return Observation(counts, replace(LIVE, launches=1), slow * iterations * TICK, by_launch=[counts])


RISING = (16, 16, 16, 16, 8, 4, 2)  # how much slower than settled the first launches are
TICK = 5e-7  # seconds of an iteration


def _hang() -> None:
    time.sleep(600)


def _exit() -> None:
    os.write(2, b"something terrible\n")
    os._exit(7)


def _segfault() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _lose() -> None:
    raise DeviceError("the bus does not answer", Ending.DEVICE_LOST)


def _use_up() -> None:
    raise MemoryError


def _err() -> None:
    raise ZeroDivisionError("division by zero")


def _slow() -> None:
    time.sleep(0.2)


FAULTS = {
    "hang": _hang,
    "exit": _exit,
    "segfault": _segfault,
    "lost": _lose,
    "memory": _use_up,
    "error": _err,
    "strong-slow": _slow,
}


def open_fake(name: str) -> FakeDevice:
    """`fake:FILE` opens as long as the file is not there, and makes it: it can be opened once."""
    if name == "fake:gpu":
        return FakeGpu(name)
    if name == "fake:hang":
        _hang()
    if name.startswith("fake:/"):
        marker = Path(name[5:])
        if marker.exists() and marker.name == "unknown":
            raise UnknownDevice(f"there is no device {name!r}")
        if marker.exists():
            raise DeviceError("the card is gone", Ending.DEVICE_LOST)
        marker.touch()
    return FakeDevice(name)


def list_devices() -> list[Listing]:
    return [Listing("fake", "a fake"), Listing("fake:none", "there is none", command="pip install none")]


def open_device(rest: str) -> FakeDevice:
    return open_fake(f"fake:{rest}" if rest else "fake")
