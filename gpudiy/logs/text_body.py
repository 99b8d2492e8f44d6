"""The result of one test in a text log, from its line `Test …` to its line `Time …`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpudiy.logs.histogram import find_histogram_fault, mark_weak, print_histogram
from gpudiy.logs.record import Ending, OutcomeCount

QUANTIFIERS = {"A": "exists", "F": "~exists", "R": "forall", "U": "exists", "": "exists"}
KIND = r"(Allow(?:ed)?|Forbid(?:den)?|Require(?:d)?|Undefined|Unconstrained)"
START = re.compile(rf"Test[ \t]+(\S[^\n]*?)[ \t]+{KIND}[ \t]*\n|Test[ \t]+(\S+)[ \t]*\n(?=Histogram|States)")

# A result in the exact lines that litmus, gpu-litmus and gpudiy print. What does not match is read line by line.
EXACT = re.compile(
    r"Test (\S+) ([AFR])(?:llowed|orbidden|equired)\n"
    r"Histogram \((\d{1,9}) states\)\n"
    r"((?:\d{1,18} *[:*]>[^\n]*\n)*+)"
    r"(?:Ok|No)\n\n"
    r"Witnesses\nPositive: (\d{1,18}), Negative: (\d{1,18})\n"
    r"Condition ((?:~?exists|forall)[^\n]*) (?:is|NOT) validated\n"
    r"(?:Hash=([^ \t\n]+)\n)?"
    r"Observation \1 (Never|Sometimes|Always) \5 \6\n"
    r"(?:Time \1 (\d{1,9}\.?\d*)\n)?"
)
COUNTS = re.compile(r"(\d+)[^\n]*\n")  # from line to line, which is quicker than to look for line starts

STATES = re.compile(r"Histogram(?:[ \t]+\((\d{1,9})[ \t]+states[ \t]*\))?|States(?:[ \t]+(\d{1,9}))?")
COUNTED = re.compile(r"(-?\d{1,18})[ \t]*([:*])>[ \t]*(.*)")
VALIDATION = re.compile(r"(?:Loop[ \t]+)?(?:Undef|Succeeded|Failed|Ok|No|\?\?)\b.*|\?\?")
POSITIVE = re.compile(r"[Pp]ositive:[ \t]*(-?\d{1,18})[ \t]*,?[ \t]*[Nn]egative:[ \t]*(-?\d{1,18})")
CONDITION = re.compile(r"Condition[ \t]+(.*?)(?:[ \t]+is[ \t]+(?:NOT[ \t]+)?validated)?")
HASH = re.compile(r"[Hh]ash[ \t]*=[ \t]*(\S+)")
OBSERVATION = re.compile(r"Observation[ \t]+(.+?)[ \t]+(Never|Sometimes|Always)[ \t]+(-?\d{1,18})[ \t]+(-?\d{1,18})")
TIME = re.compile(r"Time[ \t]+(.+?)[ \t]+(\d{1,9}(?:\.\d*)?(?:[eE][-+]?\d{1,3})?)")
FATAL = re.compile(r"Fatal[: ][ \t]*(.*)")
STATE = re.compile(r"[ \t]*(?:~?[Ff]ault|[\w.$\[\]():*]+[ \t]*=).*;")
OTHER = re.compile(r"(?:Topology|Relax|Bad executions|Flag)\b.*|[A-Za-z]+[ \t]*=.*")


class Damage(Exception):
    """A result that is not whole; `offset` is where that shows."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


def read_exact(text: str, starts: Sequence[int], ends: Sequence[int]) -> list[tuple[dict[str, Any], int] | None]:
    """The results in exact lines whose numbers agree, each with its end; None for those to be read line by line."""
    found = [EXACT.match(text, start, end) for start, end in zip(starts, ends, strict=True)]
    return [None if match is None else _exact(match) for match in found]


def read_lines(text: str, start: int, end: int) -> tuple[dict[str, Any], int]:
    """The result that starts at `start`, read line by line, and where it ends; raises `Damage`."""
    return _Lines(text, start, end).read()


def _sums(histogram: str) -> tuple[int, int, int]:
    """How many outcomes there are, the sum of their counts, and of those that are marked weak."""
    counts = COUNTS.findall(histogram)
    weak = 0
    mark = histogram.find("*>")
    while mark >= 0:
        count = histogram[histogram.rfind("\n", 0, mark) + 1 : mark].rstrip()
        weak += int(count) if count.isdecimal() else 0
        mark = histogram.find("*>", mark + 1)
    return len(counts), sum(map(int, counts)), weak


def _exact(match: re.Match[str]) -> tuple[dict[str, Any], int] | None:
    test, _, states, histogram, positive, negative, condition, hash, _, seconds = match.groups()
    seen, others = int(positive), int(negative)
    lines, total, weak = _sums(histogram)
    if lines != int(states) or total != seen + others or (weak and weak not in (seen, others)):
        return None
    row = {
        "test": test,
        "condition": condition.removesuffix(" is"),
        "histogram": histogram if weak or not seen else mark_weak(histogram, condition.removesuffix(" is"), seen),
        "positive": seen,
        "negative": others,
        "iterations": total,
    }
    if hash:
        row["hash"] = hash
    if seconds:
        row["seconds"] = float(seconds)
    return row, match.end()


@dataclass(slots=True)
class _Found:
    """What the lines of a result have said so far."""

    test: str
    quantifier: str
    states: int | None = None
    counted: bool = True
    outcomes: list[OutcomeCount] | None = None
    validated: bool = False
    witnesses: tuple[int, int] | None = None
    observation: tuple[int, int] | None = None
    condition: str = ""
    hash: str = ""
    seconds: float | None = None
    fatal: str | None = None


class _Lines:
    """A result read line by line, with all that its writers may leave out or print otherwise."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.at, self.end = text, start, end
        self.notes: list[str] = []

    def read(self) -> tuple[dict[str, Any], int]:
        head = START.match(self.text, self.at, self.end)
        assert head is not None
        name = head[1] or head[3]
        found = _Found(name.strip(), QUANTIFIERS[(head[2] or "")[:1]])
        start = self.at
        self.at = head.end()
        self._states(found)
        self._rest(found)
        return self._row(found, start), self.at

    def _states(self, found: _Found) -> None:
        """The lines up to the histogram, and the histogram."""
        while (line := self._line()) is not None:
            if head := STATES.fullmatch(line):
                self._next()
                found.counted = line.startswith("H")
                number = head[1] or head[2]
                found.states = int(number) if number else None
                found.outcomes = []
                self._outcomes(found)
                return
            if fatal := FATAL.fullmatch(line):
                self._next()
                found.fatal = fatal[1]
                return
            if line.startswith(("Witnesses", "Observation", "Condition")):
                return  # a histogram may be left out
            if VALIDATION.fullmatch(line):
                return
            if line:
                self.notes.append(line)
            self._next()
        raise Damage("there is no result after this line: the log is cut here", self.at)

    def _outcomes(self, found: _Found) -> None:
        assert found.outcomes is not None
        while (line := self._line()) is not None:
            if counted := COUNTED.fullmatch(line):
                if counted[1].startswith("-"):
                    raise Damage(f"a count of {counted[1]}: a count is never below 0", self.at)
                found.outcomes.append(OutcomeCount(counted[3].strip(), int(counted[1]), counted[2] == "*"))
            elif VALIDATION.fullmatch(line) or line.startswith(("Witnesses", "Observation", "Condition")):
                break
            elif not found.counted and (STATE.fullmatch(line) or not line):
                if line:
                    found.outcomes.append(OutcomeCount(line.strip(), 0))
            elif line:
                raise Damage(
                    "the histogram breaks off here: the record is cut, or another output runs into it", self.at
                )
            self._next()
        if found.states is not None and len(found.outcomes) != found.states:
            if not found.outcomes and found.states == 1 and not found.counted:
                found.outcomes.append(OutcomeCount("", 0))  # the state of a test that observes nothing
                return
            raise Damage(f"{found.states} states are announced, and {len(found.outcomes)} are there", self.at)

    def _rest(self, found: _Found) -> None:
        """The lines after the histogram, as long as they belong to the result."""
        while (line := self._line()) is not None:
            known = self._read_known_line(found, line)
            if not known:
                if line or found.observation or found.seconds is not None or found.fatal is not None:
                    return
                if not line and found.witnesses and found.condition:
                    return
            self._next()

    def _read_known_line(self, found: _Found, line: str) -> bool:
        if positive := POSITIVE.fullmatch(line):
            found.witnesses = int(positive[1]), int(positive[2])
        elif observed := OBSERVATION.fullmatch(line):
            self._same_test(found, observed[1], "Observation")
            found.observation = int(observed[3]), int(observed[4])
        elif line.startswith("Condition") and (condition := CONDITION.fullmatch(line)):
            text = condition[1]
            found.condition = text if text.startswith(("exists", "~exists", "forall")) else f"{found.quantifier} {text}"
        elif time := TIME.fullmatch(line):
            self._same_test(found, time[1], "Time")
            found.seconds = float(time[2])
        elif hash := HASH.fullmatch(line):
            found.hash = hash[1]
        elif line == "Witnesses":
            return True
        elif VALIDATION.fullmatch(line):
            if found.validated:
                raise Damage("a second verdict on the condition: another output runs into this one", self.at)
            found.validated = True
        elif OTHER.fullmatch(line):
            self.notes.append(line)
        else:
            return False
        return True

    def _same_test(self, found: _Found, name: str, word: str) -> None:
        if name != found.test:
            raise Damage(f"the {word} line is about {name}: another output runs into this one", self.at)

    def _row(self, found: _Found, start: int) -> dict[str, Any]:
        unsaid = found.quantifier if found.quantifier != "exists" else ""  # known from the head of the result
        row: dict[str, Any] = {"test": found.test, "condition": found.condition or unsaid}
        if found.hash:
            row["hash"] = found.hash
        if found.seconds is not None:
            row["seconds"] = found.seconds
        if self.notes:
            row["notes"] = "\n".join(self.notes)
        if found.fatal is not None:
            return row | _failure(found.fatal)
        counts = found.witnesses or found.observation
        if counts is None:
            raise Damage("the counts of its outcomes are missing: the record is cut here", self.at)
        if min(counts) < 0:
            raise Damage(f"a count of {min(counts)}: a count is never below 0", start)
        if found.observation and found.observation != counts:
            raise Damage("the Observation line and the Witnesses do not agree", start)
        positive, negative = counts
        fault = find_histogram_fault(found.outcomes or (), positive, positive + negative)
        if fault:
            raise Damage(fault, start)
        row |= {"positive": positive, "negative": negative, "iterations": positive + negative}
        histogram = print_histogram(found.outcomes or ())
        if positive and found.counted and "*>" not in histogram:
            histogram = mark_weak(histogram, found.condition, positive)
        return row | {"histogram": histogram}

    def _line(self) -> str | None:
        """The line that begins here, without its end; None at the end of the result."""
        if self.at >= self.end:
            return None
        stop = self.text.find("\n", self.at, self.end)
        return self.text[self.at : self.end if stop < 0 else stop].rstrip()

    def _next(self) -> None:
        stop = self.text.find("\n", self.at, self.end)
        self.at = self.end if stop < 0 else stop + 1


def _failure(words: str) -> dict[str, Any]:
    """A run that failed; the word before the colon is its ending if gpudiy wrote it."""
    ending, _, reason = words.partition(":")
    try:
        return {"ending": str(Ending(ending.strip())), "reason": reason.strip()}
    except ValueError:
        return {"ending": str(Ending.CRASHED), "reason": words.strip()}
