"""Which registers of a thread may still be looked at."""

from __future__ import annotations

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.test import Thread


def live_registers(thread: Thread, observed: frozenset[str]) -> list[tuple[str, ...]]:
    """For each position, the registers whose values may still be looked at; in the end those are the observed ones."""
    labels = {each.name: index for index, each in enumerate(thread) if isinstance(each, isa.Label)}
    live: list[set[str]] = [set() for _ in thread] + [set(observed)]
    changed = True
    while changed:
        changed = False
        for index in range(len(thread) - 1, -1, -1):
            now = _live_before(thread[index], index, labels, live)
            if now != live[index]:
                live[index] = now
                changed = True
    return [tuple(sorted(names)) for names in live]


def _live_before(instruction: isa.Instruction, index: int, labels: dict[str, int], live: list[set[str]]) -> set[str]:
    guard = isa.guard_of(instruction)
    now = set(live[index + 1])
    if isinstance(instruction, isa.Branch):
        after = live[labels[instruction.target]]
        now = set(after) if guard is None else now | after
    destination = isa.destination_of(instruction)
    if destination is not None and guard is None:
        now.discard(destination.name)
    used = (*isa.operands_of(instruction), isa.address_of(instruction))
    now |= {operand.name for operand in used if isinstance(operand, isa.Register)}
    return now if guard is None else now | {guard.predicate.name}
