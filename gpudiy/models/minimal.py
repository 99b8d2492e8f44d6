"""The weakest fences, orders and scopes that make an outcome forbidden.

Every gap between two memory accesses of a thread can take a fence, every access a stronger order. From the strongest
test, in which all sites are as strong as they can be, sites are weakened one step at a time for as long as the outcome
stays forbidden; where nothing more can be weakened the test is minimal. Other orders of weakening find other minima.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from gpudiy.litmus.access import ACCESS_SCOPES, Access, Order, Proxy, Scope
from gpudiy.litmus.instruction import Atomic, Fence, FenceKind, Instruction, Load, MemoryInstruction, Store
from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.litmus.test import Test, Thread
from gpudiy.models.exploration import Engine
from gpudiy.models.model import Model
from gpudiy.models.verdict import Answer, Undecided, Verdict, decide

TRIES = 24
SCOPE_COST = {Scope.CTA: 1, Scope.CLUSTER: 2, Scope.GPU: 3, Scope.SYS: 5}
FENCE_COST = {FenceKind.ACQ_REL: 10, FenceKind.SC: 20, FenceKind.MEMBAR: 20}
ORDER_COST = {Order.RELAXED: 2, Order.ACQUIRE: 5, Order.RELEASE: 5, Order.ACQ_REL: 8}

Strength = tuple[str, Scope] | None  # the kind of a fence or an order, and its scope; None is as in the test


@dataclass(frozen=True, slots=True)
class Site:
    """A place that can be made stronger: behind an instruction (a fence) or at it (its order)."""

    thread: int
    index: int
    is_fence: bool
    kinds: tuple[str, ...]  # weakest first


@dataclass(frozen=True, slots=True)
class Repair:
    """A minimal way to forbid the outcome: what was added or changed, and the test with it."""

    test: Test
    changes: tuple[str, ...]
    cost: int


def minimal_repairs(
    test: Test,
    model: Model,
    engine: Engine = Engine.AUTO,
    unroll: int | None = None,
    limit: float | None = None,
) -> list[Repair]:
    """Minimal repairs, cheapest first; empty if even the strongest test allows the outcome. None is needed if the
    outcome is forbidden already: then the only repair changes nothing.

    Raises `Undecided` if the test is, or if none of the strongest tests is forbidden but one is undecided, or if all
    that takes more than `limit` seconds.
    """
    deadline = None if limit is None else time.monotonic() + limit

    def decide_in_time(candidate: Test) -> Verdict:
        left = None if deadline is None else deadline - time.monotonic()
        verdict = decide(candidate, model, engine, unroll, left)
        if verdict.answer is Answer.OUT_OF_TIME and limit is not None:
            raise Undecided(replace(verdict, test=test, reason=f"no answer after {limit:g} s"))
        return verdict

    def forbidden(candidate: Test) -> bool:
        return decide_in_time(candidate).forbidden

    verdict = decide_in_time(test)
    if verdict.undecided:
        raise Undecided(verdict)
    if verdict.forbidden:
        return [Repair(test, (), 0)]
    found: dict[tuple[Thread, ...], Repair] = {}
    undecided: Verdict | None = None
    for sites in _site_sets(test, model):
        scopes = _usable_scopes(test, sites)
        strongest: list[Strength] = [(site.kinds[-1], own[-1]) for site, own in zip(sites, scopes, strict=True)]
        verdict = decide_in_time(_strengthen(test, sites, strongest))
        undecided = verdict if verdict.undecided else undecided
        if not verdict.forbidden:
            continue
        for attempt in range(TRIES):
            chosen = _weaken(test, sites, list(strongest), scopes, forbidden, random.Random(attempt))
            repaired = _strengthen(test, sites, chosen)
            changes = tuple(_describe_changes(sites, chosen, test))
            found.setdefault(repaired.threads, Repair(repaired, changes, _total_cost(sites, chosen)))
    if not found and undecided is not None:
        raise Undecided(undecided)
    return sorted(found.values(), key=lambda repair: (repair.cost, repair.changes))


def _site_sets(test: Test, model: Model) -> Iterator[list[Site]]:
    """Fences alone, orders alone, and both, as far as the model knows them."""
    fences = list(_fence_sites(test, model))
    orders = list(_order_sites(test)) if "ACQ" in model.inputs and "scoped" in model.inputs else []
    yield from (sites for sites in (fences, orders, fences + orders) if sites)


def _fence_sites(test: Test, model: Model) -> Iterator[Site]:
    kinds = ("acq_rel", "sc") if "ACQ_REL" in model.inputs and "scoped" in model.inputs else ("membar",)
    for number, thread in enumerate(test.threads):
        places = [index for index, instruction in enumerate(thread) if _is_access(instruction)]
        for index in places[:-1]:
            yield Site(number, index, True, kinds)


def _order_sites(test: Test) -> Iterator[Site]:
    for number, thread in enumerate(test.threads):
        for index, instruction in enumerate(thread):
            if isinstance(instruction, Load) and instruction.access.proxy is Proxy.GENERIC:
                yield Site(number, index, False, ("relaxed", "acquire"))
            elif isinstance(instruction, Store) and instruction.access.proxy is Proxy.GENERIC:
                yield Site(number, index, False, ("relaxed", "release"))
            elif isinstance(instruction, Atomic):
                yield Site(number, index, False, ("relaxed", "acquire", "release", "acq_rel"))


def _is_access(instruction: Instruction) -> bool:
    return isinstance(instruction, MemoryInstruction)


def _usable_scopes(test: Test, sites: list[Site]) -> list[list[Scope]]:
    """The scopes that each site can have, the smallest first."""
    used = [scope for scope in ACCESS_SCOPES if scope is not Scope.CLUSTER or test.scope_tree.has_clusters]
    membar = any(site.kinds == ("membar",) for site in sites)
    usable = [scope for scope in used if not (membar and scope is Scope.CLUSTER)]
    return [[Scope.SYS] if test.scope_tree.is_on_host(site.thread) else usable for site in sites]


def _weaken(
    test: Test,
    sites: list[Site],
    chosen: list[Strength],
    scopes: list[list[Scope]],
    forbidden: Callable[[Test], bool],
    source: random.Random,
) -> list[Strength]:
    """Weaken sites in some order until none can be."""
    order = list(range(len(sites)))
    source.shuffle(order)
    changed = True
    while changed:
        changed = False
        for place in order:
            for weaker in _weaker_strengths(sites[place], chosen[place], scopes[place]):
                trial = [*chosen]
                trial[place] = weaker
                if forbidden(_strengthen(test, sites, trial)):
                    chosen, changed = trial, True
                    break
    return chosen


def _weaker_strengths(site: Site, strength: Strength, scopes: list[Scope]) -> Iterator[Strength]:
    """Nothing at all, then the strengths one step down."""
    if strength is None:
        return
    yield None
    kind, scope = strength
    kinds = site.kinds[: site.kinds.index(kind)]
    for other in kinds:
        yield other, scope
    for narrower in reversed(scopes[: scopes.index(scope)]):
        yield kind, narrower


def _strengthen(test: Test, sites: list[Site], chosen: list[Strength]) -> Test:
    threads = [list(thread) for thread in test.threads]
    fences: list[tuple[int, int, Fence]] = []
    for site, strength in zip(sites, chosen, strict=True):
        if strength is None:
            continue
        kind, scope = strength
        if site.is_fence:
            fences.append((site.thread, site.index, Fence(FenceKind(kind), scope)))
        else:
            instruction = threads[site.thread][site.index]
            assert isinstance(instruction, (Load, Store, Atomic))
            threads[site.thread][site.index] = replace(
                instruction, access=_strengthen_access(instruction.access, kind, scope)
            )
    for number, index, fence in sorted(fences, key=lambda place: -place[1]):
        threads[number].insert(index + 1, fence)
    return replace(test, threads=tuple(map(tuple, threads)))


def _strengthen_access(access: Access, kind: str, scope: Scope) -> Access:
    """The access with another order; one that is as strong already stays as it is."""
    if access.order is Order(kind) and access.scope is not None and access.scope >= scope:
        return access
    if (access.order.acquires or access.order.releases) and kind == "relaxed":
        return access
    return replace(access, order=Order(kind), scope=max(scope, access.effective_scope or scope), cache=None)


def _total_cost(sites: list[Site], chosen: list[Strength]) -> int:
    total = 0
    for site, strength in zip(sites, chosen, strict=True):
        if strength is not None:
            kind, scope = strength
            total += SCOPE_COST[scope] + (FENCE_COST[FenceKind(kind)] if site.is_fence else ORDER_COST[Order(kind)])
    return total


def _describe_changes(sites: list[Site], chosen: list[Strength], test: Test) -> Iterator[str]:
    for site, strength in zip(sites, chosen, strict=True):
        if strength is None:
            continue
        old = test.threads[site.thread][site.index]
        if site.is_fence:
            fence = Fence(FenceKind(strength[0]), strength[1])
            yield f"P{site.thread}: {instruction_text(fence)} after {instruction_text(old)}"
        else:
            assert isinstance(old, (Load, Store, Atomic))
            new = replace(old, access=_strengthen_access(old.access, *strength))
            yield f"P{site.thread}: {instruction_text(old)} becomes {instruction_text(new)}"
