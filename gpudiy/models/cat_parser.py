"""The cat language of the herd family: text to syntax tree."""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from gpudiy.models import cat_tree as tree

TOKEN = re.compile(
    r"""(?P<space>(?:\s|//[^\n]*)+)
      | (?P<string>"[^"\n]*")
      | (?P<inverse>\^-1)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*(?:[-.][A-Za-z0-9_]+)*)
      | (?P<empty>0(?![A-Za-z0-9_]))
      | (?P<symbol>[|&\\;~*+?()\[\]{},=])""",
    re.VERBOSE,
)
KEYWORDS = frozenset({"let", "rec", "and", "in", "as", "include", "show", "unshow", "flag", "with", "from", "chips"})
TESTS = frozenset({"acyclic", "irreflexive", "empty"})


class Token(NamedTuple):
    """A word or sign of a cat file and its place."""

    kind: str
    text: str
    offset: int


def parse_cat(text: str, path: str = "<cat>") -> tree.CatFile:
    """Parse the text of a model; raises `InputError` with the place of a mistake."""
    return _Parser(tree.CatSource(text, path)).file()


class _Parser:
    """Recursive descent; `|` binds loosest, then `;`, `\\`, `&`, pairs `*`, then prefixes and suffixes."""

    def __init__(self, source: tree.CatSource) -> None:
        self.source = source
        self.tokens = self._tokens()
        self.position = 0

    def file(self) -> tree.CatFile:
        title = self.take()[1].strip('"') if self.token.kind == "string" else ""
        if not title and self.token.kind == "name" and self._starts_title():
            title = self.take().text
        chips = self.chips()
        statements: list[tree.Statement] = []
        while self.token.kind != "end":
            statement = self.statement()
            if statement is not None:
                statements.append(statement)
        return tree.CatFile(self.source, title, chips, tuple(statements))

    def chips(self) -> tree.ChipsStatement | None:
        """The chips are named right behind the title."""
        if not self.accept("chips"):
            return None
        if self.token.kind != "string":
            self.fail('expected chips in quotes, such as chips "sm_70 and later"')
        token = self.take()
        return tree.ChipsStatement(token.text.strip('"'), token.offset)

    def statement(self) -> tree.Statement | None:
        token = self.token
        if self.accept("let"):
            return self.let()
        if self.accept("include"):
            if self.token.kind != "string":
                self.fail("expected the name of a file in quotes")
            return tree.Include(self.take().text.strip('"'), token.offset)
        if self.accept("with"):
            return self.choice(token.offset)
        if token.text in ("show", "unshow"):
            self.skip_shown()
            return None
        flagged = self.accept("flag")
        negated = self.accept("~")
        test = self.token.text
        if test not in TESTS:
            self.fail("expected let, acyclic, irreflexive, empty, flag, include, with or show")
        self.take()
        expression = self.expression()
        name = test
        if self.accept("as"):
            name = self.name()
        return tree.CheckStatement(test, negated, flagged, expression, name, token.offset)

    def let(self) -> tree.Let:
        recursive = self.accept("rec")
        bindings = [self.binding()]
        while self.accept("and"):
            bindings.append(self.binding())
        return tree.Let(tuple(bindings), recursive)

    def binding(self) -> tree.Binding:
        offset = self.token.offset
        name = self.name()
        parameters: list[str] = []
        if self.accept("("):
            while not self.accept(")"):
                parameters.append(self.name())
                if self.token.text != ")":
                    self.expect(",")
        self.expect("=")
        return tree.Binding(name, tuple(parameters), self.expression(), offset)

    def choice(self, offset: int) -> tree.With:
        name = self.name()
        self.expect("from")
        source = self.name()
        arguments = self.arguments() if self.token.text == "(" else ()
        return tree.With(name, source, arguments, offset)

    def skip_shown(self) -> None:
        """What herd shows in pictures is chosen otherwise here; the statement is read over."""
        self.take()
        self.expression()
        while self.accept(",") or self.accept("as"):
            self.expression()

    def expression(self) -> tree.Expression:
        return self.chain(("|", ";", "\\", "&"))

    def chain(self, operators: tuple[str, ...]) -> tree.Expression:
        if not operators:
            return self.pairs()
        operator, *tighter = operators
        left = self.chain(tuple(tighter))
        while self.token.text == operator:
            offset = self.take().offset
            left = tree.BinaryExpression(operator, left, self.chain(tuple(tighter)), offset)
        return left

    def pairs(self) -> tree.Expression:
        left = self.postfix()
        while self.token.text == "*":
            offset = self.take().offset
            left = tree.BinaryExpression("*", left, self.postfix(), offset)
        return left

    def postfix(self) -> tree.Expression:
        inner = self.atom()
        while True:
            token = self.token
            if (
                token.text in ("+", "?")
                or token.kind == "inverse"
                or (token.text == "*" and not self._operand_follows())
            ):
                self.take()
                inner = tree.UnaryExpression(token.text, inner, token.offset)
            else:
                return inner

    def atom(self) -> tree.Expression:
        token = self.token
        if self.accept("~"):
            return tree.UnaryExpression("~", self.postfix(), token.offset)
        if self.accept("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self.accept("["):
            inner = self.expression()
            self.expect("]")
            return tree.UnaryExpression("[]", inner, token.offset)
        if self.accept("{"):
            self.expect("}")
            return tree.Empty(token.offset)
        if token.kind == "empty":
            self.take()
            return tree.Empty(token.offset)
        name = self.name()
        if self.token.text == "(" and self.token.offset == token.offset + len(token.text):
            return tree.Call(name, self.arguments(), token.offset)
        return tree.Name(name, token.offset)

    def arguments(self) -> tuple[tree.Expression, ...]:
        self.expect("(")
        found = [self.expression()]
        while self.accept(","):
            found.append(self.expression())
        self.expect(")")
        return tuple(found)

    def name(self) -> str:
        if self.token.kind != "name" or self.token.text in KEYWORDS | TESTS:
            self.fail("expected a name")
        return self.take().text

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def take(self) -> Token:
        token = self.token
        self.position += 1
        return token

    def accept(self, text: str) -> bool:
        if self.token.text == text and self.token.kind != "string":
            self.position += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            self.fail(f"expected `{text}`")

    def fail(self, message: str) -> NoReturn:
        found = f", found {self.token.text!r}" if self.token.kind != "end" else ", found the end of the file"
        raise self.source.error(message + found, self.token.offset)

    def _operand_follows(self) -> bool:
        """Whether a `*` joins two sets: then an expression follows it."""
        after = self.tokens[self.position + 1]
        return (
            after.text in ("(", "[", "~", "{")
            or after.kind == "empty"
            or (after.kind == "name" and after.text not in KEYWORDS | TESTS)
        )

    def _starts_title(self) -> bool:
        return self.token.text not in KEYWORDS | TESTS and self.tokens[self.position + 1].text in KEYWORDS | TESTS

    def _tokens(self) -> list[Token]:
        text = self._without_comments()
        tokens = []
        offset = 0
        while offset < len(text):
            found = TOKEN.match(text, offset)
            if found is None:
                raise self.source.error(f"a character that has no place in a model: {text[offset]!r}", offset)
            if found.lastgroup != "space":
                tokens.append(Token(str(found.lastgroup), found[0], offset))
            offset = found.end()
        return [*tokens, Token("end", "", len(text.rstrip())), Token("end", "", len(text.rstrip()))]

    def _without_comments(self) -> str:
        """Comments blanked out; they nest, as in OCaml."""
        text = list(self.source.text)
        depth = 0
        start = 0
        for found in re.finditer(r"\(\*|\*\)|[^\n]", self.source.text):
            if found[0] == "(*":
                start = found.start() if depth == 0 else start
                depth += 1
            if depth:
                text[found.start() : found.end()] = " " * len(found[0])
            if found[0] == "*)" and depth:
                depth -= 1
        if depth:
            raise self.source.error("this comment is not closed", start)
        return "".join(text)
