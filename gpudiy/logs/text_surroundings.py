"""What is around the results in a text log: the test and optcheck's output before, device and parameters after."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from gpudiy.logs.columns import LAUNCH_SUMS, LIVENESS, NAMES, pairs_text
from gpudiy.logs.record import Ending, incantation_label
from gpudiy.logs.text_writer import COMMAND, MACHINE, OWN, architecture_of

MOST_DIGITS = 20  # of a number in a parameter
LANGUAGES = "GPU_PTX|RACE_OPENCL|GPU_OPENCL|OPENCL|PTX|X86_64|X86|AArch64|ARM|PPC|PPCGen|RISCV|MIPS|SPARC|LISA|Bell|C"
_TITLE = r"%{3,}[ \t]*\n%[ \t]*Results for[ \t]+(.*?)[ \t]*%[ \t]*\n%{3,}[ \t]*\n"
_SOURCE = rf"(?:{LANGUAGES})[ \t]+(\S+)[ \t]*$"
TITLE = re.compile(_TITLE)
SOURCE = re.compile(rf"^{_SOURCE}", re.MULTILINE)
PREAMBLE = re.compile(rf"(?:{_TITLE}(?:\s*{_SOURCE})?|{_SOURCE})", re.MULTILINE)
PREAMBLE_WORDS = ("%%%", *(f"{language} " for language in LANGUAGES.split("|")))
OPTCHECK_WORDS = ("Binary '", "File '", "Specification clusters:", "Optcheck: ")
ASSEMBLER = "Generated assembler"
FAILURE = re.compile(r"^.*(?:[Ff]ail|[Aa]ssert|[Ee]rror:).*$", re.MULTILINE)

DEVICE = "-- device info --"
SOME_COMMAND = "\0"  # in place of any command
INFO = re.compile(r"([^:\n]+):[ \t]*(.*)")
COMMENT = re.compile(r"/\*[ \t]*(.+?)[ \t]*:(?:[ \t]+(.*?))?[ \t]*\*/")
DEFINE = re.compile(r"#define[ \t]+(\w+)[ \t]*(.*)")
IGNORED = re.compile(r"#ifndef\b.*|#endif\b.*")
HASH = re.compile(r"[Hh]ash[ \t]*=[ \t]*(\S+)")


@dataclass(frozen=True, slots=True)
class Preamble:
    """The test as the log prints it before its result; `name` is the name it has there."""

    name: str
    row: dict[str, Any]
    file: str = ""


@dataclass(frozen=True, slots=True)
class Trailer:
    """What a log prints after a result. `device` and `parameters` may be meant for earlier results too."""

    device: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    own: dict[str, Any] = field(default_factory=dict)  # only for the result just before
    has_parameters: bool = False


def split_surroundings(text: str) -> tuple[str, list[tuple[int, str]]]:
    """What is between two results: the trailer of the first, then the preambles, with their offsets."""
    starts: list[int] = []
    covered = 0
    for place in _lines_starting(text, PREAMBLE_WORDS):
        if place >= covered and (found := PREAMBLE.match(text, place)) is not None:
            starts.append(place)
            covered = found.end()
    check = _lines_starting(text[: starts[0]] if starts else text, OPTCHECK_WORDS)
    if check:  # a log may print optcheck's output and not the test
        starts.insert(0, check[0])
    if not starts:
        return text, []
    ends = [*starts[1:], len(text)]
    return text[: starts[0]], [(start, text[start:end]) for start, end in zip(starts, ends, strict=True)]


def read_preamble(text: str) -> Preamble:
    """What a text log says before the first histogram of a test: title, assembly, optcheck's finding."""
    title = TITLE.match(text)
    file = title[1] if title else ""
    rest = text[title.end() :] if title else text
    row: dict[str, Any] = {}
    assembler = next(iter(_lines_starting(rest, (ASSEMBLER,))), None)
    behind = 0 if assembler is None else rest.find("\n", assembler) + 1
    check = next((place for place in _lines_starting(rest, OPTCHECK_WORDS) if place >= behind), None)
    stop = len(rest) if check is None else check
    test = rest[: stop if assembler is None else assembler].strip("\n")
    named = SOURCE.search(test)
    if named is not None:
        row["text"] = test + "\n"
    if assembler is not None and (made := rest[behind:stop].strip("\n")):
        row["assembler"] = made + "\n"
    if check is not None:
        row |= _optcheck(rest[stop:])
    return Preamble(named[1] if named else file.removesuffix(".litmus"), row, file)


def failure_in(text: str) -> str:
    """The line of a preamble that says why there is no result."""
    failed = FAILURE.search(text)
    return failed[0].strip() if failed else ""


def _lines_starting(text: str, words: tuple[str, ...]) -> list[int]:
    """Where lines start with one of the words: finding words is far quicker than a regular expression."""
    places = [0] if text.startswith(words) else []
    for word in words:
        place = text.find(f"\n{word}")
        while place >= 0:
            places.append(place + 1)
            place = text.find(f"\n{word}", place + 1)
    return sorted(places)


def _optcheck(text: str) -> dict[str, Any]:
    """Its verdict, in gpudiy's word or the original's exclamation, and its output."""
    first, _, rest = text.partition("\n")
    if first.startswith("Optcheck: "):
        output = rest.strip("\n")
        return {"optcheck": first.removeprefix("Optcheck: ").strip()} | (
            {"optcheck_text": output + "\n"} if output else {}
        )
    lines = [line.strip() for line in text.splitlines()]
    if "!!SUCCESS!!" in lines:
        verdict = "unchanged"
    elif "!!FAILURE!!" in lines:
        verdict = "optimised"
    else:
        verdict = "error"
    return {"optcheck": verdict, "optcheck_text": text.strip("\n") + "\n"}


def read_trailer(text: str) -> Trailer:
    """A log prints the same trailer again and again but for the command, so that the rest of it is read once."""
    start = text.find(f"\n{COMMAND}:")
    if start < 0 or (end := text.find("\n", start + 1)) < 0:
        return _read_trailer(text)
    command = text[start + len(COMMAND) + 2 : end].strip()
    known = _read_trailer(f"{text[:start]}\n{COMMAND}: {SOME_COMMAND}{text[end:]}")
    options = known.parameters["options"].replace(json.dumps(SOME_COMMAND), json.dumps(command))
    return replace(known, parameters={**known.parameters, "options": options})


@lru_cache(maxsize=1024)
def _read_trailer(text: str) -> Trailer:
    trailer = Trailer(has_parameters="Parameters" in text or "\nRevision" in text or "\nMachine:" in text)
    info: list[tuple[str, str]] = []
    options: list[tuple[str, str]] = []
    notes: list[str] = []
    in_device = False
    for raw in text.splitlines():
        line = raw.strip()
        if line == DEVICE:
            in_device = True
        elif not line:
            in_device = False if info else in_device
        elif in_device and (pair := INFO.fullmatch(line)):
            info.append((pair[1].strip(), pair[2]))
        elif not _parameter(line, trailer, options):
            notes.append(raw)
    _device(info, trailer)
    if options:
        trailer.parameters["options"] = pairs_text(options)
        trailer.parameters["incantation"] = incantation_label(options)
    if notes:
        trailer.own["notes"] = "\n".join(notes)
    return trailer


def _parameter(line: str, trailer: Trailer, options: list[tuple[str, str]]) -> bool:
    """Whether the line is a parameter, and then what it says."""
    word, _, rest = line.partition(" ")
    if line.startswith(f"{MACHINE}:"):
        options.append((MACHINE, line.partition(":")[2].strip()))
    elif line.startswith(f"{COMMAND}:"):
        options.append((COMMAND, line.partition(":")[2].strip()))
    elif word == "Revision":
        trailer.parameters["tool"] = rest.strip()
    elif comment := COMMENT.fullmatch(line):
        if comment[1].startswith(OWN):
            return _own_field(comment[1].removeprefix(OWN), comment[2] or "", trailer)
        options.append((comment[1], comment[2] or ""))
    elif define := DEFINE.fullmatch(line):
        options.append((define[1], define[2]))
    elif hash := HASH.fullmatch(line):
        trailer.own["hash"] = hash[1]
    else:
        return line == "Parameters" or IGNORED.fullmatch(line) is not None
    return True


def _own_field(name: str, value: str, trailer: Trailer) -> bool:
    """Whether it is a field of a record that can have this value."""
    if name not in NAMES:
        return False
    try:
        if name in (*LIVENESS, *LAUNCH_SUMS, "seed", "iterations", "positive", "negative"):
            number = int(value) if len(value) <= MOST_DIGITS else -1
            if not 0 <= number < 1 << 63:
                return False
            trailer.own[name] = number
        elif name == "simulated":
            trailer.own[name] = value == "true"
        else:
            trailer.own[name] = str(Ending(value)) if name == "ending" else value
    except ValueError:
        return False
    return True


def _device(info: list[tuple[str, str]], trailer: Trailer) -> None:
    if not info:
        return
    said = dict(info)
    chip = said.get("Name", "")
    rest = [(name, value) for name, value in info if name != "Name"]
    if chip:
        trailer.device["chip"] = chip
    if rest:
        trailer.device["device_info"] = pairs_text(rest)
    if architecture := architecture_of(rest):
        trailer.device["architecture"] = architecture
