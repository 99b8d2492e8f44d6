"""The control flow of a function: its basic blocks, and their order in one run through the code."""

from __future__ import annotations

from functools import cached_property

from optcheck.join_targets import Joins, pushed_for
from optcheck.listing import SassFunction


class Graph:
    """`starts[b]` is the first instruction of block b, `successors` and `predecessors` are lists of blocks.

    `back` are the edges that close a loop; without them the graph has no cycles. One run through the code uses none.
    """

    def __init__(self, function: SassFunction) -> None:
        self.function = function
        self.starts = self._find_leaders()
        count = len(function.instructions)
        self.ends = [*self.starts[1:], count]
        self.block_of = [0] * count
        for block, (start, end) in enumerate(zip(self.starts, self.ends, strict=True)):
            self.block_of[start:end] = [block] * (end - start)
        self.successors: list[list[int]] = [self._find_successors(block) for block in range(len(self.starts))]
        self._join_tables()
        self.predecessors: list[list[int]] = [[] for _ in self.starts]
        for block, following in enumerate(self.successors):
            for successor in following:
                self.predecessors[successor].append(block)
        self.order: list[int] = []  # topological, ignoring back edges
        self.back = self._find_back_edges()

    def precedes(self, one: int, other: int) -> bool:
        """Whether the instruction `one` can run before `other` in one run through the code."""
        first, second = self.block_of[one], self.block_of[other]
        return one < other if first == second else self.before[second] >> first & 1 == 1

    @cached_property
    def before(self) -> list[int]:
        """For each block, the blocks that can run before it in one run, as bits."""
        before = [0] * len(self.starts)
        for block in self.order:
            for previous in self.predecessors[block]:
                if (previous, block) not in self.back:
                    before[block] |= before[previous] | 1 << previous
        return before

    def blocks_in(self, bits: int) -> list[int]:
        """The blocks of a set, in the order of the code."""
        return [block for block in range(len(self.starts)) if bits >> block & 1]

    def dominates(self, one: int, other: int) -> bool:
        """Whether every path to the block `other` goes through the block `one`."""
        return bool(self._dominators[other] >> one & 1)

    def find_common_dominator(self, places: list[int]) -> int:
        """The last block through which every path to any of these instructions goes."""
        common = -1
        for place in places:
            common &= self._dominators[self.block_of[place]]
        return max(
            self.blocks_in(common & (1 << len(self.starts)) - 1), key=lambda one: self._dominators[one].bit_count()
        )

    def reaches(self, one: int, other: int) -> bool:
        """Whether the block `other` can run after the block `one`, in any number of runs."""
        return bool(self.reached_from[other] >> one & 1)

    @cached_property
    def _dominators(self) -> list[int]:
        """For each block, the blocks on every path to it, as bits; exact if loops have one entry."""
        dominators = [1 << block for block in range(len(self.starts))]
        for block in self.order:
            common = -1
            for previous in self.predecessors[block]:
                if (previous, block) not in self.back:
                    common &= dominators[previous]
            if common != -1 and block != 0:
                dominators[block] |= common
        return dominators

    @cached_property
    def reached_from(self) -> list[int]:
        """For each block, the blocks after which it can run, as bits."""
        reached = [0] * len(self.starts)
        changed = True
        while changed:
            changed = False
            for block in self.order:
                before = reached[block]
                for previous in self.predecessors[block]:
                    before |= reached[previous] | 1 << previous
                if before != reached[block]:
                    reached[block] = before
                    changed = True
        return reached

    def can_avoid(self, branch: int, target: int, end: int) -> bool:
        """Whether a run can go from the block `branch` to the block `end` without the block `target`."""
        waiting, seen = [branch], {branch, target}
        if branch == target:
            return False
        while waiting:
            for successor in self.successors[waiting.pop()]:
                if successor == end:
                    return successor != target
                if successor not in seen:
                    seen.add(successor)
                    waiting.append(successor)
        return False

    def _find_leaders(self) -> list[int]:
        instructions = self.function.instructions
        leaders = {0}
        for index in self.function.named_targets:
            leaders.update(self.function.targets_of(index) or ())
        leaders.update([index + 1 for index, instruction in enumerate(instructions) if instruction.leaves])
        return sorted(leader for leader in leaders if leader < len(instructions))

    def _find_successors(self, block: int) -> list[int]:
        last = self.ends[block] - 1
        instruction = self.function.instructions[last]
        following: list[int] = []
        falls = True
        if instruction.ends:
            falls = instruction.guard is not None
        elif instruction.leaves:
            conditional = instruction.guard is not None or len(instruction.operands) > 1
            falls = (conditional and not instruction.opcode.startswith(("BRX", "JMX"))) or instruction.is_near_call
            following = [self.block_of[target] for target in self._find_targets(last) if target < len(self.block_of)]
        if falls and block + 1 < len(self.starts):
            following.append(block + 1)
        return list(dict.fromkeys(following))

    def _find_targets(self, index: int) -> list[int]:
        if pushed_for(self.function.instructions[index]) is None:
            return self.function.targets_of(index) or []
        return self.joins.targets.get(index, [])

    @cached_property
    def joins(self) -> Joins:
        """Where threads that were split join again."""
        return Joins(self.function)

    def _join_tables(self) -> None:
        """The targets of a jump through a table that the listing does not show.

        They are the blocks with a label but without other predecessors that follow it, up to the next such jump.
        """
        unknown = [
            block
            for block, end in enumerate(self.ends)
            if self.function.instructions[end - 1].opcode.startswith(("BRX", "JMX")) and not self.successors[block]
        ]
        if not unknown:
            return
        reached = {0, *(successor for following in self.successors for successor in following)}
        named = set(self.function.labels.values()) or set(self.starts)
        orphans = [block for block, start in enumerate(self.starts) if block not in reached and start in named]
        for block, following in zip(unknown, [*unknown[1:], len(self.starts)], strict=True):
            self.successors[block] = [orphan for orphan in orphans if block < orphan < following]

    def _find_back_edges(self) -> set[tuple[int, int]]:
        back: set[tuple[int, int]] = set()
        finished: list[int] = []
        state = [0] * len(self.starts)  # 1: on the way, 2: done
        for root in range(len(self.starts)):
            if state[root]:
                continue
            stack = [(root, iter(self.successors[root]))]
            state[root] = 1
            while stack:
                block, following = stack[-1]
                successor = next(following, None)
                if successor is None:
                    state[block] = 2
                    finished.append(block)
                    stack.pop()
                elif state[successor] == 1:
                    back.add((block, successor))
                elif state[successor] == 0:
                    state[successor] = 1
                    stack.append((successor, iter(self.successors[successor])))
        self.order = finished[::-1]
        return back
