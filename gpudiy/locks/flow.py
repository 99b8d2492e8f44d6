"""Where control can go in a program, and where what a branch decides comes together again."""

from __future__ import annotations

from functools import lru_cache

from gpudiy.errors import near_name
from gpudiy.litmus.instruction import Branch
from gpudiy.locks.lock_program import LockProgram, ends_thread


class Flow:
    """The successors of every statement. The number after the last one is the end.

    To `join`, edges that close a loop lead to the end: an attempt that fails is over.
    """

    def __init__(self, program: LockProgram) -> None:
        self.program = program
        self.end = len(program.statements)
        self.after = [self._successors(position) for position in range(self.end)]
        self.back_edges = self._back_edges()

    def target(self, position: int) -> int:
        """The position that a branch leads to."""
        branch = self.program.statements[position].instruction
        assert isinstance(branch, Branch)
        if branch.target not in self.program.labels:
            hint = near_name(branch.target, sorted(self.program.labels))
            raise self.program.error(position, f"there is no label {branch.target}", hint)
        return self.program.labels[branch.target]

    def join(self, position: int) -> int:
        """Where both ways of a branch come together: the nearest statement that all ways from it reach."""
        return self._joins().get(position, self.end)

    def loop_of(self, edge: tuple[int, int]) -> frozenset[int]:
        """The statements of the loop that an edge closes: all that reach its source without passing its head."""
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

    def _back_edges(self) -> frozenset[tuple[int, int]]:
        """Edges to a statement that the search is still below."""
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

    def _joins(self) -> dict[int, int]:
        return _joins(self)


@lru_cache(64)
def _joins(flow: Flow) -> dict[int, int]:
    everything = frozenset(range(flow.end + 1))
    reach: list[frozenset[int]] = [everything] * flow.end + [frozenset((flow.end,))]
    changed = True
    while changed:
        changed = False
        for position in reversed(range(flow.end)):
            ways = [flow.end if (position, to) in flow.back_edges else to for to in flow.after[position]]
            new = frozenset((position,)).union(everything.intersection(*(reach[way] for way in ways)))
            if new != reach[position]:
                reach[position], changed = new, True
    # Of all statements that a branch always comes to, the nearest is the one that comes to all others.
    return {
        position: max(reach[position] - {position}, key=lambda place: len(reach[place]), default=flow.end)
        for position in range(flow.end)
    }
