"""Terms: what a register holds, as an expression over the values at entry, loaded words and loops.

Equal terms are one object. A term is evaluated on sample words: two terms with equal values on all samples are taken to
be equal. Operations that optcheck does not know are evaluated to words that depend on all their operands, so a value
that went through one equals nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b

from optcheck.sass import WORD

WIDE = 0xFFFFFFFFFFFFFFFF
MOST_TERMS = 1 << 18


class Term:
    """An operation on terms and numbers; `symbols` are those that occur in it."""

    __slots__ = ("arguments", "operation", "symbols")

    def __init__(self, operation: str, arguments: tuple[object, ...], symbols: frozenset[Term]) -> None:
        self.operation = operation
        self.arguments = arguments
        self.symbols = symbols or (frozenset({self}) if operation == "symbol" else frozenset())

    def __repr__(self) -> str:
        return f"{self.operation}({', '.join(map(str, self.arguments))})"

    @property
    def is_number(self) -> bool:
        return self.operation == "number"

    @property
    def number(self) -> int:
        """The value of a number."""
        (value,) = self.arguments
        assert isinstance(value, int)
        return value


_TERMS: dict[tuple[object, ...], Term] = {}
NONE: frozenset[Term] = frozenset()


def _make(operation: str, *arguments: object) -> Term:
    key = (operation, *arguments)
    term = _TERMS.get(key)
    if term is None:
        inner = [one.symbols for one in arguments if isinstance(one, Term)]
        term = _TERMS[key] = Term(operation, arguments, NONE.union(*inner))
    return term


def number(value: int) -> Term:
    """A word, or a truth value."""
    return _make("number", value & WORD)


def symbol(*name: object) -> Term:
    """An unknown word."""
    return _make("symbol", *name)


class _Entries(dict[str, Term]):
    """The words that registers hold at entry."""

    def __missing__(self, name: str) -> Term:
        found = self[name] = symbol("entry", name)
        return found


_ENTRIES = _Entries()
entry = _ENTRIES.__getitem__  # from the name of a register


def forget_terms() -> bool:
    """If there are very many terms, give their memory back: those made before are no longer equal to new ones."""
    if len(_TERMS) < MOST_TERMS:
        return False
    numbers = {key: term for key, term in _TERMS.items() if term.is_number}
    _TERMS.clear()
    _ENTRIES.clear()
    _TERMS.update(numbers)
    return True


ZERO, ONE = number(0), number(1)


def operate(operation: str, *arguments: Term | int) -> Term:
    """The result of an operation of `OPERATIONS`; one on numbers only is computed."""
    if all(not isinstance(one, Term) or one.operation == "number" for one in arguments):
        words = [one.arguments[0] if isinstance(one, Term) else one for one in arguments]
        return number(int(OPERATIONS[operation](*words)))
    return _make(operation, *arguments)


def unknown(name: str, *arguments: Term | int) -> Term:
    """The result of an operation that optcheck does not know."""
    return _make("unknown", name, *arguments)


def mentions_unknown(term: Term) -> bool:
    """Whether an operation that optcheck does not know is in a term."""
    if term.operation == "unknown":
        return True
    return any(isinstance(one, Term) and mentions_unknown(one) for one in term.arguments)


def add(*terms: Term) -> Term:
    """A sum; numbers in it are added up."""
    total = 0
    rest: list[object] = []
    for term in terms:
        if term.operation == "number":
            total += term.number
        elif term.operation == "add" and isinstance(last := term.arguments[-1], Term) and last.is_number:
            total += last.number
            rest += term.arguments[:-1]
        else:
            rest.append(term)
    total &= WORD
    if not rest:
        return number(total)
    if total:
        return _make("add", *rest, number(total))
    first = rest[0]
    return first if len(rest) == 1 and isinstance(first, Term) else _make("add", *rest)


def negate(term: Term) -> Term:
    """A truth value turned round."""
    if term.operation == "not":
        (inner,) = term.arguments
        assert isinstance(inner, Term)
        return inner
    return operate("not", term)


def conjunction(one: Term, other: Term) -> Term:
    """Whether both hold."""
    if ZERO in (one, other):
        return ZERO
    return other if one is ONE else one if other is ONE else operate("and", one, other)


def disjunction(one: Term, other: Term) -> Term:
    """Whether one holds or both."""
    return negate(conjunction(negate(one), negate(other)))


def apply_table(a: Term, b: Term, c: Term, table: int) -> Term:
    """A truth value by a table of eight: bit 4a + 2b + c of it."""
    for bit, term in ((4, a), (2, b), (1, c)):
        if term.is_number:
            kept = [row | bit if term is ONE else row & ~bit for row in range(8)]
            table = sum((table >> one & 1) << row for row, one in enumerate(kept))
    for bit, term in ((4, a), (2, b), (1, c)):
        rows = [row for row in range(8) if table >> row & 1]
        if rows == [row for row in range(8) if row & bit]:
            return term
        if rows == [row for row in range(8) if not row & bit]:
            return negate(term)
    if table in (0, 255):
        return ONE if table else ZERO
    return operate("table", a, b, c, table)


def _sign(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word


def _lop3(a: int, b: int, c: int, table: int) -> int:
    result = 0
    for row in range(8):
        if table >> row & 1:
            result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result & WORD


def _permute(a: int, selector: int, b: int) -> int:
    source, result = b << 32 | a, 0
    for place in range(4):
        chosen = selector >> 4 * place & 15
        byte = source >> 8 * (chosen & 7) & 255
        result |= (255 * (byte >> 7) if chosen & 8 else byte) << 8 * place
    return result


def _product(a: int, b: int, low: int, high: int, signed: int) -> int:
    one, other = (_sign(a), _sign(b)) if signed else (a, b)
    return (one * other + (high << 32 | low)) & WIDE


def _shift_right(high: int, low: int, distance: int, signed: int) -> int:
    upper = _sign(high) if signed else high
    return ((upper << 32 | low) >> min(distance, 63)) & WIDE


# Shifts by more than the width give 0, or the sign.
OPERATIONS: dict[str, Callable[..., int]] = {
    "add": lambda *words: sum(words) & WORD,
    "carry": lambda *words: sum(words) >> 32 & 1,
    "carries": lambda least, *words: int(sum(words) >> 32 >= least),
    "sum right": lambda a, b: a + b >> 16 & WORD,
    "multiply": lambda a, b: a * b & WORD,
    "product low": lambda a, b, low, high, signed: _product(a, b, low, high, signed) & WORD,
    "product high": lambda a, b, low, high, signed: _product(a, b, low, high, signed) >> 32,
    "product carry": lambda a, b, low, high, signed: a * b + (high << 32 | low) >> 64 & 1,
    "lop3": _lop3,
    "permute": _permute,
    "left": lambda a, distance: a << min(distance, 32) & WORD,
    "left high": lambda low, high, distance: (high << 32 | low) << min(distance, 63) >> 32 & WORD,
    "right low": lambda high, low, distance, signed: _shift_right(high, low, distance, signed) & WORD,
    "right high": lambda high, low, distance, signed: _shift_right(high, low, distance, signed) >> 32,
    "minimum": lambda a, b, signed: min(a, b, key=_sign) if signed else min(a, b),
    "maximum": lambda a, b, signed: max(a, b, key=_sign) if signed else max(a, b),
    "choose": lambda condition, a, b: a if condition else b,
    "equal": lambda a, b: int(a == b),
    "less": lambda a, b, signed: int(_sign(a) < _sign(b) if signed else a < b),
    "not": lambda condition: 1 - condition,
    "and": lambda a, b: a & b,
    "table": lambda a, b, c, table: table >> (4 * a + 2 * b + c) & 1,
    "different": lambda a, b: a ^ b,
    "byte": lambda a, place, width, signed: _extract(a, place, width, signed),
}


def _extract(word: int, place: int, width: int, signed: int) -> int:
    bits = word >> place & (1 << width) - 1
    return (bits | -(bits >> width - 1) << width) & WORD if signed else bits


class Samples:
    """The values of terms on a number of samples; those of symbols are random words that depend on their names."""

    def __init__(self, count: int, known: dict[Term, list[int]] | None = None) -> None:
        self.count = count
        self._values = dict(known or {})

    def values(self, term: Term) -> list[int]:
        """The values of a term, which must not be changed."""
        found = self._values.get(term)
        if found is None:
            found = self._values[term] = self._compute(term)
        return found

    def symbol_words(self, name: tuple[object, ...]) -> list[int]:
        """The values of a symbol."""
        return random_words(name, self.count)

    def _compute(self, term: Term) -> list[int]:
        operation, arguments = term.operation, term.arguments
        if operation == "number":
            return [term.number] * self.count
        if operation == "symbol":
            return self.symbol_words(arguments)
        columns = [
            self.values(one) if isinstance(one, Term) else [one] * self.count
            for one in (arguments[1:] if operation == "unknown" else arguments)
        ]
        if operation == "unknown":
            rows = zip(*columns, strict=True) if columns else [()] * self.count
            return [random_words((arguments[0], *row), 1)[0] for row in rows]
        return list(map(OPERATIONS[operation], *columns))


@lru_cache(1 << 14)
def random_words(name: tuple[object, ...], count: int) -> list[int]:
    """Words that depend on a name only; every second one is the complement of the one before it."""
    text = repr(name).encode()
    words: list[int] = []
    for place in range(0, count, 8):
        digest = blake2b(text, digest_size=16, salt=place.to_bytes(2, "little")).digest()
        for at in range(0, 16, 4):
            word = int.from_bytes(digest[at : at + 4], "little")
            words += [word, word ^ WORD]
    return words[:count]
