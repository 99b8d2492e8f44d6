"""Makes the pictures of the documentation: `python docs/pictures.py`."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from gpudiy.cli.drawing import draw_test
from gpudiy.litmus.reader import read_test
from gpudiy.locks.generation import list_cases
from gpudiy.locks.question import Question
from gpudiy.locks.source import load_lock
from gpudiy.locks.witness import draw_witness, find_witness
from gpudiy.models.library import load_model
from gpudiy.pictures.writing import write_picture

HERE = Path(__file__).parent


def main() -> None:
    test = read_test((HERE / "examples" / "mp-cas.litmus").read_text())
    console = Console(record=True, width=58, highlight=False, file=io.StringIO(), force_terminal=True)
    console.print(draw_test(test, hashes=True))
    svg = console.export_svg(title="gpudiy show mp-cas.litmus", font_aspect_ratio=0.6, unique_id="show")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # no font from elsewhere
    svg = svg.replace("Fira Code", "DejaVu Sans Mono, Menlo, Consolas")
    (HERE / "images" / "show.svg").write_text(svg)
    lock_witness()


def lock_witness() -> None:
    """The execution in which the spinlock of He and Yu reads a value from the future."""
    model = load_model("ptx-6.0")
    asked = [case for case in list_cases(load_lock("he-yu-spinlock")) if case.question is Question.FUTURE_VALUE]
    found = find_witness(next(case for case in asked if case.setting.text == "ctas"), model)
    assert found is not None
    write_picture(draw_witness(found), HERE / "images" / "lock-witness.svg")


if __name__ == "__main__":
    main()
