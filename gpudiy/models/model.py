"""A model ready to judge executions: steps over slots, and the Python functions they become.

What depends on the events alone is computed once for all executions of a program; what depends on rf, then on the
chosen orders, then on co, as soon as these are chosen. A check comes right after what it needs, so that an execution
is given up at the first stage that forbids it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gpudiy.models.algebra import Algebra
from gpudiy.models.chips import ALL_CHIPS, ChipRange

if TYPE_CHECKING:
    from gpudiy.models.search_plan import SearchPlan

Slots = list[int]
StageFunction = Callable[[Algebra, Slots], str | None]


class Stage(IntEnum):
    """When a value is known: from the events, from rf (and who meets whom at barriers), from orders, from co."""

    EVENTS = 0
    READS = 1
    ORDERS = 2
    COHERENCE = 3


# how an operation is written in Python: {0} and {1} are its operands
CODE = {
    "empty": "0",
    "union": "{0} | {1}",
    "intersection": "{0} & {1}",
    "difference": "{0} & ~{1}",
    "set complement": "a.row & ~{0}",
    "complement": "a.everything & ~{0}",
    "product": "a.product({0}, {1})",
    "identity": "a.identity_on({0})",
    "composition": "a.compose({0}, {1})",
    "closure": "a.closure({0})",
    "reflexive": "{0} | a.identity",
    "inverse": "a.inverse({0})",
    "domain": "a.domain({0})",
    "range": "a.range({0})",
}


class Operand(NamedTuple):
    """A value in the compiled code: its slot, whether it is a set, and when it is known."""

    slot: int
    is_set: bool
    stage: Stage


@dataclass(frozen=True, slots=True)
class Operation:
    """result = kind(operands), all of them slots."""

    kind: str
    result: int
    operands: tuple[int, ...]
    stage: Stage


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """The variables start empty; the body is run and its results become their values until nothing changes."""

    variables: tuple[int, ...]
    body: tuple[Operation, ...]
    results: tuple[int, ...]
    stage: Stage


@dataclass(frozen=True, slots=True)
class CompiledCheck:
    """A check on the value in a slot; a flagged one does not forbid executions."""

    name: str
    test: str
    negated: bool
    flagged: bool
    slot: int
    stage: Stage


@dataclass
class Model:
    """A model ready to judge executions."""

    name: str
    title: str
    slots: int = 0
    inputs: dict[str, int] = field(default_factory=dict)  # what must be filled in, by name
    steps: list[Operation | FixedPoint | CompiledCheck] = field(default_factory=list)  # in the order of the file
    named: dict[str, Operand] = field(default_factory=dict)  # what the file defines, for pictures and explanations
    partial_co: bool = False
    orders: list[tuple[int, int]] = field(default_factory=list)  # slots: the order, the pairs it must orient
    unsupported: list[CompiledCheck] = field(default_factory=list)  # flags: what the model gives no meaning
    chips: ChipRange = ALL_CHIPS
    text: str = ""  # of the file it was compiled from
    path: str = ""

    def __reduce__(self) -> tuple[Callable[[str, str, str], Model], tuple[str, str, str]]:
        """Compiled code cannot be sent to another process: there the model is compiled again, once."""
        from gpudiy.models.library import compiled_model

        return compiled_model, (self.text, self.path, self.name)

    @cached_property
    def stages(self) -> list[StageFunction]:
        """All that the file computes and checks, stage by stage."""
        return [stage_function(self.steps, stage) for stage in Stage]

    @cached_property
    def plan(self) -> SearchPlan:
        """What a search under this model goes by."""
        from gpudiy.models.search_plan import make_plan  # it needs the class itself

        return make_plan(self)

    def evaluate(self, a: Algebra, slots: Slots) -> None:
        """Fill all slots from those of the inputs and orders, whatever the checks say."""
        for function in self._values:
            function(a, slots)

    @cached_property
    def _values(self) -> list[StageFunction]:
        steps = [step for step in self.steps if not isinstance(step, CompiledCheck)]
        return [stage_function(steps, stage) for stage in Stage]

    @property
    def about(self) -> str:
        """What the model is and which chips it speaks for, in a few words."""
        return f"{self.title}; describes {self.chips}" if self.title else ""

    @property
    def checks(self) -> list[CompiledCheck]:
        return [step for step in self.steps if isinstance(step, CompiledCheck)]


def stage_function(steps: Sequence[Operation | FixedPoint | CompiledCheck], stage: Stage) -> StageFunction:
    """The Python function of one stage: it fills slots and returns the name of the first check that fails."""
    lines = []
    for step in steps:
        if step.stage is not stage:
            continue
        if isinstance(step, Operation):
            lines.append(_assignment(step))
        elif isinstance(step, FixedPoint):
            lines += _loop(step)
        elif not step.flagged:
            lines.append(f"if {_violation(step)}: return {step.name!r}")
    body = "\n".join(f"    {line}" for line in lines) or "    pass"
    scope: dict[str, StageFunction] = {}
    exec(f"def judge(a, v):\n{body}\n    return None", scope)
    return scope["judge"]


def _assignment(operation: Operation) -> str:
    code = CODE[operation.kind].format(*(f"v[{operand}]" for operand in operation.operands))
    return f"v[{operation.result}] = {code}"


def _loop(step: FixedPoint) -> list[str]:
    changes = list(zip(step.variables, step.results, strict=True))
    same = " and ".join(f"v[{variable}] == v[{result}]" for variable, result in changes)
    return [
        *(f"v[{variable}] = 0" for variable in step.variables),
        "while True:",
        *(f"    {_assignment(operation)}" for operation in step.body),
        f"    if {same}: break",
        *(f"    v[{variable}] = v[{result}]" for variable, result in changes),
    ]


def _violation(check: CompiledCheck) -> str:
    slot = f"v[{check.slot}]"
    violated = {
        "acyclic": f"a.closure({slot}) & a.identity",
        "irreflexive": f"{slot} & a.identity",
        "empty": slot,
    }[check.test]
    return f"not ({violated})" if check.negated else violated
