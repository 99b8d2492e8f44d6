"""The log that the programs of a kit write: its head, the GPU, and for each test its launches and how it ended.

Every line has a sum of itself and of all lines before it. From the first line on that was changed, or that no program
writes, everything is left out: nothing shows that it is what the GPU has said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from gpudiy.files import unreadable
from gpudiy.harness.built import BuiltTest, read_built
from gpudiy.harness.host_side import ADDRESS_TAG, COUNTERS
from gpudiy.harness.shape import Shape, shape_of
from gpudiy.kits.kit_text import VERSION, ImageKind, kind_of_cubin
from gpudiy.kits.log_lines import Entry, WrongLine, check_entry, has_plan_of_this_version, parse_line
from gpudiy.kits.log_sums import SUM, check_sum
from gpudiy.litmus.errors import LitmusError
from gpudiy.litmus.reader import read_test
from gpudiy.litmus.test import Test
from gpudiy.logs.log import LogError, LogProblem
from gpudiy.logs.reading import KIT_HEAD

CHANGED = "this line was changed or damaged"
LEFT_OUT = "it and all lines after it are left out"


@dataclass(slots=True)
class LoggedTest:
    """One run of one test: `end` is None if the log breaks off, or the run was interrupted."""

    line: int
    test: Test
    begin: Entry
    device: Entry
    loaded: Entry = field(default_factory=dict)  # the plan and the binary; empty if nothing was loaded
    warm_up: list[Entry] = field(default_factory=list)  # launches that do not count
    launches: list[Entry] = field(default_factory=list)
    end: Entry | None = None


@dataclass(frozen=True, slots=True)
class KitLog:
    """A whole log; of a test that was run again only the last run is here."""

    path: str
    head: Entry
    index: tuple[BuiltTest, ...]
    devices: tuple[Entry, ...]  # one GPU, as it was each time it was opened
    tests: tuple[LoggedTest, ...]
    problems: tuple[LogProblem, ...]

    @property
    def settings(self) -> Entry:
        settings: Entry = self.head["settings"]
        return settings


def read_kit_log(path: str) -> KitLog:
    """Read a log; raises `LogError` if it is none, or if its head was changed. The first bad line is listed."""
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None
    if not text.startswith(KIT_HEAD.encode()):
        raise LogError("this is not the log of a kit", path=path, hint="`run.c` and `run.py` of a kit write log.jsonl")
    lines = text.split(b"\n")
    head, index, rest = _read_head(lines, path)
    reader = _Reader(head, index)
    problem = _read_lines(reader, lines[rest:-1], rest + 1, path)
    if problem is None and lines[-1]:
        problem = _describe_problem(path, len(lines), "this line was cut, and is left out", lines[-1])
    return KitLog(path, head, index, tuple(reader.devices), tuple(reader.runs.values()), (problem,) if problem else ())


def _read_lines(reader: _Reader, lines: list[bytes], first: int, path: str) -> LogProblem | None:
    """Read lines up to the first bad one, which is described."""
    for number, line in enumerate(lines, first):
        try:
            reader.read(number, line)
        except WrongLine as problem:
            return _describe_problem(path, number, f"{problem}: {LEFT_OUT}", line)
    return None


def _describe_problem(path: str, number: int, message: str, line: bytes) -> LogProblem:
    return LogProblem(path, number, message, line[:200].decode(errors="replace"))


def _read_head(lines: list[bytes], path: str) -> tuple[Entry, tuple[BuiltTest, ...], int]:
    """The first line, the index of the kit, and the number of the line after it."""
    hint = "the log was changed or damaged: ask for it again"
    try:
        head = parse_line(lines[0])
        if head.get("kit") != VERSION:
            message = f"this log was written by another version of kits, {str(head.get('kit'))[:20]}, not {VERSION}"
            raise LogError(message, path=path, line=1, column=1)
        if check_sum("", lines[0]) is None:
            raise WrongLine(CHANGED)
        check_entry(head)
    except WrongLine as problem:
        raise LogError(f"the head of this log is damaged: {problem}", path=path, line=1, column=1, hint=hint) from None
    settings = head["settings"]
    if settings["counters"] != [counter.name for counter in COUNTERS]:
        raise _refuse_version(path, head, 1)
    index_lines = lines[1 : 1 + settings["index_lines"]]
    if sha256(b"".join(line + b"\n" for line in index_lines)).hexdigest() != settings["index"]:
        message = "what this log says of the tests is not what was exported"
        raise LogError(message, path=path, line=2, column=1, hint=hint)
    return head, _read_index(index_lines, path), 1 + len(index_lines)


def _read_index(lines: list[bytes], path: str) -> tuple[BuiltTest, ...]:
    """The lines of the index, whose tests can be read."""
    index = []
    for number, line in enumerate(lines, 2):
        try:
            index.append(read_built(line.decode()))
            read_logged_test(index[-1].litmus)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, LitmusError):
            raise LogError("this test was not exported by gpudiy", path=path, line=number, column=1) from None
    return tuple(index)


@lru_cache(1 << 12)
def read_logged_test(litmus: str) -> Test:
    """The test of an index; it is there once for each architecture."""
    return read_test(litmus)


def _refuse_version(path: str, head: Entry, line: int) -> LogError:
    message = f"this kit was made by {head['settings']['tool']}, whose launches this version cannot count"
    return LogError(message, path=path, line=line, column=1, hint="import the log with the version that made the kit")


class _Reader:
    """Collects the runs of tests from line to line."""

    def __init__(self, head: Entry, index: tuple[BuiltTest, ...]) -> None:
        self.devices: list[Entry] = []
        self.runs: dict[int, LoggedTest] = {}  # the last of each test
        self._head = head
        self._litmus = {(built.test, built.hash): built.litmus for built in index}
        self._sum = str(head["sum"])
        self._current: LoggedTest | None = None

    def read(self, number: int, line: bytes) -> None:
        """Take a line; raises `WrongLine`, after which no other line may be read."""
        found = check_sum(self._sum, line)
        if found is None:
            raise WrongLine(CHANGED if SUM.search(line) else "this line is damaged")
        self._sum = found
        entry = parse_line(line)
        self._take(number, check_entry(entry), entry)

    def _take(self, number: int, kind: str, entry: Entry) -> None:
        if kind == "kit":
            raise WrongLine("another log begins here")
        if kind == "device":
            if entry["gpu"] != self._head["gpu"]:
                raise WrongLine("this line is of another GPU")
            self.devices.append(entry)
            self._current = None
        elif kind == "stopped":
            self._current = None
        elif kind == "begin":
            self._begin(number, entry)
        else:
            self._continue(kind, self._expect_run(int(entry[kind])), entry)

    def _begin(self, number: int, entry: Entry) -> None:
        if not self.devices:
            raise WrongLine("a test begins before the GPU is known")
        litmus = self._litmus.get((entry["about"]["test"], entry["about"]["hash"]))
        if litmus is None:
            raise WrongLine("this test is not one of the kit")
        self._current = LoggedTest(number, read_logged_test(litmus), entry, self.devices[-1])
        self.runs.pop(entry["begin"], None)  # an earlier run of it was lost or interrupted
        self.runs[entry["begin"]] = self._current

    def _expect_run(self, test: int) -> LoggedTest:
        if self._current is None or self._current.begin["begin"] != test:
            raise WrongLine("this line belongs to no test that is under way")
        return self._current

    def _continue(self, kind: str, run: LoggedTest, entry: Entry) -> None:
        if kind == "launch":
            self._add_launch(run, entry)
        elif kind == "loaded":
            if run.loaded:
                raise WrongLine("this test is loaded twice")
            run.loaded = entry
        else:
            there = len(run.warm_up) + len(run.launches)
            if entry["launches"] != there:
                raise WrongLine(f"{there:,} of the {entry['launches']:,} launches of this test are here")
            run.end, self._current = entry, None

    def _add_launch(self, run: LoggedTest, entry: Entry) -> None:
        if not run.loaded or run.loaded["plan"] is None:
            raise WrongLine("this launch has no plan")
        if entry["warm"] and run.launches:
            raise WrongLine("this launch warms the GPU up after others have counted")
        known = run.warm_up if entry["warm"] else run.launches
        if entry["number"] < len(known):
            raise WrongLine(f"launch number {entry['number']} is here twice")
        if entry["number"] > len(known):
            raise WrongLine(f"launches are missing before number {entry['number']}")
        if len(entry["counters"]) != len(COUNTERS) or len(entry["outcomes"]) > entry["slots"]:
            raise WrongLine("this launch has too many or too few numbers")
        shape = shape_of_logged(run.test)
        if not all(_can_be_outcome(shape, values) for _, *values in entry["outcomes"]):
            raise WrongLine("this launch has an outcome that is not one of its test")
        known.append(entry)


@lru_cache(1 << 8)
def shape_of_logged(test: Test) -> Shape:
    """The shape of a test, as kits run it."""
    return shape_of(test)


def _can_be_outcome(shape: Shape, values: list[int]) -> bool:
    """Whether there are as many values as the test observes, and addresses are those of its variables."""
    if len(values) != len(shape.observed):
        return False
    tag, most = ADDRESS_TAG >> 32, len(shape.variables)
    return not shape.addresses or all(value >> 32 != tag or value & 0xFFFFFFFF < most for value in values)


def expect_plan(log: KitLog, run: LoggedTest) -> Entry:
    """The plan of the launches of a run; raises `LogError` if it is that of another version of gpudiy."""
    plan: Entry = run.loaded["plan"]
    if not has_plan_of_this_version(plan):
        raise _refuse_version(log.path, log.head, run.line)
    return plan


def list_runs(log: KitLog) -> Iterator[tuple[LoggedTest, BuiltTest | None]]:
    """Each run, with the binary that the kit has for it: the cubin, or for PTX what it was made from."""
    known: dict[tuple[str, str], list[BuiltTest]] = {}
    for built in log.index:
        known.setdefault((built.test, built.hash), []).append(built)
    for run in log.tests:
        about = run.begin["about"]
        fitting = [built for built in known.get((about["test"], about["hash"]), ()) if serves(built, run.device)]
        loaded = [built for built in fitting if built.file == run.loaded.get("file")]
        yield run, next(iter(loaded or fitting), None)


def serves(built: BuiltTest, device: Entry) -> bool:
    """Whether a binary is of the architecture that the programs chose for a GPU: 90 of kind `exact` is sm_90a."""
    kind = ImageKind.CUBIN if device["kind"] == ImageKind.PTX else device["kind"]
    return built.arch.rstrip("af") == f"sm_{device['target']}" and kind_of_cubin(built.arch) == kind
