"""The control flow of a lock program: successors, loops, and where the two ways of a branch join."""

from __future__ import annotations

from functools import cached_property

from gpudiy.errors import near_name
from gpudiy.litmus.instruction import Branch, Register, Variable, destination_of, operands_of
from gpudiy.locks.lock_program import LockProgram, ends_thread
from gpudiy.ptx import OpaqueInstruction, PtxStatement


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

    @property
    def heads(self) -> frozenset[int]:
        """The statements that an edge that closes a loop leads to."""
        return frozenset(head for _, head in self.back_edges)

    @cached_property
    def live(self) -> list[frozenset[str]]:
        """The registers whose values may still be used, before every statement."""
        uses = [_list_uses(statement) for statement in self.program.statements]
        kills = [_list_kills(statement) for statement in self.program.statements]
        live: list[frozenset[str]] = [frozenset()] * (self.end + 1)
        changed = True
        while changed:
            changed = False
            for position in reversed(range(self.end)):
                after = frozenset[str]().union(*(live[following] for following in self.after[position]))
                new = uses[position] | (after - kills[position])
                if new != live[position]:
                    live[position], changed = new, True
        return live

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


def _list_uses(statement: PtxStatement) -> frozenset[str]:
    """The names that a statement reads."""
    instruction = statement.instruction
    sources = instruction.sources if isinstance(instruction, OpaqueInstruction) else operands_of(instruction)
    found = {operand.name for operand in sources if isinstance(operand, (Register, Variable))}
    found |= {address.base.name for address in statement.addresses if address.base is not None}
    if statement.guard is not None:
        found.add(statement.guard.predicate.name)
    return frozenset(found)


def _list_kills(statement: PtxStatement) -> frozenset[str]:
    """The registers that a statement always overwrites."""
    instruction = statement.instruction
    if statement.guard is not None:
        return frozenset()
    if isinstance(instruction, OpaqueInstruction):
        return frozenset(register.name for register in instruction.destinations)
    destination = destination_of(instruction)
    return frozenset() if destination is None else frozenset((destination.name,))
