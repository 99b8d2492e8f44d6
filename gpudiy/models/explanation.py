"""Why a verdict is what it is: the check that forbids an outcome, and the events it is about."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from gpudiy.models.execution import Execution
from gpudiy.models.exploration import Engine, Exploration
from gpudiy.models.model import CompiledCheck, Model, Operation
from gpudiy.models.skeleton import EventSkeleton
from gpudiy.models.verdict import Verdict, target_of

FIRST = ("rf", "co", "fr", "rmw", "addr", "data", "ctrl", "syncbar", "sc", "po-loc", "po")


@dataclass(frozen=True, slots=True)
class ExplanationStep:
    """From one event to another, by a relation."""

    source: int
    target: int
    relation: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """An execution that ends as the test asks and breaks only the named checks; `steps` is what they object to.

    A forbidden outcome without an execution: no run of the threads ends so, whatever the model.
    """

    verdict: Verdict
    checks: tuple[str, ...] = ()
    execution: Execution | None = None
    steps: tuple[ExplanationStep, ...] = ()


def explain(verdict: Verdict, deadline: float | None = None) -> Explanation:
    """For an allowed outcome its execution, for a forbidden one the fewest checks that forbid it.

    An undecided verdict has neither: its reason is all there is to say. Raises `OutOfTime` after `deadline`, a time of
    `time.monotonic`.
    """
    if not verdict.forbidden:
        return Explanation(verdict, execution=verdict.execution)
    exploration = Exploration(verdict.test, verdict.model, verdict.unroll, deadline, verdict.dependencies)
    names = list(dict.fromkeys(check.name for check in verdict.model.checks if not check.flagged))
    for count in range(1, len(names) + 1):
        for without in combinations(names, count):
            execution = next(exploration.executions(target_of(verdict.test), Engine.SAT, frozenset(without)), None)
            if execution is not None:
                return Explanation(verdict, without, execution, _objection(verdict.model, execution, without[0]))
    return Explanation(verdict)


def _objection(model: Model, execution: Execution, name: str) -> tuple[ExplanationStep, ...]:
    """The cycle or the pairs that a check objects to."""
    a = execution.skeleton.algebra
    for check in model.checks:
        if check.name != name or check.negated:
            continue
        relation = execution.slots[check.slot]
        if check.test == "acyclic":
            events = a.cycle(relation)
            pairs = list(zip(events, events[1:] + events[:1], strict=True))
        elif check.test == "irreflexive":
            loops = list(a.members(a.domain(relation & a.identity)))
            pairs = _around(model, check, execution, loops[0]) if loops else []
        else:
            pairs = list(a.pairs(relation))[:1] if not model_set(model, check) else []
        if pairs:
            return tuple(
                ExplanationStep(source, target, relation_name(model, execution, source, target))
                for source, target in pairs
            )
    return ()


def model_set(model: Model, check: CompiledCheck) -> bool:
    """Whether a check is about a set of events, not a relation."""
    return any(operand.slot == check.slot and operand.is_set for operand in model.named.values())


def _around(model: Model, check: CompiledCheck, execution: Execution, event: int) -> list[tuple[int, int]]:
    """The two halves of a loop that a composition makes."""
    a = execution.skeleton.algebra
    for step in model.steps:
        if isinstance(step, Operation) and step.result == check.slot and step.kind == "composition":
            left, right = (execution.slots[slot] for slot in step.operands)
            for middle in a.members(a.successors(left, event)):
                if a.successors(right, middle) >> event & 1:
                    return [(event, middle), (middle, event)]
    return [(event, event)]


def relation_name(model: Model, execution: Execution, source: int, target: int) -> str:
    """The relation that best says how two events are related: a basic one, else the smallest the model names."""
    a = execution.skeleton.algebra
    pair = a.pair(source, target)
    basic = basic_relations(execution)
    for name in FIRST:
        if basic.get(name, 0) & pair:
            return name
    named = [
        (execution.slots[operand.slot].bit_count(), name)
        for name, operand in model.named.items()
        if not operand.is_set and execution.slots[operand.slot] & pair
    ]
    return min(named)[1] if named else "…"


def basic_relations(execution: Execution) -> dict[str, int]:
    """The relations that every model has, by name, what says most about a pair first."""
    skeleton = execution.skeleton
    a = skeleton.algebra
    po = skeleton.static("po")
    return {
        "rf": execution.rf,
        "co": execution.co,
        "fr": a.compose(a.inverse(execution.rf), execution.co),
        "rmw": skeleton.static("rmw"),
        "addr": skeleton.static("addr"),
        "data": skeleton.static("data"),
        "ctrl": skeleton.static("ctrl"),
        "po-loc": po & skeleton.static("loc"),
        "po": po,
    }


def event_names(skeleton: EventSkeleton) -> list[str]:
    """`a`, `b`, … for the events of threads, `init x` for initial writes."""
    names = []
    letters = 0
    for event in skeleton.events:
        if event.initial:
            names.append(f"init {event.location}")
        else:
            names.append(chr(ord("a") + letters) if letters < 26 else f"e{letters}")
            letters += 1
    return names
