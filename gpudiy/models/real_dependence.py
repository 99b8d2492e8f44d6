"""Which reads a value really depends on: those that can change it while all others return the same.

Where a few values show that a read can, it does. Else a SAT solver is asked, with every word as its bits. What a
division gives, and what the solver cannot decide in time, is taken to depend on all that it is computed from.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import assert_never

from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.arithmetic import CannotCompute, wrap_value
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.dependencies import Reads, list_reads
from gpudiy.litmus.instruction import Alu, AluOperation
from gpudiy.litmus.register_value import Compared, HeldValue, Narrowed, RegisterValue, Selected, UnknownWord
from gpudiy.models.circuit import FALSE, TRUE, Circuit

SAMPLES = 24
EFFORT = 20_000  # conflicts of the solver

Word = list[int]  # literals, the lowest bit first; the last one goes on for ever


class RealReads:
    """Finds the reads that expressions really depend on, and remembers them."""

    def __init__(self) -> None:
        self._known: dict[tuple[RegisterValue, int], bool] = {}

    def __call__(self, expression: HeldValue, among: Reads) -> Reads:
        if not isinstance(expression, RegisterValue):
            return 0
        return sum(1 << read for read in list_reads(among & expression.reads) if self._depends(expression, read))

    def _depends(self, expression: RegisterValue, read: int) -> bool:
        key = expression, read
        if key not in self._known:
            self._known[key] = _is_seen_to_change(expression, read) or can_change(expression, read)
        return self._known[key]


def _is_seen_to_change(expression: RegisterValue, read: int) -> bool:
    """Whether some values, chosen at random, show that a read changes the value."""
    source = random.Random(0)
    leaves = list(expression.leaves())
    for sample in range(SAMPLES):
        held = {leaf: _draw(source, leaf, sample) for leaf in leaves}
        changed = {leaf: _draw(source, leaf, sample) if leaf.function.name == read else held[leaf] for leaf in leaves}  # type: ignore[union-attr]
        try:
            if expression.evaluate(held) != expression.evaluate(changed):
                return True
        except CannotCompute:
            continue
    return False


def _draw(source: random.Random, leaf: RegisterValue, sample: int) -> int:
    assert isinstance(leaf.function, UnknownWord)
    return wrap_value(source.randrange(4) if sample % 2 else source.getrandbits(64), leaf.function.type)


def can_change(expression: RegisterValue, read: int) -> bool:
    """Whether two executions of a computation that differ in one read can have different results, for all we know."""
    from pysat.solvers import Solver

    words = WordCircuit()
    one, other = words.build(expression, None), words.build(expression, read)
    width = max(len(one), len(other))
    different = [words.exclusive(words.bit(one, index), words.bit(other, index)) for index in range(width)]
    if all(bit == FALSE for bit in different):
        return False
    words.circuit.add(different)
    with Solver("glucose4", bootstrap_with=words.circuit.clauses) as solver:
        solver.conf_budget(EFFORT)
        return solver.solve_limited() is not False


class WordCircuit:
    """Computes expressions in bits, as `arithmetic` does in numbers."""

    def __init__(self) -> None:
        self.circuit = Circuit()
        self._words: dict[tuple[RegisterValue, int | None], Word] = {}

    def build(self, expression: RegisterValue, changed: int | None) -> Word:
        """The bits of an expression; those of the read `changed`, and what comes from it, are computed once more."""
        for each in expression.cone():
            key = each, changed if changed is not None and each.reads >> changed & 1 else None
            if key not in self._words:
                operands = [
                    self._words[one, key[1] if key[1] is not None and one.reads >> key[1] & 1 else None]
                    if isinstance(one, RegisterValue)
                    else self.constant(one)
                    for one in each.operands
                ]
                self._words[key] = self._compute(each, operands)
        return self._words[expression, changed if changed is not None and expression.reads >> changed & 1 else None]

    def _compute(self, expression: RegisterValue, operands: list[Word]) -> Word:
        function = expression.function
        match function:
            case UnknownWord(_, type):
                return self._unknown(type)
            case Compared(comparison, type):
                return [self._compare(comparison, operands[0], operands[1], type), FALSE]
            case Narrowed(type):
                return self.wrap(operands[0], type)
            case Selected():
                return self._choose(self._is_true(operands[0]), operands[1], operands[2])
            case Alu():
                return self._compute_alu(function, operands)
            case _:
                assert_never(function)

    def _compute_alu(self, alu: Alu, operands: list[Word]) -> Word:
        operation, type = alu.operation, alu.type
        first = self.wrap(operands[0], type)
        second = self.wrap(operands[1], type) if len(operands) > 1 else []
        match operation:
            case AluOperation.MOV | AluOperation.CVT:
                return self.wrap(self.read_as(operands[0], alu.source_type or type), type)
            case AluOperation.SELP:
                return self.wrap(self._choose(self._is_true(operands[2]), operands[0], operands[1]), type)
            case AluOperation.NOT:
                return self.wrap([-bit for bit in first], type)
            case AluOperation.AND:
                return self._bitwise(self.circuit.both, first, second)
            case AluOperation.OR:
                return self._bitwise(self.circuit.either, first, second)
            case AluOperation.XOR:
                return self._bitwise(self.exclusive, first, second)
            case AluOperation.ADD:
                return self.wrap(self._add(first, second, FALSE), type)
            case AluOperation.SUB:
                return self.wrap(self._add(first, [-bit for bit in second], TRUE), type)
            case AluOperation.MUL:
                return self.wrap(self._multiply(first, second), type)
            case AluOperation.MIN | AluOperation.MAX:
                less = self._less(self.read_as(first, type), self.read_as(second, type))
                return self._choose(less if operation is AluOperation.MIN else -less, first, second)
            case AluOperation.SHL | AluOperation.SHR:
                return self._shift(alu, first, operands[1])
            case AluOperation.DIV:
                return self._unknown(type)
            case _:
                assert_never(operation)

    # words

    def constant(self, value: int) -> Word:
        return [TRUE if value >> index & 1 else FALSE for index in range(value.bit_length() + 1)]

    def bit(self, word: Word, index: int) -> int:
        return word[min(index, len(word) - 1)]

    def wrap(self, word: Word, type: ScalarType) -> Word:
        bits = [self.bit(word, index) for index in range(type.bits)]
        return bits if type.bits > 1 else [*bits, FALSE]

    def read_as(self, word: Word, type: ScalarType) -> Word:
        return [*self.wrap(word, type), *([FALSE] if type[0] == "u" else [])]

    def exclusive(self, one: int, other: int) -> int:
        circuit = self.circuit
        return circuit.both(circuit.either(one, other), -circuit.both(one, other))

    def _unknown(self, type: ScalarType) -> Word:
        return self.wrap([self.circuit.variable() for _ in range(type.bits)], type)

    def _is_true(self, word: Word) -> int:
        return self.circuit.any(word)

    def _bitwise(self, gate: Callable[[int, int], int], one: Word, other: Word) -> Word:
        return [gate(left, right) for left, right in zip(one, other, strict=True)]

    def _select(self, condition: int, one: int, other: int) -> int:
        circuit = self.circuit
        if one == other:
            return one
        return circuit.either(circuit.both(condition, one), circuit.both(-condition, other))

    def _choose(self, condition: int, one: Word, other: Word) -> Word:
        width = max(len(one), len(other))
        return [self._select(condition, self.bit(one, index), self.bit(other, index)) for index in range(width)]

    def _add(self, one: Word, other: Word, carry: int) -> Word:
        found: Word = []
        for left, right in zip(one, other, strict=True):
            partial = self.exclusive(left, right)
            found.append(self.exclusive(partial, carry))
            carry = self.circuit.either(self.circuit.both(left, right), self.circuit.both(partial, carry))
        return found

    def _multiply(self, one: Word, other: Word) -> Word:
        total: Word = [FALSE] * len(one)
        for place, factor in enumerate(other):
            if factor != FALSE:
                shifted = [FALSE] * place + one[: len(one) - place]
                total = self._add(total, [self.circuit.both(factor, bit) for bit in shifted], FALSE)
        return total

    def _shift(self, alu: Alu, value: Word, distance: Word) -> Word:
        """A shift by so many places, read as an unsigned word of 32 bits; by more than there are is by all."""
        left, width = alu.operation is AluOperation.SHL, alu.type.bits
        rest = value[-1] if not left and alu.type[0] == "s" else FALSE
        stages = max(1, (width - 1).bit_length())
        for stage in range(stages):
            places, condition = 1 << stage, self.bit(distance, stage)
            moved = [rest] * min(places, width)
            moved = moved + value[: width - places] if left else value[places:] + moved
            value = [self._select(condition, *pair) for pair in zip(moved, value, strict=True)]
        too_far = self.circuit.any(self.bit(distance, index) for index in range(stages, 32))
        return self.wrap([self._select(too_far, rest, bit) for bit in value[:width]], alu.type)

    # comparisons

    def _less(self, one: Word, other: Word) -> int:
        """Whether a signed word is less than another."""
        width = max(len(one), len(other)) + 1
        left, right = ([self.bit(word, index) for index in range(width)] for word in (one, other))
        return self._add(left, [-bit for bit in right], TRUE)[-1]

    def _compare(self, comparison: Comparison, one: Word, other: Word, type: ScalarType) -> int:
        left, right = self.read_as(one, type), self.read_as(other, type)
        match comparison:
            case Comparison.EQ | Comparison.NE:
                different = self.circuit.any(self._bitwise(self.exclusive, left, right))
                return different if comparison is Comparison.NE else -different
            case Comparison.LT:
                return self._less(left, right)
            case Comparison.GE:
                return -self._less(left, right)
            case Comparison.GT:
                return self._less(right, left)
            case Comparison.LE:
                return -self._less(right, left)
            case _:
                assert_never(comparison)
