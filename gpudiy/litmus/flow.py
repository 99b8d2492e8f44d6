"""The variables that an instruction may access: traces addresses through registers and memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.condition import AddressOf
from gpudiy.litmus.instruction import address_of, destination_of, operands_of

if TYPE_CHECKING:
    from gpudiy.litmus.test import Test

Targets = frozenset[str]
Place = tuple[int | None, str]  # a register of a thread, or a variable in memory
NOTHING: Targets = frozenset()


class Use(NamedTuple):
    """A memory instruction of a thread and the variables that it may access."""

    thread: int
    position: int
    instruction: isa.MemoryInstruction
    targets: Targets


def memory_uses(test: Test) -> list[Use]:
    """Every memory instruction with the variables that it may access; none if its register has no address."""
    singles = {name: frozenset((name,)) for name in test.memory_map.names}
    registers: list[dict[str, Targets]] = [{} for _ in test.threads]
    for declaration in test.registers:
        if isinstance(declaration.initial, AddressOf):
            registers[declaration.thread][declaration.name] = singles[declaration.initial.variable]
    if _addresses_move(test, registers):
        _spread(test, registers)
    uses = []
    for number, thread in enumerate(test.threads):
        for index, instruction in enumerate(thread):
            if isinstance(instruction, isa.MemoryInstruction):
                name = instruction.address.name
                if isinstance(instruction.address, isa.Register):
                    targets = registers[number].get(name, NOTHING)
                else:
                    targets = singles.get(name) or frozenset((name,))
                uses.append(Use(number, index, instruction, targets))
    return uses


def contradicts_map(test: Test) -> bool:
    """Whether instructions name other spaces than the memory map."""
    spaces = {variable.name: variable.space for variable in test.memory_map.variables}
    return any(
        use.instruction.access.space not in (None, spaces[name]) for use in memory_uses(test) for name in use.targets
    )


def _addresses_move(test: Test, registers: list[dict[str, Targets]]) -> bool:
    """Whether an address ever leaves the register it starts in; in most tests none does."""
    if any(isinstance(entry.value, AddressOf) for entry in test.init):
        return True
    for held, thread in zip(registers, test.threads, strict=True):
        for instruction in thread:
            destination = destination_of(instruction)
            if destination is not None and destination.name in held:
                return True
            for operand in operands_of(instruction):
                if isinstance(operand, isa.Variable) or (isinstance(operand, isa.Register) and operand.name in held):
                    return True
    return False


def _spread(test: Test, registers: list[dict[str, Targets]]) -> None:
    """Follow addresses to a fixed point, ignoring the order of instructions."""
    memory: dict[str, Targets] = {
        entry.variable: frozenset((entry.value.variable,)) for entry in test.init if isinstance(entry.value, AddressOf)
    }
    readers = _readers(test)
    waiting = [(number, instruction) for number, thread in enumerate(test.threads) for instruction in thread]
    waiting.reverse()

    def add(place: Place, targets: Targets) -> None:
        thread, key = place
        to = memory if thread is None else registers[thread]
        known = to.get(key, NOTHING)
        if not targets <= known:
            to[key] = known | targets
            waiting.extend(readers.get(place, ()))

    def value(held: dict[str, Targets], operand: isa.Operand | isa.Address) -> Targets:
        if isinstance(operand, isa.Variable):
            return frozenset((operand.name,))
        return held.get(operand.name, NOTHING) if isinstance(operand, isa.Register) else NOTHING

    while waiting:
        number, instruction = waiting.pop()
        held = registers[number]
        match instruction:
            case isa.Alu():
                for source in instruction.sources:
                    add((number, instruction.destination.name), value(held, source))
            case isa.Load() | isa.Store() | isa.Atomic() | isa.Reduce():
                for variable in value(held, instruction.address):
                    if isinstance(instruction, (isa.Load, isa.Atomic)):
                        readers.setdefault((None, variable), {})[number, instruction] = None
                        add((number, instruction.destination.name), memory.get(variable, NOTHING))
                    for source in operands_of(instruction):
                        add((None, variable), value(held, source))
            case isa.Fence() | isa.ProxyFence() | isa.Barrier() | isa.SetPredicate() | isa.Branch() | isa.Label():
                pass  # no address goes through these


def _readers(test: Test) -> dict[Place, dict[tuple[int, isa.Instruction], None]]:
    """The instructions that look at each register, each once; those that look at a variable are found on the way."""
    readers: dict[Place, dict[tuple[int, isa.Instruction], None]] = {}
    for number, thread in enumerate(test.threads):
        for instruction in thread:
            for operand in (address_of(instruction), *operands_of(instruction)):
                if isinstance(operand, isa.Register):
                    readers.setdefault((number, operand.name), {})[number, instruction] = None
    return readers
