"""An outcome as logs print it, `0:r2=0; x=1;`, as names and values, and conditions asked about it."""

from __future__ import annotations

import re
from functools import lru_cache

from gpudiy.litmus.condition import AddressOf, Expression, FinalRegister, FinalVariable, Observable, Value, holds
from gpudiy.litmus.condition_text import term_text
from gpudiy.litmus.grammar import SyntaxProblem, parse_condition
from gpudiy.logs.histogram_text import LINE

NUMBER = re.compile(r"[-+]?\d+|[-+]?0[xX][0-9a-fA-F]+")
Outcome = dict[str, str | int]  # by the name of what is observed: a number, or the name of a location


def read_outcome(text: str) -> Outcome:
    """Names and values; numbers are equal however they are spelt."""
    pairs = (part.partition("=") for part in text.split(";") if "=" in part)
    return {name.strip().strip("[]"): _value(value.strip()) for name, _, value in pairs}


def marked(histogram: str, condition: str, positive: int) -> str:
    """The histogram with its weak outcomes marked, where the log did not and the condition tells which they are."""
    expression = _expression(condition)
    if expression is None:
        return histogram
    lines = []
    total = 0
    for count, _, outcome in LINE.findall(histogram):
        weak = satisfies(expression, read_outcome(outcome))
        total += int(count) * weak
        lines.append(f"{count:<6}{'*' if weak else ':'}>{outcome}\n")
    return "".join(lines) if total == positive else histogram


def satisfies(expression: Expression, outcome: Outcome) -> bool:
    """Whether an outcome that says all that is asked for is one of those."""

    def value_of(term: Observable) -> Value:
        value = outcome[_name(term)]
        return value if isinstance(value, int) else AddressOf(value.removeprefix("&"))

    try:
        return holds(expression, value_of)
    except KeyError:
        return False


@lru_cache(maxsize=4096)
def _expression(condition: str) -> Expression | None:
    try:
        return parse_condition(condition).expression
    except SyntaxProblem:
        return None


def _name(term: FinalRegister | FinalVariable) -> str:
    return term_text(term).strip("[]")


def _value(text: str) -> str | int:
    return int(text, 0) if NUMBER.fullmatch(text) and not re.fullmatch(r"[-+]?0\d+", text) else text
