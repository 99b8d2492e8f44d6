"""Truth tables of predicates, by brute force."""

from __future__ import annotations

from itertools import product

from optcheck.term import ONE, OPERATIONS, ZERO, Term, apply_table, symbol

NAMES = ("a", "b", "c")


def evaluate(term: Term, values: dict[Term, int]) -> int:
    if term.is_number:
        return term.number
    if term in values:
        return values[term]
    words = [evaluate(one, values) if isinstance(one, Term) else one for one in term.arguments]
    return OPERATIONS[term.operation](*words)


def test_tables_with_and_without_constants() -> None:
    symbols = [symbol(name) for name in NAMES]
    for table in range(256):
        for chosen in product(*((one, ZERO, ONE) for one in symbols)):
            term = apply_table(*chosen, table)
            for bits in product((0, 1), repeat=3):
                values = dict(zip(symbols, bits, strict=True))
                a, b, c = (evaluate(one, values) for one in chosen)
                assert evaluate(term, values) == table >> (4 * a + 2 * b + c) & 1


def test_a_copy_is_the_predicate_itself() -> None:
    """-O0 copies predicates so: PLOP3.LUT P0, PT, P1, PT, PT, 0x80, 0x0."""
    one = symbol("a")
    assert apply_table(one, ONE, ONE, 0x80) is one
    assert apply_table(ONE, ONE, ONE, 0x80) is ONE and apply_table(ONE, ONE, ONE, 0x08) is ZERO
