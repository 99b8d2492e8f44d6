"""A table of answers: one line per test, one column per model."""

from __future__ import annotations

from collections.abc import Sequence

NAME_WIDTH = 24  # at least
USUAL_WIDTH = len("forbidden") + 4


class AnswerTable:
    """Prints lines as they come: the heading with the first, and a column grows when a longer word needs it."""

    def __init__(self, models: Sequence[str]) -> None:
        self.models = models
        self.widths = [max(len(model) + 2, USUAL_WIDTH) for model in models]
        self.name_width = 0  # nothing is printed yet

    def print_line(self, name: str, answers: Sequence[str]) -> None:
        self.widths = [max(width, len(answer) + 2) for width, answer in zip(self.widths, answers, strict=True)]
        if not self.name_width:
            self.name_width = max(NAME_WIDTH, len(name) + 2)
            self._print_cells("test", self.models)
        self._print_cells(name, answers)

    def _print_cells(self, name: str, cells: Sequence[str]) -> None:
        shown = "".join(f"{cell:<{width}}" for cell, width in zip(cells, self.widths, strict=True))
        print(f"{f'{name}  ':<{self.name_width}}{shown}".rstrip())
