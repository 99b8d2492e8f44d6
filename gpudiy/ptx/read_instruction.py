"""Read one PTX instruction as a litmus instruction or an opaque one.

`gpudiy.litmus.opcode` says what an opcode means. It is called once for every combination of opcode and kinds of
operands; a large file has a few hundred of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.grammar import RawInstruction, RawOperand, SyntaxProblem
from gpudiy.litmus.opcode import build_instruction
from gpudiy.ptx.operands import OperandGroup, OperandReader, ReadOperand, split_operands
from gpudiy.ptx.statement import GUARD, CodePlace, OpaqueInstruction, PtxAddress, PtxStatement

BITS_ONLY = ("ld", "st", "mov", "selp")  # move floats as bits
FLOATS = {"f16": "b16", "f32": "b32", "f64": "b64"}
UNSIGNED_COMPARISONS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
WITHOUT_RESULT = frozenset((
    "st", "red", "bar", "barrier", "membar", "fence", "bra", "brx", "ret", "exit", "trap", "brkpt", "prefetch",
    "prefetchu", "nanosleep", "pmevent", "discard", "applypriority", "sust", "sured", "stmatrix", "cp", "wgmma",
    "setmaxnreg", "griddepcontrol", "tensormap", "tcgen05", "stackrestore",
))  # fmt: skip
WITHOUT_RESULT_FORMS = frozenset((
    ("mbarrier", "init"), ("mbarrier", "inval"), ("mbarrier", "expect_tx"), ("mbarrier", "complete_tx"),
    ("multimem", "st"), ("multimem", "red"), ("wmma", "store"),
))  # fmt: skip


def read_instruction(text: str, place: CodePlace, operands: OperandReader | None = None) -> PtxStatement:
    """Read a statement from its text, with guard and without semicolon."""
    text = " ".join(text.split())
    match = GUARD.match(text)
    guard = None if match is None else isa.Guard(isa.Register(match[2]), bool(match[1]))
    opcode, _, rest = (text if match is None else text[match.end() :]).partition(" ")
    reader = operands or OperandReader()
    read = list(map(reader.read, split_operands(rest)))
    addresses = tuple(operand for operand in read if isinstance(operand, PtxAddress))
    return PtxStatement(build_litmus(opcode, read, guard), text, place, addresses)


def build_litmus(
    opcode: str, operands: Sequence[ReadOperand], guard: isa.Guard | None
) -> isa.Instruction | OpaqueInstruction:
    """The instruction with this opcode and these operands."""
    pattern = find_pattern(opcode, "".join(map(_kind, operands)))
    if isinstance(pattern, str):
        return _opaque(opcode, operands, guard, pattern)
    values = [operand.base if isinstance(operand, PtxAddress) else operand for operand in operands]
    return _fill(pattern, values, guard)


def _kind(operand: ReadOperand) -> str:
    match operand:
        case isa.Register():
            return "r"
        case isa.Variable():
            return "v"
        case isa.Immediate():
            return "n"
        case PtxAddress(base=isa.Register()):
            return "R"
        case PtxAddress(base=isa.Variable()):
            return "V"
        case PtxAddress() | OperandGroup():
            return "x"


@lru_cache(1 << 14)
def find_pattern(opcode: str, kinds: str) -> isa.Instruction | str:
    """The litmus instruction of an opcode with placeholders as operands, or why there is none."""
    if "x" in kinds:
        return "litmus has no vectors, pairs and absolute addresses"
    words = opcode.split(".")
    if words[0] in BITS_ONLY:
        words = [FLOATS.get(word, word) for word in words]
    if words[0] == "setp":
        words = [UNSIGNED_COMPARISONS.get(word, word) for word in words]
    raw = [
        RawOperand("number", "0") if kind == "n"
        else RawOperand("address" if kind in "RV" else "name", f"{kind.lower()}{index}")
        for index, kind in enumerate(kinds)
    ]  # fmt: skip
    variables = frozenset(operand.text for operand in raw if operand.text[0] == "v")
    try:
        return build_instruction(RawInstruction((), None, False, tuple(words), tuple(raw)), {}, variables)
    except SyntaxProblem as problem:
        return problem.message


def _fill(pattern: isa.Instruction, values: list[Any], guard: isa.Guard | None) -> isa.Instruction:
    """The instruction with its operands in place of the placeholders of the same kinds."""
    match pattern:
        case isa.Load(access=access):
            return isa.Load(values[0], values[1], access, guard)
        case isa.Store(access=access):
            return isa.Store(values[0], values[1], access, guard)
        case isa.Atomic(operation=operation, access=access):
            return isa.Atomic(operation, values[0], values[1], tuple(values[2:]), access, guard)
        case isa.Reduce(operation=operation, access=access):
            return isa.Reduce(operation, values[0], tuple(values[1:]), access, guard)
        case isa.Alu(operation=alu, type=type, source_type=source_type):
            return isa.Alu(alu, type, values[0], tuple(values[1:]), source_type, guard)
        case isa.SetPredicate(comparison=comparison, type=type):
            return isa.SetPredicate(comparison, type, values[0], (values[1], values[2]), guard)
        case isa.Branch():
            return isa.Branch(values[0].name, guard)
        case isa.Barrier(mode=mode, instance=instance):
            return isa.Barrier(mode, values[0], values[1] if len(values) > 1 else None, instance, guard)
        case isa.Fence(kind=kind, scope=scope):
            return isa.Fence(kind, scope, guard)
        case isa.ProxyFence(kind=proxy):
            return isa.ProxyFence(proxy, guard)
        case isa.Label():
            return pattern


def _opaque(opcode: str, operands: Sequence[ReadOperand], guard: isa.Guard | None, reason: str) -> OpaqueInstruction:
    """An opaque instruction; its first operand is its result, unless the opcode has no result."""
    words = opcode.split(".")
    writes = words[0] not in WITHOUT_RESULT and tuple(words[:2]) not in WITHOUT_RESULT_FORMS
    if words[0] == "call":
        writes = bool(operands) and isinstance(operands[0], OperandGroup)
    first = _plain(operands[0]) if operands and writes else ()
    destinations = tuple(operand for operand in first if not isinstance(operand, isa.Immediate))
    sources = [value for operand in operands[1 if writes else 0 :] for value in _plain(operand)]
    return OpaqueInstruction(opcode, destinations, tuple(sources), guard, reason)


def _plain(operand: ReadOperand) -> tuple[isa.Operand, ...]:
    match operand:
        case OperandGroup(parts=parts):
            return parts
        case PtxAddress(base=base):
            return () if base is None else (base,)
        case isa.Register() | isa.Immediate() | isa.Variable():
            return (operand,)
