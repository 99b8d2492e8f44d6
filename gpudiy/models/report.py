"""Verdicts and outcomes as text: a table, the listing of the herd family, explanations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from gpudiy.litmus.condition import Quantifier, holds
from gpudiy.litmus.condition_text import expression_text
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.dependencies import DependencyRule
from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.litmus.memory_types import with_shown_constants
from gpudiy.litmus.outcome import final_state, outcome_text
from gpudiy.models.event import label_of
from gpudiy.models.execution import Execution
from gpudiy.models.explanation import Explanation, basic_relations, event_names, explain
from gpudiy.models.problems import OutOfTime
from gpudiy.models.verdict import Verdict

KINDS = {Quantifier.EXISTS: "Allowed", Quantifier.NOT_EXISTS: "Forbidden", Quantifier.FORALL: "Required"}


def listing(verdict: Verdict) -> str:
    """All outcomes of a verdict that has them, as herd lists them; Positive and Negative count outcomes.

    If loops were bounded there may be more outcomes: then a line says so, and nothing is claimed of all of them.
    """
    test, found = verdict.test, verdict.outcomes or {}
    condition = replace(test.condition, expression=with_shown_constants(test, test.condition.expression))
    positive = sum(holds(condition.expression, final_state(test, outcome).__getitem__) for outcome in found)
    negative = len(found) - positive
    word = "Never" if not positive else "Always" if not negative else "Sometimes"
    if verdict.bounded and word != "Sometimes":
        word = "Undecided"
    return "\n".join(
        (
            f"Test {test.name} {KINDS[condition.quantifier]}",
            f"States {len(found)}",
            *(outcome_text(test, outcome) for outcome in found),
            *([f"Dependencies: {verdict.dependencies}"] if verdict.dependencies is DependencyRule.SEMANTIC else []),
            *([f"Bounded: loops go round at most {verdict.unroll} times"] if verdict.bounded else []),
            str(verdict.answer).capitalize() if verdict.holds is None else "Ok" if verdict.holds else "No",
            "Witnesses",
            f"Positive: {positive} Negative: {negative}",
            f"Condition {condition.quantifier} ({expression_text(condition.expression)})",
            f"Observation {test.name} {word} {positive} {negative}",
            f"Hash={content_hash(test)}",
        )
    )


def explanation_within(verdict: Verdict, limit: float | None) -> str:
    """The explanation of a verdict, or that it took longer than `limit` seconds."""
    try:
        return explanation_text(explain(verdict, None if limit is None else time.monotonic() + limit))
    except OutOfTime:
        return f"{_headline(verdict)}\n  not explained in {limit:g} s"


def explanation_text(explanation: Explanation) -> str:
    """An explanation as the command line prints it."""
    return "\n".join(_explanation_lines(explanation))


def _explanation_lines(explanation: Explanation) -> Iterator[str]:
    verdict, execution = explanation.verdict, explanation.execution
    yield _headline(verdict)
    if verdict.undecided:
        yield f"  {verdict.reason}"
        return
    if execution is None:
        yield "  no run of the threads ends so, whatever the model"
        return
    if verdict.allowed:
        yield "  by this execution:"
    else:
        checks = " and ".join(explanation.checks)
        verb = "forbids" if len(explanation.checks) == 1 else "forbid"
        yield f"  {checks} {verb} it; all else would permit this execution:"
    if verdict.allowed:
        yield from execution_lines(execution)
        return
    yield from _event_lines(execution)
    if explanation.steps:
        names = event_names(execution.skeleton)
        yield f"  {explanation.checks[0]} objects to"
        for step in explanation.steps:
            yield f"    {names[step.source]} ─{step.relation}→ {names[step.target]}"


def execution_lines(execution: Execution) -> Iterator[str]:
    """The events of an execution, one line each, then rf, co and fr."""
    yield from _event_lines(execution)
    names, relations = event_names(execution.skeleton), basic_relations(execution)
    for relation in ("rf", "co", "fr"):
        pairs = [
            f"{names[one]} → {names[other]}" for one, other in execution.skeleton.algebra.pairs(relations[relation])
        ]
        if pairs:
            yield f"    {relation:<4}{', '.join(pairs)}"


def _event_lines(execution: Execution) -> Iterator[str]:
    names = event_names(execution.skeleton)
    for number, event in enumerate(execution.events):
        if event.instruction is not None:
            yield f"    P{event.thread}  {names[number]}: {label_of(event):<24} {instruction_text(event.instruction)}"


def _headline(verdict: Verdict) -> str:
    return f"{verdict.test.name} is {verdict.answer} by {verdict.model_label}"
