"""Plans as TOML text, with the place of each key, so that an error can point at it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpudiy.errors import InputError
from gpudiy.files import read_text

HEADER = re.compile(r"\s*\[\s*([\w.-]+)\s*\]")
KEY = re.compile(r"\s*([\w-]+)\s*=")
PLACE = re.compile(r"^(.*?) \(at (?:line (\d+), column (\d+)|end of document)\)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PlanText:
    """The text of a plan, its values and the places of its keys."""

    path: str
    lines: tuple[str, ...]
    values: Mapping[str, Any]
    places: Mapping[str, tuple[int, int]]  # line and column of `section` and `section.key`

    @classmethod
    def read(cls, path: Path) -> PlanText:
        if not path.exists():
            raise InputError("no such plan", path=str(path), hint=f"`gpudiy campaign init {path}` writes one")
        return cls.parse(read_text(path), str(path))

    @classmethod
    def parse(cls, text: str, path: str = "<plan>") -> PlanText:
        lines = tuple(text.splitlines())
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _syntax_error(str(error), path, lines) from None
        return cls(path, lines, values, _find_places(lines))

    def error(self, key: str, message: str, hint: str | None = None) -> InputError:
        """An error at a key, or at the section that lacks the key, or at the start of the file."""
        place = self.places.get(key) or self.places.get(key.rpartition(".")[0]) or (1, 1)
        source = self.lines[place[0] - 1] if self.lines else ""
        return InputError(message, path=self.path, line=place[0], column=place[1], source=source, hint=hint)


def _syntax_error(message: str, path: str, lines: tuple[str, ...]) -> InputError:
    found = PLACE.match(message)
    line, column = max(1, len(lines)), 1
    if found is not None:
        message = found[1]
        if found[2] is not None:
            line, column = int(found[2]), int(found[3])
    source = lines[line - 1] if line <= len(lines) else ""
    return InputError(message[0].lower() + message[1:], path=path, line=line, column=column, source=source)


def _find_places(lines: tuple[str, ...]) -> dict[str, tuple[int, int]]:
    places: dict[str, tuple[int, int]] = {}
    section = ""
    for number, line in enumerate(lines, 1):
        if header := HEADER.match(line):
            section = header[1]
            places.setdefault(section, (number, header.start(1) + 1))
        elif key := KEY.match(line):
            name = f"{section}.{key[1]}" if section else key[1]
            places.setdefault(name, (number, key.start(1) + 1))
    return places
