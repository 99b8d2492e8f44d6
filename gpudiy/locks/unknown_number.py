"""What can be true of a number that is not known: a clock, or the counter of a loop."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gpudiy.locks.symbolic_value import FALSE, AnyNumber, ComparedValues, Number, SymbolicValue, list_leaves, rebuild

NEAR = 4  # values tried on either side of every constant


def is_possible(supposed: Collection[ComparedValues]) -> bool:
    """Whether comparisons can be true together: false only if each value of one number makes one of them false.

    Comparisons of one unknown number with constants change their truth only near these constants, so it is enough to
    try the values there. What cannot be evaluated counts as possible.
    """
    numbers = {leaf for fact in supposed for leaf in list_leaves(fact) if isinstance(leaf, AnyNumber)}
    return all(_has_value(number, [fact for fact in supposed if _is_about(fact, number)]) for number in numbers)


def _is_about(fact: ComparedValues, number: AnyNumber) -> bool:
    leaves = list_leaves(fact)
    return number in leaves and all(leaf == number or isinstance(leaf, Number) for leaf in leaves)


def _has_value(number: AnyNumber, facts: list[ComparedValues]) -> bool:
    return any(all(_evaluate(fact, number, value) for fact in facts) for value in _list_values(number, facts))


def _evaluate(fact: ComparedValues, number: AnyNumber, value: int) -> bool:
    def change(leaf: SymbolicValue) -> SymbolicValue:
        return Number(value) if leaf == number else leaf

    return rebuild(fact, change) != FALSE


def _list_values(number: AnyNumber, facts: list[ComparedValues]) -> Iterator[int]:
    constants = {leaf.value for fact in facts for leaf in list_leaves(fact) if isinstance(leaf, Number)} | {0}
    sums = {one + sign * other for one in constants for other in constants for sign in (1, -1)} | constants
    if number.step is None:
        yield from (value + near for value in sums for near in range(-NEAR, NEAR + 1))
        return
    for value in sums | {number.start}:
        rounds = (value - number.start) // number.step
        for count in range(max(0, rounds - NEAR), max(0, rounds) + NEAR + 1):
            yield number.start + count * number.step
