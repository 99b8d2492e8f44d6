"""Conditions on the final states of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from gpudiy.litmus.comparison import Comparison

DEEPEST = 40  # the deepest nesting of a condition or scope tree that can be read


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
    """A number in a condition."""

    value: int


@dataclass(frozen=True, slots=True)
class AddressOf:
    """The address of a variable, as an initial value or in a comparison."""

    variable: str


Observable = FinalRegister | FinalVariable
Term = Observable | Constant | AddressOf
Value = int | AddressOf


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison of two terms."""

    comparison: Comparison
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Not:
    """True if the inner expression is false."""

    inner: Expression


@dataclass(frozen=True, slots=True)
class And:
    """True if all parts are, also without parts."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True if some part is; false without parts."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Implies:
    """True if the premise is false or the conclusion is true."""

    premise: Expression
    conclusion: Expression


Expression = Compare | Not | And | Or | Implies


class Quantifier(StrEnum):
    """Whether some final state, none, or every one must satisfy the expression."""

    EXISTS = "exists"
    NOT_EXISTS = "~exists"
    FORALL = "forall"


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression with its quantifier."""

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


def terms(expression: Expression) -> Iterator[Term]:
    """Both sides of every comparison in the expression, left to right."""
    for comparison in comparisons(expression):
        yield comparison.left
        yield comparison.right


def observables(expression: Expression) -> list[Observable]:
    """The registers and variables in the expression, left to right, without repetitions."""
    return list(dict.fromkeys(t for t in terms(expression) if isinstance(t, (FinalRegister, FinalVariable))))


def holds(expression: Expression, value_of: Callable[[Observable], Value]) -> bool:
    """Whether a final state satisfies the expression; addresses can only be equal or different."""

    def evaluate(term: Term) -> Value:
        if isinstance(term, Constant):
            return term.value
        return term if isinstance(term, AddressOf) else value_of(term)

    match expression:
        case Compare(comparison=comparison, left=left, right=right):
            return _compare(comparison, evaluate(left), evaluate(right))
        case Not(inner=inner):
            return not holds(inner, value_of)
        case And(parts=parts):
            return all(holds(part, value_of) for part in parts)
        case Or(parts=parts):
            return any(holds(part, value_of) for part in parts)
        case Implies(premise=premise, conclusion=conclusion):
            return not holds(premise, value_of) or holds(conclusion, value_of)


def map_terms(expression: Expression, change: Callable[[Term], Term]) -> Expression:
    """The expression with every term changed."""
    match expression:
        case Compare():
            return replace(expression, left=change(expression.left), right=change(expression.right))
        case Not():
            return Not(map_terms(expression.inner, change))
        case And():
            return And(tuple(map_terms(part, change) for part in expression.parts))
        case Or():
            return Or(tuple(map_terms(part, change) for part in expression.parts))
        case Implies():
            return Implies(map_terms(expression.premise, change), map_terms(expression.conclusion, change))


def _compare(comparison: Comparison, left: Value, right: Value) -> bool:
    if isinstance(left, AddressOf) or isinstance(right, AddressOf):
        return comparison.equates and (left == right) == (comparison is Comparison.EQ)
    return comparison.holds(left, right)
