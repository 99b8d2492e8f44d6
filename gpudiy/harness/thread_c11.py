"""One thread of a test in C11 atomics: for OpenCL, and for the host build that runs the harness without a GPU.

`c11_obstacles` says which tests lose their meaning there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpudiy.harness.cta_barriers import count_warps, start_barrier, start_warps
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import Access, Order, ScalarType, Scope, Space
from gpudiy.litmus.condition import AddressOf, FinalRegister
from gpudiy.litmus.flow import memory_uses
from gpudiy.litmus.test import Test

PLAIN_NAME = re.compile(r"[rp]\d+\Z", re.ASCII)
ORDERS = {
    Order.RELAXED: "relaxed",
    Order.ACQUIRE: "acquire",
    Order.RELEASE: "release",
    Order.ACQ_REL: "acq_rel",
    Order.VOLATILE: "relaxed",
}
FETCHES = {
    isa.AtomicOperation.ADD: "add",
    isa.AtomicOperation.AND: "and",
    isa.AtomicOperation.OR: "or",
    isa.AtomicOperation.XOR: "xor",
}
LOOPS = {  # C11 has no such operation: compare and exchange until it succeeds
    isa.AtomicOperation.MIN: "old < operand ? old : operand",
    isa.AtomicOperation.MAX: "old > operand ? old : operand",
    isa.AtomicOperation.INC: "old >= operand ? 0 : old + 1",
    isa.AtomicOperation.DEC: "old == 0 || old > operand ? operand : old - 1",
}
ATOMICS = frozenset({*FETCHES, *LOOPS, isa.AtomicOperation.EXCH, isa.AtomicOperation.CAS})
ARITHMETIC = {
    isa.AluOperation.ADD: "+", isa.AluOperation.SUB: "-", isa.AluOperation.MUL: "*",
    isa.AluOperation.AND: "&", isa.AluOperation.OR: "|", isa.AluOperation.XOR: "^",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ThreadC11:
    """The body of the loop over instances: `at_x` is the address of x, `results` name the final values."""

    thread: int
    lines: tuple[str, ...]
    variables: tuple[str, ...]
    results: tuple[str, ...]  # C names of the times and the observed registers, in the order of `test.observed`


def thread_c11(test: Test, thread: int, timed: bool = False) -> ThreadC11:
    """The statements of one thread, between two looks at the clock if `timed`; the test must have no obstacle."""
    return _Writer(test, thread).write(timed)


def order_and_scope(access: Access) -> tuple[str, str] | None:
    """The C11 order and the scope of an access; None for a plain one."""
    if access.order is not Order.WEAK:
        return ORDERS[access.order], (access.effective_scope or Scope.GPU).word
    return None if access.cache is None else ("relaxed", (access.cache.scope or Scope.CTA).word)


class _Writer:
    def __init__(self, test: Test, thread: int) -> None:
        self.test = test
        self.thread = thread
        self.declarations = {found.name: found for found in test.registers_of(thread)}
        self.names = {name: _c_name(number, name) for number, name in enumerate(self.declarations)}
        self.spaces = {
            use.position: {test.memory_map.space_of(name) for name in use.targets}
            for use in memory_uses(test)
            if use.thread == thread
        }
        self.variables: dict[str, None] = {}

    def write(self, timed: bool) -> ThreadC11:
        lines = [self._declare_register(name) for name in self.declarations]
        times = ("begin", "end") if timed else ()
        if timed:
            lines.append("const u32 begin = read_clock();")
        warps = start_warps(self.test, self.thread)
        if warps:
            lines.append(self._barrier(start_barrier(warps)))
        for index, instruction in enumerate(self.test.threads[self.thread]):
            lines += self._write_instruction(index, instruction)
        observed = [
            item.name for item in self.test.observed if isinstance(item, FinalRegister) and item.thread == self.thread
        ]
        if timed:
            lines.append("const u32 end = read_clock();")
        results = (*times, *(self.names[name] for name in observed))
        return ThreadC11(self.thread, tuple(lines), tuple(self.variables), results)

    def _declare_register(self, name: str) -> str:
        found = self.declarations[name]
        initial = found.initial
        value = self._address(initial.variable) if isinstance(initial, AddressOf) else _number(initial, found.type)
        return f"{_c_type(found.type)} {self.names[name]} = {value};"

    def _write_instruction(self, index: int, instruction: isa.Instruction) -> list[str]:
        guard = isa.guard_of(instruction)
        if guard is None:
            return self._statements(index, instruction)
        test = f"if ({'!' if guard.negated else ''}{self.names[guard.predicate.name]}) {{"
        return [test, *(f"    {line}" for line in self._statements(index, instruction)), "}"]

    def _statements(self, index: int, instruction: isa.Instruction) -> list[str]:
        match instruction:
            case isa.Load() | isa.Store() | isa.Atomic() | isa.Reduce():
                return self._access(index, instruction)
            case isa.Fence(kind=kind, scope=scope):
                return [f"FENCE({'seq_cst' if kind.sequential else kind}, {scope.word});"]
            case isa.Alu():
                return [f"{self.names[instruction.destination.name]} = {self._alu_expression(instruction)};"]
            case isa.SetPredicate(comparison=comparison, type=type, sources=(left, right)):
                compared = f"{self._operand(left, type)} {comparison.symbol} {self._operand(right, type)}"
                return [f"{self.names[instruction.destination.name]} = {compared};"]
            case isa.Branch(target=target):
                return [f"goto {self._label(target)};"]
            case isa.Label(name=name):
                return [f"{self._label(name)}:;"]
            case isa.Barrier():
                return [self._barrier(instruction)]
            case isa.ProxyFence():
                raise ValueError(f"{instruction} has no meaning in C11: see obstacle()")

    def _barrier(self, barrier: isa.Barrier) -> str:
        """A barrier of whole warps; the host build alone has them."""
        assert isinstance(barrier.identifier, isa.Immediate)
        warps = count_warps(barrier) or start_warps(self.test, self.thread)
        return f"CTA_BARRIER({barrier.identifier.value}, {warps}, {int(barrier.mode.waits)});"

    def _access(self, index: int, instruction: isa.MemoryInstruction) -> list[str]:
        access = instruction.access
        type = _c_type(access.type)
        space = access.space or next(iter(self.spaces[index]))
        place = f"{'SHARED' if space is Space.SHARED else 'GLOBAL'}, {type}, {self._place(instruction)}"
        strength = order_and_scope(access)
        match instruction:
            case isa.Load(destination=destination):
                call = f"VOLATILE_LOAD({place})" if strength is None else f"LOAD({place}, {', '.join(strength)})"
                return [f"{self.names[destination.name]} = {call};"]
            case isa.Store(source=source):
                value = self._operand(source, access.type)
                if strength is None:
                    return [f"VOLATILE_STORE({place}, {value});"]
                return [f"STORE({place}, {value}, {', '.join(strength)});"]
            case isa.Atomic() | isa.Reduce():
                return self._atomic(instruction, place, strength or ("relaxed", "gpu"))

    def _atomic(self, instruction: isa.Atomic | isa.Reduce, place: str, strength: tuple[str, str]) -> list[str]:
        type = instruction.access.type
        order, scope = strength
        failure = "acquire" if order in ("acquire", "acq_rel") else "relaxed"
        values = [self._operand(source, type) for source in instruction.sources]
        result = f"{self.names[instruction.destination.name]} = " if isinstance(instruction, isa.Atomic) else ""
        operation = instruction.operation
        if operation in FETCHES:
            return [f"{result}FETCH({FETCHES[operation]}, {place}, {values[0]}, {order}, {scope});"]
        if operation is isa.AtomicOperation.EXCH:
            return [f"{result}EXCHANGE({place}, {values[0]}, {order}, {scope});"]
        lines = ["{"]
        if operation is isa.AtomicOperation.CAS:
            lines.append(f"    {_c_type(type)} old = {values[0]};")
            lines.append(f"    COMPARE_EXCHANGE({place}, &old, {values[1]}, {order}, {failure}, {scope});")
        else:
            lines.append(f"    const {_c_type(type)} operand = {values[0]};")
            lines.append(f"    {_c_type(type)} old = LOAD({place}, relaxed, {scope});")
            exchange = f"COMPARE_EXCHANGE({place}, &old, {LOOPS[operation]}, {order}, {failure}, {scope})"
            lines += [f"    while (!{exchange}) {{", "    }"]
        return [*lines, f"    {result}old;" if result else "    (void)old;", "}"]

    def _alu_expression(self, alu: isa.Alu) -> str:
        type, operation = alu.type, alu.operation
        c_type = _c_type(type)
        if operation is isa.AluOperation.CVT:
            return f"({c_type}){self._operand(alu.sources[0], alu.source_type or type)}"
        if operation is isa.AluOperation.SELP:
            chosen = self.names[alu.sources[2].name] if isinstance(alu.sources[2], isa.Register) else "0"
            return f"{chosen} ? {self._operand(alu.sources[0], type)} : {self._operand(alu.sources[1], type)}"
        values = [self._operand(source, type) for source in alu.sources]
        if operation is isa.AluOperation.MOV:
            return values[0]
        if operation is isa.AluOperation.NOT:
            return f"!{values[0]}" if type is ScalarType.PRED else f"({c_type})~{values[0]}"
        unsigned = "u32" if type is ScalarType.PRED else _c_type(type.of_kind("u"))
        if operation in ARITHMETIC:  # on unsigned numbers, where C wraps as PTX does
            return f"({c_type})(({unsigned}){values[0]} {ARITHMETIC[operation]} ({unsigned}){values[1]})"
        if operation in (isa.AluOperation.MIN, isa.AluOperation.MAX):
            sign = "<" if operation is isa.AluOperation.MIN else ">"
            return f"{values[0]} {sign} {values[1]} ? {values[0]} : {values[1]}"
        if operation is isa.AluOperation.DIV:
            return f"{values[1]} == 0 ? ({c_type})-1 : ({c_type})({values[0]} / {values[1]})"
        count = self._operand(alu.sources[1], ScalarType.U32)
        if operation is isa.AluOperation.SHL:
            return f"{count} < {type.bits} ? ({c_type})(({unsigned}){values[0]} << {count}) : 0"
        last = f"{values[0]} >> {type.bits - 1}"
        return f"({c_type})({count} < {type.bits} ? {values[0]} >> {count} : {last if type[0] == 's' else '0'})"

    def _operand(self, operand: isa.Operand, type: ScalarType) -> str:
        match operand:
            case isa.Immediate(value=value):
                return _number(value, type)
            case isa.Variable(name=name):
                return self._address(name)
            case isa.Register(name=name):
                return f"({_c_type(type)}){self.names[name]}"

    def _place(self, instruction: isa.MemoryInstruction) -> str:
        address = instruction.address
        return self.names[address.name] if isinstance(address, isa.Register) else self._address(address.name)

    def _address(self, variable: str) -> str:
        self.variables[variable] = None
        return f"at_{variable_name(variable)}"

    def _label(self, name: str) -> str:
        return f"label_{self.thread}_{variable_name(name)}"


def variable_name(name: str) -> str:
    """A name of C for a variable or a label: distinct names stay distinct."""
    return re.sub(r"[^A-Za-z0-9]", lambda found: f"_{ord(found[0]):x}_", name)


def _c_name(number: int, name: str) -> str:
    return name if PLAIN_NAME.match(name) else f"x{number}_{variable_name(name)}"


def _c_type(type: ScalarType) -> str:
    if type is ScalarType.PRED:
        return "u32"
    return f"{'s' if type[0] == 's' else 'u'}{type.bits}"


def _number(value: int, type: ScalarType) -> str:
    if type is ScalarType.PRED:
        return str(int(bool(value)))
    bits = value & ((1 << type.bits) - 1)
    return f"({_c_type(type)}){bits}{'ull' if type.bits == 64 else 'u'}"
