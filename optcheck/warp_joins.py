"""Where threads of a warp that separate meet again: each BSSY names a place, and BSYNC must be just before it."""

from __future__ import annotations

from collections.abc import Sequence

from optcheck.listing import SassFunction


def find_missing_join(functions: Sequence[SassFunction]) -> str:
    """A BSSY without the BSYNC that belongs to it, with its place; empty if there is none.

    Compilers always write both. Without BSYNC, all results are the same, but the threads of a warp run apart.
    """
    for function in functions:
        for index, instruction in enumerate(function.instructions):
            if instruction.opcode == "BSSY" and not _meets(function, index):
                return f"{function.name}: {function.show_instruction(index)}"
    return ""


def _meets(function: SassFunction, index: int) -> bool:
    targets = function.targets_of(index)
    if not targets or len(targets) != 1 or targets[0] == 0:
        return False
    begin, end = function.instructions[index], function.instructions[targets[0] - 1]
    return end.opcode == "BSYNC" and end.guard is None and begin.guard is None and begin.operands[:1] == end.operands
