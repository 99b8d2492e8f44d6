"""The meaning of a test without its spelling: the normal form for its hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gpudiy.litmus import condition as logic
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.condition import comparisons, terms
from gpudiy.litmus.flow import memory_uses
from gpudiy.litmus.memory_map import MappedVariable
from gpudiy.litmus.test import RegisterDeclaration, Test, Thread
from gpudiy.litmus.thread_tokens import InitialToken, ThreadTokens, Token, VariableUse


def content_hash(test: Test) -> str:
    """The same for tests of the same meaning, whatever their names, register names and order of declarations."""
    content = Content.of(test)
    text = content.text(range(len(test.threads)), {name: name for name in content.variables})
    return digest(text)


def digest(text: str) -> str:
    """The hash of a text: 32 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Content:
    """A test in normal form, still free to name its threads and variables."""

    test: Test
    threads: tuple[tuple[Token, ...], ...]
    registers: tuple[dict[str, str | InitialToken], ...]
    variables: tuple[str, ...]
    mapped: dict[str, MappedVariable]
    initial: dict[str, logic.Value]

    @staticmethod
    def of(test: Test) -> Content:
        widths = _Widths(test)
        declared: list[list[RegisterDeclaration]] = [[] for _ in test.threads]
        for declaration in test.registers:
            declared[declaration.thread].append(declaration)
        normal = [_thread_tokens(*thread) for thread in zip(test.threads, declared, strict=True)]
        threads = tuple(thread.tokens for thread in normal)
        registers = tuple({name: thread.final(name) for name in thread.declared} for thread in normal)
        initial = {
            entry.variable: widths.unsigned_value(entry.value, logic.FinalVariable(entry.variable))
            for entry in test.init
        }
        mapped = {variable.name: variable for variable in test.memory_map.variables}
        variables = _used_variables(test, threads, registers, initial)
        return Content(widths.compare_bits(test), threads, registers, variables, mapped, initial)

    def text(self, order: Sequence[int], names: dict[str, str]) -> str:
        """The content with thread order[i] as thread i and every variable under its name in `names`."""
        new_number = {old: new for new, old in enumerate(order)}
        parts = [self._thread_text(thread, names) for thread in order]
        tree = self.test.scope_tree.reorder_threads(order)
        parts.append(repr(tree.placements) if tree.host is None else f"{tree.placements!r} host {tree.host}")
        parts += sorted(self._variable_text(name, names) for name in self.variables)
        condition = self.test.condition
        parts.append(f"{condition.quantifier} {self.expression(condition.expression, new_number, names)}")
        if self.test.filter is not None:
            parts.append(f"filter {self.expression(self.test.filter, new_number, names)}")
        shown = {self.term(term, new_number, names) for term in self.test.locations}
        parts.append(" ".join(("locations", *sorted(shown))))
        return "\n".join(parts)

    def expression(self, expression: logic.Expression, threads: dict[int, int], names: dict[str, str]) -> str:
        return normal_expression(expression, lambda term: self.term(term, threads, names))

    def term(self, term: logic.Term, threads: dict[int, int], names: dict[str, str]) -> str:
        match term:
            case logic.FinalRegister(thread=thread, name=name):
                known = self.registers[thread][name]
                return f"{threads[thread]}:{known}" if isinstance(known, str) else f"#{_value_text(known, names)}"
            case logic.FinalVariable(name=name):
                return f"[{names[name]}]"
            case logic.Constant(value=value):
                return f"#{value}"
            case logic.AddressOf(variable=variable):
                return f"#&{names[variable]}"

    def _thread_text(self, thread: int, names: dict[str, str]) -> str:
        return " ".join(token if isinstance(token, str) else f"&{names[token.name]}" for token in self.threads[thread])

    def _variable_text(self, name: str, names: dict[str, str]) -> str:
        return " ".join((names[name], *self.attributes(name, names)))

    def attributes(self, name: str, names: dict[str, str]) -> tuple[str, ...]:
        """What is known of a variable, apart from its name."""
        variable = self.mapped[name]
        aliases = "-" if variable.aliases is None else names[variable.aliases]
        return variable.space, aliases, variable.proxy, _value_text(_token(self.initial.get(name, 0)), names)


class _Widths:
    """Negative numbers as the bit patterns they are: -1 and 0xffffffff are the same 32 bits."""

    def __init__(self, test: Test) -> None:
        self.test = test
        self._types: dict[logic.Observable, ScalarType] | None = None

    def compare_bits(self, test: Test) -> Test:
        """The test with unsigned constants in the equalities of its condition and filter."""
        if not any(self._has_negative(one) for expression in test.expressions for one in comparisons(expression)):
            return test
        condition, *filter = [self._rewrite(expression) for expression in test.expressions]
        return replace(
            test, condition=replace(test.condition, expression=condition), filter=filter[0] if filter else None
        )

    def unsigned_value(self, value: logic.Value, place: logic.Observable) -> logic.Value:
        """The value as an unsigned number of the width of that place; 64 bits if its width is not known."""
        if isinstance(value, logic.AddressOf) or value >= 0:
            return value
        type = self._type_of(place)
        return value % (1 << (64 if type is None else type.bits))

    def _has_negative(self, compare: logic.Compare) -> bool:
        return compare.comparison.equates and any(
            isinstance(term, logic.Constant) and term.value < 0 for term in (compare.left, compare.right)
        )

    def _rewrite(self, expression: logic.Expression) -> logic.Expression:
        match expression:
            case logic.Compare(left=left, right=right):
                if not self._has_negative(expression):
                    return expression
                return logic.Compare(expression.comparison, self._term(left, right), self._term(right, left))
            case logic.Not(inner=inner):
                return logic.Not(self._rewrite(inner))
            case logic.And(parts=parts):
                return logic.And(tuple(map(self._rewrite, parts)))
            case logic.Or(parts=parts):
                return logic.Or(tuple(map(self._rewrite, parts)))
            case logic.Implies(premise=premise, conclusion=conclusion):
                return logic.Implies(self._rewrite(premise), self._rewrite(conclusion))

    def _term(self, term: logic.Term, other: logic.Term) -> logic.Term:
        if isinstance(term, logic.Constant) and isinstance(other, (logic.FinalRegister, logic.FinalVariable)):
            value = self.unsigned_value(term.value, other)
            return term if isinstance(value, logic.AddressOf) else logic.Constant(value)
        return term

    def _type_of(self, place: logic.Observable) -> ScalarType | None:
        if self._types is None:
            locations = self.test.memory_map.locations()
            accessed = {
                locations[name]: use.instruction.access.type for use in memory_uses(self.test) for name in use.targets
            }
            self._types = {logic.FinalRegister(d.thread, d.name): d.type for d in self.test.registers}
            self._types |= {
                logic.FinalVariable(name): accessed[location]
                for name, location in locations.items()
                if location in accessed
            }
        return self._types.get(place)


def normal_expression(expression: logic.Expression, term: Callable[[logic.Term], str], negated: bool = False) -> str:
    """The normal form: negation pushed inwards, parts flattened and sorted, comparisons in one direction."""
    match expression:
        case logic.Compare(comparison=comparison, left=left, right=right):
            comparison = comparison.opposite if negated else comparison
            sides = (term(left), term(right))
            if comparison in (Comparison.GT, Comparison.GE):
                comparison, sides = comparison.swapped, (sides[1], sides[0])
            elif comparison.equates:
                sides = (min(sides), max(sides))
            return f"({comparison} {sides[0]} {sides[1]})"
        case logic.Not(inner=inner):
            return normal_expression(inner, term, not negated)
        case logic.Implies(premise=premise, conclusion=conclusion):
            return normal_expression(logic.Or((logic.Not(premise), conclusion)), term, negated)
        case logic.And(parts=parts) | logic.Or(parts=parts):
            all_of = isinstance(expression, logic.And) != negated
            texts = sorted(set(_flatten(parts, term, negated, all_of)))
            return texts[0] if len(texts) == 1 else f"({'and' if all_of else 'or'} {' '.join(texts)})"


def _flatten(
    parts: tuple[logic.Expression, ...], term: Callable[[logic.Term], str], negated: bool, all_of: bool
) -> list[str]:
    texts: list[str] = []
    for part in parts:
        inner, turned = part, negated
        while isinstance(inner, logic.Not):
            inner, turned = inner.inner, not turned
        if isinstance(inner, logic.Implies):
            inner = logic.Or((logic.Not(inner.premise), inner.conclusion))
        if isinstance(inner, (logic.And, logic.Or)) and (isinstance(inner, logic.And) != turned) == all_of:
            texts += _flatten(inner.parts, term, turned, all_of)
        else:
            texts.append(normal_expression(inner, term, turned))
    return texts


def _thread_tokens(thread: Thread, declared: list[RegisterDeclaration]) -> ThreadTokens:
    return ThreadTokens(thread, {each.name: (each.type, _token(each.initial)) for each in declared})


def _token(value: logic.Value) -> InitialToken:
    return VariableUse(value.variable) if isinstance(value, logic.AddressOf) else value


def _value_text(value: InitialToken, names: dict[str, str]) -> str:
    return f"&{names[value.name]}" if isinstance(value, VariableUse) else str(value)


def _used_variables(
    test: Test,
    threads: tuple[tuple[Token, ...], ...],
    registers: tuple[dict[str, str | InitialToken], ...],
    initial: dict[str, logic.Value],
) -> tuple[str, ...]:
    """Variables that matter, in the order of the memory map."""
    used = {token.name for tokens in threads for token in tokens if isinstance(token, VariableUse)}
    asked = (term for expression in test.expressions for term in terms(expression))
    for term in (*asked, *test.locations):
        if isinstance(term, logic.FinalVariable):
            used.add(term.name)
        elif isinstance(term, logic.AddressOf):
            used.add(term.variable)
        elif isinstance(term, logic.FinalRegister):
            known = registers[term.thread][term.name]
            if isinstance(known, VariableUse):
                used.add(known.name)
    aliases = {variable.name: variable.aliases for variable in test.memory_map.variables}
    waiting = list(used)
    while waiting:
        name = waiting.pop()
        value, alias = initial.get(name), aliases[name]
        reached = [value.variable] if isinstance(value, logic.AddressOf) else []
        fresh = {*reached, *(() if alias is None else (alias,))} - used
        used |= fresh
        waiting += fresh
    return tuple(name for name in test.memory_map.names if name in used)
