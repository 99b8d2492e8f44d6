"""Where threads of sm_62 and older chips go on when they join: SSY, PBK and PCNT push it, SYNC, BRK and CONT pop it."""

from __future__ import annotations

from optcheck.listing import SassFunction
from optcheck.sass import TRUE, SassInstruction

PUSHED_FOR = {"SYNC": "SSY", "BRK": "PBK", "CONT": "PCNT"}
PUSHES = frozenset(PUSHED_FOR.values())
MOST_STATES = 50  # per instruction
Stack = tuple[tuple[str, int], ...]  # what was pushed, and the targets


def pushed_for(instruction: SassInstruction) -> str | None:
    """The instruction that pushed where this one goes; None if this one does not join threads."""
    return "SSY" if instruction.joins else PUSHED_FOR.get(instruction.opcode)


def pop(stack: Stack, kind: str) -> tuple[int, Stack] | None:
    """Where threads join, and what is left on the stack; None if nothing of this kind can be popped.

    BRK and CONT leave what was split since PBK or PCNT.
    """
    while stack and kind != "SSY" and stack[-1][0] == "SSY":
        stack = stack[:-1]
    return (stack[-1][1], stack[:-1]) if stack and stack[-1][0] == kind else None


class Joins:
    """The stack of joins before each instruction, by following all ways through a function.

    `targets` has the places where the instructions that join threads go on, by their indexes.
    """

    def __init__(self, function: SassFunction) -> None:
        self.targets: dict[int, list[int]] = {}
        self.stacks: dict[int, set[Stack]] = {}
        if any(one.opcode in PUSHES for one in function.instructions):
            self._follow_all(function)

    def stack_before(self, index: int) -> Stack | None:
        """What is on the stack when an instruction runs; None if that is not known."""
        found = self.stacks.get(index, {()})
        return next(iter(found)) if len(found) == 1 else None

    def _follow_all(self, function: SassFunction) -> None:
        count = len(function.instructions)
        waiting: list[tuple[int, Stack]] = [(0, ())]
        seen = set(waiting)
        while waiting and len(seen) < MOST_STATES * count:
            index, stack = waiting.pop()
            self.stacks.setdefault(index, set()).add(stack)
            for state in _follow(function, index, stack):
                if len(state[1]) < len(stack) and state[0] not in self.targets.setdefault(index, []):
                    self.targets[index].append(state[0])
                if state[0] < count and state not in seen:
                    seen.add(state)
                    waiting.append(state)


def _follow(function: SassFunction, index: int, stack: Stack) -> list[tuple[int, Stack]]:
    """Where the code can go on after an instruction, with what is on the stack then."""
    instruction = function.instructions[index]
    conditional = instruction.guard is not None and instruction.guard.name not in TRUE
    following = [(index + 1, stack)] if conditional or not instruction.leaves else []
    kind = pushed_for(instruction)
    if kind is not None:
        popped = pop(stack, kind)
        return following if popped is None else [*following, popped]
    targets = function.targets_of(index)
    if instruction.opcode in PUSHES:
        return [(index + 1, (*stack, (instruction.opcode, target))) for target in targets or ()]
    if instruction.is_jump:
        if targets is None:
            targets = _find_free_labels(function, index)
        if len(instruction.operands) > 1 and not following:
            following = [(index + 1, stack)]
        following += [(target, stack) for target in targets]
    return following


def _find_free_labels(function: SassFunction, index: int) -> list[int]:
    """The targets of a jump through a table: labels after it that nothing names and no code before them runs into."""
    named = {place for at in function.named_targets for place in function.targets_of(at) or ()}
    return [
        place
        for place in sorted(set(function.labels.values()) - named)
        if index < place < len(function.instructions) and _never_falls(function.instructions[place - 1])
    ]


def _never_falls(instruction: SassInstruction) -> bool:
    return instruction.leaves and (instruction.guard is None or instruction.guard.name in TRUE)
