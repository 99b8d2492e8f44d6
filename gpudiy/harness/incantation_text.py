"""Incantations by name, in files and in records.

A name is `default`, `none`, `all`, `asplos15-N` for a column of the published table, or switches joined by `+`:
`stress+sync+random`. A file is TOML: first the fields for all tests, one per line, then tables such as `[test.SB]` with
the fields that differ for one test.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import compress, product
from pathlib import Path
from typing import Any

from gpudiy.errors import InputError, near_name
from gpudiy.files import read_text
from gpudiy.harness.incantation import Incantation, StressPattern

SWITCHES = {
    "stress": "memory_stress",
    "bank": "bank_conflicts",
    "sync": "synchronisation",
    "random": "randomisation",
}
PUBLISHED = "asplos15"
SUFFIX = ".toml"
FIELDS = {entry.name: entry for entry in fields(Incantation)}
TESTS = "test"


@dataclass(frozen=True, slots=True)
class IncantationBook:
    """The incantation for all tests, and other incantations for single tests by name."""

    name: str = "default"
    common: Incantation = field(default_factory=Incantation)
    single: Mapping[str, Incantation] = field(default_factory=dict)

    def of(self, test: str) -> Incantation:
        return self.single.get(test, self.common)


def read_incantation(text: str) -> IncantationBook:
    """The incantation of a name or a file; raises `InputError` if there is none."""
    if text.endswith(SUFFIX) or "/" in text or Path(text).is_file():
        return _read_file(Path(text))
    return IncantationBook(text, named_incantation(text))


def named_incantation(name: str) -> Incantation:
    """The incantation of a name such as `all` or `stress+sync`; raises `InputError` if there is none."""
    if name == "default":
        return Incantation()
    if re.fullmatch(rf"{PUBLISHED}-([1-9]|1[0-6])", name):
        return list(published_combinations().values())[int(name.split("-")[1]) - 1]
    switched = {"none": [], "all": list(SWITCHES)}.get(name, name.split("+"))
    for word in switched:
        if word not in SWITCHES:
            known = ["default", "none", "all", *SWITCHES]
            names = f"{', '.join(known)}, {PUBLISHED}-1 to {PUBLISHED}-16, switches joined by +"
            hint = near_name(word, known) or f"names are {names}; or a {SUFFIX} file"
            raise InputError(f"there is no incantation {word!r}", hint=hint)
    changes: dict[str, Any] = {switch: word in switched for word, switch in SWITCHES.items()}
    return replace(Incantation(), **changes)


def published_combinations() -> dict[str, Incantation]:
    """The 16 combinations in the order of ASPLOS'15: stress, bank, sync and random count 8, 4, 2, 1."""
    names = ["+".join(compress(SWITCHES, chosen)) or "none" for chosen in product((False, True), repeat=4)]
    return {name: named_incantation(name) for name in names}


def incantation_options(incantation: Incantation) -> tuple[tuple[str, str], ...]:
    """Every field and its value as text, as a record keeps them."""
    return tuple((name, _value_text(getattr(incantation, name))) for name in FIELDS)


def incantation_of(options: Iterable[tuple[str, str]]) -> Incantation:
    """The incantation that a record was made with; other options are ignored."""
    table = {name: value for name, value in options if name in FIELDS}
    text = "\n".join(f"{name} = {_toml(value)}" for name, value in table.items())
    return _incantation(tomllib.loads(text), Incantation(), "record", {})


def incantation_file(book: IncantationBook, comments: Iterable[str] = ()) -> str:
    """The text of a file that `read_incantation` reads; a test lists what differs from the common settings."""
    lines = [f"# {comment}".rstrip() for comment in comments]
    for name, value in incantation_options(book.common):
        lines += [f"# {_meaning(name)}", f"{name} = {_toml(value)}"]
    for test, incantation in book.single.items():
        common = dict(incantation_options(book.common))
        changed = [(name, value) for name, value in incantation_options(incantation) if common[name] != value]
        if changed:
            lines += ["", f"[{TESTS}.{_key(test)}]", *(f"{name} = {_toml(value)}" for name, value in changed)]
    return "\n".join(lines) + "\n"


def parameter_table() -> str:
    """The parameters as a table of Markdown: name, default, range, meaning."""
    lines = ["| parameter | default | range | what |", "|---|---|---|---|"]
    for name, default in incantation_options(Incantation()):
        lines.append(f"| `{name}` | {default} | {_range(name)} | {FIELDS[name].metadata['what']} |")
    return "\n".join(lines) + "\n"


def _read_file(path: Path) -> IncantationBook:
    source = read_text(path)
    try:
        table = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not TOML: {error}", path=str(path)) from None
    lines = {line.split("=")[0].strip(): number for number, line in enumerate(source.splitlines(), 1) if "=" in line}
    tests = table.pop(TESTS, {})
    if not isinstance(tests, dict) or not all(isinstance(entry, dict) for entry in tests.values()):
        raise InputError(f"[{TESTS}.NAME] is a table for each test", path=str(path))
    common = _incantation(table, Incantation(), str(path), lines)
    single = {name: _incantation(entry, common, str(path), lines) for name, entry in tests.items()}
    return IncantationBook(path.name, common, single)


def _incantation(table: dict[str, Any], common: Incantation, path: str, lines: dict[str, int]) -> Incantation:
    changes: dict[str, Any] = {}
    for name, value in table.items():
        try:
            changes[name] = _check_value(name, value)
            replace(common, **{name: changes[name]})
        except ValueError as error:
            hint = near_name(name, list(FIELDS)) if name not in FIELDS else None
            raise InputError(str(error), path=path, line=lines.get(name), column=1, hint=hint) from None
    return replace(common, **changes)


def _check_value(name: str, value: object) -> object:
    if name not in FIELDS:
        raise ValueError(f"an incantation has no field {name!r}")
    default = FIELDS[name].default
    if isinstance(default, StressPattern):
        if value not in list(StressPattern):
            raise ValueError(f"{name} is {value!r}, and must be one of {', '.join(StressPattern)}")
        return StressPattern(str(value))
    if isinstance(value, bool) is not isinstance(default, bool) or not isinstance(value, int):
        expected = "true or false" if isinstance(default, bool) else "a whole number"
        raise ValueError(f"{name} is {value!r}, and must be {expected}")
    return value


def _meaning(name: str) -> str:
    bounded = FIELDS[name].metadata["low"] is not None
    return f"{FIELDS[name].metadata['what']}{f' ({_range(name)})' if bounded else ''}"


def _range(name: str) -> str:
    entry = FIELDS[name]
    if entry.metadata["low"] is not None:
        return f"{entry.metadata['low']} to {entry.metadata['high']:,}"
    return "true, false" if isinstance(entry.default, bool) else ", ".join(StressPattern)


def _value_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _toml(value: str) -> str:
    return value if value in ("true", "false") or value.isdecimal() else f'"{value}"'


def _key(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
