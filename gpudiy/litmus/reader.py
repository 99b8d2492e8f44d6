"""Reading tests: bytes to text, text to tests, each test by the format its header names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudiy.errors import near_name
from gpudiy.litmus.draft import SourcedTest
from gpudiy.litmus.errors import LitmusError
from gpudiy.litmus.read_dat3m import read_dat3m
from gpudiy.litmus.read_gpu_ptx import read_gpu_ptx
from gpudiy.litmus.source_text import COMMENT, SourceText
from gpudiy.litmus.test import Test

LONGEST_LINE = 1 << 16  # characters
LARGEST_TEST = 1 << 18
HEADER = re.compile(r"\s*(\S+)[ \t]*([^\n]*)")
FORMATS = {"GPU_PTX": read_gpu_ptx, "PTX": read_dat3m, "ptx": read_dat3m}
NEXT_TEST = re.compile(r"^(?:GPU_PTX|PTX|ptx)[ \t]+\S+[ \t]*$", re.MULTILINE)
LOG_START = re.compile(r'\s*(?:\{"test":|Test\s+\S+\s+(?:Allowed|Forbidden|Required)\b|%{3,}\n% Results for )')
THREAD_ROW = re.compile(r"^[ \t]*P\d+[ \t]*(?:[|:;@]|$)", re.MULTILINE)


def read_test(text: str, path: str = "<text>") -> Test:
    """The only test of a text, in any of the formats; raises `LitmusError` with line and column."""
    tests = list(read_tests(text, path))
    if len(tests) > 1:
        raise LitmusError(f"expected one test, found {len(tests)}", path=path, line=1, column=1)
    return tests[0]


def read_tests(text: str, path: str = "<text>") -> Iterator[Test]:
    """All tests of a text, one after the other; raises `LitmusError` for the first problem."""
    for found in read_each(text, path):
        if isinstance(found, LitmusError):
            raise found
        yield found


def read_each(text: str, path: str = "<text>") -> Iterator[Test | LitmusError]:
    """Every test of a text, or its error; after an error, reading continues at the next header."""
    for found in read_each_with_places(text, path):
        yield found if isinstance(found, LitmusError) else found.test


def read_each_with_places(text: str, path: str = "<text>") -> Iterator[SourcedTest | LitmusError]:
    """Like `read_each`, with the source of each test, to report later problems with their position."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        _check_lines(text, path)
    except LitmusError as error:
        yield error
        return
    for piece, line in _split(text):
        found = _attempt(piece, path, line)
        yield found
        if isinstance(found, LitmusError):
            inner = [header for header in _headers(piece) if _bare(piece[:header]).strip()]
            if inner:  # a test without threads hides the header of the next one
                yield _attempt(piece[inner[-1] :], path, line + piece.count("\n", 0, inner[-1]))


def _attempt(text: str, path: str, line: int) -> SourcedTest | LitmusError:
    try:
        return _read(SourceText(text, path, line))
    except LitmusError as error:
        return error


def decode(data: bytes, path: str = "<bytes>", what: str = "a litmus test") -> str:
    """The text of a file; raises `LitmusError` with the position if it is binary."""
    zero = data.find(b"\0")
    try:
        text = data.decode("utf-8")
        fault = zero
    except UnicodeDecodeError as error:
        text, fault = "", error.start if zero < 0 else min(zero, error.start)
    if fault < 0:
        return text
    line = data.count(b"\n", 0, fault) + 1
    column = fault - (data.rfind(b"\n", 0, fault) + 1) + 1
    raise LitmusError(f"this is binary, not {what}", path=path, line=line, column=column)


def _check_lines(text: str, path: str) -> None:
    if len(text) <= LONGEST_LINE:
        return
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LONGEST_LINE:
            message = f"this line has {len(line):,} characters, more than {LONGEST_LINE:,}"
            raise LitmusError(message, path=path, line=number, column=LONGEST_LINE + 1)


def _split(text: str) -> Iterator[tuple[str, int]]:
    """The texts of the tests and the lines on which they start.

    A header starts another test only if the test before it has a row of threads.
    """
    start = before = 0
    line = 1
    complete = False
    for header in _headers(text):
        complete = complete or THREAD_ROW.search(text, before, header) is not None
        before = header
        if complete:
            complete = False
            yield text[start:header], line
            line += text.count("\n", start, header)
            start = header
    yield text[start:] if start else text, line


def _headers(text: str) -> list[int]:
    """The offsets of lines that look like headers, outside strings and comments."""
    if not any(f"\n{word}" in text for word in FORMATS):
        return []
    return [found.start() for found in NEXT_TEST.finditer(_bare(text))]


def _bare(text: str) -> str:
    """The text with its strings and comments blanked out."""
    return COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def _read(source: SourceText) -> SourcedTest:
    if len(source.text) > LARGEST_TEST:
        raise source.error(f"a test of more than {LARGEST_TEST:,} characters", 0)
    header = HEADER.match(source.text)
    if header is None:
        raise source.error("the file is empty", 0)
    if LOG_START.match(source.text):
        hint = "`gpudiy table` and `log2log` read logs; in Python, `gpudiy.read_log`"
        raise source.error("this is a log, not a test", header.start(1), hint)
    if header[1] not in FORMATS:
        hint = near_name(header[1], list(FORMATS)) or "a test starts with `GPU_PTX name` or `PTX name`"
        raise source.error(f"unknown header {header[1][:40]!r}", header.start(1), hint)
    name = header[2].strip()
    if not name:
        raise source.error("the test has no name", header.end())
    if len(name.split()) > 1:
        raise source.error("the name of a test is one word", header.start(2) + len(name.split()[0]) + 1)
    return FORMATS[header[1]](source, name, header.end())
