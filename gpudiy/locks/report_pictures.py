"""Pictures of the executions that show locks to be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gpudiy.locks.question import Question
from gpudiy.locks.report import LockReport
from gpudiy.locks.witness import draw_witness
from gpudiy.pictures.writing import write_picture


def draw_witnesses(reports: Sequence[LockReport], folder: Path, suffix: str) -> int:
    """Draw one execution for each question that a model answers wrongly; how many were drawn."""
    drawn = 0
    for report in reports:
        for model in report.models:
            for question in Question:
                witness = report.find_witness(model, question)
                if witness is not None:
                    name = f"{report.lock.name}+{question}+{Path(model).name.removesuffix('.cat')}.{suffix}"
                    write_picture(draw_witness(witness), folder / name)
                    drawn += 1
    return drawn
