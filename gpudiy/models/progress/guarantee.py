"""Progress guarantees: which threads a scheduler promises to run, and which endless runs it may therefore show.

Threads form groups: the threads of a CTA, the CTAs of a device, the devices. As in Dartagnan, a guarantee holds in
each group for its members: a group makes progress if one of its members does. The definitions follow Sorensen et al.,
"Specifying and testing GPU workgroup progress models" (OOPSLA 2021). They are about GPUs: threads on the host are in no
group, and the operating system schedules each of them again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from gpudiy.litmus.scope_tree import ScopeTree


class ProgressGuarantee(StrEnum):
    """What a scheduler promises to the members of a group that can take a step."""

    FAIR = "fair"  # each of them is scheduled again and again
    HSA = "hsa"  # the one with the lowest number is
    OBE = "obe"  # those that took a step are (occupancy-bound execution)
    LOBE = "lobe"  # those are whose number is not above that of one that took a step (linear OBE)
    LOCKSTEP = "lockstep"  # each warp is, but the threads of a warp share one program counter, as before Volta


@dataclass(frozen=True, slots=True)
class EndlessRun:
    """What becomes of the threads of a run that does not end; a thread in neither of the first two can take no step."""

    running: frozenset[int]  # threads that step for ever
    starved: frozenset[int]  # threads that could step, but never do so again
    started: frozenset[int]  # threads that took a step


Group = int | tuple["Group", ...]  # a thread, or the members of a group in the order of their numbers


def limit_runs(guarantee: ProgressGuarantee, tree: ScopeTree) -> Callable[[EndlessRun], bool]:
    """Whether a run of threads that are placed so keeps the promises of their schedulers."""
    groups = groups_of(tree)
    on_host = frozenset(filter(tree.is_on_host, range(len(tree.placements))))
    return lambda run: not run.starved & on_host and permits(guarantee, groups, run)


def groups_of(tree: ScopeTree) -> Group:
    """The devices, their CTAs and their threads; the host is no device."""
    devices: dict[int, dict[int, list[int]]] = {}
    for thread, placement in enumerate(tree.placements):
        if tree.is_on_host(thread):
            continue
        devices.setdefault(placement.device, {}).setdefault(placement.cta, []).append(thread)
    return tuple(tuple(tuple(ctas[cta]) for cta in sorted(ctas)) for _, ctas in sorted(devices.items()))


def permits(guarantee: ProgressGuarantee, group: Group, run: EndlessRun) -> bool:
    """Whether a scheduler that keeps its promise to the members of a group can show such a run."""
    if isinstance(group, int):
        return group not in run.starved
    can_step = [_any_in(member, run.running | run.starved) for member in group]
    served = [permits(guarantee, member, run) for member in group]
    if any(can_step) and not any(ready and fair for ready, fair in zip(can_step, served, strict=True)):
        return False  # a group in which a member can step does step
    promised = _list_promised(guarantee, group, run, can_step)
    return all(fair for fair, due in zip(served, promised, strict=True) if due)


def _list_promised(
    guarantee: ProgressGuarantee, group: tuple[Group, ...], run: EndlessRun, can_step: list[bool]
) -> list[bool]:
    """The members of a group that are promised progress."""
    started = [_any_in(member, run.started) for member in group]
    match guarantee:
        case ProgressGuarantee.FAIR | ProgressGuarantee.LOCKSTEP:
            return [True] * len(group)
        case ProgressGuarantee.HSA:
            return [not any(can_step[:index]) for index in range(len(group))]
        case ProgressGuarantee.OBE:
            return started
        case ProgressGuarantee.LOBE:
            return [any(started[index:]) for index in range(len(group))]


def _any_in(group: Group, threads: frozenset[int]) -> bool:
    return group in threads if isinstance(group, int) else any(_any_in(member, threads) for member in group)
