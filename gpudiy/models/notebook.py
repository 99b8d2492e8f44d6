"""A verdict as HTML, for notebooks: its answer, why it is so, and the execution that shows it."""

from __future__ import annotations

import time
from html import escape

from gpudiy.litmus.notebook import pre_html
from gpudiy.models.execution_picture import draw_explanation
from gpudiy.models.explanation import Explanation, explain
from gpudiy.models.problems import OutOfTime
from gpudiy.models.report import explanation_text
from gpudiy.models.verdict import Verdict

PATIENCE = 10.0  # seconds for the explanation of a forbidden outcome: a notebook must not hang to show a value


def html_of_verdict(verdict: Verdict) -> str:
    """The verdict and its explanation; it is part of a page, not a page."""
    try:
        explanation = explain(verdict, time.monotonic() + PATIENCE)
    except OutOfTime:
        text = f"{verdict.test.name} is {verdict.answer} by {verdict.model.name}\n  not explained in {PATIENCE:g} s"
        return _text_html(text)
    text = explanation_text(explanation)
    return _text_html(text) if explanation.execution is None else f"{_picture(explanation)}{_details(text)}"


def _text_html(text: str) -> str:
    first, _, rest = text.partition("\n")
    return f'<div style="color:inherit"><b>{escape(first)}</b>{pre_html(rest) if rest else ""}</div>'


def _picture(explanation: Explanation) -> str:
    return f'<div style="overflow-x:auto;margin:8px 0">{draw_explanation(explanation)}</div>'


def _details(text: str) -> str:
    """The first line, and the others for whoever asks for them."""
    first, _, rest = text.partition("\n")
    return f"<details><summary>{escape(first)}</summary>{pre_html(rest)}</details>"
