"""An outcome: one final state of a test, as values and as text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from gpudiy.litmus.condition import AddressOf, Expression, FinalRegister, FinalVariable, Observable, Value, holds
from gpudiy.litmus.condition_text import term_text

if TYPE_CHECKING:
    from gpudiy.litmus.test import Test

Outcome = tuple[Value, ...]  # one value for each of `test.observed`, in that order
FinalState = dict[Observable, Value]  # the same by register or variable, so that the test is not needed

NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d*|0[xX][0-9a-fA-F]+)")
REGISTER = re.compile(r"(\d+):(.+)")


def final_state(test: Test, outcome: Outcome) -> FinalState:
    """The values of an outcome by what the test observes."""
    return dict(zip(test.observed, outcome, strict=True))


def outcome_text(test: Test, outcome: Outcome) -> str:
    """The outcome as logs and listings print it: `0:r2=0; x=1;`."""
    return " ".join(f"{term_text(term)}={value_text(value)};" for term, value in final_state(test, outcome).items())


def value_text(value: Value) -> str:
    """A number, or `&x` for the address of x."""
    return f"&{value.variable}" if isinstance(value, AddressOf) else str(value)


def read_outcome(text: str) -> FinalState:
    """The final state in the text of an outcome; numbers may have any notation."""
    pairs = (part.partition("=") for part in text.split(";") if "=" in part)
    return {_observable(name.strip().strip("[]")): _value(value.strip()) for name, _, value in pairs}


def satisfies(state: FinalState, expression: Expression) -> bool:
    """Whether a state satisfies the expression; false if the state lacks a register or variable of it."""
    try:
        return holds(expression, state.__getitem__)
    except KeyError:
        return False


@lru_cache(maxsize=1024)
def _observable(name: str) -> Observable:
    register = REGISTER.fullmatch(name)
    return FinalRegister(int(register[1]), register[2]) if register else FinalVariable(name)


def _value(text: str) -> Value:
    return int(text, 0) if NUMBER.fullmatch(text) else AddressOf(text.removeprefix("&"))
