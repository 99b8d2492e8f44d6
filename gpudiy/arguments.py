"""Check the arguments of functions for Python users: wrong ones raise `UsageError` with the name of the option."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from typing import SupportsIndex

from gpudiy.errors import UsageError

Names = str | PathLike[str] | Iterable[str | PathLike[str]]  # a text may hold several, separated by commas


def check_choice(word: str, choices: Iterable[str], option: str) -> None:
    """Raise `UsageError` for a word that is none of the choices of an option."""
    known = [str(choice) for choice in choices]
    if word not in known:
        raise UsageError(f"{option}: expected one of {', '.join(known)}, not {word!r}")


def check_whole_number(number: object, option: str, least: int | None = None) -> None:
    """Raise `UsageError` for what is not a whole number, or is too small."""
    if not isinstance(number, SupportsIndex) or (least is not None and number.__index__() < least):
        what = "a whole number" if least is None else f"a whole number from {least} on"
        raise UsageError(f"{option}: expected {what}, not {number!r}")


def check_seconds(seconds: float | None, option: str = "limit") -> None:
    """Raise `UsageError` for a time limit that is not a number above 0; None is no limit."""
    if seconds is not None and (not isinstance(seconds, (int, float)) or seconds <= 0):
        raise UsageError(f"{option}: expected a number of seconds above 0, not {seconds!r}")


def check_text(text: str | None, option: str) -> None:
    """Raise `UsageError` for what is not a text; None is an option that is not given."""
    if text is not None and not isinstance(text, str):
        raise UsageError(f"{option}: expected a text, not {type(text).__name__}")


def list_names(names: Names, option: str) -> list[str]:
    """The names of a list, or of a text with commas, each once; raises `UsageError` for anything else."""
    if isinstance(names, str):
        found = names.split(",")
    elif isinstance(names, Iterable) and not isinstance(names, bytes):
        found = [name_of(name, option, "a name, or several") for name in names]
    else:
        found = [name_of(names, option, "a name, or several")]
    return list(dict.fromkeys(name.strip() for name in found if name.strip()))


def name_of(name: object, option: str, what: str = "a name") -> str:
    """A name, or a path as text; raises `UsageError` for anything else."""
    if not isinstance(name, (str, PathLike)):
        raise UsageError(f"{option}: expected {what}, not {type(name).__name__}")
    return fspath(name)
