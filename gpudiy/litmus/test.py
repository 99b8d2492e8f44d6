"""`Test`: a whole litmus test, the value that the packages of gpudiy exchange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.condition import Condition, Expression, Observable, Value, observables
from gpudiy.litmus.instruction import Instruction
from gpudiy.litmus.memory_map import MemoryMap
from gpudiy.litmus.scope_tree import ScopeTree

Thread = tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class RegisterDeclaration:
    """A register of a thread, its type, and its initial value: a number, or the address of a variable."""

    thread: int
    name: str
    type: ScalarType
    initial: Value = 0


@dataclass(frozen=True, slots=True)
class InitialMemory:
    """The initial value of a variable; it is 0 for variables that are not mentioned."""

    variable: str
    value: Value


@dataclass(frozen=True, slots=True)
class Test:
    """A valid litmus test: building an invalid one raises `InvalidTest`.

    `filter` limits the executions that count; `locations` are shown with the outcomes although the condition does
    not mention them. `cycle` names the edges of a generated test.
    """

    __test__: ClassVar[bool] = False  # keeps pytest from collecting the class

    name: str
    threads: tuple[Thread, ...]
    registers: tuple[RegisterDeclaration, ...]
    init: tuple[InitialMemory, ...]
    scope_tree: ScopeTree
    memory_map: MemoryMap
    condition: Condition
    doc: str = ""
    cycle: str = ""
    filter: Expression | None = None
    locations: tuple[Observable, ...] = ()

    def __post_init__(self) -> None:
        from gpudiy.litmus.validity import validate  # it needs the class itself

        validate(self)

    def __repr__(self) -> str:
        from gpudiy.litmus.description import short_text  # it needs the class itself

        return f"<Test {short_text(self)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from gpudiy.litmus.notebook import html_of_test

        return html_of_test(self)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """That of the condition and, if there is one, the filter."""
        return (self.condition.expression,) if self.filter is None else (self.condition.expression, self.filter)

    @property
    def observed(self) -> tuple[Observable, ...]:
        """The registers and variables of an outcome: those in the condition, the filter and the locations."""
        asked = (term for expression in self.expressions for term in observables(expression))
        return tuple(dict.fromkeys((*asked, *self.locations)))

    def registers_of(self, thread: int) -> tuple[RegisterDeclaration, ...]:
        return tuple(declaration for declaration in self.registers if declaration.thread == thread)

    def initial_value(self, variable: str) -> Value:
        return next((entry.value for entry in self.init if entry.variable == variable), 0)
