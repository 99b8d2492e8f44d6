"""The control flow of a lock program: successors, loops, and where the two ways of a branch join."""

from __future__ import annotations

from functools import cached_property

from gpudiy.errors import near_name
from gpudiy.litmus.instruction import Branch
from gpudiy.locks.lock_program import LockProgram, ends_thread


class Flow:
    """The successors of every statement; the position after the last statement is the end.

    For `join`, an edge that closes a loop leads to the end: a failed attempt ends there.
    """

    def __init__(self, program: LockProgram) -> None:
        self.program = program
        self.end = len(program.statements)
        self.after = [self._successors(position) for position in range(self.end)]
        self.back_edges = self._find_back_edges()

    def target(self, position: int) -> int:
        """The position that a branch jumps to."""
        branch = self.program.statements[position].instruction
        assert isinstance(branch, Branch)
        if branch.target not in self.program.labels:
            hint = near_name(branch.target, sorted(self.program.labels))
            raise self.program.error(position, f"unknown label {branch.target}", hint)
        return self.program.labels[branch.target]

    def join(self, position: int) -> int:
        """Where both ways of a branch join: the nearest statement that all ways from it reach."""
        return self._joins.get(position, self.end)

    def loop_of(self, edge: tuple[int, int]) -> frozenset[int]:
        """The statements of the loop that an edge closes: those that reach its source without passing its head."""
        source, head = edge
        before: dict[int, list[int]] = {}
        for position, following in enumerate(self.after):
            for target in following:
                before.setdefault(target, []).append(position)
        loop, waiting = {head, source}, [source]
        while waiting:
            position = waiting.pop()
            if position == head:
                continue
            for earlier in before.get(position, ()):
                if earlier not in loop:
                    loop.add(earlier)
                    waiting.append(earlier)
        return frozenset(loop)

    def _successors(self, position: int) -> tuple[int, ...]:
        statement = self.program.statements[position]
        guarded = statement.guard is not None
        if isinstance(statement.instruction, Branch):
            target = self.target(position)
            return (target,) if not guarded else tuple(dict.fromkeys((position + 1, target)))
        if ends_thread(statement):
            return (self.end,) if not guarded else (position + 1, self.end)
        return (position + 1,)

    def _find_back_edges(self) -> frozenset[tuple[int, int]]:
        """The edges to a statement that is still open in a depth-first search."""
        found, open_, seen = set(), set(), set()
        stack = [(0, iter(self.after[0] if self.after else ()))]
        open_.add(0)
        seen.add(0)
        while stack:
            position, following = stack[-1]
            target = next(following, None)
            if target is None:
                open_.discard(position)
                stack.pop()
            elif target in open_:
                found.add((position, target))
            elif target not in seen and target < self.end:
                seen.add(target)
                open_.add(target)
                stack.append((target, iter(self.after[target])))
        return frozenset(found)

    @cached_property
    def _joins(self) -> dict[int, int]:
        everything = frozenset(range(self.end + 1))
        reach: list[frozenset[int]] = [everything] * self.end + [frozenset((self.end,))]
        changed = True
        while changed:
            changed = False
            for position in reversed(range(self.end)):
                ways = [self.end if (position, to) in self.back_edges else to for to in self.after[position]]
                new = frozenset((position,)).union(everything.intersection(*(reach[way] for way in ways)))
                if new != reach[position]:
                    reach[position], changed = new, True
        # Of all statements that a branch always reaches, the nearest is the one that reaches all others.
        return {
            position: max(reach[position] - {position}, key=lambda place: len(reach[place]), default=self.end)
            for position in range(self.end)
        }
