"""Where control can go in a thread."""

from __future__ import annotations

from collections.abc import Sequence

from gpudiy.litmus.dependencies import branch_targets
from gpudiy.litmus.instruction import Branch, Instruction


def may_end(thread: Sequence[Instruction]) -> bool:
    """Whether some way through a thread leads to its end, whatever its guards are."""
    targets = branch_targets(thread)
    seen: set[int] = set()
    pending = [0]
    while pending:
        position = pending.pop()
        if position >= len(thread):
            return True
        if position in seen:
            continue
        seen.add(position)
        instruction = thread[position]
        if isinstance(instruction, Branch):
            pending.append(targets[position])
            if instruction.guard is None:
                continue
        pending.append(position + 1)
    return False
