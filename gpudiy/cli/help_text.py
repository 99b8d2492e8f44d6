"""The layout of help texts: prose is wrapped to the terminal, lists and examples keep their lines."""

from __future__ import annotations

import re
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterable, Iterator
from itertools import groupby
from textwrap import TextWrapper

from gpudiy.version import __version__

WIDEST = 100  # columns
ENTRY = re.compile(r" +\S.*?  +(?=\S)")  # a word and the gap before its meaning


class HelpText(RawDescriptionHelpFormatter):
    """Wraps the prose of a help text up to a readable width."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._width = min(self._width, WIDEST - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = [text.splitlines() for text in text.split("\n\n")]
        return "\n\n".join("\n".join(_lay_out(lines, width)) for lines in paragraphs)


def original_parser(prog: str, description: str, epilog: str, usage: str | None = None) -> ArgumentParser:
    """The parser of a tool under the name and with the options of the literature."""
    parser = ArgumentParser(
        prog=prog, description=description, epilog=epilog, usage=usage, formatter_class=HelpText, allow_abbrev=False
    )
    parser.add_argument("-version", "--version", action="version", version=f"{prog} (gpudiy {__version__})")
    return parser


def _lay_out(lines: list[str], width: int) -> Iterator[str]:
    for indented, group in groupby(lines, lambda line: line.startswith(" ")):
        if indented:
            yield from _entries(group, width)
        else:
            yield from _wrap(" ".join(group), width)


def _entries(lines: Iterable[str], width: int) -> Iterator[str]:
    """Lines of a list; a long line continues below its own text."""
    joined: list[str] = []
    column = 0  # where the text of the entry before starts
    for line in lines:
        if column and line.startswith(" " * column):
            joined[-1] += f" {line.strip()}"
            continue
        joined.append(line)
        entry = ENTRY.match(line)
        column = entry.end() if entry else 0
    for line in joined:
        entry = ENTRY.match(line)
        yield from _wrap(line, width, " " * entry.end()) if entry else [line]


def _wrap(text: str, width: int, below: str = "") -> list[str]:
    return TextWrapper(
        width, subsequent_indent=below, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    ).wrap(text)
