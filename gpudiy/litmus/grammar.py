"""The grammar of the pieces a litmus file is made of; what they mean is decided elsewhere.

Every function parses one piece of text and remembers the answer: in a family of tests the same few hundred pieces
occur again and again, and each distinct one is parsed once. A piece that cannot be read raises `SyntaxProblem`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import pyparsing as pp

from gpudiy.litmus import condition as logic
from gpudiy.litmus.comparison import Comparison

Result = TypeVar("Result")

REMEMBERED = 1 << 16  # distinct pieces kept
SPACE = re.compile(r"\s*")


class SyntaxProblem(Exception):
    """A piece that is not well formed. The fault is at `offset` inside the piece, or where `token` occurs in it (the
    first time, or after as many other times as `occurrence` says).
    """

    def __init__(
        self, message: str, offset: int = 0, token: str | None = None, hint: str | None = None, occurrence: int = 0
    ) -> None:
        super().__init__(message)
        self.occurrence = occurrence
        self.message = message
        self.offset = offset
        self.token = token
        self.hint = hint

    def move_into(self, text: str, offset: int) -> SyntaxProblem:
        """The same problem in a larger text, which contains `text` at `offset`."""
        inside = self.offset if self.token is None else find_token(text, self.token, self.occurrence)
        return SyntaxProblem(self.message, offset + inside, hint=self.hint)


class RawOperand(NamedTuple):
    """kind is address (in brackets), number, name or address-of (`&x`)."""

    kind: str
    text: str
    value: int = 0


class RawInstruction(NamedTuple):
    """One cell of a program: labels, then perhaps an instruction."""

    labels: tuple[str, ...]
    guard: str | None
    negated: bool
    opcode: tuple[str, ...]
    operands: tuple[RawOperand, ...]


class RawDeclaration(NamedTuple):
    """`0:.reg .s32 r0 = x`, `0:r0=1`, `x=5` or `y @ texture aliases x`; what is absent is None."""

    thread: int | None
    name: str
    type: str | None
    value: logic.Value | None
    proxy: str | None
    aliases: str | None


def _regex(pattern: str) -> pp.ParserElement:
    return pp.Regex(pattern, flags=re.ASCII)


def _number(text: str) -> int:
    return int(text, 16 if "x" in text.lower() else 10)


NAME_PATTERN = r"[A-Za-z_$%][\w$]*"
NAME = _regex(NAME_PATTERN).set_name("a name")
NUMBER_PATTERN = r"[-+]?(?:0[xX][0-9a-fA-F]{1,32}|\d{1,40})(?![\w.])"
WRITTEN_NUMBER = re.compile(rf"(?<![\w$]){NUMBER_PATTERN}", re.ASCII)
NUMBER = _regex(NUMBER_PATTERN).set_name("a number")
NUMBER.add_parse_action(lambda tokens: _number(tokens[0]))
THREAD = _regex(r"P?(\d{1,6})(?=\s*:)").set_name("a thread")
THREAD.add_parse_action(lambda tokens: int(tokens[0].lstrip("P")))


def _word(text: str) -> pp.ParserElement:
    return pp.Suppress(pp.Literal(text))


def _instruction() -> pp.ParserElement:
    label = _regex(r"[A-Za-z_$][\w$]*(?=\s*:(?!:))") + _word(":")
    guard = _word("@") - pp.Opt(pp.Literal("!"), default="") + NAME
    opcode = _regex(r"[A-Za-z_]\w*(?:(?:\.|::)\w+)*").set_name("an instruction")
    inside = _regex(NAME_PATTERN).set_name("a register or variable")
    address = _word("[") - inside + _word("]").set_name("`]`: an address takes no offset")
    address.add_parse_action(lambda tokens: RawOperand("address", tokens[0]))
    number = pp.original_text_for(NUMBER).add_parse_action(
        lambda tokens: RawOperand("number", tokens[0], _number(tokens[0]))
    )
    name = NAME.copy().add_parse_action(lambda tokens: RawOperand("name", tokens[0]))
    taken = (_word("&") - NAME).add_parse_action(lambda tokens: RawOperand("address-of", tokens[0]))
    operand = (address | taken | number | name).set_name("an operand")
    operands = pp.Opt(operand + pp.ZeroOrMore(_word(",") - operand))
    return (
        pp.Group(pp.ZeroOrMore(label))
        + pp.Group(pp.Opt(guard))
        + pp.Opt(opcode, default="")
        + pp.Group(operands)
        + pp.StringEnd().set_name("the end of the instruction")
    )


def _declaration() -> pp.ParserElement:
    value = NUMBER | (pp.Opt(_word("&")) + NAME.copy().add_parse_action(lambda tokens: logic.AddressOf(tokens[0])))
    initial = pp.Opt(_word("=") - value.set_name("a value or a variable"))("value")
    register = _word(".reg") - _regex(r"\.\w+").set_name("a type such as .s32")("type") + NAME("name") + initial
    plain = NAME("name") + _word("=") - value("value")
    alias = NAME("name") + _word("@") - NAME("proxy") + _word("aliases") + NAME("aliases")
    of_thread = THREAD("thread") + _word(":") - (register | plain).set_name("`.reg` or a register")
    return (of_thread | plain | alias).set_name("a declaration") + pp.StringEnd().set_name("`;`")


# most conditions are a few equations: each of these is parsed once
PLAIN_CONDITION = re.compile(
    r"(?:\d{1,6}:)?[A-Za-z_]\w*=\d{1,9}(?: /\\ (?:\d{1,6}:)?[A-Za-z_]\w*=\d{1,9})*\Z", re.ASCII
)
COMPARISONS = {"=": "eq", "==": "eq", "!=": "ne", "<>": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def _observable() -> pp.ParserElement:
    register = (THREAD + _word(":") - NAME).add_parse_action(lambda tokens: logic.FinalRegister(tokens[0], tokens[1]))
    bracketed = _word("[") - NAME + _word("]")
    variable = (bracketed | NAME).add_parse_action(lambda tokens: logic.FinalVariable(tokens[0]))
    return (register | variable).set_name("a register or a variable")


def _chain(element: pp.ParserElement, operator: str, kind: type[logic.And] | type[logic.Or]) -> pp.ParserElement:
    def build(tokens: pp.ParseResults) -> logic.Expression:
        parts: list[logic.Expression] = list(tokens)
        return parts[0] if len(parts) == 1 else kind(tuple(parts))

    return (element + pp.ZeroOrMore(_word(operator) - element)).add_parse_action(build)


def _expression() -> pp.ParserElement:
    """`not` binds tightest, then `=>`, then `/\\`, then `\\/`, as in herd."""
    observable = _observable()
    constant = NUMBER.copy().add_parse_action(lambda tokens: logic.Constant(tokens[0]))
    address = (_word("&") - NAME).add_parse_action(lambda tokens: logic.AddressOf(tokens[0]))
    term = (observable | constant | address).set_name("a register, a variable or a number")
    operator = _regex(r"==|!=|<>|<=|>=|=(?!>)|<|>").set_name("a comparison")
    comparison = (term + operator - term).add_parse_action(
        lambda tokens: logic.Compare(Comparison(COMPARISONS[tokens[1]]), tokens[0], tokens[2])
    )
    expression = pp.Forward()
    implication = pp.Forward()
    negation = pp.Forward()
    true = pp.Keyword("true").add_parse_action(lambda: logic.And(()))
    false = pp.Keyword("false").add_parse_action(lambda: logic.Or(()))
    inverted = ((pp.Suppress(pp.Keyword("not")) | _word("~")) - negation).add_parse_action(lambda t: logic.Not(t[0]))
    parentheses = _word("(") - expression + _word(")").set_name(")")
    negation <<= (parentheses | inverted | true | false | comparison).set_name("a condition")
    implication <<= (negation + pp.Opt(_word("=>") - implication)).add_parse_action(
        lambda tokens: tokens[0] if len(tokens) == 1 else logic.Implies(tokens[0], tokens[1])
    )
    expression <<= _chain(_chain(implication, "/\\", logic.And), "\\/", logic.Or)
    return expression


def _condition() -> pp.ParserElement:
    expression = _expression()
    exists = pp.Keyword("exists") | pp.Keyword("final")
    forall = pp.Keyword("forall")
    never = (pp.Suppress(pp.Keyword("not")) | _word("~")) + pp.Keyword("exists")
    quantified = (
        (never - expression).add_parse_action(lambda tokens: logic.Condition(logic.Quantifier.NOT_EXISTS, tokens[1]))
        | (exists - expression).add_parse_action(lambda tokens: logic.Condition(logic.Quantifier.EXISTS, tokens[1]))
        | (forall - expression).add_parse_action(lambda tokens: logic.Condition(logic.Quantifier.FORALL, tokens[1]))
        | _observed_outcomes(expression)
        | expression.copy().add_parse_action(lambda tokens: logic.Condition(logic.Quantifier.EXISTS, tokens[0]))
    )
    return (
        quantified.set_name("a condition")
        + pp.Suppress(pp.Opt(";"))
        + pp.StringEnd().set_name("the end of the condition")
    )


def _observed_outcomes(expression: pp.ParserElement) -> pp.ParserElement:
    """`observed 0:r0=1; 1:r0=0; and 0:r0=0;`: the listed outcomes, or a condition on them."""
    equality = (_observable() + _word("=") - NUMBER).add_parse_action(
        lambda tokens: logic.Compare(Comparison.EQ, tokens[0], logic.Constant(tokens[1]))
    )
    outcome = pp.OneOrMore(equality + pp.Suppress(";")).add_parse_action(
        lambda tokens: tokens[0] if len(tokens) == 1 else logic.And(tuple(tokens))
    )
    outcomes = (outcome + pp.ZeroOrMore(pp.Suppress(pp.Keyword("and")) - outcome)).add_parse_action(
        lambda tokens: tokens[0] if len(tokens) == 1 else logic.Or(tuple(tokens))
    )
    return (pp.Suppress(pp.Keyword("observed")) - (outcomes | expression)).add_parse_action(
        lambda tokens: logic.Condition(logic.Quantifier.EXISTS, tokens[0])
    )


def _filter() -> pp.ParserElement:
    return _expression() + pp.Suppress(pp.Opt(";")) + pp.StringEnd().set_name("the end of the filter")


def _scope_tree() -> pp.ParserElement:
    node = pp.Forward()
    thread = _regex(r"P\d{1,6}\b").set_name("a thread")
    level = _regex(r"[A-Za-z_]\w*").set_name("a level such as cta")
    inside = pp.OneOrMore((node | thread).set_name("a thread or `(`"))
    node <<= pp.Group(_word("(") - level + inside + _word(")").set_name(")"))
    return pp.OneOrMore(node) + pp.StringEnd().set_name("`(` or the memory map")


def _memory_map() -> pp.ParserElement:
    entry = pp.Group(
        NAME + _word(":") - _regex(r"\w+").set_name("a space") + pp.Opt(pp.Suppress(pp.Keyword("aliases")) - NAME)
    )
    separator = pp.Suppress(pp.one_of(", ;"))
    return pp.Opt(entry + pp.ZeroOrMore(separator + entry) + pp.Opt(separator)) + pp.StringEnd().set_name("`,`")


def _locations() -> pp.ParserElement:
    item = _observable() + pp.Suppress(pp.Opt("*"))
    return pp.Opt(item + pp.ZeroOrMore(_word(";") + item) + pp.Opt(_word(";"))) + pp.StringEnd().set_name("`;`")


_INSTRUCTION, _DECLARATION = _instruction(), _declaration()
_CONDITION, _EXPRESSION = _condition(), _filter()
_SCOPE_TREE, _MEMORY_MAP, _LOCATIONS = _scope_tree(), _memory_map(), _locations()


def parse_piece(parse: Callable[[str], Result], text: str, offset: int) -> Result:
    """Parse a piece at `offset` of a larger text; problems get offsets of that text."""
    try:
        return parse(text)
    except SyntaxProblem as problem:
        raise problem.move_into(text, offset) from None


def skip_space(text: str, offset: int) -> int:
    """The offset of the next character that is not blank, or the end of the text."""
    found = SPACE.match(text, offset)
    return found.end() if found else offset


def find_token(text: str, token: str, occurrence: int = 0) -> int:
    """The offset of `token` in `text` as a whole word, or the start of the text if it does not occur.

    `occurrence` counts from 0, and -1 is the last one. A number is found in any notation.
    """
    found = [match.start() for match in re.finditer(rf"(?<![\w$]){re.escape(token)}(?![\w$])", text)]
    if not found and WRITTEN_NUMBER.fullmatch(token):
        numbers = WRITTEN_NUMBER.finditer(text)
        found = [match.start() for match in numbers if _number(match[0]) == _number(token)]
    return found[occurrence] if found else len(text) - len(text.lstrip())


ONE_AT_A_TIME = Lock()  # the grammar learns how to call its actions while it parses: threads would disturb each other


def _parse(grammar: pp.ParserElement, text: str) -> Any:
    try:
        with ONE_AT_A_TIME:
            return grammar.parse_with_tabs().parse_string(text)
    except pp.ParseBaseException as error:
        found = re.match(r"\w+|\S", text[error.loc :])
        what = error.msg[0].lower() + error.msg[1:]
        raise SyntaxProblem(f"{what}, found {found[0]!r}" if found else f"{what} here", error.loc) from None


PREFIXES = ("~", "not", "=>")
ENDED_BY = {"=>": ("~", "not"), "/\\": PREFIXES, "\\/": PREFIXES, ")": PREFIXES}


def _check_depth(text: str) -> None:
    """Count open parentheses, and `not` and `=>` until their operand ends."""
    opened: list[str] = []
    for match in re.finditer(r"[()]|~|\bnot\b|=>|/\\|\\/", text):
        token = match[0]
        while opened and opened[-1] in ENDED_BY.get(token, ()):
            opened.pop()
        if token == ")":
            del opened[-1:]
        elif token not in ("/\\", "\\/"):
            opened.append(token)
        if len(opened) > logic.DEEPEST:
            raise SyntaxProblem(f"nested more than {logic.DEEPEST} deep", match.start())


@lru_cache(REMEMBERED)
def parse_instruction(text: str) -> RawInstruction:
    """Parse the labels, guard, opcode and operands of one cell."""
    labels, guard, opcode, operands = _parse(_INSTRUCTION, text)
    if not opcode and (guard or operands):
        raise SyntaxProblem("expected an instruction", len(text) - len(text.lstrip()))
    return RawInstruction(
        tuple(labels),
        guard[1] if guard else None,
        bool(guard and guard[0]),
        tuple(opcode.split(".")) if opcode else (),
        tuple(operands),
    )


@lru_cache(REMEMBERED)
def parse_declaration(text: str) -> RawDeclaration:
    """Parse one declaration, without its semicolon."""
    found = _parse(_DECLARATION, text)
    value = found.get("value")
    return RawDeclaration(
        found.get("thread"),
        found["name"],
        found.get("type"),
        value[0] if isinstance(value, pp.ParseResults) else value,
        found.get("proxy"),
        found.get("aliases"),
    )


@lru_cache(REMEMBERED)
def parse_condition(text: str) -> logic.Condition:
    """Parse a condition; without a quantifier it means `exists`."""
    if PLAIN_CONDITION.match(text):
        parts = [parse_expression(part.strip()) for part in text.split("/\\")]
        return logic.Condition(logic.Quantifier.EXISTS, parts[0] if len(parts) == 1 else logic.And(tuple(parts)))
    _check_depth(text)
    condition: logic.Condition = _parse(_CONDITION, text)[0]
    return condition


@lru_cache(REMEMBERED)
def parse_expression(text: str) -> logic.Expression:
    """Parse an expression without quantifier, as in a filter."""
    _check_depth(text)
    expression: logic.Expression = _parse(_EXPRESSION, text)[0]
    return expression


@lru_cache(REMEMBERED)
def parse_locations(text: str) -> tuple[logic.Observable, ...]:
    """Parse the registers and variables between the brackets of `locations`."""
    return tuple(_parse(_LOCATIONS, text))


@lru_cache(REMEMBERED)
def parse_memory_map(text: str) -> tuple[tuple[str, ...], ...]:
    """(name, space) or (name, proxy, aliased variable) for every entry."""
    return tuple(tuple(entry) for entry in _parse(_MEMORY_MAP, text))


@lru_cache(REMEMBERED)
def parse_scope_tree(text: str) -> tuple[Any, ...]:
    """Nested tuples: a level name, then threads as `P0` and inner tuples."""
    _check_depth(text)

    def frozen(node: Any) -> Any:
        return node if isinstance(node, str) else tuple(frozen(part) for part in node)

    return tuple(frozen(node) for node in _parse(_SCOPE_TREE, text))
