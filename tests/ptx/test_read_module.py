"""Reading PTX: the output of nvcc for various kernels, and what compilers seldom write.

Beside every `tests/data/ptx/NAME.cu` are the PTX that nvcc made of it and, in `NAME.expected`, how it must be read:
one line per instruction with its CUDA line, what it is, and its text.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from gpudiy.errors import InputError
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import Access, Order, ScalarType, Scope, Space
from gpudiy.ptx import KernelParameter, OpaqueInstruction, PtxAddress, PtxKernel, PtxSpace, PtxVariable, read_module

DATA = Path(__file__).parent.parent / "data" / "ptx"
COMPILED = sorted(file.stem for file in DATA.glob("*.cu"))
BY_HAND = DATA / "branch-table.ptx"


def kernels(name: str) -> dict[str, PtxKernel]:
    return {kernel.name: kernel for kernel in read_module((DATA / f"{name}.ptx").read_text()).kernels}


def listing(name: str) -> str:
    """One line per instruction, as in the `.expected` files."""
    lines = []
    for kernel in kernels(name).values():
        lines.append(repr(kernel))
        for statement in kernel.body:
            source = statement.place.source
            kind = type(statement.instruction).__name__.removesuffix("Instruction")
            lines.append(f"{source.line if source else '-':>4}  {kind:<12}  {statement.text}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", COMPILED)
def test_what_nvcc_writes(name: str) -> None:
    assert listing(name) == (DATA / f"{name}.expected").read_text()


@pytest.mark.parametrize("name", COMPILED)
def test_places_are_those_of_the_text(name: str) -> None:
    lines = (DATA / f"{name}.ptx").read_text().split("\n")
    for kernel in kernels(name).values():
        for statement in kernel.body:
            here = lines[statement.place.line - 1][statement.place.column - 1 :]
            assert re.sub(r"^@!?\S+\s+", "", here).split()[0].rstrip(";") == ".".join(statement.opcode)


def test_what_compilers_seldom_write() -> None:
    expected = re.findall(r";[ ]*// (\w+)$", BY_HAND.read_text(), re.MULTILINE)
    body = [statement for kernel in kernels("branch-table").values() for statement in kernel.body]
    assert [type(statement.instruction).__name__.removesuffix("Instruction") for statement in body] == expected


def test_declarations() -> None:
    module = read_module(BY_HAND.read_text())
    assert (module.version, module.target) == ("8.0", "sm_70")
    assert module.variables == (
        PtxVariable("pointers", PtxSpace.GLOBAL, "u64", 16, ("generic(table)", "table+4")),
        PtxVariable("table", PtxSpace.CONST, "b8", 12, (16, 15, 3, 3)),
        PtxVariable("dynamic", PtxSpace.SHARED, "b8", 0),
    )
    twice, jump = module.kernels
    assert not twice.entry and jump.entry
    assert twice.results == (KernelParameter("result", "u32", 4, in_register=True),)
    assert jump.parameters == (KernelParameter("n", "u32", 4), KernelParameter("data", "u64", 8))
    assert [variable.name for variable in jump.shared_variables] == ["buffer"]
    types = {name: jump.register_type(name) for name in ("%p2", "%p3", "plain", "%rd3", "vector", "%tid.x")}
    assert types == {"%p2": "pred", "%p3": None, "plain": "b32", "%rd3": "b64", "vector": "f32", "%tid.x": None}
    assert jump.branch_targets == {"targets": ("first", "second", "first")}
    assert jump.labels == {"first": 3, "second": 3}


def test_instructions_of_litmus() -> None:
    instructions = {statement.text: statement for statement in kernels("branch-table")["jump"].body}
    load = instructions["ld.global.f32 %f1, [%rd1+-4]"]
    assert load.instruction == isa.Load(
        isa.Register("%f1"), isa.Register("%rd1"), Access(ScalarType.B32, space=Space.GLOBAL)
    )
    assert load.addresses == (PtxAddress(isa.Register("%rd1"), -4),)
    atomic = instructions["atom.acq_rel.sys.global.add.u32 %r1, [%rd1+8], 1"]
    access = Access(ScalarType.U32, Order.ACQ_REL, Scope.SYS, Space.GLOBAL)
    assert atomic.instruction == isa.Atomic(
        isa.AtomicOperation.ADD, isa.Register("%r1"), isa.Register("%rd1"), (isa.Immediate(1),), access
    )
    address = isa.Alu(isa.AluOperation.MOV, ScalarType.U64, isa.Register("%rd3"), (isa.Variable("buffer"),))
    assert instructions["mov.u64 %rd3, buffer"].instruction == address
    comparison = instructions["setp.hi.u32 %p1, %r1, 0x10"].instruction
    assert isinstance(comparison, isa.SetPredicate) and comparison.sources[1] == isa.Immediate(16)


def test_opaque_instructions_show_what_they_write_and_read() -> None:
    instructions = {statement.text: statement for statement in kernels("branch-table")["jump"].body}
    vector = instructions["ld.global.v4.f32 {%f1, _, %f2, %f3}, [%rd1]"]
    assert isinstance(vector.instruction, OpaqueInstruction)
    assert vector.instruction.destinations == (isa.Register("%f1"), isa.Register("%f2"), isa.Register("%f3"))
    assert (vector.space, vector.access_bytes) == (PtxSpace.GLOBAL, 16)
    jump = instructions["@!%p1 brx.idx %r1, targets"].instruction
    assert isinstance(jump, OpaqueInstruction) and jump.guard == isa.Guard(isa.Register("%p1"), negated=True)
    call = instructions["call (%r4), twice, (%r1)"].instruction
    assert isinstance(call, OpaqueInstruction)
    assert (call.destinations, call.sources) == ((isa.Register("%r4"),), (isa.Variable("twice"), isa.Register("%r1")))
    shuffle = instructions["shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, -1"].instruction
    assert isinstance(shuffle, OpaqueInstruction) and shuffle.destinations == (isa.Register("%r1"), isa.Register("%p1"))
    copy = instructions["cp.async.ca.shared.global [%r1], [%rd1], 16"]
    assert copy.addresses == (PtxAddress(isa.Register("%r1")), PtxAddress(isa.Register("%rd1")))


def test_names_of_inner_blocks_are_kept_apart() -> None:
    kernel = kernels("inline-assembly")["assembly"]
    taken = [s.instruction.destination.name for s in kernel.body if isinstance(s.instruction, isa.Atomic)]
    assert taken == ["t", "t%1"]
    assert {"retry", "retry%1"} <= kernel.labels.keys()
    assert kernel.register_type("p%1") == "pred"


def test_inlined_code_has_the_place_of_its_call() -> None:
    sources = [
        s.place.source for s in kernels("inline-assembly")["assembly"].body if isinstance(s.instruction, isa.Atomic)
    ]
    assert all(source is not None and source.inlined_at is not None for source in sources)
    assert [source.inlined_at.line for source in sources if source and source.inlined_at] == [9, 10]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("hello", "1:1", "this is not PTX"),
        (".version 8.0\n.entry k() { ret;", "2:1", "the function k has no closing brace"),
        (".version 8.0\n\n.entry () { ret; }", "3:1", "this function has no name"),
    ],
)
def test_what_is_not_ptx(text: str, place: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        read_module(text, "mine.ptx")
    assert str(error.value).startswith(f"mine.ptx:{place}: ")


def test_the_time_grows_with_the_length() -> None:
    """A kernel of 60,000 lines is read in about 20 times the time of one of 3,000, not in 400 times."""
    line = "{ .reg .pred p; ld.global.u32 %r1, [%rd1+4];\n setp.ne.s32 p, %r1, 0;\n again: @p bra again; }\n"

    def seconds(count: int) -> float:
        text = ".entry k() {\n" + line * count + "}\n"
        start = time.process_time()
        assert len(read_module(text).kernels[0].body) == 3 * count
        return time.process_time() - start

    seconds(1000)
    assert seconds(20_000) < 150 * seconds(1000)
