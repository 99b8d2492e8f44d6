"""`Lock`: the program of a lock, its paths, and what threads do that use it one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpudiy.litmus.access import Space
from gpudiy.locks.lock_program import LockProgram
from gpudiy.locks.path import AccessStep, DecisionStep, LockPath
from gpudiy.locks.walk import Walker

TURNS = 3
FREE = (0, 1, -1)  # possible values of a free lock, tried in this order
MOST_RETRIES = 2


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
    """A lock with its paths. `retries` are paths of a thread whose first attempt fails."""

    name: str
    program: LockProgram
    turns: tuple[Turn, ...]
    retries: tuple[LockPath, ...]
    paths: tuple[LockPath, ...]
    variables: Mapping[str, int]  # with their widths in bits

    @property
    def direct(self) -> LockPath:
        return self.turns[0].path

    def change(self, program: LockProgram) -> Lock:
        """The lock with another program, which must start from the same memory."""
        return follow_lock(self.name, program, self.turns[0].before)

    def release_variables(self) -> tuple[str, ...]:
        """The variables that the release writes."""
        path = self.direct
        steps = path.steps[path.hole :]
        written = [s.variable for s in steps if isinstance(s, AccessStep) and s.writes]
        return tuple(dict.fromkeys(written))

    @property
    def spaces(self) -> tuple[Space, ...]:
        """The spaces where the lock can be: all of them, or the one that its source declares."""
        variables = self.program.variables
        declared = {variables[name].space for name in self.release_variables() if name in variables}
        fixed = [space for space in declared if space is not None]
        return tuple(fixed[:1]) if fixed else tuple(Space)


def follow_lock(name: str, program: LockProgram, initial: Mapping[str, int] | None = None) -> Lock:
    """Find the paths of a lock; raise `InputError` at an instruction that is not supported."""
    walker = Walker(program)
    paths = walker.find_paths()
    if not any(path.entered for path in paths):
        raise program.error(program.hole, "this lock never acquires: no path reaches its critical section")
    if not any(isinstance(step, AccessStep) for path in paths for step in path.steps):
        raise program.error(program.hole, "no lock found: nothing here accesses memory that threads share")
    first = _first_turn(walker, initial)
    turns = [_make_turn(walker, paths, first, _start(walker, initial, first))]
    while len(turns) < TURNS:
        before = turns[-1].after
        run = walker.run(len(turns), before, {})
        if run is None:
            problem = "this lock is never released: after one thread has used it, no other thread enters"
            raise program.error(program.hole, problem)
        turns.append(_make_turn(walker, paths, run, before))
    direct = turns[0].path
    retries = [
        path
        for path in paths
        if path.entered and path.released == direct.released and not _same_decisions(path, direct)
        and path.count_accesses_before() > direct.count_accesses_before()
    ]  # fmt: skip
    return Lock(name, program, tuple(turns), tuple(retries[:MOST_RETRIES]), tuple(paths), dict(walker.variables))


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
