"""One thread of a test as one block of inline PTX, with the specification that optcheck finds again in the SASS.

The block is the content of an `asm volatile` statement: lines, outputs, inputs. It runs the thread once. Then, if it
gets an address for it, it stores one specification result per access: the value that was read or stored, plus the
literal of the access. A launch passes no address, so the test pays for one branch only; but the code exists, and the
compiler cannot remove it. It is a loop, which -O3 cannot turn into predicated instructions among those of the test.

A clock, if one is given, is read before the first instruction of the thread and after the last one. Threads in lanes of
one warp sleep before: so the launch decides who begins, and others begin meanwhile.

Every constant that is stored is a separate input: otherwise two stores of 1 would share a register, and -O3 would fold
the constant into the literal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from gpudiy.harness.cta_barriers import barrier_text, start_barrier, start_warps
from gpudiy.harness.inline_ptx import (
    BEGIN,
    END,
    UNTIMED,
    Input,
    InputKind,
    Output,
    PtxLine,
    ThreadPtx,
    Timing,
    Unrealisable,
    constraint_of,
    copy_out,
    register_names,
    set_constant_predicate,
)
from gpudiy.harness.ptx_obstacles import expect_realisable
from gpudiy.harness.spelling import Spelling, spell
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import ScalarType, Space
from gpudiy.litmus.condition import AddressOf, FinalRegister, Observable
from gpudiy.litmus.instruction_text import instruction_text, number_text, operand_text
from gpudiy.litmus.memory_map import MemoryMap
from gpudiy.litmus.test import RegisterDeclaration, Test, Thread
from gpudiy.litmus.traits import opcode_of
from optcheck.literal import Literal, type_number
from optcheck.specification import access_spaces

FOLDED = (
    isa.AluOperation.ADD,
    isa.AluOperation.SUB,
    isa.AluOperation.OR,
    isa.AluOperation.XOR,
)  # -O3 folds an immediate operand into the literal


@dataclass(frozen=True, slots=True)
class _Thread:
    """Everything that the block of a thread depends on; many tests share threads."""

    number: int
    instructions: Thread
    declarations: tuple[RegisterDeclaration, ...]
    observed: tuple[str, ...]  # registers
    spaces: tuple[tuple[int, Space | None], ...]  # of each access
    memory_map: MemoryMap
    start_warps: int  # warps of its CTA that meet before every instance; 0: none


def threads_ptx(test: Test, spelling: Spelling = Spelling.RELAXED, timing: Timing = UNTIMED) -> tuple[ThreadPtx, ...]:
    """The blocks of all threads, with accesses spelled for an architecture; raises `Unrealisable`."""
    spaces, observed = access_spaces(test), test.observed
    threads = (_thread(test, thread, spaces[thread], observed) for thread in range(len(test.threads)))
    return tuple(_write(thread, spelling, timing) for thread in threads)


def _thread(test: Test, thread: int, spaces: Mapping[int, Space | None], observed: Iterable[Observable]) -> _Thread:
    return _Thread(
        thread,
        test.threads[thread],
        test.registers_of(thread),
        tuple(item.name for item in observed if isinstance(item, FinalRegister) and item.thread == thread),
        tuple(spaces.items()),
        test.memory_map,
        start_warps(test, thread),
    )


@lru_cache(1 << 14)
def _write(thread: _Thread, spelling: Spelling, timing: Timing) -> ThreadPtx:
    return _Writer(thread, spelling, timing).write()


class _Writer:
    def __init__(self, thread: _Thread, spelling: Spelling, timing: Timing) -> None:
        if thread.memory_map.symbolic:
            raise Unrealisable(thread.number, None, "the memory map contradicts the instructions")
        self.memory_map = thread.memory_map
        self.thread = thread.number
        self.spelling = spelling
        self.timing = timing
        self.instructions = thread.instructions
        self.start_warps = thread.start_warps
        self.declarations = {declaration.name: declaration for declaration in thread.declarations}
        self.spaces = dict(thread.spaces)
        self.names = register_names(self.declarations)
        self.times = (BEGIN, END) if timing.clock else ()
        self.outputs = tuple(Output(name, "r", ScalarType.U32) for name in self.times)
        self.outputs += tuple(
            Output(name, constraint_of(self.declarations[name].type), self.declarations[name].type)
            for name in thread.observed
        )
        self.inputs: list[Input] = []
        self.addresses: dict[tuple[str, int], str] = {}
        self.changed = {
            found.destination.name
            for found in self.instructions
            if isinstance(found, (isa.Load, isa.Atomic, isa.Alu, isa.SetPredicate))
        }
        self.accesses: Counter[str] = Counter()  # so far, to each variable
        self.constants = {name: found.initial for name, found in self.declarations.items()}
        self.written: set[str] = set()  # registers whose value was stored already
        self.copies: list[tuple[str, Literal]] = []  # for each access the register with its value, and its literal
        self.lines: list[PtxLine] = []
        self.specification = ""

    def write(self) -> ThreadPtx:
        for index, instruction in enumerate(self.instructions):
            expect_realisable(self.thread, index, instruction, self.spaces.get(index))
            self._instruction(index, instruction)
        body = self.lines
        self.lines = []
        self._declare()
        self._sleep()
        self._read_clock(BEGIN)
        self._start_together()
        head = self.lines
        self.lines = []
        self._read_clock(END)
        self._specify()
        for number, output in enumerate(self.outputs):
            if output.register not in self.times:
                self._add(copy_out(number, output, self.names[output.register]))
        self._add("}")
        return ThreadPtx(self.thread, (*head, *body, *self.lines), self.outputs, tuple(self.inputs), len(self.copies))

    def _add(self, text: str, instruction: int | None = None) -> None:
        self.lines.append(PtxLine(text, instruction))

    # The inputs.

    def _input(self, entry: Input) -> str:
        self.inputs.append(entry)
        return f"%{len(self.outputs) + len(self.inputs) - 1}"

    def _address(self, variable: str, copy: int = 0) -> str:
        if (variable, copy) not in self.addresses:
            shared = self.memory_map.space_of(variable) is Space.SHARED
            entry = Input(InputKind.ADDRESS, "r" if shared else "l", variable=variable, copy=copy)
            self.addresses[variable, copy] = self._input(entry)
        return self.addresses[variable, copy]

    def _value(self, value: int, type: ScalarType) -> isa.Register:
        return isa.Register(self._input(Input(InputKind.VALUE, constraint_of(type), value=value)))

    # The instructions, with the names and operands of the block.

    def _instruction(self, index: int, instruction: isa.Instruction) -> None:
        match instruction:
            case isa.Load() | isa.Store() | isa.Atomic() | isa.Reduce():
                self._access(index, instruction)
            case isa.Alu():
                self._alu(index, instruction)
            case isa.SetPredicate():
                sources = (self._operand(instruction.sources[0]), self._operand(instruction.sources[1]))
                renamed = replace(instruction, sources=sources, destination=self._register(instruction.destination))
                self._statement(index, renamed)
            case isa.Branch():
                self._statement(index, replace(instruction, target=f"{instruction.target}_%="))
            case isa.Label():
                self.constants.clear()
                self._add(f"{instruction.name}_%=:", index)
            case isa.Barrier():
                self._add(f"{barrier_text(instruction)} // {instruction_text(instruction)}", index)
            case isa.Fence() | isa.ProxyFence():
                self._statement(index, instruction)

    def _statement(self, index: int, instruction: isa.Instruction) -> None:
        if not isinstance(instruction, isa.Label):
            instruction = replace(instruction, guard=self._guard(instruction))
        self._add(f"{instruction_text(instruction)};{self._note(index, instruction)}", index)

    def _note(self, index: int, spelled: isa.Instruction) -> str:
        """A comment with the opcode of the test where the block has another one."""
        written = self.instructions[index]
        if not isinstance(written, (isa.Load, isa.Store)) or not isinstance(spelled, (isa.Load, isa.Store)):
            return ""
        return "" if spelled.access.order is written.access.order else f" // {opcode_of(written)}"

    def _guard(self, instruction: isa.Instruction) -> isa.Guard | None:
        guard = isa.guard_of(instruction)
        return None if guard is None else isa.Guard(self._register(guard.predicate), guard.negated)

    def _guard_text(self, instruction: isa.Instruction) -> str:
        guard = self._guard(instruction)
        return "" if guard is None else f"@{'!' if guard.negated else ''}{guard.predicate.name} "

    def _register(self, register: isa.Register) -> isa.Register:
        return isa.Register(self.names[register.name])

    def _operand(self, operand: isa.Operand) -> isa.Operand:
        match operand:
            case isa.Register():
                return self._register(operand)
            case isa.Variable():
                return isa.Register(self._address(operand.name))
            case isa.Immediate():
                return operand

    def _place(self, address: isa.Address) -> isa.Address:
        """The address of an access. If the thread accessed the variable before, it gets an address of its own.

        Otherwise the compiler, which sees that two accesses have the same location, makes one of both.
        """
        variable = self._variable(address)
        before = 0 if variable is None else self.accesses[variable]
        if variable is not None:
            self.accesses[variable] += 1
        if isinstance(address, isa.Register) and not before:
            return self._register(address)
        return isa.Register(self._address(variable or address.name, before))

    def _variable(self, address: isa.Address) -> str | None:
        """The variable at an address; None for the address in a register that the thread changes."""
        if isinstance(address, isa.Variable):
            return address.name
        initial = self.declarations[address.name].initial
        return initial.variable if isinstance(initial, AddressOf) and address.name not in self.changed else None

    def _access(self, index: int, instruction: isa.MemoryInstruction) -> None:
        access = replace(instruction.access, space=self.spaces[index])
        if isinstance(instruction, (isa.Load, isa.Store)):
            access = spell(access, self.spelling)
        place = self._place(instruction.address)
        literal = Literal(self.thread, type_number(instruction), len(self.copies))
        copy = f"seen{len(self.copies)}"
        match instruction:
            case isa.Load():
                loaded = self._register(instruction.destination)
                self._statement(index, replace(instruction, destination=loaded, address=place, access=access))
                linked = loaded.name
            case isa.Store():
                stored = self._prepare_stored_value(instruction.source, access.type, index)
                self._statement(index, replace(instruction, address=place, source=stored, access=access))
                linked = operand_text(stored)
            case isa.Atomic():
                loaded = self._register(instruction.destination)
                sources = tuple(
                    self._prepare_stored_value(source, access.type, index) for source in instruction.sources
                )
                self._statement(
                    index, replace(instruction, destination=loaded, address=place, sources=sources, access=access)
                )
                linked = loaded.name
            case isa.Reduce():
                sources = tuple(
                    self._prepare_stored_value(source, access.type, index) for source in instruction.sources
                )
                self._statement(index, replace(instruction, address=place, sources=sources, access=access))
                linked = operand_text(sources[0])
        if linked.startswith("%") and access.type.bits == 32:
            copy = linked  # an input keeps its value
        else:
            self._copy(copy, linked, access.type, self._guard_text(instruction))
        self.copies.append((copy, literal))
        if isinstance(instruction, (isa.Load, isa.Atomic)):
            self._forget_value(instruction.destination)

    def _copy(self, copy: str, linked: str, type: ScalarType, guard: str) -> None:
        """Copy what was read or stored: 32 bits as they are, 16 bits extended, both words of 64 bits added."""
        if type.bits == 64:
            self._add(f"{guard}mov.b64 {{{copy},upper}},{linked};")
            self._add(f"{guard}add.s32 {copy},{copy},upper;")
        else:
            self._add(f"{guard}{'cvt.u32.u16' if type.bits == 16 else 'mov.b32'} {copy},{linked};")

    def _prepare_stored_value(self, operand: isa.Operand, type: ScalarType, index: int) -> isa.Operand:
        """The operand of a store: a constant, also one in a register, becomes a separate input.

        Two stores of one register could not be distinguished, so the second adds a zero that nobody can fold.
        """
        constant = self._constant(operand)
        if constant is not None:
            return self._value(constant, type)
        if not isinstance(operand, isa.Register) or operand.name not in self.written:
            if isinstance(operand, isa.Register):
                self.written.add(operand.name)
            return self._operand(operand)
        distinct = f"distinct{len(self.lines)}"
        bits = "s32" if type.bits == 32 else f"u{type.bits}"
        self._add(f".reg .{bits} {distinct};")
        self._add(f"add.{bits} {distinct},{self.names[operand.name]},{self._value(0, type).name};", index)
        return isa.Register(distinct)

    def _constant(self, operand: isa.Operand) -> int | None:
        if isinstance(operand, isa.Immediate):
            return operand.value
        known = self.constants.get(operand.name) if isinstance(operand, isa.Register) else None
        return known if isinstance(known, int) else None

    def _alu(self, index: int, alu: isa.Alu) -> None:
        sources = tuple(map(self._operand, alu.sources))
        name = alu.destination.name
        constant = self._constant(alu.sources[0]) if alu.operation is isa.AluOperation.MOV else None
        if alu.guard is None and constant is not None:
            self.constants[name] = constant
        else:
            self._forget_value(alu.destination)
            if alu.operation in FOLDED and alu.type is not ScalarType.PRED:
                sources = tuple(self._keep_unfolded(source, alu.type) for source in alu.sources)
        if (
            alu.operation is isa.AluOperation.MOV
            and alu.type is ScalarType.PRED
            and isinstance(sources[0], isa.Immediate)
        ):
            self._add(set_constant_predicate(self.names[name], sources[0].value, self._guard_text(alu)), index)
            return
        self._statement(index, replace(alu, destination=self._register(alu.destination), sources=sources))

    def _forget_value(self, register: isa.Register) -> None:
        self.constants.pop(register.name, None)
        self.written.discard(register.name)

    def _keep_unfolded(self, operand: isa.Operand, type: ScalarType) -> isa.Operand:
        return self._value(operand.value, type) if isinstance(operand, isa.Immediate) else self._operand(operand)

    # The beginning and the end of the block.

    def _sleep(self) -> None:
        if self.timing.sleeps:
            self._add(f"nanosleep.u32 {self._input(Input(InputKind.DELAY, 'r'))};")

    def _start_together(self) -> None:
        if self.start_warps:
            self._add(barrier_text(start_barrier(self.start_warps)))

    def _read_clock(self, time: str) -> None:
        if self.timing.clock is not None:
            self._add(f"mov.u32 %{self.times.index(time)},%%{self.timing.clock};")

    def _declare(self) -> None:
        self._add("{")
        for declaration in self.declarations.values():
            name, type = self.names[declaration.name], declaration.type
            self._add(f".reg .{type} {name};")
            self._add(self._initialise_register(name, declaration))
        if not self.copies:
            return
        copies = [copy for copy, _ in self.copies if not copy.startswith("%")]
        self._add(f".reg .b32 {','.join((*copies, 'upper', 'specified'))};")
        self.specification = self._input(Input(InputKind.SPECIFICATION, "l"))
        self._add(".reg .pred unspecified;")
        self._add(f"setp.eq.u64 unspecified,{self.specification},0;")
        if any(isinstance(item, isa.Branch) or isa.guard_of(item) is not None for item in self.instructions):
            for copy in copies:
                self._add(f"mov.b32 {copy},0;")  # the access may be skipped

    def _initialise_register(self, name: str, declaration: RegisterDeclaration) -> str:
        type, initial = declaration.type, declaration.initial
        if not isinstance(initial, AddressOf):
            if type is ScalarType.PRED:
                return set_constant_predicate(name, initial)
            return f"mov.{type} {name},{number_text(initial)};"
        address = self._address(initial.variable)
        shared = self.memory_map.space_of(initial.variable) is Space.SHARED
        if shared and type.bits == 64:
            return f"cvt.u64.u32 {name},{address};"
        return f"mov.{type} {name},{address};"

    def _specify(self) -> None:
        if not self.copies:
            return
        place = self.specification
        self._add("@unspecified bra specified_%=;")
        self._add("specify_%=:")
        for number, (copy, literal) in enumerate(self.copies):
            self._add(f"add.s32 specified,{copy},{literal.encode():#010x};")
            offset = f"+{4 * number}" if number else ""
            self._add(f"st.volatile.global.b32 [{place}{offset}],specified;")
        self._add(f"ld.volatile.global.b32 specified,[{place}];")
        self._add("setp.eq.b32 unspecified,specified,0;")
        self._add("@unspecified bra specify_%=;")
        self._add("specified_%=:")
