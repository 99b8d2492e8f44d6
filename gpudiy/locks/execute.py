"""Execute one statement of a lock on the state of a walk."""

from __future__ import annotations

import re

from gpudiy.errors import InputError
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.arithmetic import modify_value
from gpudiy.litmus.instruction import operands_of
from gpudiy.locks.flow import Flow
from gpudiy.locks.lock_program import LockProgram, ends_thread, is_hole
from gpudiy.locks.path import AccessStep, FenceStep, HoleStep
from gpudiy.locks.symbolic_value import (
    NUMBERED,
    GivenNumber,
    Number,
    OpaqueValue,
    ReadValue,
    SymbolicAddress,
    SymbolicValue,
    compare,
    compute,
    join,
    negate,
    rebuild,
)
from gpudiy.locks.variable_names import VariableNames
from gpudiy.locks.walk_state import WalkState
from gpudiy.ptx import OpaqueInstruction, PtxSpace

NOTHING = ("nanosleep", "pragma", "prefetch", "prefetchu", "discard")  # have no effect on memory order
ACCESSES = ("ld", "st", "atom", "red", "membar", "fence")
UNSUPPORTED = ("call", "trap", "brx", "bar", "barrier", "brkpt", "mbarrier", "cp", "elect", "griddepcontrol")
MULTIPLY_ADD = re.compile(r"mad\.lo\.([su](?:32|64))\Z")
LOCAL = "%local"
SPECIAL = ("%laneid", "%warpid", "%smid")
CLOCKS = ("%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi")
COUNTED = re.compile(r"%n(tid|ctaid)\.[xyz]\Z")


class Executor:
    """Executes the statements of one program; `names` collects its variables."""

    def __init__(self, program: LockProgram, flow: Flow, names: VariableNames) -> None:
        self.program = program
        self.flow = flow
        self.names = names

    def execute(self, state: WalkState, position: int) -> int:
        """Execute a statement; return the position of the next one."""
        statement = self.program.statements[position]
        match statement.instruction:
            case OpaqueInstruction() as opaque:
                if ends_thread(statement):
                    return self.flow.end
                self._execute_opaque(state, position, opaque)
            case isa.Branch():
                return self.flow.target(position)
            case isa.Fence() | isa.ProxyFence() as fence:
                state.steps.append(FenceStep(position, fence, state.guard))
            case isa.Load() | isa.Store() | isa.Atomic() | isa.Reduce() as access:
                self._execute_access(state, position, access)
            case isa.Alu() as alu:
                state.registers[alu.destination.name] = self._compute_alu(state, position, alu)
            case isa.SetPredicate() as comparison:
                left, right = (self.value(state, source, position) for source in comparison.sources)
                truth = compare(comparison.comparison, comparison.type, left, right)
                state.registers[comparison.destination.name] = truth
            case isa.Barrier():
                raise self.unsupported_error(position)
            case isa.Label():
                pass
        return position + 1

    def unsupported_error(self, position: int) -> InputError:
        """The error for an instruction that is not supported in a lock."""
        statement = self.program.statements[position]
        reason = ""
        if isinstance(statement.instruction, OpaqueInstruction) and statement.opcode[0] in ACCESSES:
            reason = f": {statement.instruction.reason}" if statement.instruction.reason else ""
        return self.program.error(position, f"unsupported instruction `{statement.text}` in a lock{reason}")

    def known_leaf(self, state: WalkState, leaf: SymbolicValue) -> SymbolicValue:
        """The leaf, or the number chosen for it."""
        if isinstance(leaf, GivenNumber) and leaf.name in state.given:
            return Number(state.given[leaf.name])
        return leaf

    def value(self, state: WalkState, operand: isa.Operand, position: int) -> SymbolicValue:
        """The value of an operand."""
        if isinstance(operand, isa.Immediate):
            return Number(operand.value)
        name = operand.name
        if name in state.registers:
            return state.registers[name]
        if name in self.program.variables:
            return SymbolicAddress(name)
        if name.startswith("__local_depot"):
            return SymbolicAddress(LOCAL)
        if name in CLOCKS:
            return state.next_number()
        if name in NUMBERED and state.memory is not None:
            return Number(state.given.get("%thread", 0))
        if COUNTED.match(name):
            return Number(32)
        if (name[0] == "%" and "." in name) or name in SPECIAL or name in self.program.parameters:
            return GivenNumber(name)
        raise self.program.error(position, f"register {name} is used before it is set")

    def _execute_opaque(self, state: WalkState, position: int, opaque: OpaqueInstruction) -> None:
        statement = self.program.statements[position]
        kind = statement.opcode[0]
        if is_hole(statement):
            state.steps.append(HoleStep(position, state.guard))
            state.held = None if state.memory is None else dict(state.memory)
        elif kind in ("ld", "st") and statement.space in (PtxSpace.PARAM, PtxSpace.LOCAL):
            self._access_private(state, position, opaque)
        elif kind in UNSUPPORTED or kind in ACCESSES:
            raise self.unsupported_error(position)
        elif kind not in NOTHING:
            self._compute_opaque(state, position, opaque)

    def _compute_opaque(self, state: WalkState, position: int, opaque: OpaqueInstruction) -> None:
        if not opaque.destinations:
            raise self.unsupported_error(position)
        values = tuple(self.value(state, source, position) for source in opaque.sources)
        multiply_add = MULTIPLY_ADD.match(opaque.opcode)
        result: SymbolicValue = OpaqueValue(position, opaque.opcode, values)
        if opaque.opcode.startswith("cvta."):
            result = values[0]
        elif multiply_add is not None and len(values) == 3:
            type = ScalarType(multiply_add[1])
            result = compute(isa.AluOperation.ADD, type, (compute(isa.AluOperation.MUL, type, values[:2]), values[2]))
        for destination in opaque.destinations:
            state.registers[destination.name] = result

    def _compute_alu(self, state: WalkState, position: int, alu: isa.Alu) -> SymbolicValue:
        values = tuple(self.value(state, source, position) for source in alu.sources)
        if alu.type is ScalarType.PRED and alu.operation is isa.AluOperation.NOT:
            return negate(values[0])
        if alu.type is ScalarType.PRED and alu.operation in (isa.AluOperation.AND, isa.AluOperation.OR):
            return join(alu.operation is isa.AluOperation.AND, *values)
        if alu.type is ScalarType.PRED and alu.operation is isa.AluOperation.XOR:
            one, other = values
            return join(False, join(True, one, negate(other)), join(True, negate(one), other))
        if alu.operation is isa.AluOperation.SELP:
            return OpaqueValue(position, ".".join(self.program.statements[position].opcode), values)
        return compute(alu.operation, alu.type, values, alu.source_type)

    def _execute_access(self, state: WalkState, position: int, instruction: isa.MemoryInstruction) -> None:
        address = self._address(state, position)
        destination = instruction.destination if isinstance(instruction, (isa.Load, isa.Atomic)) else None
        sources = tuple(self.value(state, source, position) for source in operands_of(instruction))
        if isinstance(address, SymbolicAddress) and address.variable == LOCAL:
            if not isinstance(instruction, (isa.Load, isa.Store)):
                raise self.unsupported_error(position)
            self._access_local(state, position, address, destination, sources)
            return
        if not isinstance(address, SymbolicAddress):
            text = self.program.statements[position].text
            raise self.program.error(position, f"`{text}` uses an unknown address")
        bits = instruction.access.type.bits
        if isinstance(instruction, isa.Load) and bits == 64 and instruction.destination.name in self.names.pointers:
            pointed = SymbolicAddress(f"{self.names.name(address, 64)}_to")
            state.registers[instruction.destination.name] = pointed
            return
        variable = self.names.name(address, bits, position)
        read = None
        if destination is not None:
            read = ReadValue(state.reads, bits)
            state.reads += 1
            state.registers[destination.name] = read
        state.steps.append(AccessStep(position, instruction, variable, sources, read, state.guard))
        if state.memory is not None:
            self._perform(state, instruction, variable, sources, destination)

    def _address(self, state: WalkState, position: int) -> SymbolicValue:
        (address,) = self.program.statements[position].addresses
        assert address.base is not None  # an absolute address is opaque
        base = self.value(state, address.base, position)
        return compute(isa.AluOperation.ADD, ScalarType.S64, (base, Number(address.offset)))

    def _perform(
        self,
        state: WalkState,
        instruction: isa.MemoryInstruction,
        variable: str,
        sources: tuple[SymbolicValue, ...],
        destination: isa.Register | None,
    ) -> None:
        """Execute the access on known memory."""
        assert state.memory is not None
        old = state.memory.get(variable, 0)
        known = [rebuild(source, lambda leaf: self.known_leaf(state, leaf)) for source in sources]
        numbers = [source.value if isinstance(source, Number) else 0 for source in known]
        match instruction:
            case isa.Store():
                state.memory[variable] = numbers[0]
            case isa.Atomic() | isa.Reduce():
                new = modify_value(instruction.operation, old, numbers, instruction.access.type)
                state.memory[variable] = old if new is None else new
            case isa.Load():
                pass
        if destination is not None:
            state.values.append(old)
            state.registers[destination.name] = Number(old)

    def _access_private(self, state: WalkState, position: int, opaque: OpaqueInstruction) -> None:
        """Read a parameter, or read or write a variable of this thread."""
        statement = self.program.statements[position]
        address = statement.addresses[0] if len(statement.addresses) == 1 else None
        if address is None or address.base is None or "{" in statement.text:
            raise self.unsupported_error(position)
        destination = opaque.destinations[0] if opaque.destinations else None
        if statement.space is PtxSpace.PARAM:
            if destination is None:
                raise self.unsupported_error(position)
            name, offset = address.base.name, address.offset
            name = self.program.parameters.get(name, name)
            name = f"{name}_{offset}" if offset else name
            pointer = destination.name in self.names.pointers
            state.registers[destination.name] = SymbolicAddress(name) if pointer else GivenNumber(name)
            return
        place = self._address(state, position)
        if not isinstance(place, SymbolicAddress):
            raise self.program.error(position, f"`{statement.text}` uses an unknown address")
        sources = tuple(self.value(state, source, position) for source in opaque.sources)
        stored = sources[1:] if destination is None else ()  # the first source is the base of the address
        self._access_local(state, position, place, destination, stored)

    def _access_local(
        self,
        state: WalkState,
        position: int,
        address: SymbolicAddress,
        destination: isa.Operand | None,
        sources: tuple[SymbolicValue, ...],
    ) -> None:
        if destination is None:
            state.local[address.offset] = sources[0]
        elif not isinstance(destination, isa.Immediate):
            unset = OpaqueValue(position, "an unset local variable")
            state.registers[destination.name] = state.local.get(address.offset, unset)
