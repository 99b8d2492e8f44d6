"""What models say of the tests of a report, and a picture of how the weak outcome comes about."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from gpudiy.litmus import LitmusError, read_test
from gpudiy.logs.decision import Sighting
from gpudiy.logs.tables.tally import Observations
from gpudiy.models.execution_picture import draw_explanation
from gpudiy.models.explanation import explain
from gpudiy.models.library import load_model
from gpudiy.models.problems import OutOfTime
from gpudiy.models.verdict import Answer, Verdict, decide

MODELS = ("sc", "tso", "ptx-asplos15", "ptx-6.0")
LIMIT = 2.0  # seconds for one verdict; a report must not wait for one hard test
LETTERS = {
    Answer.ALLOWED: "a", Answer.FORBIDDEN: "f", Answer.OUT_OF_TIME: "u", Answer.BOUNDED: "b", Answer.NOT_SUPPORTED: "x",
    Answer.NO_RUN: "e",
}  # fmt: skip
UNREADABLE, NO_TEXT = "r", "-"
VERDICT_WORDS = {
    **{letter: str(answer) for answer, letter in LETTERS.items()},
    UNREADABLE: "undecided (the test cannot be read)", NO_TEXT: "undecided (the text of the test is not known)",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelVerdicts:
    """A letter for each model, and the picture as SVG, if any."""

    letters: str
    picture: str = ""
    caption: str = ""


def decide_text(text: str, models: tuple[str, ...] = MODELS, picture: bool = False) -> ModelVerdicts:
    """The verdicts of a test, given as text; tests without text get none."""
    if not text:
        return ModelVerdicts(NO_TEXT * len(models))
    try:
        test = read_test(text)
    except LitmusError:
        return ModelVerdicts(UNREADABLE * len(models))
    verdicts = [decide(test, load_model(model), limit=LIMIT) for model in models]
    letters = "".join(LETTERS[verdict.answer] for verdict in verdicts)
    if not picture:
        return ModelVerdicts(letters)
    return ModelVerdicts(letters, *_picture([verdict for verdict in verdicts if not verdict.undecided]))


def _picture(verdicts: list[Verdict]) -> tuple[str, str]:
    """The execution by which the last model that allows the outcome does so; else why the last one forbids it."""
    chosen = next((verdict for verdict in reversed(verdicts) if verdict.allowed), verdicts[-1] if verdicts else None)
    if chosen is None:
        return "", ""
    try:
        explanation = explain(chosen, time.monotonic() + LIMIT)
    except OutOfTime:
        return "", ""
    if explanation.execution is None:
        return "", f"No run of the threads ends so, whatever the model: {chosen.model.name} and all others forbid it."
    if chosen.allowed:
        caption = f"An execution that ends in the weak outcome, as {chosen.model.name} allows it."
    else:
        checks = " and ".join(explanation.checks)
        caption = f"The execution that ends in the weak outcome, and what {checks} of {chosen.model.name} objects to."
    return draw_explanation(explanation), caption


def most_telling(found: Observations, tests: Sequence[str], chips: Sequence[str]) -> list[str]:
    """Tests that tell chips apart first, then those observed, then the others."""
    return sorted(tests, key=lambda test: _telling(found, test, chips))  # the sort is stable: names stay in order


def _telling(found: Observations, test: str, chips: Sequence[str]) -> int:
    seen = {found.tallies[test, chip].sighting for chip in chips if (test, chip) in found.tallies}
    if Sighting.OBSERVED not in seen:
        return 2
    return 0 if Sighting.NOT_OBSERVED in seen else 1
