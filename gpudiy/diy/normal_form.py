"""The normal form of a generated thread, with its locations still to be filled in.

A thread stands in many tests of a family; so each of them can be hashed without being built.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.instruction import Instruction
from gpudiy.litmus.thread_tokens import InitialToken, ThreadTokens, VariableUse
from gpudiy.litmus.traits import traits_of

Declared = dict[str, tuple[ScalarType, int | None]]  # type, and the access whose location's address it holds


class NormalForm(NamedTuple):
    """`%s` in `tokens` stands for a location, those of the accesses `places` in turn; `names` are of registers."""

    tokens: str
    places: tuple[int, ...]
    names: dict[str, str]


def normal_form(instructions: Sequence[Instruction], declared: Declared) -> NormalForm:
    """The tokens of a thread; each location is named by the access that touches it."""
    for instruction in instructions:
        if not traits_of(instruction).generated:
            raise ValueError(f"no test is generated with {instruction}")
    initial: dict[str, tuple[ScalarType, InitialToken]] = {
        name: (type, 0 if access is None else VariableUse(str(access))) for name, (type, access) in declared.items()
    }
    thread = ThreadTokens(instructions, initial)
    return NormalForm(
        " ".join([token if isinstance(token, str) else "&%s" for token in thread.tokens]),
        tuple([int(token.name) for token in thread.tokens if isinstance(token, VariableUse)]),
        {name: f"r{number}" for name, number in thread.numbers.items()},
    )
