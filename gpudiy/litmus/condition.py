"""Conditions: what a test asks of its final states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from gpudiy.litmus.instruction import Comparison

DEEPEST = 40  # nesting of a condition, or of a scope tree, that a reader follows


@dataclass(frozen=True, slots=True)
class FinalRegister:
    """The last value of a register of a thread."""

    thread: int
    name: str


@dataclass(frozen=True, slots=True)
class FinalVariable:
    """The last value of a variable in memory."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    value: int


@dataclass(frozen=True, slots=True)
class AddressOf:
    """The address of a variable: an initial value, or what a register is compared with."""

    variable: str


Observable = FinalRegister | FinalVariable
Term = Observable | Constant | AddressOf
Value = int | AddressOf


@dataclass(frozen=True, slots=True)
class Compare:
    comparison: Comparison
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Not:
    inner: Expression


@dataclass(frozen=True, slots=True)
class And:
    """True when all parts are; without parts it is true."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True when some part is; without parts it is false."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Implies:
    premise: Expression
    conclusion: Expression


Expression = Compare | Not | And | Or | Implies


class Quantifier(StrEnum):
    EXISTS = "exists"
    NOT_EXISTS = "~exists"
    FORALL = "forall"


@dataclass(frozen=True, slots=True)
class Condition:
    quantifier: Quantifier
    expression: Expression


def comparisons(expression: Expression) -> Iterator[Compare]:
    """Every comparison in the expression, left to right."""
    match expression:
        case Compare():
            yield expression
        case Not(inner=inner):
            yield from comparisons(inner)
        case And(parts=parts) | Or(parts=parts):
            for part in parts:
                yield from comparisons(part)
        case Implies(premise=premise, conclusion=conclusion):
            yield from comparisons(premise)
            yield from comparisons(conclusion)


def observables(expression: Expression) -> list[Observable]:
    """The registers and variables the expression looks at, each once, left to right."""
    seen: dict[Observable, None] = {}
    for comparison in comparisons(expression):
        for term in (comparison.left, comparison.right):
            if isinstance(term, (FinalRegister, FinalVariable)):
                seen[term] = None
    return list(seen)


def holds(expression: Expression, value_of: Callable[[Observable], Value]) -> bool:
    """Whether the expression is true of a final state; addresses are only ever equal or different."""

    def valued(term: Term) -> Value:
        if isinstance(term, Constant):
            return term.value
        return term if isinstance(term, AddressOf) else value_of(term)

    match expression:
        case Compare(comparison=comparison, left=left, right=right):
            return _compare(comparison, valued(left), valued(right))
        case Not(inner=inner):
            return not holds(inner, value_of)
        case And(parts=parts):
            return all(holds(part, value_of) for part in parts)
        case Or(parts=parts):
            return any(holds(part, value_of) for part in parts)
        case Implies(premise=premise, conclusion=conclusion):
            return not holds(premise, value_of) or holds(conclusion, value_of)


def mapped(expression: Expression, change: Callable[[Term], Term]) -> Expression:
    """The expression with every term changed."""
    match expression:
        case Compare():
            return replace(expression, left=change(expression.left), right=change(expression.right))
        case Not():
            return Not(mapped(expression.inner, change))
        case And():
            return And(tuple(mapped(part, change) for part in expression.parts))
        case Or():
            return Or(tuple(mapped(part, change) for part in expression.parts))
        case Implies():
            return Implies(mapped(expression.premise, change), mapped(expression.conclusion, change))


def _compare(comparison: Comparison, left: Value, right: Value) -> bool:
    if comparison is Comparison.EQ:
        return left == right
    if comparison is Comparison.NE:
        return left != right
    if isinstance(left, AddressOf) or isinstance(right, AddressOf):
        return False
    return {
        Comparison.LT: left < right,
        Comparison.LE: left <= right,
        Comparison.GT: left > right,
        Comparison.GE: left >= right,
    }[comparison]
