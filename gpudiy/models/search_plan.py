"""What can be said of a model before it sees a test: which checks can be looked at early, which coherence matters.

Relations are chosen piece by piece: reads-from read by read, orders and coherence pair by pair. A check that fails for
some of the pieces and cannot be mended by more of them ends the search at once. Whether it can is a matter of how the
relation it looks at is computed: what only grows when rf, orders or co grow stays cyclic (or reflexive, or non-empty).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpudiy.models.model import (
    CompiledCheck,
    FixedPoint,
    Model,
    Operation,
    Stage,
    StageFunction,
    stage_function,
)

Step = Operation | FixedPoint | CompiledCheck


class Growth(Enum):
    """How a value changes when its inputs grow; EXACT for one that does not change."""

    EXACT = "exact"
    GROWS = "grows"
    SHRINKS = "shrinks"
    EITHER = "either"

    @property
    def opposite(self) -> Growth:
        return {Growth.GROWS: Growth.SHRINKS, Growth.SHRINKS: Growth.GROWS}.get(self, self)

    def join(self, other: Growth) -> Growth:
        if self is Growth.EXACT or self is other:
            return other
        return self if other is Growth.EXACT else Growth.EITHER


TAKES_AWAY = {"difference": 1, "set complement": 0, "complement": 0}  # which operand is taken away
THROUGH_OTHERS = ("composition", "closure", "domain", "range")  # a pair here may need a third event


def growths(model: Model, inputs: dict[int, Growth], through_others: Growth = Growth.EXACT) -> dict[int, Growth]:
    """How every slot changes, from how the inputs do; `through_others` is added where a third event matters."""
    found = dict.fromkeys(range(model.slots), Growth.EXACT) | inputs

    def follow(operation: Operation) -> None:
        growth = through_others if operation.kind in THROUGH_OTHERS else Growth.EXACT
        for index, operand in enumerate(operation.operands):
            other = found[operand]
            taken = TAKES_AWAY.get(operation.kind) == index
            growth = growth.join(other.opposite if taken else other)
        found[operation.result] = growth

    for step in model.steps:
        if isinstance(step, Operation):
            follow(step)
        elif isinstance(step, FixedPoint):
            changed = True
            while changed:
                changed = False
                for operation in step.body:
                    follow(operation)
                for variable, result in zip(step.variables, step.results, strict=True):
                    before = found[variable]
                    found[variable] = before.join(found[result])
                    changed = changed or found[variable] is not before
    return found


def is_final(check: CompiledCheck, growth: Growth) -> bool:
    """Whether the check, once it fails, fails for ever."""
    return growth in (Growth.EXACT, Growth.SHRINKS if check.negated else Growth.GROWS)


@dataclass(frozen=True, slots=True)
class Coherence:
    """Which coherence orders must be looked at.

    A total one orders all writes of a location. A partial one is the least that has the pairs in `least` and orders
    those in `ordered` one way or the other, where every other check could only fail more often with more pairs; where
    that is not so, all partial orders are looked at.
    """

    total: bool
    every: bool = False
    least: tuple[int, ...] = ()  # slots
    ordered: tuple[int, ...] = ()  # slots


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """The functions of a search under one model, without what only pictures and explanations look at."""

    stages: tuple[StageFunction, ...]
    early: tuple[StageFunction, ...]  # the same with pieces missing: only checks that stay as they are once they fail
    early_coherence: StageFunction  # with pieces of coherence missing, but nothing else
    coherence: Coherence
    least_grows: bool  # whether the pairs that coherence must have only become more when rf and orders grow
    loose: frozenset[int]  # see `only_grown`
    can_drop_reads: bool  # an execution stays consistent without some of its reads and fences


def make_plan(model: Model) -> SearchPlan:
    """The plan of a model."""
    chosen = [model.inputs[name] for name in ("rf", "syncbar", "co") if name in model.inputs]
    chosen += [order for order, _ in model.orders]
    all_grow = growths(model, dict.fromkeys(chosen, Growth.GROWS))
    co_grows = growths(model, {model.inputs["co"]: Growth.GROWS} if "co" in model.inputs else {})
    # with more events, what is computed from pairs alone is the same between the old ones; the rest may grow
    fewer_events = growths(model, {}, through_others=Growth.GROWS)
    checks = [check for check in model.checks if not check.flagged]
    early = [check for check in checks if is_final(check, all_grow[check.slot])]
    coherent = [check for check in checks if is_final(check, co_grows[check.slot])]
    coherence = _coherence(model, co_grows)
    return SearchPlan(
        tuple(_function(model, checks, stage) for stage in Stage),
        tuple(_function(model, early, stage) for stage in Stage),
        _function(model, coherent, Stage.COHERENCE),
        coherence,
        all(all_grow[slot] in (Growth.EXACT, Growth.GROWS) for slot in coherence.least),
        only_grown(model),
        all(not check.negated and is_final(check, fewer_events[check.slot]) for check in checks),
    )


def only_grown(model: Model) -> frozenset[int]:
    """The slots that matter only in that checks fail with more pairs in them, whatever way they are used."""
    made: dict[int, list[tuple[int, bool]]] = {}  # what a slot is computed from, and whether that is taken away
    for step in model.steps:
        for operation in step.body if isinstance(step, FixedPoint) else (step,):
            if isinstance(operation, Operation):
                made.setdefault(operation.result, []).extend(
                    (operand, TAKES_AWAY.get(operation.kind) == index)
                    for index, operand in enumerate(operation.operands)
                )
        if isinstance(step, FixedPoint):
            for variable, result in zip(step.variables, step.results, strict=True):
                made.setdefault(variable, []).append((result, False))
    used: set[tuple[int, bool]] = set()
    waiting = [(check.slot, check.negated) for check in model.checks if not check.flagged]
    while waiting:
        slot, taken = waiting.pop()
        if (slot, taken) not in used:
            used.add((slot, taken))
            waiting += [(operand, taken != away) for operand, away in made.get(slot, ())]
    return frozenset(slot for slot, taken in used if not taken and (slot, True) not in used)


def _function(model: Model, checks: list[CompiledCheck], stage: Stage) -> StageFunction:
    """The function of a stage, with nothing in it but what the checks, orders and coherence need."""
    needed = {check.slot for check in checks} | {pairs for _, pairs in model.orders}
    needed |= {flag.slot for flag in model.unsupported}
    needed |= {slot for check in model.checks for slot in _required_pairs(model, check)}
    steps: list[Step] = []
    for step in reversed(model.steps):
        if isinstance(step, CompiledCheck):
            if step in checks:
                steps.append(step)
        elif isinstance(step, Operation):
            if step.result in needed:
                needed.update(step.operands)
                steps.append(step)
        elif needed & set(step.variables):
            for operation in step.body:
                needed.update(operation.operands)
            steps.append(step)
    return stage_function(steps[::-1], stage)


def _coherence(model: Model, co_grows: dict[int, Growth]) -> Coherence:
    if not model.partial_co:
        return Coherence(total=True)
    least: list[int] = []
    ordered: list[int] = []
    for check in model.checks:
        if check.flagged or is_final(check, co_grows[check.slot]):
            continue
        found = _requirement(model, check, co_grows)
        if found is None:
            return Coherence(total=False, every=True)
        pairs, both_ways = found
        (ordered if both_ways else least).append(pairs)
    return Coherence(False, False, tuple(least), tuple(ordered))


def _required_pairs(model: Model, check: CompiledCheck) -> list[int]:
    made = {step.result: step for step in model.steps if isinstance(step, Operation)}
    step = made.get(check.slot)
    return [step.operands[0]] if model.partial_co and step is not None and step.kind == "difference" else []


def _requirement(model: Model, check: CompiledCheck, co_grows: dict[int, Growth]) -> tuple[int, bool] | None:
    """For `empty pairs \\ co` the pairs and False, for `empty pairs \\ (co | co^-1 | id)` the pairs and True."""
    made = {step.result: step for step in model.steps if isinstance(step, Operation)}
    stages = {step.result: step.stage for step in model.steps if isinstance(step, Operation)}
    step = made.get(check.slot)
    if check.test != "empty" or check.negated or step is None or step.kind != "difference":
        return None
    pairs, without = step.operands
    if co_grows[pairs] is not Growth.EXACT:
        return None
    co = model.inputs["co"]
    if without == co:
        return pairs, False
    parts = _parts(made, without)
    inverse = any(made[part].kind == "inverse" and made[part].operands == (co,) for part in parts if part in made)
    known = {co, model.inputs.get("id")} | {
        part for part in parts if part in made and made[part].kind == "inverse" and made[part].operands == (co,)
    }
    if co in parts and inverse and set(parts) <= known and stages.get(pairs, Stage.EVENTS) is Stage.EVENTS:
        return pairs, True
    return None


def _parts(made: dict[int, Operation], slot: int) -> list[int]:
    """The members of a union."""
    step = made.get(slot)
    if step is None or step.kind != "union":
        return [slot]
    return [part for operand in step.operands for part in _parts(made, operand)]
