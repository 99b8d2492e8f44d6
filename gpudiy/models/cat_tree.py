"""The cat language of the herd family: the syntax tree of a model, and errors with their place in its text."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.errors import InputError


class CatError(InputError):
    """A model that cannot be used, with its place."""


@dataclass(frozen=True, slots=True)
class Name:
    """The use of a name."""

    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class UnaryExpression:
    """operator is one of ~ + * ? ^-1 or [] (the identity on a set)."""

    operator: str
    inner: Expression
    offset: int


@dataclass(frozen=True, slots=True)
class BinaryExpression:
    """operator is one of | & \\ ; * (all pairs of two sets)."""

    operator: str
    left: Expression
    right: Expression
    offset: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function applied to arguments."""

    function: str
    arguments: tuple[Expression, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Empty:
    """`0` or `{}`: the empty relation or set."""

    offset: int


Expression = Name | UnaryExpression | BinaryExpression | Call | Empty


@dataclass(frozen=True, slots=True)
class Binding:
    """`let name(parameters) = body`."""

    name: str
    parameters: tuple[str, ...]
    body: Expression
    offset: int


@dataclass(frozen=True, slots=True)
class Let:
    """`let` or, with `recursive`, `let rec`: names for expressions."""

    bindings: tuple[Binding, ...]
    recursive: bool


@dataclass(frozen=True, slots=True)
class CheckStatement:
    """`acyclic e as name`; a flagged one does not forbid, it only reports."""

    test: str
    negated: bool
    flagged: bool
    expression: Expression
    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class With:
    """`with name from source(arguments)`: a relation that every execution chooses."""

    name: str
    source: str
    arguments: tuple[Expression, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Include:
    """`include "file"`."""

    file: str
    offset: int


@dataclass(frozen=True, slots=True)
class ChipsStatement:
    """`chips "sm_70 and later"`: the chips that the model speaks for."""

    text: str
    offset: int


Statement = Let | CheckStatement | With | Include


@dataclass(frozen=True, slots=True)
class CatSource:
    """The text of a model and where it comes from."""

    text: str
    path: str

    def error(self, message: str, offset: int, hint: str | None = None) -> CatError:
        before = self.text.count("\n", 0, offset)
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        line = self.text[start : end if end >= 0 else len(self.text)]
        place = {"path": self.path, "line": before + 1, "column": offset - start + 1}
        return CatError(message, source=line, hint=hint, **place)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class CatFile:
    """A parsed model: its title, the chips it speaks for, and its statements."""

    source: CatSource
    title: str
    chips: ChipsStatement | None
    statements: tuple[Statement, ...]
