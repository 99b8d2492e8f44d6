"""`Lock`: the program of a lock, its paths and ways, and what threads do that use it one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpudiy.litmus.access import Space
from gpudiy.locks.lock_program import LockProgram
from gpudiy.locks.path import AccessStep, DecisionStep, LockPath
from gpudiy.locks.placement import WidestPlacement
from gpudiy.locks.silence import Values, is_silent, list_values
from gpudiy.locks.walk import Walker
from gpudiy.locks.ways import Gap, WayFinder, is_covered
from gpudiy.ptx import PtxSpace

TURNS = 3
FREE = (0, 1, -1)  # possible values of a free lock, tried in this order
MOST_RETRIES = 2
MOST_OTHER_WAYS = 3
NEVER_RELEASED = "this lock is never released: after one thread has used it, no other thread enters"


@dataclass(frozen=True, slots=True)
class Turn:
    """One thread that uses the lock alone: its path, the values it read, and memory before, inside and after."""

    path: LockPath
    values: tuple[int, ...]
    given: Mapping[str, int]
    before: Mapping[str, int]
    held: Mapping[str, int]
    after: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock with its paths. `retries` are paths of a thread whose first attempt fails.

    `ways` are the ways into the critical section other than the direct one, such as giving up; `passers` are those that
    pass it by and yet change the lock; `gaps` is what no test covers, and `fault` what is wrong without any test.
    """

    name: str
    program: LockProgram
    turns: tuple[Turn, ...]
    retries: tuple[LockPath, ...]
    paths: tuple[LockPath, ...]
    variables: Mapping[str, int]  # with their widths in bits
    ways: tuple[LockPath, ...] = ()
    passers: tuple[LockPath, ...] = ()
    gaps: tuple[Gap, ...] = ()
    fault: str = ""
    intent: WidestPlacement | None = None

    @property
    def direct(self) -> LockPath:
        return self.turns[0].path

    def change(self, program: LockProgram) -> Lock:
        """The lock with another program, which must start from the same memory."""
        return follow_lock(self.name, program, self.turns[0].before, self.intent)

    def release_variables(self) -> tuple[str, ...]:
        """The variables that the release writes."""
        path = self.direct
        steps = path.steps[path.hole :]
        written = [s.variable for s in steps if isinstance(s, AccessStep) and s.writes]
        return tuple(dict.fromkeys(written))

    @property
    def spaces(self) -> tuple[Space, ...]:
        """The spaces where the lock can be: all of them, or the one that its source declares."""
        known = self.known_spaces
        if Space.SHARED in known.values():
            return (Space.SHARED,)
        return (Space.GLOBAL,) if any(name in known for name in self.release_variables()) else tuple(Space)

    @property
    def known_spaces(self) -> dict[str, Space]:
        """The spaces of the variables that the source declares or the accesses name; shared where both occur."""
        found = {name: v.space for name, v in self.program.variables.items() if v.space and name in self.variables}
        for path in self.paths:
            for step in path.steps:
                if isinstance(step, AccessStep) and self.program.statements[step.position].space is PtxSpace.SHARED:
                    found[step.variable] = Space.SHARED
        return found

    @property
    def placement(self) -> WidestPlacement:
        """How far apart the threads of the lock can be: what its author says, else what its space allows."""
        if self.intent is not None:
            return self.intent
        return WidestPlacement.CTA if Space.SHARED in self.spaces and len(self.spaces) == 1 else WidestPlacement.GPU


def follow_lock(
    name: str,
    program: LockProgram,
    initial: Mapping[str, int] | None = None,
    intent: WidestPlacement | None = None,
) -> Lock:
    """Find the paths of a lock; raise `InputError` at an instruction that is not supported."""
    walker = Walker(program)
    paths = walker.find_paths()
    if not any(path.entered for path in paths):
        raise program.error(program.hole, "this lock never acquires: no path reaches its critical section")
    if not any(isinstance(step, AccessStep) for path in paths for step in path.steps):
        raise program.error(program.hole, "no lock found: nothing here accesses memory that threads share")
    first = _first_turn(walker, initial)
    turns = [_make_turn(walker, paths, first, _start(walker, initial, first))]
    fault = ""
    while len(turns) < TURNS:
        before = turns[-1].after
        run = walker.run(len(turns), before, {})
        if run is None:
            fault = NEVER_RELEASED
            turns += [turns[0]] * (TURNS - len(turns))
            break
        turns.append(_make_turn(walker, paths, run, before))
    direct = turns[0].path
    retries = [
        path
        for path in paths
        if path.entered and path.released == direct.released and not _same_decisions(path, direct)
        and path.count_accesses_before() > direct.count_accesses_before()
    ]  # fmt: skip
    ways, passers, gaps = _find_ways(walker, paths, turns)
    lock = Lock(name, program, tuple(turns), tuple(retries[:MOST_RETRIES]), tuple(paths), dict(walker.variables),
                ways, passers, gaps, fault, intent)  # fmt: skip
    if lock.spaces == (Space.SHARED,) and lock.placement > WidestPlacement.CTA:
        problem = f"this lock is in shared memory, which belongs to one CTA: it has no placement {lock.placement.word}"
        raise program.error(program.hole, problem, "use --placement cta, or --placement warp")
    return lock


def _find_ways(
    walker: Walker, paths: list[LockPath], turns: list[Turn]
) -> tuple[tuple[LockPath, ...], tuple[LockPath, ...], tuple[Gap, ...]]:
    """The other ways into the critical section, those that pass it by and change something, and what is not covered."""
    start = turns[0].before
    values, known = list_values(paths, start), None
    while values != known:  # the ways may write more than the paths
        finder, known = WayFinder(walker, values), values
        found = finder.find_ways()
        values = list_values([*paths, *found], start)
    direct = turns[0].path
    others: list[LockPath] = []
    for way in found:
        if way.entered and not any(_adds_nothing(way, other, values) for other in (direct, *others)):
            others.append(way)
    gaps = list(finder.gaps.values())
    if len(others) > MOST_OTHER_WAYS:
        gaps.append(Gap(0, f"{len(others) + 1} ways lead into the critical section: not all of them are asked"))
    if any(way.acquired != direct.acquired and way.released != direct.released for way in others):
        gaps.append(Gap(0, "the release depends on the way in which the lock was taken"))
    passers = [way for way in found if not way.entered and _changes(way, 0, values)]
    if len(passers) > MOST_OTHER_WAYS:
        gaps.append(Gap(0, f"{len(passers)} ways change the lock without entering: not all of them are asked"))
    return tuple(others[:MOST_OTHER_WAYS]), tuple(passers[:MOST_OTHER_WAYS]), tuple(gaps)


def _adds_nothing(way: LockPath, other: LockPath, values: Values) -> bool:
    """Whether a way shows nothing that another one does not; one that never releases the lock is a taker of it."""
    if _changes(way, way.hole, values):
        return is_covered(way, other, values)
    taking, taking_other = (replace(path, steps=path.steps[: path.hole + 1]) for path in (way, other))
    return is_covered(taking, taking_other, values)


def _changes(way: LockPath, start: int, values: Values) -> bool:
    """Whether the steps of a way from a certain one on change what other threads see."""
    facts = [step.compared for step in way.steps if isinstance(step, DecisionStep)]
    return any(isinstance(s, AccessStep) and not is_silent(s, facts, values) for s in way.steps[start:])


def _same_decisions(path: LockPath, direct: LockPath) -> bool:
    return [s for s in path.steps if isinstance(s, DecisionStep)] == [
        s for s in direct.steps if isinstance(s, DecisionStep)
    ]


def _start(walker: Walker, initial: Mapping[str, int] | None, first: LockPath) -> dict[str, int]:
    return {**dict.fromkeys(walker.variables, 0), **dict(first.given_memory), **(initial or {})}


def _first_turn(walker: Walker, initial: Mapping[str, int] | None) -> LockPath:
    """The path of a thread that runs alone from memory in which the lock is free."""
    program = walker.program
    known = {name: v.initial for name, v in program.variables.items() if v.initial is not None}
    known |= dict(initial or {})
    for free in FREE:
        memory = {**dict.fromkeys(walker.variables, free), **known}
        run = walker.run(0, memory, {})
        if run is not None:
            return replace(run, given_memory=tuple(memory.items()))
    tried = ", ".join(map(str, FREE))
    at = next((path.acquired[-1] for path in walker.find_paths() if path.entered and path.acquired), program.hole)
    looked = next((s.position for path in walker.find_paths() for s in path.steps if isinstance(s, AccessStep)), at)
    raise program.error(
        looked, f"this lock never acquires: a thread that is alone does not enter, whether memory holds {tried}",
        "if a free lock has another value, name it: --init NAME=VALUE",
    )  # fmt: skip


def _make_turn(walker: Walker, paths: list[LockPath], run: LockPath, before: Mapping[str, int]) -> Turn:
    """The turn of a thread that ran alone, with the path it took."""
    path = next((p for p in paths if (p.acquired, p.released) == (run.acquired, run.released)), None)
    if path is None:
        problem = "a thread that is alone repeats a loop before it enters: such a lock is not supported"
        raise walker.program.error(walker.program.hole, problem)
    return Turn(path, run.values, dict(run.given), dict(before), dict(run.held), dict(run.memory))
