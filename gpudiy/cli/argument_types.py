"""Numbers on the command line, with messages that say what is wanted."""

from __future__ import annotations

from argparse import ArgumentTypeError


def positive(text: str) -> int:
    if not text.isdecimal() or int(text[:9]) < 1:
        raise ArgumentTypeError(f"a number from 1 on is wanted, not {text!r}")
    return int(text)


def seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < 1e9:
        raise ArgumentTypeError(f"a number of seconds is wanted, not {text!r}")
    return number
