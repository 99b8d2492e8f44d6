"""A machine whose warps have one program counter, as before Volta.

Threads of a warp that take different ways at a branch are run one way after the other; those that went first wait where
the ways meet again (the immediate postdominator of the branch). Threads with different code part at the start and meet
at the end. Which way goes first is open. A step is one access of one thread, with the instructions on registers before
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.litmus.memory_types import initial_memory
from gpudiy.litmus.test import Test, Thread
from gpudiy.models.problems import Undecidable
from gpudiy.models.progress.barriers import Arrival, Arrivals, BarrierKey, add_arrival, is_complete, starts_anew
from gpudiy.models.progress.machine import Action, Memory, Program, Registers

Lanes = tuple[int, ...]  # threads


class WarpPath(NamedTuple):
    """Threads of a warp at one position, and the position at which they wait for others.

    `pending` are the threads that have still to run the access at this position, if some have run it.
    """

    position: int
    meeting: int
    lanes: Lanes
    pending: Lanes | None = None


class WarpPoint(NamedTuple):
    """The paths of a warp: only the last one runs. Without paths, threads of different code have still to part."""

    paths: tuple[WarpPath, ...] | None
    waiting: BarrierKey | None = None


class WarpState(NamedTuple):
    """All warps, the registers of all threads, and memory."""

    warps: tuple[WarpPoint, ...]
    registers: tuple[Registers, ...]
    memory: Memory
    arrivals: Arrivals = ()


Successor = tuple[tuple[Action, ...], WarpState]


class WarpMachine:
    """Runs a test warp by warp; the units that are scheduled are the warps."""

    def __init__(self, test: Test) -> None:
        self.programs = [Program(test, number) for number in range(len(test.threads))]
        self.meetings = [meeting_points(thread) for thread in test.threads]
        members: dict[int, list[int]] = {}
        for thread, placement in enumerate(test.scope_tree.placements):
            members.setdefault(placement.warp, []).append(thread)
        self.warps = [tuple(members[warp]) for warp in sorted(members)]
        locations = dict.fromkeys(test.memory_map.locations().values())
        self.initial = WarpState(
            tuple(self._start(test, lanes) for lanes in self.warps),
            tuple(program.initial for program in self.programs),
            tuple(initial_memory(test, location) for location in locations),
        )

    def is_finished(self, state: WarpState) -> bool:
        """Whether all threads have finished."""
        return all(point.paths == () for point in state.warps)

    def find_started(self, state: WarpState) -> frozenset[int]:
        """No guarantee for warps asks which of them took a step."""
        return frozenset()

    def successors(self, state: WarpState) -> Iterator[tuple[int, tuple[Action, ...], WarpState]]:
        """The steps of each warp that can take one: the warp, what its threads did, and the state behind it."""
        for warp, point in enumerate(state.warps):
            if point.paths is None:
                for order in permutations(self._different_code(self.warps[warp])):
                    paths = tuple(WarpPath(0, self._end(lanes[0]), lanes) for lanes in order)
                    yield warp, (Action(order[-1][0], 0),), self._with(state, warp, paths)
            elif point.paths and point.waiting is None:
                for actions, after in dict.fromkeys(self._step(state, warp, point.paths)):
                    yield warp, actions, after

    def _start(self, test: Test, lanes: Lanes) -> WarpPoint:
        if len(self._different_code(lanes)) > 1:
            return WarpPoint(None)
        return WarpPoint(self._settle((WarpPath(0, self._end(lanes[0]), lanes),)))

    def _different_code(self, lanes: Lanes) -> list[Lanes]:
        """The threads of a warp, together where they have the same code."""
        groups: dict[Thread, list[int]] = {}
        for lane in lanes:
            groups.setdefault(self.programs[lane].code, []).append(lane)
        return [tuple(group) for group in groups.values()]

    def _end(self, lane: int) -> int:
        return len(self.programs[lane].code)

    def _settle(self, paths: tuple[WarpPath, ...]) -> tuple[WarpPath, ...]:
        """The paths without those that have come to where they wait for others."""
        while paths and paths[-1].position == paths[-1].meeting:
            paths = paths[:-1]
        return paths

    def _with(
        self,
        state: WarpState,
        warp: int,
        paths: tuple[WarpPath, ...],
        registers: list[Registers] | None = None,
        memory: Memory | None = None,
        waiting: BarrierKey | None = None,
        arrivals: Arrivals | None = None,
    ) -> WarpState:
        warps = list(state.warps)
        warps[warp] = WarpPoint(self._settle(paths), waiting)
        return self._release(
            WarpState(
                tuple(warps),
                state.registers if registers is None else tuple(registers),
                state.memory if memory is None else memory,
                state.arrivals if arrivals is None else arrivals,
            )
        )

    def _step(self, state: WarpState, warp: int, paths: tuple[WarpPath, ...]) -> Iterator[Successor]:
        registers = list(state.registers)
        passed: set[int] = set()  # heads of loops: a step goes round a loop at most once
        actions = (Action(paths[-1].lanes[0], paths[-1].position),)
        while paths:
            *below, top = paths
            position, lanes = top.position, top.lanes
            program = self.programs[lanes[0]]
            instruction = program.code[position]
            if position in program.heads:
                if position in passed:
                    break
                passed.add(position)
            running = tuple(lane for lane in lanes if self.programs[lane].runs(instruction, registers[lane]))
            following = top._replace(position=position + 1)
            match instruction:
                case isa.Load() | isa.Store() | isa.Atomic() | isa.Reduce() if running:
                    for lane in running if top.pending is None else top.pending:
                        yield self._access(state, warp, paths, registers, instruction, lane, running)
                    return
                case isa.Barrier() if running:
                    yield self._arrive(state, warp, paths, registers, instruction, running)
                    return
                case isa.Branch(target=target) if running:
                    goal = program.labels[target]
                    others = tuple(lane for lane in lanes if lane not in running)
                    if others:
                        yield from self._diverge(state, warp, paths, registers, goal, running, others)
                        return
                    following = top._replace(position=goal)
                case isa.Alu() | isa.SetPredicate():
                    for lane in running:
                        registers[lane] = self.programs[lane].compute(instruction, registers[lane])
                case isa.ProxyFence():
                    raise Undecidable(f"`{instruction_text(instruction)}` of P{lanes[0]} has no meaning here")
                case (
                    isa.Fence()
                    | isa.Label()
                    | isa.Load()
                    | isa.Store()
                    | isa.Atomic()
                    | isa.Reduce()
                    | isa.Barrier()
                    | isa.Branch()
                ):
                    pass
            paths = self._settle((*below, following))
        yield actions, self._with(state, warp, paths, registers)

    def _access(
        self,
        state: WarpState,
        warp: int,
        paths: tuple[WarpPath, ...],
        registers: list[Registers],
        instruction: isa.MemoryInstruction,
        lane: int,
        running: Lanes,
    ) -> Successor:
        """One thread runs the access; behind the last one, the warp goes on."""
        *below, top = paths
        after = list(registers)
        after[lane], memory, value, _ = self.programs[lane].access(instruction, registers[lane], state.memory)
        left = tuple(other for other in (running if top.pending is None else top.pending) if other != lane)
        top = top._replace(pending=left) if left else top._replace(position=top.position + 1, pending=None)
        return (Action(lane, paths[-1].position, value),), self._with(state, warp, (*below, top), after, memory)

    def _diverge(
        self,
        state: WarpState,
        warp: int,
        paths: tuple[WarpPath, ...],
        registers: list[Registers],
        goal: int,
        taken: Lanes,
        others: Lanes,
    ) -> Iterator[Successor]:
        """Some threads take a branch, the others do not: either may go first."""
        *below, top = paths
        meeting = self.meetings[top.lanes[0]][top.position]
        ways = (WarpPath(goal, meeting, taken), WarpPath(top.position + 1, meeting, others))
        action = Action(top.lanes[0], top.position)
        for first, second in (ways, ways[::-1]):
            waiting = top._replace(position=meeting)
            split = tuple(way for way in (second, first) if way.position != meeting)
            yield (action,), self._with(state, warp, (*below, waiting, *split), registers)

    def _arrive(
        self,
        state: WarpState,
        warp: int,
        paths: tuple[WarpPath, ...],
        registers: list[Registers],
        barrier: isa.Barrier,
        running: Lanes,
    ) -> Successor:
        """A whole warp comes to a barrier; for a part of one, a barrier has no meaning before Volta."""
        *below, top = paths
        unfinished = {lane for path in paths for lane in path.lanes if path.position != self._end(lane)}
        arrivals = [self.programs[lane].barrier(barrier, registers[lane]) for lane in running]
        keys = {key for key, _ in arrivals}
        if set(running) != unfinished or len(keys) > 1:
            raise Undecidable(
                f"not all threads of a warp are at `{instruction_text(barrier)}` of P{top.lanes[0]}:"
                " before Volta that has no meaning"
            )
        known = state.arrivals
        for key, arrival in arrivals:
            known = add_arrival(known, key, arrival)
        action = Action(top.lanes[0], top.position)
        if not barrier.mode.waits:
            top = top._replace(position=top.position + 1)
            return (action,), self._with(state, warp, (*below, top), registers, arrivals=known)
        return (action,), self._with(state, warp, paths, registers, waiting=keys.pop(), arrivals=known)

    def _release(self, state: WarpState) -> WarpState:
        """The state in which warps have left the barriers that are complete."""
        left: list[tuple[BarrierKey, tuple[Arrival, ...]]] = []
        warps = list(state.warps)
        for key, arrived in state.arrivals:
            awaited = [lane for lane in self._list_unfinished(state) if self.programs[lane].is_awaited_at(key)]
            complete = is_complete(arrived, awaited)
            if not complete or not starts_anew(key, arrived):
                left.append((key, arrived))
            if not complete:
                continue
            for warp, point in enumerate(warps):
                if point.waiting == key and point.paths:
                    *below, top = point.paths
                    warps[warp] = WarpPoint(self._settle((*below, top._replace(position=top.position + 1))))
        after = state._replace(warps=tuple(warps), arrivals=tuple(left))
        return state if after == state else self._release(after)

    def _list_unfinished(self, state: WarpState) -> Iterator[int]:
        for warp, point in enumerate(state.warps):
            if point.paths is None:
                yield from self.warps[warp]
                continue
            found = {lane for path in point.paths for lane in path.lanes if path.position != self._end(lane)}
            yield from sorted(found)


def meeting_points(code: Thread) -> list[int]:
    """For each position the next one that every way from it to the end goes through.

    It is the end, behind the last instruction, where no way leads there.
    """
    end = len(code)
    labels = {each.name: index for index, each in enumerate(code) if isinstance(each, isa.Label)}
    following: list[set[int]] = []
    for index, instruction in enumerate(code):
        targets = {index + 1}
        if isinstance(instruction, isa.Branch):
            targets = {labels[instruction.target]} | (targets if isa.guard_of(instruction) is not None else set())
        following.append(targets)
    everything = set(range(end + 1))
    certain = [set(everything) for _ in code] + [{end}]  # the positions on every way from each position
    changed = True
    while changed:
        changed = False
        for index in range(end - 1, -1, -1):
            now = {index} | set.intersection(*(certain[target] for target in following[index]))
            changed = changed or now != certain[index]
            certain[index] = now
    ending = {end}
    while more := {index for index in range(end) if index not in ending and following[index] & ending}:
        ending |= more
    return [
        max(certain[index] - {index}, key=lambda other: len(certain[other])) if index in ending else end
        for index in range(end)
    ]
