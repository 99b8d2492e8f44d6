"""`BuiltTest`: the description of a built test; and the folder that `gpudiy build` writes: cubins, an index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpudiy.errors import InputError
from gpudiy.files import read_text, write_whole
from gpudiy.litmus.reader import read_test
from gpudiy.litmus.test import Test

INDEX = "index.jsonl"


@dataclass(frozen=True, slots=True)
class BuiltTest:
    """A test that was built: where its code is, what the host must know to launch it, and what optcheck found.

    A device loads the cubin `file` and launches its kernel `run` with the number of the test. A test with a `reason` is
    not run: it has no code (then `optcheck` is empty too), or optcheck found that its code is not the test.
    """

    test: str  # its name
    hash: str  # of its content
    arch: str
    file: str | None = None  # the cubin, named by the hash of its bytes
    kernel: str = "run"
    number: int = 0  # of the test in the cubin
    function: str = ""
    constants: tuple[int, ...] = ()
    optcheck: str = ""
    optcheck_text: str = ""
    ptx: tuple[str, ...] = ()  # the instructions of the test that optcheck speaks of
    sass: tuple[str, ...] = ()  # and what is in the binary instead
    reason: str = ""
    stress: str = ""  # what is wrong with the kernels around the test: stress, meeting, …; empty if nothing is
    litmus: str = ""  # the test itself
    toolkit: str = ""  # what it was built with
    optimise: int = 1  # the level of the assembler
    harness: str = ""  # the version of the templates: a host of another version cannot launch it

    @property
    def runnable(self) -> bool:
        """Whether there is code for the test at all."""
        return bool(self.optcheck)

    def make_index_entry(self, keep_optimised: bool) -> BuiltTest:
        """The entry of the index: a test with a reason has no file, except a changed one with `keep_optimised`."""
        if self.reason and not (keep_optimised and self.runnable):
            return replace(self, file=None)
        return replace(self, reason="")


def print_built(tests: Iterable[BuiltTest]) -> str:
    """One line of JSON per test."""
    return "".join(json.dumps({name: getattr(built, name) for name in BuiltTest.__slots__}) + "\n" for built in tests)


def read_built(line: str) -> BuiltTest:
    """The test of a line; raises ValueError, TypeError or KeyError for a line that `print_built` does not print."""
    fields = json.loads(line)
    return BuiltTest(**{**fields, **{name: tuple(fields[name]) for name in ("constants", "ptx", "sass")}})


def write_built_folder(folder: Path, tests: Sequence[BuiltTest], cubins: Mapping[str, Path]) -> None:
    """Copy the cubins of the tests from the folder of their architecture, then write the index.

    The index is sorted by names, so that two builds of the same tests agree.
    """
    for architecture, file in sorted({(built.arch, built.file) for built in tests if built.file}):
        if not (folder / file).exists():
            write_whole(folder / file, (cubins[architecture] / file).read_bytes())
    ordered = sorted(tests, key=lambda built: (built.test, built.arch, built.hash))
    write_whole(folder / INDEX, print_built(ordered))


def read_index(folder: Path) -> Iterator[BuiltTest]:
    """The tests of a built folder; raises `InputError` with the line that cannot be read."""
    path = folder / INDEX
    for number, line in enumerate(read_text(path).splitlines(), 1):
        try:
            yield read_built(line)
        except (ValueError, TypeError, KeyError):
            message = "`gpudiy build` did not write this line"
            raise InputError(message, path=str(path), line=number, column=1) from None


def is_built_folder(path: str) -> bool:
    """Whether `gpudiy build` wrote this folder; the index that `gpudiy generate` writes has other fields."""
    try:
        with (Path(path) / INDEX).open(encoding="utf-8") as file:
            first = json.loads(file.readline())
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and {"arch", "optcheck"} <= first.keys()


def find_built_folder(paths: Sequence[object]) -> Path | None:
    """The folder of `gpudiy build` that the paths name, if they name one; it is run alone."""
    folders = [str(path) for path in paths if isinstance(path, (str, Path)) and is_built_folder(str(path))]
    if folders and len(paths) > 1:
        raise InputError(
            "a directory of `gpudiy build` must be the only path", path=folders[0], hint="remove the other paths"
        )
    return Path(folders[0]) if folders else None


def load_built_tests(folder: Path) -> list[Test]:
    """The tests of a built folder, each once however many architectures it was built for."""
    texts = dict.fromkeys(built.litmus for built in read_index(folder))
    if "" in texts:
        raise InputError("this index does not contain its tests", path=str(folder / INDEX), hint="build them again")
    return [read_test(text, str(folder / INDEX)) for text in texts]
