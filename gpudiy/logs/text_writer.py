"""Records as text, in the lines of the original gpu-litmus, which the tools of the herd family read."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpudiy.logs.columns import LAUNCH_SUMS, LIVENESS
from gpudiy.logs.histogram import print_histogram
from gpudiy.logs.record import EVIDENCE, Ending, Record

KINDS = (("~exists", "Forbidden"), ("forall", "Required"), ("exists", "Allowed"))
INFO_WIDTH = 32
OWN = "gpudiy."  # before the name of a field of the record, in a comment among the parameters
OWN_FIELDS = ("device", "architecture", "driver", "toolkit", "seed", "reason", "started", "source", "no_evidence")
MACHINE, COMMAND, LITMUS_FILE = "Machine", "Command line", "litmus file"
DEFINED = re.compile(r"[A-Z][A-Z0-9_]*")  # options that are macros of the harness
OPTCHECK_START = re.compile(r"(?:Binary|File) '.*' successfully")


def print_text(record: Record) -> str:
    """One record as text. Line breaks in a field become blanks; JSON Lines keep them."""
    parts = []
    if record.text:
        file = dict(record.options).get(LITMUS_FILE, f"{_line(record.test)}.litmus")
        title = f"% Results for {file} %"
        rule = "%" * len(title)
        parts.append(
            f"{rule}\n{title}\n{rule}\n{_end_line(record.text)}Generated assembler\n{_end_line(record.assembler)}\n"
        )
    parts += [_optcheck(record), _body(record), _surroundings(record)]
    return "".join(parts)


def kind_of(condition: str) -> str:
    """The word behind the name of a test in a text log: Allowed, Forbidden or Required."""
    return next((kind for word, kind in KINDS if condition.startswith(word)), "Allowed")


def observation_word(positive: int, negative: int) -> str:
    """The word of the line `Observation`: Never, Sometimes or Always."""
    if not positive:
        return "Never"
    return "Sometimes" if negative else "Always"


def is_validated(condition: str, positive: int, negative: int) -> bool:
    """Whether the counts agree with what the test claims."""
    kind = kind_of(condition)
    if kind == "Required":
        return negative == 0
    return (positive == 0) == (kind == "Forbidden")


def _optcheck(record: Record) -> str:
    text = _end_line(record.optcheck_text)
    original = OPTCHECK_START.match(text) and record.optcheck in ("unchanged", "optimised", "error")
    return text if original or not record.optcheck + text else f"Optcheck: {record.optcheck}\n{text}"


def _body(record: Record) -> str:
    name = _line(record.test)
    head = f"Test {name} {kind_of(record.condition)}\n"
    if record.ending not in EVIDENCE:
        reason = f": {_line(record.reason)}" if record.reason else ""
        condition = f"Condition {_line(record.condition)}\n" if record.condition else ""
        return f"{head}Fatal: {record.ending}{reason}\n{condition}{_hash(record)}{_time(record)}"
    holds = is_validated(record.condition, record.positive, record.negative)
    condition = ""
    if record.condition:
        condition = f"Condition {_line(record.condition)} is {'' if holds else 'NOT '}validated\n"
    return (
        f"{head}{_states(record)}{'Ok' if holds else 'No'}\n\n"
        f"Witnesses\nPositive: {record.positive}, Negative: {record.negative}\n{condition}{_hash(record)}"
        f"Observation {name} {observation_word(record.positive, record.negative)} {record.positive} {record.negative}\n"
        f"{_time(record)}"
    )


def _states(record: Record) -> str:
    if record.histogram and not any(entry.count for entry in record.histogram):
        return f"States {len(record.histogram)}\n" + "".join(f"{_line(entry.outcome)}\n" for entry in record.histogram)
    return f"Histogram ({len(record.histogram)} states)\n{print_histogram(record.histogram)}"


def _hash(record: Record) -> str:
    return f"Hash={record.hash}\n" if record.hash else ""


def _time(record: Record) -> str:
    """The line with the time, with as many digits after the point as it needs; herd's tools expect some."""
    if not record.seconds:
        return f"Time {_line(record.test)} 0.00\n"
    text = f"{record.seconds:.2f}"
    if float(text) != record.seconds:
        text = f"{record.seconds:.17f}".rstrip("0")
        text = text if float(text) == record.seconds else repr(record.seconds)
    return f"Time {_line(record.test)} {text}\n"


def _surroundings(record: Record) -> str:
    lines = []
    if record.chip or record.device_info:
        lines += ["", "  -- device info --"]
        named = ((("Name", record.chip),) if record.chip else ()) + record.device_info
        lines += [f"{_line(name) + ':':<{INFO_WIDTH - 1}} {_line(value)}" for name, value in named]
    apart = {name: value for name, value in record.options if name in (MACHINE, COMMAND)}
    lines.append("")
    if MACHINE in apart:
        lines.append(f"{MACHINE}: {_line(apart[MACHINE])}")
    if record.tool:
        lines.append(f"Revision {_line(record.tool)}")
    if COMMAND in apart:
        lines.append(f"{COMMAND}: {_line(apart[COMMAND])}")
    lines += ["Parameters", *_parameters(record)]  # always there: readers know by it that nothing is missing
    if record.notes:
        lines += ["", *record.notes.splitlines()]
    return "\n".join((*lines, ""))


def _parameters(record: Record) -> list[str]:
    lines = []
    for name, value in record.options:
        if DEFINED.fullmatch(name):
            lines += [f"#ifndef {name}", f"#define {name} {_line(value)}", "#endif"]
        elif name not in (MACHINE, COMMAND) and not (name == LITMUS_FILE and record.text):
            lines.append(f"/* {_line(name)}: {_line(value)} */")
    return lines + _own_fields(record)


def architecture_of(device_info: Iterable[tuple[str, str]]) -> str:
    """The architecture that follows from the compute capability of an Nvidia GPU."""
    said = dict(device_info)
    major, minor = said.get("Major revision number", ""), said.get("Minor revision number", "")
    return f"sm_{major}{minor}" if major.isdecimal() and minor.isdecimal() else ""


def _own_fields(record: Record) -> list[str]:
    said = {name: getattr(record, name) for name in OWN_FIELDS}
    if record.architecture == architecture_of(record.device_info):
        said["architecture"] = ""
    if record.simulated:
        said["simulated"] = "true"
    if record.ending is Ending.STOPPED:
        said["ending"] = record.ending
    if record.ending not in EVIDENCE:
        said |= {"reason": "", "iterations": record.iterations, "positive": record.positive}
        said["negative"] = record.negative
    if record.liveness is not None:
        said |= {name: getattr(record.liveness, name) for name in LIVENESS}
    if record.launch_sums is not None:
        said |= {name: getattr(record.launch_sums, name) for name in LAUNCH_SUMS}
    return [f"/* {OWN}{name}: {_line(str(value))} */" for name, value in said.items() if value not in ("", None)]


def _line(text: str) -> str:
    """Text on one line."""
    return " ".join(text.split()) if "\n" in text or "\r" in text else text.strip()


def _end_line(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
