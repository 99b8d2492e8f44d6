"""Incantations by name and in files: `default`, `none`, `all`, the 16 columns of ASPLOS'15, or a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, replace
from pathlib import Path
from typing import Any

from gpudiy.harness.incantation import Incantation, StressPattern
from gpudiy.litmus.errors import near_name

SWITCHES = ("memory_stress", "bank_conflicts", "synchronisation", "randomisation")  # worth 8, 4, 2, 1
COLUMNS = 16


class BadSetting(ValueError):
    """A name nobody knows, or a file that does not hold an incantation."""


def column(number: int) -> Incantation:
    """Column 1 to 16 of the published table: 1 + 8 stress + 4 bank conflicts + 2 synchronisation + 1 randomisation."""
    if not 1 <= number <= COLUMNS:
        raise BadSetting(f"the combinations of ASPLOS'15 are numbered from 1 to {COLUMNS}, not {number}")
    chosen: dict[str, Any] = {switch: bit == "1" for switch, bit in zip(SWITCHES, f"{number - 1:04b}", strict=True)}
    return Incantation(**chosen)


NAMED: Mapping[str, Incantation] = {
    "default": Incantation(),
    "none": column(1),
    "all": column(16),
    **{f"asplos15-{number}": column(number) for number in range(1, COLUMNS + 1)},
}


def load_setting(text: str) -> Incantation:
    """The incantation of that name or in that file; raises `BadSetting`."""
    if text in NAMED:
        return NAMED[text]
    path = Path(text)
    if path.suffix == ".toml" or path.is_file():
        return read_setting(path)
    hint = near_name(text, list(NAMED)) or f"names: {', '.join(NAMED)}; or a file ending in .toml"
    raise BadSetting(f"there is no incantation {text!r}\n  {hint}")


def read_setting(path: Path) -> Incantation:
    """An incantation from a TOML file of `parameter = value` lines; what is not mentioned has its default."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"{path}: error: cannot be read: {getattr(error, 'strerror', None) or 'not text'}") from None
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadSetting(f"{path}: error: {error}") from None
    known = {field.name: field for field in fields(Incantation)}
    chosen: dict[str, Any] = {}
    for name, value in given.items():
        line = _line_of(name, text)
        if name not in known:
            hint = near_name(name, list(known)) or f"parameters: {', '.join(known)}"
            raise BadSetting(f"{path}:{line}:1: error: there is no parameter {name!r}\n  {hint}")
        try:
            chosen[name] = _value(known[name], value)
            Incantation(**{name: chosen[name]})
        except ValueError as error:
            raise BadSetting(f"{path}:{line}:1: error: {error}") from None
    return replace(Incantation(), **chosen)


def setting_text(incantation: Incantation) -> str:
    """The incantation as a TOML file, each parameter with what it means."""
    lines = []
    for field in fields(Incantation):
        lines.append(f"# {field.metadata['what']}{_range(field)}")
        lines.append(f"{field.name} = {_toml(getattr(incantation, field.name))}")
    return "\n".join(lines) + "\n"


def options_of(incantation: Incantation) -> tuple[tuple[str, str], ...]:
    """Every parameter and its value as texts, for a record."""
    return tuple((field.name, _plain(getattr(incantation, field.name))) for field in fields(Incantation))


def parameter_table() -> str:
    """The parameters as a table of Markdown: name, default, range, meaning."""
    lines = ["| parameter | default | range | what |", "|---|---|---|---|"]
    for field in fields(Incantation):
        default = "" if field.default is MISSING else _plain(field.default)
        lines.append(f"| `{field.name}` | {default} | {_range_words(field)} | {field.metadata['what']} |")
    return "\n".join(lines) + "\n"


def _value(field: Field[Any], value: object) -> object:
    default = field.default
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{field.name} is true or false, not {value!r}")
        return value
    if isinstance(default, StressPattern):
        if value not in list(StressPattern):
            raise ValueError(f"{field.name} is one of {', '.join(StressPattern)}, not {value!r}")
        return StressPattern(str(value))
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{field.name} is a whole number, not {value!r}")
    return value


def _range(field: Field[Any]) -> str:
    words = _range_words(field)
    return f" ({words})" if words[0].isdigit() else ""


def _range_words(field: Field[Any]) -> str:
    if field.metadata["low"] is not None:
        return f"{field.metadata['low']} to {field.metadata['high']:,}"
    return "true, false" if isinstance(field.default, bool) else ", ".join(StressPattern)


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, StressPattern) else _plain(value)


def _line_of(name: str, text: str) -> int:
    """The line a parameter stands on; 1 for one inside a table."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip().strip("[").startswith((name, f'"{name}"')):
            return number
    return 1
