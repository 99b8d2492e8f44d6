"""Terms on many threads at once: what an instruction computes, as arrays of words with one element per thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optcheck.sass import WORD
from optcheck.term import Term

Words = NDArray[np.uint32]
Threads = NDArray[np.int64]
Source = Callable[[Any, Threads], Words]  # from a machine and some of its threads to the words of each
Leaf = Callable[[tuple[object, ...]], Source]  # from the name of a symbol to what reads it
ONE, THIRTY_TWO = np.uint64(1), np.uint64(32)


class NoArithmetic(Exception):
    """An operation that has no exact meaning here; the message names it."""


def compile_term(term: Term, leaf: Leaf) -> Source:
    """What computes the words of a term, for the threads of a machine; raises `NoArithmetic`."""
    if term.operation == "number":
        return _constant(term.number)
    if term.operation == "symbol":
        return leaf(term.arguments)
    known = OPERATIONS.get(term.operation)
    if known is None:
        raise NoArithmetic(str(term.arguments[0]) if term.operation == "unknown" else term.operation)
    arguments = [
        compile_term(one, leaf) if isinstance(one, Term) else _constant(int(str(one)) & WORD) for one in term.arguments
    ]
    return lambda machine, threads: known(*[one(machine, threads) for one in arguments]).astype(np.uint32)


def _constant(value: int) -> Source:
    words = np.full(1, value, np.uint32)
    return lambda machine, threads: words


def wide(low: Words, high: Words) -> NDArray[np.uint64]:
    """Two words as one of 64 bits."""
    return high.astype(np.uint64) << THIRTY_TWO | low.astype(np.uint64)


def halves(value: NDArray[np.uint64]) -> tuple[Words, Words]:
    """The lower and the upper word of 64 bits."""
    return value.astype(np.uint32), (value >> THIRTY_TWO).astype(np.uint32)


def _sum(*words: Words) -> NDArray[np.uint64]:
    return reduce(np.add, [one.astype(np.uint64) for one in words])


def _extend(word: Words, signed: Words) -> NDArray[np.uint64]:
    """A word as 64 bits, with its sign if it has one."""
    return word.view(np.int32).astype(np.int64).view(np.uint64) if signed[0] else word.astype(np.uint64)


def _product(a: Words, b: Words, low: Words, high: Words, signed: Words) -> NDArray[np.uint64]:
    return _extend(a, signed) * _extend(b, signed) + wide(low, high)


def _product_carry(a: Words, b: Words, low: Words, high: Words, signed: Words) -> NDArray[np.bool_]:
    product = a.astype(np.uint64) * b.astype(np.uint64)
    return product + wide(low, high) < product


def _lop3(a: Words, b: Words, c: Words, table: Words) -> Words:
    result = np.zeros(1, np.uint32)
    for row in range(8):
        if int(table[0]) >> row & 1:
            result = result | (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result


def _shift(value: NDArray[np.uint64], distance: Words, left: bool) -> NDArray[np.uint64]:
    """Shifts of 64 bits; those by 64 or more give 0."""
    by = np.minimum(distance, 63).astype(np.uint64)
    shifted = value << by if left else value >> by
    return np.where(distance > 63, np.uint64(0), shifted)


def _shift_right(high: Words, low: Words, distance: Words, signed: Words) -> NDArray[np.uint64]:
    if signed[0]:
        by = np.minimum(distance, 63).astype(np.int64)
        return (wide(low, high).view(np.int64) >> by).view(np.uint64)
    return _shift(wide(low, high), distance, False)


def _less(a: Words, b: Words, signed: Words) -> NDArray[np.bool_]:
    return np.asarray(a.view(np.int32) < b.view(np.int32) if signed[0] else a < b)


def _choose(condition: NDArray[np.bool_], a: Words, b: Words) -> Words:
    return np.where(condition, a, b).astype(np.uint32)


OPERATIONS: dict[str, Callable[..., NDArray[np.generic]]] = {
    "add": lambda *words: _sum(*words),
    "carry": lambda *words: _sum(*words) >> THIRTY_TWO & ONE,
    "carries": lambda least, *words: _sum(*words) >> THIRTY_TWO >= least,
    "multiply": lambda a, b: a * b,
    "product low": _product,
    "product high": lambda *arguments: _product(*arguments) >> THIRTY_TWO,
    "product carry": _product_carry,
    "lop3": _lop3,
    "left": lambda a, distance: _shift(a.astype(np.uint64), distance, True),
    "left high": lambda low, high, distance: _shift(wide(low, high), distance, True) >> THIRTY_TWO,
    "right low": _shift_right,
    "right high": lambda *arguments: _shift_right(*arguments) >> THIRTY_TWO,
    "minimum": lambda a, b, signed: _choose(_less(a, b, signed), a, b),
    "maximum": lambda a, b, signed: _choose(_less(a, b, signed), b, a),
    "choose": lambda condition, a, b: _choose(condition != 0, a, b),
    "equal": lambda a, b: a == b,
    "less": _less,
    "not": lambda condition: 1 - condition,
    "and": lambda a, b: a & b,
    "different": lambda a, b: a ^ b,
}
