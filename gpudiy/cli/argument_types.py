"""Types of option values: numbers and lists of names, with messages that say what is expected."""

from __future__ import annotations

from argparse import ArgumentTypeError


def positive(text: str) -> int:
    """A number from 1 on."""
    if not text.isdecimal() or int(text[:9]) < 1:
        raise ArgumentTypeError(f"expected a whole number from 1 on, not {text!r}")
    return int(text)


def natural(text: str) -> int:
    """A number from 0 on."""
    if not text.isdecimal() or len(text) > 18:
        raise ArgumentTypeError(f"expected a whole number from 0 on, not {text!r}")
    return int(text)


def names(text: str) -> list[str]:
    """Names or patterns, separated by commas."""
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise ArgumentTypeError("expected a name")
    return found


def natural_seconds(text: str) -> float:
    """A time of 0 or more."""
    return 0.0 if text.strip() in ("0", "0.0") else seconds(text)


def seconds(text: str) -> float:
    """A time above 0."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < 1e9:
        raise ArgumentTypeError(f"expected a number of seconds, not {text!r}")
    return number
