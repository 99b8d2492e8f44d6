"""What a test means, apart from how it is spelt: the normal form behind its hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpudiy.litmus.access import Access
from gpudiy.litmus.condition import (
    AddressOf,
    And,
    Compare,
    Constant,
    Expression,
    FinalRegister,
    FinalVariable,
    Implies,
    Not,
    Observable,
    Or,
    Term,
    Value,
    comparisons,
)
from gpudiy.litmus.instruction import (
    Alu,
    Atomic,
    Barrier,
    Branch,
    Comparison,
    Fence,
    Guard,
    Immediate,
    Instruction,
    Label,
    Load,
    Operand,
    ProxyFence,
    Reduce,
    Register,
    SetPredicate,
    Store,
    Variable,
    address_of,
    destination_of,
    guard_of,
    operands_of,
)
from gpudiy.litmus.test import Test

FLIPPED = {Comparison.GT: Comparison.LT, Comparison.GE: Comparison.LE}
INVERTED = {
    Comparison.EQ: Comparison.NE,
    Comparison.NE: Comparison.EQ,
    Comparison.LT: Comparison.GE,
    Comparison.GE: Comparison.LT,
    Comparison.GT: Comparison.LE,
    Comparison.LE: Comparison.GT,
}


def content_hash(test: Test) -> str:
    """The same for tests of the same meaning, whatever their names, register names and order of declarations."""
    content = Content.of(test)
    text = content.text(range(len(test.threads)), {name: name for name in content.variables})
    return digest(text)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class VariableUse:
    """A variable among the tokens of a thread; what it is called is decided when the tokens are written."""

    name: str


Token = str | VariableUse


@dataclass(frozen=True, slots=True)
class Content:
    """A test in normal form, still free to name its threads and variables."""

    test: Test
    threads: tuple[tuple[Token, ...], ...]
    registers: tuple[dict[str, str | Value], ...]
    variables: tuple[str, ...]

    @staticmethod
    def of(test: Test) -> Content:
        normal = [_ThreadContent(test, number) for number in range(len(test.threads))]
        threads = tuple(thread.tokens() for thread in normal)
        registers = tuple({name: thread.final(name) for name in thread.declared} for thread in normal)
        return Content(test, threads, registers, _used_variables(test, threads))

    def text(self, order: Sequence[int], names: dict[str, str]) -> str:
        """The content with thread order[i] as thread i and every variable under its name in `names`."""
        new_number = {old: new for new, old in enumerate(order)}
        parts = [self._thread_text(thread, names) for thread in order]
        parts.append(repr(self.test.scope_tree.renamed(order).placements))
        parts += sorted(self._variable_text(name, names) for name in self.variables)
        condition = self.test.condition
        parts.append(f"{condition.quantifier} {self.expression(condition.expression, new_number, names)}")
        if self.test.filter is not None:
            parts.append(f"filter {self.expression(self.test.filter, new_number, names)}")
        shown = {self.term(term, new_number, names) for term in self.test.locations}
        parts.append(" ".join(("locations", *sorted(shown))))
        return "\n".join(parts)

    def expression(self, expression: Expression, threads: dict[int, int], names: dict[str, str]) -> str:
        return normal_expression(expression, lambda term: self.term(term, threads, names))

    def term(self, term: Term, threads: dict[int, int], names: dict[str, str]) -> str:
        match term:
            case FinalRegister(thread=thread, name=name):
                known = self.registers[thread][name]
                return f"{threads[thread]}:{known}" if isinstance(known, str) else f"#{_value(known, names)}"
            case FinalVariable(name=name):
                return f"[{names[name]}]"
            case Constant(value=value):
                return f"#{value}"
            case AddressOf(variable=variable):
                return f"#&{names[variable]}"

    def _thread_text(self, thread: int, names: dict[str, str]) -> str:
        return " ".join(token if isinstance(token, str) else f"&{names[token.name]}" for token in self.threads[thread])

    def _variable_text(self, name: str, names: dict[str, str]) -> str:
        return " ".join((names[name], *self.attributes(name, names)))

    def attributes(self, name: str, names: dict[str, str]) -> tuple[str, ...]:
        """What is known of a variable, apart from its name."""
        variable = next(variable for variable in self.test.memory_map.variables if variable.name == name)
        aliases = "-" if variable.aliases is None else names[variable.aliases]
        return variable.space, aliases, variable.proxy, _value(self.test.initial_value(name), names)


def normal_expression(expression: Expression, term: Callable[[Term], str], negated: bool = False) -> str:
    """Negation pushed inwards, parts flattened and sorted, comparisons turned one way."""
    match expression:
        case Compare(comparison=comparison, left=left, right=right):
            comparison = INVERTED[comparison] if negated else comparison
            sides = (term(left), term(right))
            if comparison in FLIPPED:
                comparison, sides = FLIPPED[comparison], (sides[1], sides[0])
            elif comparison in (Comparison.EQ, Comparison.NE):
                sides = (min(sides), max(sides))
            return f"({comparison} {sides[0]} {sides[1]})"
        case Not(inner=inner):
            return normal_expression(inner, term, not negated)
        case Implies(premise=premise, conclusion=conclusion):
            return normal_expression(Or((Not(premise), conclusion)), term, negated)
        case And(parts=parts) | Or(parts=parts):
            all_of = isinstance(expression, And) != negated
            texts = sorted(set(_flattened(parts, term, negated, all_of)))
            return texts[0] if len(texts) == 1 else f"({'and' if all_of else 'or'} {' '.join(texts)})"


def _flattened(parts: tuple[Expression, ...], term: Callable[[Term], str], negated: bool, all_of: bool) -> list[str]:
    texts: list[str] = []
    for part in parts:
        inner, turned = part, negated
        while isinstance(inner, Not):
            inner, turned = inner.inner, not turned
        if isinstance(inner, Implies):
            inner = Or((Not(inner.premise), inner.conclusion))
        if isinstance(inner, (And, Or)) and (isinstance(inner, And) != turned) == all_of:
            texts += _flattened(inner.parts, term, turned, all_of)
        else:
            texts.append(normal_expression(inner, term, turned))
    return texts


class _ThreadContent:
    """One thread: registers numbered by their first use, constants in place of registers never written."""

    def __init__(self, test: Test, number: int) -> None:
        self.thread = test.threads[number]
        self.declared = {declaration.name: declaration for declaration in test.registers_of(number)}
        written = {destination.name for i in self.thread if (destination := destination_of(i)) is not None}
        guards = {guard.predicate.name for i in self.thread if (guard := guard_of(i)) is not None}
        self.kept = written | guards
        self.numbers: dict[str, int] = {}
        self.positions = self._label_positions()

    def tokens(self) -> tuple[Token, ...]:
        tokens: list[Token] = []
        for instruction in self.thread:
            if not isinstance(instruction, Label):
                tokens += self._instruction(instruction)
                tokens.append(";")
        for name in self.numbers:
            declaration = self.declared[name]
            tokens.append(f"{declaration.type}=")
            tokens += _value_tokens(declaration.initial)
        return tuple(tokens)

    def final(self, name: str) -> str | Value:
        """What a register is in a condition: its normal name, or its value if the thread does not use it so."""
        return f"r{self.numbers[name]}" if name in self.numbers else self.declared[name].initial

    def _label_positions(self) -> dict[str, int]:
        positions, position = {}, 0
        for instruction in self.thread:
            if isinstance(instruction, Label):
                positions[instruction.name] = position
            else:
                position += 1
        return positions

    def _instruction(self, instruction: Instruction) -> list[Token]:
        guard = guard_of(instruction)
        tokens: list[Token] = [] if guard is None else self._guard(guard)
        tokens.append(self._words(instruction))
        destination = destination_of(instruction)
        if destination is not None:
            tokens.append(self._register(destination))
        address = address_of(instruction)
        if address is not None:
            tokens += ["@", *self._operand(address)]
        for operand in operands_of(instruction):
            tokens += self._operand(operand)
        return tokens

    def _words(self, instruction: Instruction) -> str:
        match instruction:
            case Load(access=access) | Store(access=access):
                return f"{type(instruction).__name__} {_access(access)}"
            case Atomic(operation=operation, access=access) | Reduce(operation=operation, access=access):
                return f"{type(instruction).__name__} {operation} {_access(access)}"
            case Fence(kind=kind, scope=scope):
                return f"Fence {kind} {scope.word}"
            case ProxyFence(kind=kind):
                return f"ProxyFence {kind}"
            case Barrier(mode=mode, instance=instance):
                return f"Barrier {mode} {instance}"
            case Alu():
                return f"Alu {instruction.operation} {instruction.type} {instruction.source_type}"
            case SetPredicate():
                return f"SetPredicate {instruction.comparison} {instruction.type}"
            case Branch(target=target):
                return f"Branch {self.positions[target]}"
            case Label():
                return ""

    def _guard(self, guard: Guard) -> list[Token]:
        return ["unless" if guard.negated else "if", self._register(guard.predicate)]

    def _operand(self, operand: Operand) -> list[Token]:
        if isinstance(operand, Immediate):
            return [f"#{operand.value}"]
        if isinstance(operand, Variable):
            return [VariableUse(operand.name)]
        if operand.name in self.kept:
            return [self._register(operand)]
        return _value_tokens(self.declared[operand.name].initial)

    def _register(self, register: Register) -> str:
        return f"r{self.numbers.setdefault(register.name, len(self.numbers))}"


def _access(access: Access) -> str:
    scope = "-" if access.scope is None else access.scope.word
    return f"{access.type} {access.order} {scope} {access.space or '-'} {access.cache or '-'} {access.proxy}"


def _value_tokens(value: Value) -> list[Token]:
    return [VariableUse(value.variable)] if isinstance(value, AddressOf) else [f"#{value}"]


def _value(value: Value, names: dict[str, str]) -> str:
    return f"&{names[value.variable]}" if isinstance(value, AddressOf) else str(value)


def _used_variables(test: Test, threads: tuple[tuple[Token, ...], ...]) -> tuple[str, ...]:
    """Variables that matter, in the order of the memory map."""
    used = {token.name for tokens in threads for token in tokens if isinstance(token, VariableUse)}
    expressions = [test.condition.expression] + ([] if test.filter is None else [test.filter])
    terms: list[Term | Observable] = [
        term for expression in expressions for item in comparisons(expression) for term in (item.left, item.right)
    ]
    for term in (*terms, *test.locations):
        if isinstance(term, FinalVariable):
            used.add(term.name)
        elif isinstance(term, AddressOf):
            used.add(term.variable)
        elif isinstance(term, FinalRegister):
            initial = next(d.initial for d in test.registers_of(term.thread) if d.name == term.name)
            if isinstance(initial, AddressOf):
                used.add(initial.variable)
    growing = True
    while growing:
        reached = {test.initial_value(name) for name in used}
        more = {value.variable for value in reached if isinstance(value, AddressOf)}
        more |= {v.aliases for v in test.memory_map.variables if v.name in used and v.aliases is not None}
        growing = not more <= used
        used |= more
    return tuple(name for name in test.memory_map.names if name in used)
