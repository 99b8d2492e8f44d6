"""The report on a lock as HTML, for notebooks: its text, and a picture of the execution that shows it wrong."""

from __future__ import annotations

from gpudiy.litmus.notebook import pre_html
from gpudiy.locks.report import LockReport
from gpudiy.locks.witness import draw_witness
from gpudiy.pictures.svg import to_svg


def html_of_report(report: LockReport) -> str:
    """The report; it is part of a page, not a page."""
    text = pre_html(str(report))
    witness = next(report.find_witnesses(), None)
    picture = "" if witness is None else to_svg(draw_witness(witness))
    return f'{text}<div style="overflow-x:auto">{picture}</div>' if picture else text
