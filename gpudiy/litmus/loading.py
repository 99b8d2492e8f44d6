"""Tests from files, directories, lists of paths, or tests already in memory."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path

from gpudiy.errors import UsageError
from gpudiy.litmus.errors import LitmusError
from gpudiy.litmus.sources import find_sources, load_tests
from gpudiy.litmus.test import Test

TestSource = Test | str | Path | Iterable[Test | str | Path]


def read(path: str | Path) -> Test:
    """Read the one test of a file: `gpudiy.read("mp.litmus")`.

    A file that cannot be read, or that has no test or several, raises `InputError` with the position of the problem.
    `gpudiy.read_all` reads several tests.
    """
    tests = read_all(path)
    if len(tests) != 1:
        hint = "gpudiy.read_all reads several tests"
        raise LitmusError(f"expected one test, found {len(tests):,}", path=str(path), hint=hint)
    return tests[0]


def read_all(tests: TestSource) -> list[Test]:
    """Read all tests of a path or of several: `gpudiy.read_all("tests/")`.

    A path is a file, a directory (its `*.litmus` at any depth) or `@LIST` (a file of such paths). Tests among the
    paths stay as they are. Bad input raises `InputError`.
    """
    found: list[Test] = []
    several = [tests] if isinstance(tests, (Test, str, PathLike)) or not isinstance(tests, Iterable) else tests
    for source in [tests] if hasattr(tests, "columns") else several:  # a DataFrame would give the names of its columns
        if isinstance(source, Test):
            found.append(source)
        elif not isinstance(source, (str, PathLike)):
            raise UsageError(f"expected a test or the path of one, or several, not {type(source).__name__}")
        elif "\n" in fspath(source):
            raise UsageError("this is the text of a test, not a path: gpudiy.litmus.read_test reads a text")
        else:
            found += (test for file in find_sources([fspath(source)]) for test in load_tests(file))
    return found
