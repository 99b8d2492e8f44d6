"""Loops that only wait: a pass that goes round again has read, and has changed nothing.

A loop is an await if its passes write nothing but with a cas that leaves the loop where it succeeds, meet no barrier,
and every register that a pass writes is written again before the next pass looks at it. A pass that goes round again
can then be left out of a run, and a thread that goes round for ever is stuck with what memory holds in the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.condition import AddressOf, Value
from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.litmus.memory_types import wrap_value
from gpudiy.litmus.test import Thread
from gpudiy.models.liveness import live_registers
from gpudiy.models.problems import Undecidable
from gpudiy.models.values import compare, compute


@dataclass(frozen=True, slots=True)
class Await:
    """A loop from its label to the last branch back to it."""

    head: int
    end: int


def loop_heads(code: Thread) -> set[int]:
    """The positions of labels that a later branch leads to."""
    labels = {each.name: index for index, each in enumerate(code) if isinstance(each, isa.Label)}
    targets = [(index, labels[each.target]) for index, each in enumerate(code) if isinstance(each, isa.Branch)]
    return {target for index, target in targets if target <= index}


def find_awaits(code: Thread, number: int) -> list[Await]:
    """The loops of a thread that are in no other loop; raises `Undecidable` if one of them is not an await."""
    labels = {each.name: index for index, each in enumerate(code) if isinstance(each, isa.Label)}
    branches = [(index, labels[each.target]) for index, each in enumerate(code) if isinstance(each, isa.Branch)]
    ends: dict[int, int] = {}
    for index, target in branches:
        if target <= index:
            ends[target] = max(index, ends.get(target, 0))
    loops = [Await(head, end) for head, end in sorted(ends.items())]
    live = live_registers(code, frozenset())
    for loop in loops:
        _check_loop(code, number, loop, live[loop.head])
        entered = [target for index, target in branches if not loop.head <= index <= loop.end]
        if any(loop.head < target <= loop.end for target in entered) or any(
            other.head < loop.head <= other.end < loop.end for other in loops
        ):
            raise Undecidable(f"a loop of P{number} has two entries")
    outer = [loop for loop in loops if not any(other.head < loop.head <= other.end for other in loops)]
    for loop in outer:
        _CasCheck(code, number, loop, labels).run()
    return outer


def _check_loop(code: Thread, number: int, loop: Await, live: tuple[str, ...]) -> None:
    for instruction in code[loop.head : loop.end + 1]:
        is_cas = isinstance(instruction, isa.Atomic) and instruction.operation is isa.AtomicOperation.CAS
        if not is_cas and not isinstance(
            instruction, (isa.Load, isa.Alu, isa.SetPredicate, isa.Branch, isa.Label, isa.Fence)
        ):
            raise _no_await(instruction, number)
        destination = isa.destination_of(instruction)
        if destination is not None and destination.name in live:
            raise _no_await(instruction, number)


def _no_await(instruction: isa.Instruction, number: int) -> Undecidable:
    return Undecidable(
        f"a loop of P{number} does more than wait, with `{instruction_text(instruction)}`:"
        " only sc can say whether such a loop ends"
    )


Abstract = Value | object  # a known value, or something that is only known to be equal to itself


@dataclass(slots=True)
class _Pass:
    """A pass through a loop: what is known of its registers, and whether a cas succeeded."""

    position: int
    registers: dict[str, Abstract]
    succeeded: bool = False

    def fork(self, name: str, value: Abstract) -> _Pass:
        return _Pass(self.position, {**self.registers, name: value}, self.succeeded)


@dataclass(slots=True)
class _CasCheck:
    """Goes through a loop in every way, to see whether it can go round again behind a cas that succeeded."""

    code: Thread
    number: int
    loop: Await
    labels: dict[str, int]
    pending: list[_Pass] = field(default_factory=list)

    def run(self) -> None:
        self.pending.append(_Pass(self.loop.head, {}))
        while self.pending:
            current = self.pending.pop()
            while self.loop.head <= current.position <= self.loop.end:
                instruction = self.code[current.position]
                guard = isa.guard_of(instruction)
                runs = True
                if guard is not None:
                    name = guard.predicate.name
                    truth = current.registers.get(name)
                    if not isinstance(truth, int):
                        self.pending.append(current.fork(name, 0))
                        current = current.fork(name, 1)
                        truth = 1
                    runs = bool(truth) != guard.negated
                position = current.position
                current.position += 1
                if not runs:
                    continue
                if isinstance(instruction, isa.Branch):
                    current.position = self.labels[instruction.target]
                    if current.position <= position:
                        if current.succeeded:
                            raise _no_await(instruction, self.number)
                        break
                else:
                    self._compute(current, instruction)

    def _compute(self, current: _Pass, instruction: isa.Instruction) -> None:
        known = current.registers
        match instruction:
            case isa.Load(destination=destination):
                known[destination.name] = object()
            case isa.Atomic(destination=destination, sources=(expected, *_), access=access):
                failed = current.fork(destination.name, object())
                self.pending.append(failed)
                value = self._value(known, expected)
                is_value = isinstance(value, (int, AddressOf))
                known[destination.name] = wrap_value(value, access.type) if is_value else value  # type: ignore[arg-type]
                current.succeeded = True
            case isa.Alu(destination=destination):
                known[destination.name] = self._apply_alu(
                    instruction, [self._value(known, s) for s in instruction.sources]
                )
            case isa.SetPredicate(destination=destination, sources=(left, right)):
                known[destination.name] = _apply_comparison(
                    instruction, self._value(known, left), self._value(known, right)
                )
            case _:
                pass

    def _value(self, known: dict[str, Abstract], operand: isa.Operand) -> Abstract:
        if isinstance(operand, isa.Register):
            return known.setdefault(operand.name, object())
        return operand.value if isinstance(operand, isa.Immediate) else AddressOf(operand.name)

    @staticmethod
    def _apply_alu(alu: isa.Alu, values: list[Abstract]) -> Abstract:
        plain = [value for value in values if isinstance(value, (int, AddressOf))]
        if len(plain) == len(values):
            return compute(alu, plain)
        return values[0] if alu.operation is isa.AluOperation.MOV else object()


def _apply_comparison(instruction: isa.SetPredicate, left: Abstract, right: Abstract) -> Abstract:
    if isinstance(left, (int, AddressOf)) and isinstance(right, (int, AddressOf)):
        return int(compare(instruction.comparison, left, right, instruction.type))
    if left is right and instruction.comparison.equates:
        return int(instruction.comparison is Comparison.EQ)
    return object()
