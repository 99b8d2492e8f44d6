"""Which chips are meant to keep to which model, and which tests a model speaks of.

That an old chip breaks a model of newer ones, or any GPU sequential consistency, is no finding; a report raises its
voice only where a chip breaks the model it was described by.
"""

from __future__ import annotations

import re

from gpudiy.litmus.access import CacheOperator, Order, Space
from gpudiy.litmus.flow import memory_uses
from gpudiy.litmus.instruction import Load, Store
from gpudiy.litmus.test import Test

ABOUT = {
    "sc": "sequential consistency, which no GPU promises",
    "tso": "x86 and SPARC, which no GPU promises",
    "ptx-asplos15": "Nvidia chips before Volta, accesses with .cg",
    "ptx-6.0": "Nvidia chips from Volta (sm_70) on",
    "ptx-7.5": "Nvidia chips from Volta (sm_70) on, with proxies",
}
YARDSTICKS = ("sc", "tso")
OLD, NEW = ("fermi", "kepler", "maxwell", "pascal"), ("volta", "turing", "ampere", "ada", "hopper", "blackwell")


def promised(model: str, architecture: str) -> bool:
    """Whether chips of this architecture are meant to keep to the model; for models of the user all are."""
    if model in YARDSTICKS:
        return False
    if model == "ptx-asplos15":
        return _age(architecture) == "old"
    return _age(architecture) == "new" if model in ABOUT else True


def speaks_of(model: str, test: Test) -> bool:
    """Whether the model was made for what the test does; that of ASPLOS'15 knows global memory and .cg only."""
    if model != "ptx-asplos15":
        return True
    spaces = {variable.space for variable in test.memory_map.variables}
    plain = (
        use.instruction.access.cache is CacheOperator.CG and use.instruction.access.order is Order.WEAK
        for use in memory_uses(test)
        if isinstance(use.instruction, (Load, Store))
    )
    return spaces <= {Space.GLOBAL} and all(plain)


def _age(architecture: str) -> str:
    words = architecture.lower()
    number = re.search(r"sm_?(\d+)", words)
    if number is not None:
        return "old" if int(number[1]) < 70 else "new"
    if any(word in words for word in NEW):
        return "new"
    return "old" if any(word in words for word in OLD) else ""
