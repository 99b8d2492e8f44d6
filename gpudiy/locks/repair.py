"""The weakest changes to a lock after which the models forbid every outcome in question.

A fence can be added at either end of the critical section and before the access that releases the lock; every access
and every fence of the lock can be made stronger. Combinations are tried in the order of their cost. A combination that
is weaker than a refuted one is not tried; one that is stronger than a good one is not minimal.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from gpudiy.errors import InputError
from gpudiy.litmus.access import MEMBAR_SCOPES
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.instruction import Atomic, Fence, Load, Reduce, Store
from gpudiy.litmus.test import Test
from gpudiy.locks.generation import Case, build_lock_test, list_cases
from gpudiy.locks.judge import LIMIT, is_asked, simplify_case
from gpudiy.locks.lock import Lock
from gpudiy.locks.lock_program import LockProgram, read_statement
from gpudiy.locks.patch import can_rewrite
from gpudiy.locks.path import AccessStep, FenceStep
from gpudiy.locks.strength import UNUSED, Strength, StrengthKind, fence_text, strength_of, strengthen
from gpudiy.models.model import Model
from gpudiy.models.verdict import Answer, Verdict, decide

REPAIR_SCOPES = MEMBAR_SCOPES  # those that every kind of fence can have
Choice = tuple[Strength | None, ...]  # the new strength of every site; None: unchanged

MOST_REPAIRS = 3
MOST_TRIED = 60_000  # combinations, most of which need no verdict


@dataclass(frozen=True, slots=True)
class RepairSite:
    """A place that can be made stronger: a new fence before a statement (`inserted`), or the statement itself."""

    position: int
    inserted: bool
    now: Strength | None
    options: tuple[Strength, ...]  # the cheapest first


@dataclass(frozen=True, slots=True)
class Change:
    """A site and its new strength."""

    site: RepairSite
    strength: Strength

    @property
    def cost(self) -> int:
        return self.strength.cost - (0 if self.site.now is None else self.site.now.cost)

    def text(self, program: LockProgram) -> str:
        """The change in words."""
        statement = program.statements[self.site.position]
        line = statement.place.line
        place = f"line {line}: " if line else ""
        if self.site.inserted:
            fence = fence_text(self.strength)
            at = self.site.position
            where = (
                "before the critical section" if at == program.hole
                else "after the critical section" if at == program.hole + 1 else f"before `{statement.text}`"
            )  # fmt: skip
            return f"{place}{fence} {where}"
        new = re.sub(rf"{UNUSED}\d+", "_", strengthen(statement, self.strength).text)
        return f"{place}`{statement.text}` becomes `{new}`"


@dataclass(frozen=True, slots=True)
class LockRepair:
    """Changes after which the models forbid every outcome in question; nothing weaker does."""

    changes: tuple[Change, ...]
    lock: Lock

    @property
    def cost(self) -> int:
        return sum(change.cost for change in self.changes)


@dataclass(slots=True)
class Repairer:
    """Searches repairs of one lock under some models."""

    lock: Lock
    models: tuple[Model, ...]
    verdicts: dict[tuple[str, str], Verdict] = field(default_factory=dict)
    watch: Callable[[Iterator[Choice]], Iterator[Choice]] = iter  # yields every choice when it is tried
    order: list[tuple[int, int]] = field(default_factory=list)  # case and model; the pair that refuted last comes first

    def __post_init__(self) -> None:
        asked = self._list_cases(self.lock)
        small_first = sorted(range(len(asked)), key=lambda number: asked[number].threads)
        self.order = [(number, index) for number in small_first for index in range(len(self.models))]

    def find_repairs(self, most: int = MOST_REPAIRS) -> list[LockRepair]:
        """The cheapest minimal repairs; one without changes if the lock is right, none if nothing helps."""
        sites = list(self.find_sites())
        nothing: Choice = (None,) * len(sites)
        if self.holds(self.lock):
            return [LockRepair((), self.lock)]
        good: list[Choice] = []
        bad = [self._raise_choice(sites, nothing)]
        for chosen in self.watch(_by_cost(sites)):
            if len(good) == most:
                break
            if any(_includes(chosen, known) for known in good):
                continue
            if any(_includes(known, chosen) for known in reversed(bad)):
                continue
            if self._is_good(sites, chosen):
                good.append(chosen)
            else:
                bad.append(self._raise_choice(sites, chosen))
        return [self._repair(sites, chosen) for chosen in good]

    def find_unsupported(self) -> str | None:
        """Why a model does not support the lock, if one does not: then it cannot be repaired by this model."""
        for case in self._list_cases(self.lock):
            made = build_lock_test(case)
            for model in self.models:
                if made is None or not is_asked(case, model):
                    continue
                verdict = self._verdict(made.test, model)
                if verdict.answer is Answer.NOT_SUPPORTED:
                    return verdict.reason
        return None

    def holds(self, lock: Lock) -> bool:
        """Whether all models forbid every outcome in question."""
        asked = self._list_cases(lock)
        known = {number for number, _ in self.order}
        new = [number for number in range(len(asked)) if number not in known]
        for place in [*self.order, *((number, index) for number in new for index in range(len(self.models)))]:
            number, index = place
            if number < len(asked) and not self._is_forbidden(asked[number], self.models[index]):
                if place in self.order:
                    self.order.remove(place)
                    self.order.insert(0, place)
                return False
        return True

    def find_sites(self) -> Iterator[RepairSite]:
        """Every place that can be made stronger in the language of the source and for the models."""
        program, path = self.lock.program, self.lock.direct
        hole = program.hole
        for position in dict.fromkeys((hole, hole + 1, *self._find_before_release())):
            options = self._keep_rewritable(
                position, True, [Strength(k, s) for k in self._fence_kinds() for s in REPAIR_SCOPES]
            )
            if options:
                yield RepairSite(position, True, None, options)
        states = self._state_variables()
        for step in path.steps:
            if (isinstance(step, FenceStep) and isinstance(step.instruction, Fence)) or (
                isinstance(step, AccessStep) and step.variable in states
            ):
                now = strength_of(program.statements[step.position])
                stronger = [
                    s for s in self._list_candidates(step) if s.includes(now) and s != now and not now.includes(s)
                ]
                options = self._keep_rewritable(step.position, False, stronger)
                if options:
                    yield RepairSite(step.position, False, now, options)

    def _keep_rewritable(self, position: int, inserted: bool, strengths: list[Strength]) -> tuple[Strength, ...]:
        able = [s for s in strengths if can_rewrite(self.lock.program, position, inserted, s)]
        return tuple(sorted(able, key=lambda strength: strength.cost))

    def _state_variables(self) -> frozenset[str]:
        """The variables that the lock writes."""
        return frozenset(
            step.variable for path in self.lock.paths for step in path.steps
            if isinstance(step, AccessStep) and step.writes
        )  # fmt: skip

    def _find_before_release(self) -> list[int]:
        released, path = self.lock.release_variables(), self.lock.direct
        accesses = [step for step in path.steps[path.hole :] if isinstance(step, AccessStep)]
        writes = [s.position for s in accesses if s.writes and s.variable in released]
        return writes[-1:] if len(accesses) > 1 else []

    @property
    def _modern(self) -> bool:
        """Whether all models support orders and scopes of accesses."""
        return all("ACQ" in model.inputs and "scoped" in model.inputs for model in self.models)

    def _fence_kinds(self) -> tuple[StrengthKind, ...]:
        if not self._modern:
            return (StrengthKind.MEMBAR,)
        return (StrengthKind.FENCE_ACQ_REL, StrengthKind.MEMBAR if self.lock.program.is_cuda else StrengthKind.FENCE_SC)

    def _list_candidates(self, step: AccessStep | FenceStep) -> Iterator[Strength]:
        if isinstance(step, FenceStep):
            now = strength_of(self.lock.program.statements[step.position])
            yield from (Strength(kind, scope) for kind in {now.kind, *self._fence_kinds()} for scope in REPAIR_SCOPES)
            return
        atomic = isinstance(step.instruction, (Atomic, Reduce))
        kinds = _kinds_of(step) if self._modern else (StrengthKind.RELAXED,) if atomic else ()
        yield from (Strength(kind, scope) for kind in kinds for scope in REPAIR_SCOPES)
        if not atomic:
            yield Strength(StrengthKind.VOLATILE, REPAIR_SCOPES[-1])
            yield from (Strength(StrengthKind.ATOMIC, scope) for scope in REPAIR_SCOPES)

    def _raise_choice(self, sites: Sequence[RepairSite], chosen: Choice) -> Choice:
        """A bad choice, made as strong as possible while the same test refutes it: so it rules out more choices."""
        number, index = self.order[0]
        for place, site in enumerate(sites):
            for option in reversed(site.options):
                now = chosen[place]
                if option == now or (now is not None and not option.includes(now)):
                    continue
                raised = (*chosen[:place], option, *chosen[place + 1 :])
                if not self._is_forbidden(
                    self._list_cases(self._repair(sites, raised).lock)[number], self.models[index]
                ):
                    chosen = raised
                    break
        return chosen

    def _is_good(self, sites: Sequence[RepairSite], chosen: Sequence[Strength | None]) -> bool:
        try:
            return self.holds(self._repair(sites, chosen).lock)
        except InputError:
            return False

    def _repair(self, sites: Sequence[RepairSite], chosen: Sequence[Strength | None]) -> LockRepair:
        changes = tuple(Change(site, s) for site, s in zip(sites, chosen, strict=True) if s is not None)
        return LockRepair(changes, self.apply_changes(changes))

    def apply_changes(self, changes: Sequence[Change]) -> Lock:
        """The lock with the changes made in its program."""
        program = self.lock.program
        for change in sorted(changes, key=lambda c: (c.site.position, not c.site.inserted), reverse=True):
            position = change.site.position
            if change.site.inserted:
                fence = read_statement(fence_text(change.strength), program.statements[position].place)
                program = program.insert(position, fence)
            else:
                program = program.exchange(position, strengthen(program.statements[position], change.strength))
        return self.lock.change(program)

    def _list_cases(self, lock: Lock) -> list[Case]:
        """The cases of a lock, one for all that are the same to the models."""
        found: dict[tuple[object, ...], Case] = {}
        for case in list_cases(lock):
            plain = simplify_case(case, self.models)
            found.setdefault(plain.key, plain)
        return list(found.values())

    def _is_forbidden(self, case: Case, model: Model) -> bool:
        made = build_lock_test(case) if is_asked(case, model) else None
        return made is None or self._verdict(made.test, model).forbidden

    def _verdict(self, test: Test, model: Model) -> Verdict:
        key = (content_hash(test), model.name)
        if key not in self.verdicts:
            self.verdicts[key] = decide(test, model, limit=LIMIT)
        return self.verdicts[key]


def _kinds_of(step: AccessStep) -> tuple[StrengthKind, ...]:
    """The orders that an access can have."""
    relaxed, acquire, release = StrengthKind.RELAXED, StrengthKind.ACQUIRE, StrengthKind.RELEASE
    match step.instruction:
        case Load():
            return (relaxed, acquire)
        case Store() | Reduce():
            return (relaxed, release)
        case Atomic():
            return (relaxed, acquire, release, StrengthKind.ACQ_REL)


def _includes(one: Sequence[Strength | None], other: Sequence[Strength | None]) -> bool:
    """Whether one choice is everywhere at least as strong as another."""
    return all(
        weaker is None or (stronger is not None and stronger.includes(weaker))
        for stronger, weaker in zip(one, other, strict=True)
    )


def _by_cost(sites: Sequence[RepairSite]) -> Iterator[Choice]:
    """All choices in the order of their cost; of equal cost those with fewer changes first."""
    costs = [(0, *(Change(site, option).cost for option in site.options)) for site in sites]
    start = (0,) * len(sites)
    waiting, seen = [(0, 0, start, start)], {start}
    for _ in range(MOST_TRIED):
        if not waiting:
            return
        cost, _, _, places = heapq.heappop(waiting)
        yield tuple(None if not place else site.options[place - 1] for site, place in zip(sites, places, strict=True))
        for index, place in enumerate(places):
            if place + 1 < len(costs[index]):
                following = (*places[:index], place + 1, *places[index + 1 :])
                if following not in seen:
                    seen.add(following)
                    dearer = cost - costs[index][place] + costs[index][place + 1]
                    early = tuple(-place for place in following)  # then those that change earlier sites
                    heapq.heappush(waiting, (dearer, sum(map(bool, following)), early, following))
