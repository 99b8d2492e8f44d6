"""What instructions on registers give, worked out as far as it is known."""

from __future__ import annotations

import re

from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.instruction import AluOperation, Comparison
from gpudiy.locks.program import Statement
from gpudiy.locks.value import Opaque, Value, comparing, compute, joined, negated

COPIES = ("cvta", "mov")
TYPE = re.compile(r"([subf])(8|16|32|64)\Z")
COMPARISONS = {comparison.value: comparison for comparison in Comparison} | {
    "lo": Comparison.LT, "ls": Comparison.LE, "hi": Comparison.GT, "hs": Comparison.GE,
}  # fmt: skip
ALU = {operation.value: operation for operation in AluOperation}


def result_of(statement: Statement, position: int, values: tuple[Value, ...]) -> Value:
    """What an instruction on registers gives."""
    kind, words = statement.kind, statement.opcode[1:]
    if kind in COPIES:
        return values[0]
    if "pred" in words and kind in ("and", "or", "not"):
        return negated(values[0]) if kind == "not" else joined(kind == "and", *values)
    types = [widened(word) for word in words if TYPE.match(word) and word[0] != "f"]
    plain = [word for word in words if word != "lo"]
    if kind == "setp" and len(words) == 2 and words[0] in COMPARISONS and types:
        return comparing(COMPARISONS[words[0]], types[0], *values)
    if kind == "mad" and "lo" in words and types and len(values) == 3:
        product = compute(AluOperation.MUL, types[0], values[:2])
        return compute(AluOperation.ADD, types[0], (product, values[2]))
    if kind in ALU and kind != "selp" and len(types) == len(plain) and len(values) == ALU[kind].arity:
        return compute(ALU[kind], types[0], values, types[1] if kind == "cvt" else None)
    return Opaque(position, ".".join(statement.opcode), values)


def widened(word: str) -> ScalarType:
    """A type of at least 32 bits: how narrow a flag is does not matter to a model."""
    return ScalarType(f"{word[0]}{max(32, int(word[1:]))}")
