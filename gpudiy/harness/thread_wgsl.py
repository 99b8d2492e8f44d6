"""One thread of a test in WGSL: relaxed atomics, and registers of 32 bits. `wgsl_obstacles` says what this cannot be.

An address is a number of bytes, in `locations` or in `shared_memory`. A thread that accesses a location again adds a
zero to its address that no compiler knows: else two loads might become one. WGSL has no jumps: a thread with branches
is a loop around a `switch` over the labels that it is at.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.harness.shape import ZEROS
from gpudiy.harness.thread_c11 import PLAIN_NAME, variable_name
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import ScalarType, Space
from gpudiy.litmus.condition import AddressOf, FinalRegister
from gpudiy.litmus.flow import memory_uses
from gpudiy.litmus.test import Test

FETCHES = {
    isa.AtomicOperation.ADD: "atomicAdd",
    isa.AtomicOperation.AND: "atomicAnd",
    isa.AtomicOperation.OR: "atomicOr",
    isa.AtomicOperation.XOR: "atomicXor",
    isa.AtomicOperation.EXCH: "atomicExchange",
}
UNSIGNED_FETCHES = {isa.AtomicOperation.MIN: "atomicMin", isa.AtomicOperation.MAX: "atomicMax"}
LOOPS = {  # WGSL has no such operation: compare and exchange until it succeeds
    isa.AtomicOperation.MIN: "min_signed(old, operand)",
    isa.AtomicOperation.MAX: "max_signed(old, operand)",
    isa.AtomicOperation.INC: "select(old + 1u, 0u, old >= operand)",
    isa.AtomicOperation.DEC: "select(old - 1u, operand, old == 0u || old > operand)",
}
ATOMIC_PASSES = 4  # of such a loop, generously: it is done again when another thread was faster
ATOMICS = frozenset({*FETCHES, *LOOPS, isa.AtomicOperation.CAS})
OPERATORS = {
    isa.AluOperation.ADD: "+", isa.AluOperation.SUB: "-", isa.AluOperation.MUL: "*",
    isa.AluOperation.AND: "&", isa.AluOperation.OR: "|", isa.AluOperation.XOR: "^",
}  # fmt: skip
FUNCTIONS = {  # by operation and whether its numbers are signed; those of WGSL or of arithmetic.wgsl
    (isa.AluOperation.MIN, False): "min", (isa.AluOperation.MIN, True): "min_signed",
    (isa.AluOperation.MAX, False): "max", (isa.AluOperation.MAX, True): "max_signed",
    (isa.AluOperation.DIV, False): "divide_unsigned", (isa.AluOperation.DIV, True): "divide_signed",
    (isa.AluOperation.SHL, False): "shift_left", (isa.AluOperation.SHL, True): "shift_left",
    (isa.AluOperation.SHR, False): "shift_right_unsigned", (isa.AluOperation.SHR, True): "shift_right_signed",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ThreadWgsl:
    """The body of the loop over instances: `at_x` is the address of x, `results` are the final values."""

    thread: int
    lines: tuple[str, ...]
    variables: tuple[str, ...]
    zeros: tuple[int, ...]  # `zero_N` is zero number N of the launch
    results: tuple[str, ...]  # expressions for the observed registers, in the order of `test.observed`
    loops: bool  # whether a loop of it may be cut
    passes: int  # that its other loops make in an instance, if no other thread is in their way


def thread_wgsl(test: Test, thread: int) -> ThreadWgsl:
    """The statements of one thread; the test must have no obstacle."""
    return _Writer(test, thread).write()


class _Writer:
    def __init__(self, test: Test, thread: int) -> None:
        self.test = test
        self.thread = thread
        self.code = test.threads[thread]
        self.registers = {found.name: found for found in test.registers_of(thread)}
        self.names = {
            name: name if PLAIN_NAME.match(name) else f"x{number}_{variable_name(name)}"
            for number, name in enumerate(self.registers)
        }
        self.targets = {use.position: use.targets for use in memory_uses(test) if use.thread == thread}
        self.zeros: dict[int, int] = {}  # by the position of an instruction whose location was accessed before
        seen: set[str] = set()
        for position, targets in self.targets.items():
            if seen & targets:
                self.zeros[position] = len(self.zeros) % ZEROS
            seen |= targets
        self.labels: dict[str, int] = {}  # the number of the part of the thread that begins with each label
        for instruction in self.code:
            if isinstance(instruction, isa.Label):
                self.labels[instruction.name] = 1 + len(self.labels)
        self.variables: dict[str, None] = {}

    def write(self) -> ThreadWgsl:
        lines = [self._declare(name) for name in self.registers]
        branches = any(isinstance(instruction, isa.Branch) for instruction in self.code)
        lines += self._write_parts() if branches else self._write_all()
        observed = [
            item.name for item in self.test.observed if isinstance(item, FinalRegister) and item.thread == self.thread
        ]
        results = tuple(self._result(name) for name in observed)
        passes = len(self.labels) + 1 if branches else 0
        passes += ATOMIC_PASSES * sum(isinstance(found, (isa.Atomic, isa.Reduce)) for found in self.code)
        zeros = tuple(sorted(set(self.zeros.values())))
        return ThreadWgsl(self.thread, tuple(lines), tuple(self.variables), zeros, results, self._has_loops(), passes)

    def _declare(self, name: str) -> str:
        found = self.registers[name]
        initial = found.initial
        value = self._address(initial.variable) if isinstance(initial, AddressOf) else _number(initial, found.type)
        return f"var {self.names[name]}: {'bool' if found.type is ScalarType.PRED else 'u32'} = {value};"

    def _result(self, name: str) -> str:
        predicate = self.registers[name].type is ScalarType.PRED
        return f"select(0u, 1u, {self.names[name]})" if predicate else self.names[name]

    def _has_loops(self) -> bool:
        places = {found.name: place for place, found in enumerate(self.code) if isinstance(found, isa.Label)}
        return any(
            isinstance(found, isa.Branch) and places[found.target] <= place for place, found in enumerate(self.code)
        )

    def _write_all(self) -> list[str]:
        return [line for index, found in enumerate(self.code) for line in self._write_instruction(index, found)]

    def _write_parts(self) -> list[str]:
        """A loop around a `switch` whose cases are the parts between labels; after too many passes it is cut."""
        last = len(self.labels)
        lines = ["var part = 0u;", f"for (var passes = 0u; part <= {last}u; passes++) {{"]
        lines += self._cut_long_loops() if self._has_loops() else []
        lines += ["    switch part {", "        case 0u: {"]
        for index, instruction in enumerate(self.code):
            if isinstance(instruction, isa.Label):
                number = self.labels[instruction.name]
                lines += [f"            part = {number}u;", "        }", f"        case {number}u: {{"]
            else:
                lines += [f"            {line}" for line in self._write_instruction(index, instruction)]
        lines += [f"            part = {last + 1}u;", "        }", "        default: {", "        }", "    }", "}"]
        return lines

    def _cut_long_loops(self) -> list[str]:
        stop = ["        atomicStore(&cuts[instance], 1u);", "        break;"]
        return ["    if (passes == launch.loop_limit || !may_wait()) {", *stop, "    }"]

    def _write_instruction(self, index: int, instruction: isa.Instruction) -> list[str]:
        guard = isa.guard_of(instruction)
        if guard is None:
            return self._statements(index, instruction)
        test = f"if ({'!' if guard.negated else ''}{self.names[guard.predicate.name]}) {{"
        return [test, *(f"    {line}" for line in self._statements(index, instruction)), "}"]

    def _statements(self, index: int, instruction: isa.Instruction) -> list[str]:
        match instruction:
            case isa.Load(destination=destination):
                return [f"{self.names[destination.name]} = atomicLoad({self._place(index, instruction)});"]
            case isa.Store(source=source):
                return [f"atomicStore({self._place(index, instruction)}, {self._operand(source, ScalarType.U32)});"]
            case isa.Atomic() | isa.Reduce():
                return self._atomic(index, instruction)
            case isa.Alu():
                return [f"{self.names[instruction.destination.name]} = {self._alu(instruction)};"]
            case isa.SetPredicate():
                return [f"{self.names[instruction.destination.name]} = {self._compare(instruction)};"]
            case isa.Branch(target=target):
                return [f"part = {self.labels[target]}u;", "continue;"]
            case isa.Label():
                return []
            case isa.Fence() | isa.ProxyFence() | isa.Barrier():
                raise ValueError(f"{instruction} has no meaning in WGSL: see wgsl_obstacle()")

    def _atomic(self, index: int, instruction: isa.Atomic | isa.Reduce) -> list[str]:
        place = self._place(index, instruction)
        operation = instruction.operation
        values = [self._operand(source, ScalarType.U32) for source in instruction.sources]
        result = f"{self.names[instruction.destination.name]} = " if isinstance(instruction, isa.Atomic) else ""
        unsigned = not _is_signed(instruction.access.type)
        fetch = FETCHES.get(operation) or (UNSIGNED_FETCHES.get(operation) if unsigned else None)
        if fetch is not None:
            return [f"{result}{fetch}({place}, {values[0]});"]
        if operation is isa.AtomicOperation.CAS:
            return self._compare_exchange(place, values, result)
        return [
            "{",
            f"    let operand = {values[0]};",
            f"    var old = atomicLoad({place});",
            "    loop {",
            f"        let answer = atomicCompareExchangeWeak({place}, old, {LOOPS[operation]});",
            "        if (answer.exchanged) {",
            "            break;",
            "        }",
            "        old = answer.old_value;",
            "    }",
            *([f"    {result}old;"] if result else []),
            "}",
        ]

    def _compare_exchange(self, place: str, values: list[str], result: str) -> list[str]:
        """The operation of WGSL may fail although the values are equal: then it is done again."""
        return [
            "{",
            f"    let expected = {values[0]};",
            f"    let wanted = {values[1]};",
            f"    var answer = atomicCompareExchangeWeak({place}, expected, wanted);",
            "    while (!answer.exchanged && answer.old_value == expected) {",
            f"        answer = atomicCompareExchangeWeak({place}, expected, wanted);",
            "    }",
            *([f"    {result}answer.old_value;"] if result else []),
            "}",
        ]

    def _alu(self, alu: isa.Alu) -> str:
        operation, type = alu.operation, alu.type
        if operation is isa.AluOperation.SELP:
            chosen, otherwise = (self._operand(source, type) for source in alu.sources[:2])
            return f"select({otherwise}, {chosen}, {self._operand(alu.sources[2], ScalarType.PRED)})"
        values = [self._operand(source, type) for source in alu.sources]
        if operation in (isa.AluOperation.MOV, isa.AluOperation.CVT):
            return values[0]
        if type is not ScalarType.PRED and all(isinstance(source, isa.Immediate) for source in alu.sources):
            values[0] = f"number({values[0]})"
        if operation is isa.AluOperation.NOT:
            return f"{'!' if type is ScalarType.PRED else '~'}{values[0]}"
        if operation in OPERATORS:
            sign = "!=" if type is ScalarType.PRED and operation is isa.AluOperation.XOR else OPERATORS[operation]
            return f"{values[0]} {sign} {values[1]}"
        return f"{FUNCTIONS[operation, _is_signed(type)]}({', '.join(values)})"

    def _compare(self, instruction: isa.SetPredicate) -> str:
        values = [self._operand(source, instruction.type) for source in instruction.sources]
        if _is_signed(instruction.type):
            values = [f"bitcast<i32>({value})" for value in values]
        return f"{values[0]} {instruction.comparison.symbol} {values[1]}"

    def _operand(self, operand: isa.Operand, type: ScalarType) -> str:
        match operand:
            case isa.Immediate(value=value):
                return _number(value, type)
            case isa.Variable(name=name):
                return self._address(name)
            case isa.Register(name=name):
                return self.names[name]

    def _place(self, index: int, instruction: isa.MemoryInstruction) -> str:
        address = instruction.address
        at = self.names[address.name] if isinstance(address, isa.Register) else self._address(address.name)
        if index in self.zeros:
            at = f"({at} + zero_{self.zeros[index]})"
        spaces = {self.test.memory_map.space_of(name) for name in self.targets[index]}
        return f"&{'shared_memory' if Space.SHARED in spaces else 'locations'}[{at} >> 2u]"

    def _address(self, variable: str) -> str:
        self.variables[variable] = None
        return f"at_{variable_name(variable)}"


def _is_signed(type: ScalarType) -> bool:
    return type[0] == "s"


def _number(value: int, type: ScalarType) -> str:
    if type is ScalarType.PRED:
        return "true" if value else "false"
    return f"{value & 0xFFFFFFFF}u"
