"""The code of one thread: its part of a cycle as instructions, as text and as tokens.

The code does not contain the number of the thread nor the names of its locations. So a family needs few codes: each is
made once, and every test fills in its number and names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from gpudiy.diy.cycle import is_atomic
from gpudiy.diy.edge import READ, Edge, End, ProgramOrder, access_of
from gpudiy.diy.normal_form import normal_form
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.instruction_text import instruction_text

if TYPE_CHECKING:
    from gpudiy.litmus.test import RegisterDeclaration

HIGH_BIT = isa.Immediate(0x80000000)  # values are small, so `and` with it gives 0; no assembler can know that
NOTHING = isa.Immediate(0)
SKIP = "LC00"


class Slot(NamedTuple):
    """A register to declare: its type, and the access whose address it holds, if any."""

    name: str
    type: ScalarType
    address_of: int | None = None


class ThreadCode(NamedTuple):
    """The instructions of a thread, and its parts of the text and of the content hash of a test.

    In `declarations` `%d` is the thread and `%s` a location; in `tokens`, the part of the content hash, `%s` is a
    location: those of the accesses `token_places`, in this order. `results` are the registers of the condition: name,
    name in normal form, and expected value.
    """

    instructions: tuple[isa.Instruction, ...]
    slots: tuple[Slot, ...]
    lines: tuple[str, ...]
    declarations: str
    tokens: str
    token_places: tuple[int, ...]
    results: tuple[tuple[str, str, int], ...]

    def registers(self, thread: int, locations: Sequence[str]) -> tuple[RegisterDeclaration, ...]:
        from gpudiy.litmus.condition import AddressOf  # slow to import, and printing does not need it
        from gpudiy.litmus.test import RegisterDeclaration

        return tuple(
            RegisterDeclaration(
                thread,
                slot.name,
                slot.type,
                0 if slot.address_of is None else AddressOf(locations[slot.address_of]),
            )
            for slot in self.slots
        )


def thread_code(edges: Sequence[Edge], values: Sequence[int]) -> ThreadCode:
    """The code of the accesses at which these edges start; the last edge leaves the thread."""
    writer = _Writer(sum(not is_atomic(edge) for edge in edges))
    for position, (edge, value) in enumerate(zip(edges, values, strict=True)):
        before = edges[position - 1] if position else None
        if before is not None and is_atomic(before):
            continue  # its instruction has been written
        if isinstance(before, ProgramOrder):
            writer.join(before)
        if isinstance(edge, ProgramOrder) and edge.means.operation is not None:
            writer.atomic(edge.source, position, edge.means.operation, value, values[position + 1])
        elif edge.source.direction == READ:
            writer.load(edge.source, position, value)
        else:
            writer.store(edge.source, position, value)
    return writer.finish()


def observer_code(end: End, values: Sequence[int], fence: isa.Fence) -> ThreadCode:
    """A thread that reads these values from one location, in this order."""
    writer = _Writer(len(values))
    for position, value in enumerate(values):
        if position:
            writer.instructions.append(fence)
        writer.load(end, position, value)
    return writer.finish()


class _Writer:
    """Appends instructions. Data registers have even numbers; their address registers have the next odd number.

    Temporary registers have numbers after those of all accesses.
    """

    def __init__(self, accesses: int) -> None:
        self.temporaries = 2 * accesses
        self.instructions: list[isa.Instruction] = []
        self.data: list[Slot] = []
        self.addresses: list[Slot] = []
        self.more: list[Slot] = []
        self.results: list[tuple[str, int]] = []
        self.source: isa.Register | None = None  # of the last read
        self.wait_address: isa.Register | None = None  # what the next access adds to its address
        self.wait_value: isa.Register | None = None  # what the next store adds to its value
        self.branches = 0

    def load(self, end: End, position: int, value: int) -> None:
        destination, address = self._take_registers(position)
        self.instructions.append(isa.Load(destination, address, access_of(end)))
        self._add_result(destination, value)

    def store(self, end: End, position: int, value: int) -> None:
        source, address = self._take_registers(position)
        if self.wait_value is None:
            self._add_alu(isa.AluOperation.MOV, ScalarType.S32, source, isa.Immediate(value))
        else:
            self._add_alu(isa.AluOperation.ADD, ScalarType.S32, source, self.wait_value, isa.Immediate(value))
            self.wait_value = None
        self.instructions.append(isa.Store(address, source, access_of(end)))

    def atomic(self, end: End, position: int, operation: isa.AtomicOperation, old: int, new: int) -> None:
        destination, address = self._take_registers(position)
        sources: tuple[isa.Operand, ...] = (isa.Immediate(new),)
        if operation is isa.AtomicOperation.CAS:
            sources = (isa.Immediate(old), isa.Immediate(new))
        elif operation is isa.AtomicOperation.ADD:
            sources = (isa.Immediate(new - old),)
        self.instructions.append(isa.Atomic(operation, destination, address, sources, access_of(end, operation)))
        self._add_result(destination, old)

    def join(self, edge: ProgramOrder) -> None:
        """Write what is between two accesses: a dependency on the last read, a fence, a barrier."""
        means = edge.means
        if means.dependency:
            assert self.source is not None, "a dependency starts at a read"
            self._depend(means.dependency, self.source)
        if means.fence is not None:
            self.instructions.append(means.fence)
        if means.barrier:
            self.instructions.append(isa.Barrier(isa.BarrierMode.SYNC))

    def finish(self) -> ThreadCode:
        if self.branches:
            self.instructions.append(isa.Label(SKIP))
        slots = (*self.data, *self.more, *self.addresses)
        instructions = tuple(self.instructions)
        form = normal_form(instructions, {slot.name: (slot.type, slot.address_of) for slot in slots})
        return ThreadCode(
            instructions,
            slots,
            tuple([instruction_text(instruction) for instruction in instructions]),
            "\n".join([_declaration(slot) for slot in slots]),
            form.tokens,
            form.places,
            tuple([(name, form.names[name], value) for name, value in self.results]),
        )

    def _take_registers(self, position: int) -> tuple[isa.Register, isa.Register]:
        number = 2 * len(self.addresses)
        data, address = isa.Register(f"r{number}"), isa.Register(f"r{number + 1}")
        self.data.append(Slot(data.name, ScalarType.S32))
        self.addresses.append(Slot(address.name, ScalarType.B64, position))
        if self.wait_address is not None:
            self._add_alu(isa.AluOperation.ADD, ScalarType.U64, address, address, self.wait_address)
            self.wait_address = None
        return data, address

    def _add_result(self, register: isa.Register, value: int) -> None:
        self.source = register
        self.results.append((register.name, value))

    def _depend(self, dependency: str, source: isa.Register) -> None:
        masked = self._take_temporary(ScalarType.B32)
        self._add_alu(isa.AluOperation.AND, ScalarType.B32, masked, source, HIGH_BIT)
        if dependency == "addr":
            wide = self._take_temporary(ScalarType.B64)
            self.instructions.append(
                isa.Alu(isa.AluOperation.CVT, ScalarType.U64, wide, (masked,), source_type=ScalarType.U32)
            )
            self.wait_address = wide
        elif dependency == "data":
            self.wait_value = masked
        else:
            predicate = isa.Register(f"p{self.branches}")
            self.branches += 1
            self.more.append(Slot(predicate.name, ScalarType.PRED))
            self.instructions.append(isa.SetPredicate(Comparison.NE, ScalarType.B32, predicate, (masked, NOTHING)))
            self.instructions.append(isa.Branch(SKIP, isa.Guard(predicate)))

    def _take_temporary(self, type: ScalarType) -> isa.Register:
        register = isa.Register(f"r{self.temporaries}")
        self.temporaries += 1
        self.more.append(Slot(register.name, type))
        return register

    def _add_alu(
        self, operation: isa.AluOperation, type: ScalarType, destination: isa.Register, *sources: isa.Operand
    ) -> None:
        self.instructions.append(isa.Alu(operation, type, destination, sources))


def _declaration(slot: Slot) -> str:
    return f"%d:.reg .{slot.type} {slot.name}{'' if slot.address_of is None else ' = %s'};"
