"""Tests in the PTX format of Dat3M, which cannot express all tests."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import Access, ScalarType, Scope, Space
from gpudiy.litmus.condition import AddressOf, And, Compare, Expression, FinalRegister, Implies, Not, Or, comparisons
from gpudiy.litmus.condition_text import expression_text, term_text
from gpudiy.litmus.instruction import destination_of, guard_of, operands_of
from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.litmus.print_gpu_ptx import quoted_texts, rows_text
from gpudiy.litmus.test import Test
from gpudiy.litmus.traits import ATOMIC, LOAD, REDUCE, STORE

REGISTER = re.compile(r"r\d+\Z", re.ASCII)
ARITHMETIC = (isa.AluOperation.ADD, isa.AluOperation.SUB, isa.AluOperation.MUL, isa.AluOperation.DIV)
BITWISE = (isa.AluOperation.AND, isa.AluOperation.OR, isa.AluOperation.XOR)
OPERATIONS = ("add", "sub", "mul", "div", "and", "or", "xor", "exch", "cas")
PROXY_FENCES = ("alias", "generic", "texture", "surface", "constant")


class CannotExpress(Exception):
    """A format has no words for something in the test."""


def dat3m_text(test: Test) -> str:
    """The test in the dat3m format; raises `CannotExpress` for the first part that the format cannot express."""
    _check_placement(test)
    _check_condition(test)
    columns = [
        [header, *_ThreadPrinter(test, number).lines()]
        for number, header in enumerate(_headers(test))
    ]  # fmt: skip
    lines = [f"PTX {test.name}", *quoted_texts(test), "{", *_declarations(test), "}", *rows_text(columns, " | ", " ;")]
    if test.locations:
        lines.append("locations [" + " ".join(f"{term_text(term, dat3m=True)};" for term in test.locations) + "]")
    if test.filter is not None:
        lines.append(f"filter ({expression_text(test.filter, dat3m=True)})")
    lines += [str(test.condition.quantifier), f"({expression_text(test.condition.expression, dat3m=True)})"]
    return "\n".join(lines) + "\n"


def _check_placement(test: Test) -> None:
    placements = test.scope_tree.placements
    if test.scope_tree.host is not None:
        raise CannotExpress("threads on the host")
    if len({placement.warp for placement in placements}) < len(placements):
        raise CannotExpress("two threads in one warp")
    if test.scope_tree.has_clusters:
        raise CannotExpress("clusters of CTAs")
    if len({placement.kernel for placement in placements}) > len({placement.device for placement in placements}):
        raise CannotExpress("two kernels on one device")
    if test.memory_map.symbolic or any(variable.space is Space.SHARED for variable in test.memory_map.variables):
        raise CannotExpress("shared space")
    if any(REGISTER.match(name) for name in test.memory_map.names):
        raise CannotExpress("a variable that is named like a register")


def _check_condition(test: Test) -> None:
    for expression in test.expressions:
        if _has_other_connectives(expression):
            raise CannotExpress("`=>`, `true` and `false` in a condition")
        for comparison in comparisons(expression):
            if isinstance(comparison.left, AddressOf) or isinstance(comparison.right, AddressOf):
                raise CannotExpress("an address in a condition")


def _has_other_connectives(expression: Expression) -> bool:
    match expression:
        case Implies() | And(parts=()) | Or(parts=()):
            return True
        case Not(inner=inner):
            return _has_other_connectives(inner)
        case And(parts=parts) | Or(parts=parts):
            return any(map(_has_other_connectives, parts))
        case Compare():
            return False


def _headers(test: Test) -> Iterator[str]:
    numbers: dict[int, dict[int, int]] = {}
    for number, placement in enumerate(test.scope_tree.placements):
        ctas = numbers.setdefault(placement.device, {})
        yield f"P{number}@cta {ctas.setdefault(placement.cta, len(ctas))},gpu {placement.device}"


def _declarations(test: Test) -> Iterator[str]:
    for variable in test.memory_map.variables:
        if variable.aliases is not None:
            yield f"{variable.name} @ {variable.proxy} aliases {variable.aliases};"
            continue
        value = test.initial_value(variable.name)
        yield f"{variable.name}={f'&{value.variable}' if isinstance(value, AddressOf) else value};"
    for number in range(len(test.threads)):
        printer = _ThreadPrinter(test, number)
        for declaration in test.registers_of(number):
            if declaration.name not in printer.addresses and declaration.type is not ScalarType.PRED:
                yield f"P{number}:{declaration.name}={declaration.initial};"


class _ThreadPrinter:
    """The lines of one thread."""

    def __init__(self, test: Test, number: int) -> None:
        self.number = number
        self.thread = test.threads[number]
        self.declarations = {declaration.name: declaration for declaration in test.registers_of(number)}
        self.addresses = self._address_registers(test)
        labels = [instruction.name for instruction in self.thread if isinstance(instruction, isa.Label)]
        plain = all(re.match(r"LC\d+\Z", label, re.ASCII) for label in labels)
        self.labels = {label: label if plain else f"LC{index:02}" for index, label in enumerate(labels)}

    def lines(self) -> Iterator[str]:
        for name, declaration in self.declarations.items():
            if name in self.addresses or declaration.type is ScalarType.PRED:
                continue
            if not REGISTER.match(name) or declaration.type is not ScalarType.S32:
                raise CannotExpress(f"register {name} of type .{declaration.type} (only r0, r1, … of type .s32)")
        pending: isa.SetPredicate | None = None
        for instruction in self.thread:
            if pending is not None:
                yield self.branch(pending, instruction)
                pending = None
            elif isinstance(instruction, isa.SetPredicate) and instruction.guard is None:
                pending = instruction
            elif guard_of(instruction) is not None:
                raise CannotExpress(f"the guard of `{instruction_text(instruction)}`")
            else:
                yield self.line(instruction)
        if pending is not None:
            raise CannotExpress("a setp that is not followed by its branch")

    def branch(self, test: isa.SetPredicate, branch: isa.Instruction) -> str:
        guard = guard_of(branch)
        if not isinstance(branch, isa.Branch) or guard is None or guard.predicate != test.destination:
            raise CannotExpress("a setp that is not followed by its branch")
        if test.type.bits != 32 or test.type[0] == "u":
            raise CannotExpress(f"a comparison of type .{test.type}")
        if guard.negated:
            raise CannotExpress(f"the negated guard of `{instruction_text(branch)}`")
        left, right = map(self.value, test.sources)
        return f"b{test.comparison} {left}, {right}, {self.labels[branch.target]}"

    def line(self, instruction: isa.Instruction) -> str:
        match instruction:
            case isa.Load(destination=destination, address=address, access=access):
                return f"{LOAD.words[access.proxy]}.{_order(access)} {destination.name}, {self.address(address)}"
            case isa.Store(address=address, source=source, access=access):
                return f"{STORE.words[access.proxy]}.{_order(access)} {self.address(address)}, {self.value(source)}"
            case isa.Atomic(destination=destination, access=access):
                word = f"{ATOMIC.words[access.proxy]}.{_order(access)}.{_operation(instruction.operation)}"
                return f"{word} {destination.name}, {self.address(instruction.address)}, {self.values(instruction)}"
            case isa.Reduce(access=access):
                word = f"{REDUCE.words[access.proxy]}.{_order(access)}.{_operation(instruction.operation)}"
                return f"{word} {self.address(instruction.address)}, {self.values(instruction)}"
            case isa.Alu():
                return self.arithmetic(instruction)
            case isa.Fence(kind=isa.FenceKind.SC | isa.FenceKind.ACQ_REL, scope=scope):
                return f"fence.{instruction.kind}.{_scope(scope)}"
            case isa.ProxyFence(kind=kind) if kind in PROXY_FENCES:
                return f"fence.proxy.{kind}"
            case isa.Barrier():
                return self.barrier(instruction)
            case isa.Branch(target=target):
                return f"goto {self.labels[target]}"
            case isa.Label(name=name):
                return f"{self.labels[name]}:"
            case isa.Fence() | isa.ProxyFence() | isa.SetPredicate():
                raise CannotExpress(f"`{instruction_text(instruction)}`")

    def arithmetic(self, alu: isa.Alu) -> str:
        if alu.type is not (ScalarType.B32 if alu.operation in BITWISE else ScalarType.S32):
            raise CannotExpress(f"`{instruction_text(alu)}`")
        if alu.operation not in (isa.AluOperation.MOV, *ARITHMETIC, *BITWISE):
            raise CannotExpress(f"`{instruction_text(alu)}`")
        word = "ld" if alu.operation is isa.AluOperation.MOV else alu.operation
        return f"{word} {alu.destination.name}, {self.values(alu)}"

    def barrier(self, barrier: isa.Barrier) -> str:
        operands = [str(barrier.instance)]
        if barrier.identifier != isa.Immediate(0) or barrier.count is not None:
            operands.append(self.value(barrier.identifier))
        if barrier.count is not None:
            operands.append(self.value(barrier.count))
        return f"bar.cta.{barrier.mode} {', '.join(operands)}"

    def values(self, instruction: isa.Instruction) -> str:
        return ", ".join(map(self.value, operands_of(instruction)))

    def value(self, operand: isa.Operand) -> str:
        if isinstance(operand, isa.Immediate):
            return str(operand.value)
        if isinstance(operand, isa.Variable) or operand.name in self.addresses:
            raise CannotExpress("an address as a value")
        return operand.name

    def address(self, address: isa.Address) -> str:
        if isinstance(address, isa.Variable):
            return address.name
        if address.name not in self.addresses:
            raise CannotExpress(f"an address that is computed ({address.name} of P{self.number})")
        return self.addresses[address.name]

    def _address_registers(self, test: Test) -> dict[str, str]:
        """Registers that hold the address of one variable all along: the format names the variable itself."""
        written = {destination.name for i in self.thread if (destination := destination_of(i)) is not None}
        observed = {
            term.name for term in test.observed if isinstance(term, FinalRegister) and term.thread == self.number
        }
        return {
            declaration.name: declaration.initial.variable
            for declaration in self.declarations.values()
            if isinstance(declaration.initial, AddressOf) and declaration.name not in written | observed
        }


def _order(access: Access) -> str:
    if access.cache is not None:
        raise CannotExpress(f"the cache operator .{access.cache}")
    if access.space is Space.GLOBAL:
        raise CannotExpress("an access that names its space")
    if access.type.bits != 32:
        raise CannotExpress(f"an access of type .{access.type}")
    if access.order.implied_scope is not None:
        raise CannotExpress(f"a {access.order} access")
    return str(access.order) if access.scope is None else f"{access.order}.{_scope(access.scope)}"


def _scope(scope: Scope) -> str:
    if scope is Scope.CLUSTER:
        raise CannotExpress("scope .cluster")
    return scope.word


def _operation(operation: isa.AtomicOperation) -> str:
    if operation not in OPERATIONS:
        raise CannotExpress(f"the atomic operation .{operation}")
    return operation
