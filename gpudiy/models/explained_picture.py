"""The picture of an explanation: its execution, with what a check objects to standing out."""

from __future__ import annotations

from gpudiy.models.explanation import Explanation
from gpudiy.models.picture import Picture, picture_of

BASIC = ("po", "po-loc", "rf", "co", "fr", "rmw", "addr", "data", "ctrl")


def picture_of_explanation(explanation: Explanation) -> Picture:
    """The execution of an explanation; the events that a check objects to stand out."""
    verdict, execution = explanation.verdict, explanation.execution
    assert execution is not None
    named = {
        name: execution.slots[operand.slot]
        for name, operand in verdict.model.named.items()
        if name in ("sync", "sc", "syncbar") and not operand.is_set
    }
    for step in explanation.steps:
        if step.relation not in BASIC:
            pair = execution.skeleton.algebra.pair(step.source, step.target)
            named[step.relation] = named.get(step.relation, 0) | pair
    if verdict.allowed:
        title = f"{verdict.test.name}: allowed by {verdict.model.name}"
    else:
        title = f"{verdict.test.name}: forbidden by {verdict.model.name} ({', '.join(explanation.checks)})"
    highlight = [step.source for step in explanation.steps]
    return picture_of(
        execution.skeleton, execution.rf, execution.co, named, title, highlight=highlight, events=execution.events
    )
