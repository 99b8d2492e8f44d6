"""Conditions as text."""

from __future__ import annotations

from gpudiy.litmus import condition as logic
from gpudiy.litmus.comparison import Comparison

SYMBOLS = {comparison: "=" if comparison is Comparison.EQ else comparison.symbol for comparison in Comparison}
DAT3M_SYMBOLS = {comparison: f" {comparison.symbol} " for comparison in Comparison}


def condition_text(condition: logic.Condition) -> str:
    """The condition with its quantifier: `exists (0:r2=0 /\\ 1:r2=0)`."""
    return f"{condition.quantifier} ({expression_text(condition.expression)})"


def expression_text(expression: logic.Expression, *, dat3m: bool = False) -> str:
    """The expression, with parentheses around every inner one that is not a comparison."""
    match expression:
        case logic.Compare(comparison=comparison, left=left, right=right):
            symbol = (DAT3M_SYMBOLS if dat3m else SYMBOLS)[comparison]
            return f"{term_text(left, dat3m=dat3m)}{symbol}{term_text(right, dat3m=dat3m)}"
        case logic.Not(inner=inner):
            return f"not {_inner(inner, dat3m)}"
        case logic.And(parts=()):
            return "true"
        case logic.Or(parts=()):
            return "false"
        case logic.And(parts=parts):
            return " /\\ ".join(_inner(part, dat3m) for part in parts)
        case logic.Or(parts=parts):
            return " \\/ ".join(_inner(part, dat3m) for part in parts)
        case logic.Implies(premise=premise, conclusion=conclusion):
            return f"{_inner(premise, dat3m)} => {_inner(conclusion, dat3m)}"


def term_text(term: logic.Term, *, dat3m: bool = False) -> str:
    """A term: `0:r1`, `x`, `5` or `&x`; dat3m writes `P0:r1`."""
    match term:
        case logic.FinalRegister(thread=thread, name=name):
            return f"{'P' if dat3m else ''}{thread}:{name}"
        case logic.Constant(value=value):
            return str(value)
        case logic.AddressOf(variable=variable):
            return f"&{variable}"
        case _:
            return term.name


def _inner(expression: logic.Expression, dat3m: bool) -> str:
    text = expression_text(expression, dat3m=dat3m)
    plain = isinstance(expression, logic.Compare) or expression in (logic.And(()), logic.Or(()))
    return text if plain else f"({text})"
