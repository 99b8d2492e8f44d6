"""A verdict as plain values: what is printed, stored, and sent from one process to another."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.litmus.condition import Quantifier
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.dependencies import DependencyRule
from gpudiy.litmus.outcome import outcome_text
from gpudiy.models.verdict import Answer, Verdict, label_model


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """What one model says of one test. `text` is a listing of all outcomes or an explanation, if asked for."""

    hash: str
    test: str
    model: str
    verdict: Answer
    holds: bool | None = None
    bounded: bool = False  # runs in which loops go round more often were left out
    reason: str = ""
    text: str = ""
    outcomes: tuple[str, ...] | None = None
    exists: bool = True  # the test claims that a state is reached, not that none is
    dependencies: DependencyRule = DependencyRule.SYNTACTIC

    @property
    def label(self) -> str:
        """The model, with the kind of dependencies where it is not the usual one."""
        return label_model(self.model, self.dependencies)


def verdict_row(verdict: Verdict, model: str, *, explained: bool = False, limit: float | None = None) -> VerdictRow:
    """The row of a verdict; if `explained`, with an explanation that may take `limit` seconds."""
    text, outcomes = "", None
    if verdict.outcomes is not None:
        from gpudiy.models.report import listing

        text = listing(verdict)
        outcomes = tuple(outcome_text(verdict.test, outcome) for outcome in verdict.outcomes)
    elif explained:
        from gpudiy.models.report import explanation_within

        text = explanation_within(verdict, limit)
    return VerdictRow(
        content_hash(verdict.test),
        verdict.test.name,
        model,
        verdict.answer,
        verdict.holds,
        verdict.bounded,
        verdict.reason,
        text,
        outcomes,
        verdict.test.condition.quantifier is Quantifier.EXISTS,
        verdict.dependencies,
    )
