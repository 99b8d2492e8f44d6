"""Tests decided by trying everything: what sequential consistency shows, and what free accesses show.

A thread is first reduced to its accesses. Registers hold small values, so the masks of manufactured dependencies are 0
whatever a load returns: addresses, stored values and branches can be computed before any access is made.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.condition import AddressOf, Constant, FinalRegister, Observable, comparisons, holds
from gpudiy.litmus.test import Test

MASK = 0x80000000


@dataclass(frozen=True)
class Step:
    """One access: what it does to memory and which register it leaves the old value in."""

    thread: int
    location: str
    register: str | None
    operation: str  # load, store, cas, exch, add
    operands: tuple[int, ...] = ()


def steps_of(test: Test) -> list[list[Step]]:
    return [_steps_of_thread(test, number) for number in range(len(test.threads))]


def shown_by_sc(test: Test) -> bool:
    """Whether some interleaving satisfies the condition."""
    return _reaches(test, steps_of(test))


def shown_by_free_accesses(test: Test, threads_of_the_cycle: int) -> bool:
    """Whether the condition holds of some order of all accesses in which only observers keep to their program."""
    threads: list[list[Step]] = []
    for number, steps in enumerate(steps_of(test)):
        threads += [[step] for step in steps] if number < threads_of_the_cycle else [steps]
    return _reaches(test, threads)


def _reaches(test: Test, threads: list[list[Step]]) -> bool:
    expected = _expected(test)
    seen: set[object] = set()
    pending = [(tuple(0 for _ in threads), (), ())]
    while pending:
        state = pending.pop()
        if state in seen:
            continue
        seen.add(state)
        done, memory, registers = state
        finished = True
        for number, steps in enumerate(threads):
            if done[number] < len(steps):
                finished = False
                after = _taken(steps[done[number]], dict(memory), dict(registers))
                if any(expected.get(key, value) != value for key, value in after[1]):
                    continue  # a register has its last value, and it is not the expected one
                pending.append(((*done[:number], done[number] + 1, *done[number + 1 :]), *after))
        if finished and _satisfied(test, dict(memory), dict(registers)):
            return True
    return False


def _expected(test: Test) -> dict[tuple[int, str], int]:
    """The values that the condition, a conjunction of equalities, expects of registers."""
    return {
        (comparison.left.thread, comparison.left.name): comparison.right.value
        for comparison in comparisons(test.condition.expression)
        if isinstance(comparison.left, FinalRegister) and isinstance(comparison.right, Constant)
    }


def _taken(step: Step, memory: dict, registers: dict) -> tuple[tuple, tuple]:  # type: ignore[type-arg]
    old = memory.get(step.location, 0)
    if step.register is not None:
        registers[step.thread, step.register] = old
    if step.operation in ("store", "exch"):
        memory[step.location] = step.operands[0]
    elif step.operation == "add":
        memory[step.location] = old + step.operands[0]
    elif step.operation == "cas" and old == step.operands[0]:
        memory[step.location] = step.operands[1]
    return tuple(sorted(memory.items())), tuple(sorted(registers.items()))


def _satisfied(test: Test, memory: dict, registers: dict) -> bool:  # type: ignore[type-arg]
    def value(term: Observable) -> int:
        if isinstance(term, FinalRegister):
            return registers[term.thread, term.name]
        return memory.get(term.name, 0)

    return holds(test.condition.expression, value)


def _steps_of_thread(test: Test, number: int) -> list[Step]:
    values: dict[str, object] = {
        declaration.name: declaration.initial.variable
        if isinstance(declaration.initial, AddressOf)
        else declaration.initial
        for declaration in test.registers_of(number)
    }
    steps: list[Step] = []
    program = test.threads[number]
    labels = {i.name: index for index, i in enumerate(program) if isinstance(i, isa.Label)}
    index = 0
    while index < len(program):
        instruction = program[index]
        index += 1
        match instruction:
            case isa.Load(destination=destination, address=address):
                steps.append(Step(number, _location(values, address), destination.name, "load"))
                values[destination.name] = 1  # any small value
            case isa.Store(address=address, source=source):
                steps.append(Step(number, _location(values, address), None, "store", (_value(values, source),)))
            case isa.Atomic(operation=operation, destination=destination, address=address, sources=sources):
                operands = tuple(_value(values, source) for source in sources)
                assert operation in (isa.AtomicOperation.CAS, isa.AtomicOperation.EXCH, isa.AtomicOperation.ADD)
                steps.append(Step(number, _location(values, address), destination.name, str(operation), operands))
                values[destination.name] = 1
            case isa.Alu():
                values[instruction.destination.name] = _computed(instruction, values)
            case isa.SetPredicate(comparison=Comparison.NE, destination=destination, sources=(left, right)):
                values[destination.name] = _value(values, left) != _value(values, right)
            case isa.Branch(target=target, guard=guard):
                assert guard is not None
                if values[guard.predicate.name] != guard.negated:
                    index = labels[target]
            case isa.Fence() | isa.Barrier() | isa.Label():
                pass
            case _:
                raise AssertionError(f"gpudiy.diy makes no {instruction}")
    return steps


def _location(values: dict[str, object], address: object) -> str:
    assert isinstance(address, isa.Register)
    location = values[address.name]
    assert isinstance(location, str)
    return location


def _value(values: dict[str, object], operand: isa.Operand) -> int:
    if isinstance(operand, isa.Immediate):
        return operand.value
    assert isinstance(operand, isa.Register)
    value = values[operand.name]
    assert isinstance(value, int)
    return value


def _computed(alu: isa.Alu, values: dict[str, object]) -> object:
    if alu.operation is isa.AluOperation.ADD and isinstance(alu.sources[0], isa.Register):
        base = values[alu.sources[0].name]
        if isinstance(base, str):
            assert _value(values, alu.sources[1]) == 0, "an address dependency does not change the address"
            return base
    operands = [_value(values, source) for source in alu.sources]
    match alu.operation:
        case isa.AluOperation.MOV | isa.AluOperation.CVT:
            return operands[0]
        case isa.AluOperation.ADD:
            return operands[0] + operands[1]
        case isa.AluOperation.AND:
            assert operands[1] == MASK, "dependencies are manufactured with the high bit"
            return operands[0] & operands[1]
    raise AssertionError(f"gpudiy.diy makes no {alu}")
