"""The normal form of a generated thread, without the names of its locations.

Many tests of a family share a thread; with its normal form they can be hashed without being built.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.instruction import Instruction
from gpudiy.litmus.thread_tokens import InitialToken, ThreadTokens, VariableUse
from gpudiy.litmus.traits import traits_of

Declared = dict[str, tuple[ScalarType, int | None]]  # the type of a register, and the access whose address it holds


class NormalForm(NamedTuple):
    """`%s` in `tokens` is a location: those of the accesses `places`, in this order. `names` are of registers."""

    tokens: str
    places: tuple[int, ...]
    names: dict[str, str]


def normal_form(instructions: Sequence[Instruction], declared: Declared) -> NormalForm:
    """The normal form of a thread whose registers are declared like this."""
    for instruction in instructions:
        if not traits_of(instruction).generated:
            raise ValueError(f"generated tests cannot contain {instruction}")
    initial: dict[str, tuple[ScalarType, InitialToken]] = {
        name: (type, 0 if access is None else VariableUse(str(access))) for name, (type, access) in declared.items()
    }
    thread = ThreadTokens(instructions, initial)
    return NormalForm(
        " ".join([token if isinstance(token, str) else "&%s" for token in thread.tokens]),
        tuple([int(token.name) for token in thread.tokens if isinstance(token, VariableUse)]),
        {name: f"r{number}" for name, number in thread.numbers.items()},
    )
