"""Text logs of the original gpu-litmus, of litmus7 and herd7, and of gpudiy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gpudiy.logs.columns import Columns, pairs_text
from gpudiy.logs.log import LogProblem
from gpudiy.logs.record import UNCHANGED, Ending
from gpudiy.logs.text_body import START, Damage, read_exact, read_lines
from gpudiy.logs.text_surroundings import (
    Preamble,
    Trailer,
    failure_in,
    read_preamble,
    read_trailer,
    split_surroundings,
)
from gpudiy.logs.text_writer import LITMUS_FILE

NEW_TEST = "\nTest "
CUT_TITLE = re.compile(r"^%+[ \t]*(?:\n(?:%[^\n]*(?:\n%*)?)?)?\Z", re.MULTILINE)
LONGEST_TITLE = 4096  # characters
USUAL_KINDS = (" Allowed", " Forbidden", " Required")

_Body = tuple[dict[str, Any], int]  # what a result says, and where it ends
_Place = tuple[int, str]  # a piece of text, and where it starts


def looks_like_text_log(text: str) -> bool:
    """Whether a text has at least one test as gpu-litmus, litmus7 or gpudiy print it."""
    return next(_starts("\n" + text), None) is not None or bool(split_surroundings(text)[1])


def read_text(text: str, path: str) -> tuple[Columns, list[LogProblem]]:
    """The records of a text log, and what is damaged in it."""
    kept = text[: _cut_head(text)]
    whole = text.endswith("\n") and len(kept) == len(text)
    text = kept
    reader = _Reader(
        f"\n{text}" if text.endswith("\n") else f"\n{text}\n", path
    )  # every line has an end before it and after it
    columns, problems = reader.read()
    if not whole and not reader.damaged_end:
        line = text.count("\n") + 1
        problems.append(
            LogProblem(path, line, "the last line has no end, or a record only begins: the log is cut here")
        )
    return columns, problems


def _cut_head(text: str) -> int:
    """Where the log is cut in the first lines of a record, which say nothing yet; else its end."""
    if (title := CUT_TITLE.search(text, max(0, len(text) - LONGEST_TITLE))) is not None:
        return title.start()
    start = text.rfind("\n") + 1
    last = text[start:]
    is_head = last and (NEW_TEST[1:].startswith(last) or last.startswith(NEW_TEST[1:]))
    return start if is_head and not START.match(f"{last}\n") else len(text)


def _starts(text: str) -> Iterator[int]:
    """Where results start, each at its word `Test`."""
    at = text.find(NEW_TEST)
    while at >= 0:
        end = text.find("\n", at + 1)
        if text.endswith(USUAL_KINDS, at + 1, end) or START.match(text, at + 1):
            yield at + 1
        at = text.find(NEW_TEST, max(end, at + 1))


@dataclass(slots=True)
class _Reader:
    text: str
    path: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    problems: list[LogProblem] = field(default_factory=list)
    seen: dict[tuple[str, str, str], int] = field(default_factory=dict)
    without_device: list[dict[str, Any]] = field(default_factory=list)  # results of this run that wait for it
    without_parameters: list[dict[str, Any]] = field(default_factory=list)
    counted: int = 0  # offset up to which lines are counted
    line: int = 0
    damaged_end: bool = False  # whether the last result is damaged

    def read(self) -> tuple[Columns, list[LogProblem]]:
        starts = list(_starts(self.text))
        first = starts[0] if starts else len(self.text)
        leading, preamble = self._trailer(0, first)
        ends = [*starts, len(self.text)][1:]
        for start, end, exact in zip(starts, ends, read_exact(self.text, starts, ends), strict=True):
            known = len(self.problems)
            preamble = self._result(start, end, exact, preamble)
            self.damaged_end = len(self.problems) > known
        if preamble is not None and preamble[1]:
            known = len(self.problems)
            self._without_result(*preamble)
            self.damaged_end = self.damaged_end or len(self.problems) > known
        self._share_leading(read_trailer(leading))
        columns = Columns()
        columns.extend_rows(self.rows)
        return columns, self.problems

    def _result(self, start: int, end: int, exact: _Body | None, preamble: _Place | None) -> _Place | None:
        """Read one result and what follows it up to the next; give the preamble of the next."""
        line = self._line_of(start)
        try:
            row, stop = exact or read_lines(self.text, start, end)
        except Damage as damage:
            self._report_damage(line, damage, start)
            return self._last(split_surroundings(self.text[start:end])[1], start)
        row["file"], row["line"] = self.path, line
        if preamble is not None and preamble[1]:
            self._add_preamble(row, preamble[1], line)
        trailer_text, following = self._trailer(stop, end)
        key = (self.text[start:stop], trailer_text, preamble[1] if preamble else "")
        if key in self.seen:
            message = f"this record is here twice: first on line {self.seen[key]}"
            self.problems.append(LogProblem(self.path, line, message, test=row["test"]))
        else:
            self.seen[key] = line
            self.rows.append(row)
            self._add_trailer(row, trailer_text)
        return following

    def _trailer(self, start: int, end: int) -> tuple[str, _Place | None]:
        """The text after a result, and the preamble of the next."""
        text = self.text[start:end]
        if not text or text.isspace():
            return "", None
        trailer, following = split_surroundings(text)
        return trailer, self._last(following, start)

    def _last(self, following: list[tuple[int, str]], offset: int) -> _Place | None:
        """Only the last preamble has a result; each before it is a test without."""
        for at, text in following[:-1]:
            self._without_result(offset + at, text)
        return (offset + following[-1][0], following[-1][1]) if following else None

    def _add_preamble(self, row: dict[str, Any], text: str, line: int) -> None:
        preamble = read_preamble(text)
        name = preamble.name
        if preamble.row.get("text") and name != row["test"]:
            if not name.startswith((f"{row['test']}-", f"{row['test']}_")):
                message = f"the test printed before this result is {name}: it is left out"
                self.problems.append(LogProblem(self.path, line, message, test=row["test"]))
                row |= _doubt_of(preamble)
                return
            row["test"] = name  # a name that was made unique afterwards
        row |= preamble.row
        if preamble.file and preamble.file != f"{name}.litmus":
            row["options"] = pairs_text(((LITMUS_FILE, preamble.file),))

    def _add_trailer(self, row: dict[str, Any], text: str) -> None:
        trailer = read_trailer(text)
        notes = [row.get("notes", ""), trailer.own.get("notes", "")]
        row |= trailer.own
        if any(notes):
            row["notes"] = "\n".join(filter(None, notes))
        if not trailer.device and not (text and not text.isspace()):
            self.without_device.append(row)
        else:
            for earlier in (*self.without_device, row):
                earlier |= trailer.device
            self.without_device.clear()
        if not trailer.has_parameters:
            self.without_parameters.append(row)
            return
        for earlier in (*self.without_parameters, row):
            _add_parameters(earlier, trailer)
        self.without_parameters.clear()

    def _share_leading(self, leading: Trailer) -> None:
        """What a log says before its first result holds for every result that says nothing itself."""
        for row in self.without_device:
            row |= leading.device
        for row in self.without_parameters:
            _add_parameters(row, leading)
        if self.rows and "notes" in leading.own:
            notes = self.rows[0].get("notes", "")
            self.rows[0]["notes"] = "\n".join(filter(None, (leading.own["notes"], notes)))

    def _without_result(self, offset: int, text: str) -> None:
        """A test that has no result: optcheck refused it, or it failed, or the log is cut."""
        preamble = read_preamble(text)
        line = self._line_of(offset)
        row = preamble.row | {"test": preamble.name, "file": self.path, "line": line}
        failure = failure_in(text)
        if preamble.row.get("optcheck") == "optimised":
            row |= {"ending": str(Ending.REFUSED), "reason": failure}
        elif failure:
            row |= {"ending": str(Ending.CRASHED), "reason": failure}
        else:
            message = "there is no result for this test: the log is cut"
            self.problems.append(LogProblem(self.path, line, message, test=preamble.name))
            self._forget_run()
            return
        self.rows.append(row)

    def _report_damage(self, line: int, damage: Damage, start: int) -> None:
        place = self._line_of(max(start, min(damage.offset, len(self.text) - 1)))
        source = self.text[self.text.rfind("\n", 0, damage.offset) + 1 : damage.offset + 200].split("\n")[0]
        name = START.match(self.text, start)
        test = (name[1] or name[3]) if name else ""
        message = damage.message if place == line else f"{damage.message} (the record starts on line {line})"
        self.problems.append(LogProblem(self.path, place, message, source, test))
        self._forget_run()

    def _forget_run(self) -> None:
        """After a damage it is not known whether what follows belongs to the same run on the same device."""
        self.without_device.clear()
        self.without_parameters.clear()

    def _line_of(self, offset: int) -> int:
        """The line of an offset; the text has one line end more than the file, at its start."""
        if offset < self.counted:
            return self.text.count("\n", 0, offset)
        self.line += self.text.count("\n", self.counted, offset)
        self.counted = offset
        return self.line


def _doubt_of(preamble: Preamble) -> dict[str, Any]:
    """What optcheck found fault with counts against the result that follows, even if the test has another name."""
    if preamble.row.get("optcheck", UNCHANGED) == UNCHANGED:
        return {}
    return {name: value for name, value in preamble.row.items() if name in ("optcheck", "optcheck_text")}


def _add_parameters(row: dict[str, Any], trailer: Trailer) -> None:
    said = row.get("options", "")
    row |= trailer.parameters
    if said and "options" in trailer.parameters:
        row["options"] = f"{said[:-1]}, {trailer.parameters['options'][1:]}"
    elif said:
        row["options"] = said
