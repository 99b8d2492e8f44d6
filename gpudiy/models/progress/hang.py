"""Runs of a machine that never end: all states that can be reached, and the cycles among them."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from gpudiy.models.problems import OutOfTime
from gpudiy.models.progress.guarantee import EndlessRun
from gpudiy.models.progress.machine import Action

MOST_STATES = 200_000

State = TypeVar("State", bound=Hashable)
Edge = tuple[int, tuple[Action, ...], int]  # the unit that steps, what is done, the state behind it


class Machine(Protocol[State]):
    """What runs a test; a unit is what is scheduled, a thread or a warp."""

    initial: State

    def is_finished(self, state: State) -> bool: ...

    def find_started(self, state: State) -> frozenset[int]: ...

    def successors(self, state: State) -> Iterator[tuple[int, tuple[Action, ...], State]]: ...


class TooManyStates(Exception):
    """More states than are looked at can be reached."""


@dataclass(frozen=True, slots=True)
class Hang:
    """A run that does not end: steps that lead to a state, and steps that lead from there back to it.

    Without a cycle no thread can take a step. `run` is in terms of the units that are scheduled.
    """

    stem: tuple[Action, ...]
    cycle: tuple[Action, ...]
    run: EndlessRun


class StateGraph:
    """All states that a machine can reach; state 0 is the first."""

    def __init__(self, machine: Machine[State], deadline: float | None) -> None:
        numbers: dict[State, int] = {machine.initial: 0}
        self.edges: list[list[Edge]] = []
        self.before: list[tuple[int, tuple[Action, ...]] | None] = [None]  # how each state was first reached
        self.finished: list[bool] = []
        self.started: list[frozenset[int]] = []
        pending = [machine.initial]
        for number, state in enumerate(pending):  # it grows: breadth first
            if deadline is not None and number % 64 == 0 and time.monotonic() > deadline:
                raise OutOfTime
            self.finished.append(machine.is_finished(state))
            self.started.append(machine.find_started(state))
            edges: list[Edge] = []
            for unit, actions, after in machine.successors(state):
                if after not in numbers:
                    if len(numbers) == MOST_STATES:
                        raise TooManyStates
                    numbers[after] = len(numbers)
                    pending.append(after)
                    self.before.append((number, actions))
                edges.append((unit, actions, numbers[after]))
            self.edges.append(edges)

    def find_hang(self, permits: Callable[[EndlessRun], bool]) -> Hang | None:
        """A run that never ends and that the scheduler may show: the one that is reached in the fewest steps."""
        best: tuple[int, list[int], EndlessRun] | None = None
        for component in components([[after for _, _, after in edges] for edges in self.edges]):
            first = min(component)
            if best is not None and first > best[0]:
                continue
            run = self._endless_run(component)
            if run is not None and permits(run):
                best = first, component, run
        if best is None:
            return None
        first, component, run = best
        return Hang(self._stem(first), self._cycle(first, set(component), run.running), run)

    def _endless_run(self, component: list[int]) -> EndlessRun | None:
        """The run that goes on taking all steps inside a strongly connected component; None if all units finish."""
        inside = set(component)
        edges = [edge for state in component for edge in self.edges[state]]
        running = frozenset(unit for unit, _, after in edges if after in inside)
        can_step = frozenset(unit for unit, _, _ in edges)
        first = component[0]
        if not running and (can_step or self.finished[first]):
            return None
        return EndlessRun(running, can_step - running, self.started[first])

    def _stem(self, state: int) -> tuple[Action, ...]:
        found: list[Action] = []
        while (before := self.before[state]) is not None:
            state, actions = before
            found += reversed(actions)
        return tuple(reversed(found))

    def _cycle(self, start: int, inside: set[int], units: frozenset[int]) -> tuple[Action, ...]:
        """Steps inside a component from a state back to it, with a step of each unit that steps for ever."""
        found: list[Action] = []
        state, missing = start, set(units)
        while missing:
            path = self._path(state, inside, lambda edge: edge[0] in missing)
            for unit, actions, after in path:
                missing.discard(unit)
                found += actions
                state = after
        if units and state != start:
            for _, actions, _ in self._path(state, inside, lambda edge: edge[2] == start):
                found += actions
        return tuple(found)

    def _path(self, start: int, inside: set[int], is_last: Callable[[Edge], bool]) -> list[Edge]:
        """The shortest way inside a component that ends in such a step."""
        ways: dict[int, list[Edge]] = {start: []}
        front = [start]
        for state in front:
            for edge in self.edges[state]:
                if edge[2] not in inside:
                    continue
                way = [*ways[state], edge]
                if is_last(edge):
                    return way
                if edge[2] not in ways:
                    ways[edge[2]] = way
                    front.append(edge[2])
        raise AssertionError("a component is strongly connected")


def components(following: list[list[int]]) -> Iterator[list[int]]:
    """The strongly connected components of a graph (Tarjan)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in range(len(following)):
        if root in index:
            continue
        work = [(root, 0)]
        while work:
            node, place = work.pop()
            if place == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            for number in range(place, len(following[node])):
                after = following[node][number]
                if after not in index:
                    work += [(node, number + 1), (after, 0)]
                    break
                if after in on_stack:
                    low[node] = min(low[node], low[after])
            else:
                if low[node] == index[node]:
                    members: list[int] = []
                    while not members or members[-1] != node:
                        members.append(stack.pop())
                        on_stack.discard(members[-1])
                    yield members
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
