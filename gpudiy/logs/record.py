"""`Record`: the result of one run of one test on one device; it can be understood without the command that made it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, TypeVar

# The four incantations of ASPLOS'15 among the options of a record, whatever the log calls them.
STRESS, BANK, SYNC, RANDOM = "stress", "bank", "sync", "random"
SWITCHES = (STRESS, BANK, SYNC, RANDOM)  # in the order of the columns of the published table: 8, 4, 2, 1
NONE = "none"

SPELLINGS = {
    "memory_stress": STRESS,
    "gpu_mem_stress": STRESS,
    "bank_conflicts": BANK,
    "gpu_general_bc": BANK,
    "synchronisation": SYNC,
    "barrier": SYNC,
    "randomisation": RANDOM,
    "gpu_rand_threads": RANDOM,
}
OFF = frozenset(("false", "no", "none", "off", "0", ""))


class Ending(StrEnum):
    """How a run ended. Only what is finished or stopped early is evidence."""

    FINISHED = "finished"
    STOPPED = "stopped"  # early: the answer was certain, or time was up; what was counted counts
    NOT_RUNNABLE = "not runnable"  # this device cannot run this test as it is meant
    TIMEOUT = "timeout"  # the test did not end within its limit
    CRASHED = "crashed"
    DEVICE_LOST = "device lost"
    OUT_OF_MEMORY = "out of memory"
    BUILD_FAILED = "build failed"
    REFUSED = "refused"  # optcheck: the binary no longer is the test


EVIDENCE = (Ending.FINISHED, Ending.STOPPED)
UNCHANGED = "unchanged"  # optcheck: the binary is the test
LARGEST_SUM = 10**18 - 1  # of squares over launches: what all formats of logs can hold


@dataclass(frozen=True, slots=True)
class Liveness:
    """Signs that the harness was alive: threads met and overlapped, the stress really ran.

    None is "not known": that of a log that does not say it, or of a device that does not count it.
    """

    meetings: int = 0  # meetings of all threads of an instance that came about
    timeouts: int = 0  # meetings that a thread gave up
    overlaps: int = 0  # iterations whose threads ran at the same time, by clocks from first to last access if `timed`
    stress_accesses: int = 0  # accesses made by stressing threads
    discarded: int = 0  # instances that were thrown away because a loop of theirs did not end; they count nowhere
    timed: int | None = None  # iterations for which clocks were read
    inversions: int | None = None  # of these, iterations whose threads began in another order than their numbers
    skew: int | None = None  # sum of the distances between the first accesses of threads, in ticks of that clock
    warmed: int | None = None  # reads that brought lines of the test into a cache before the test
    near: int | None = None  # iterations whose locations shared a line of 128 bytes with other instances or rounds
    launches: int | None = None  # of kernels; those that warmed the device up do not count

    def __add__(self, other: Liveness) -> Liveness:
        """The sums; a sum with what is not known is not known."""
        pairs = {entry.name: (getattr(self, entry.name), getattr(other, entry.name)) for entry in fields(Liveness)}
        sums: dict[str, Any] = {name: None if None in pair else sum(pair) for name, pair in pairs.items()}
        return Liveness(**sums)


@dataclass(frozen=True, slots=True)
class LaunchSums:
    """Sums over the launches of a run, from which follows how much rates differ between launches.

    With `iterations` and `sightings` of each launch; the sums of two records are the sums of both their launches.
    """

    iterations_squared: int  # the sum of iterations * iterations
    sightings_squared: int  # the sum of sightings * sightings
    products: int  # the sum of iterations * sightings
    sighted: int  # launches with at least one sighting

    def __add__(self, other: LaunchSums) -> LaunchSums:
        return LaunchSums(*(getattr(self, entry.name) + getattr(other, entry.name) for entry in fields(LaunchSums)))


Sums = TypeVar("Sums", Liveness, LaunchSums)


def add_liveness(parts: Iterable[Liveness | None]) -> Liveness | None:
    """The sum of what some records or chunks counted; None if one of them has no counters."""
    return _add_all(parts)


def add_launch_sums(parts: Iterable[LaunchSums | None]) -> LaunchSums | None:
    """The sums over the launches of all; None where those of one are not known, or a sum is too large to be kept."""
    total = _add_all(parts)
    return None if total is None or max(total.iterations_squared, total.products) > LARGEST_SUM else total


def sum_launch(iterations: int, sightings: int) -> LaunchSums:
    """The sums over one launch."""
    return LaunchSums(iterations**2, sightings**2, iterations * sightings, int(sightings > 0))


def _add_all(parts: Iterable[Sums | None]) -> Sums | None:
    parts = list(parts)
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    total = known[0]
    for part in known[1:]:
        total = total + part
    return total


@dataclass(frozen=True, slots=True)
class OutcomeCount:
    """An outcome as it is printed, `0:r2=0; 1:r2=0;`, how often it was seen, and whether it is what is asked for."""

    outcome: str
    count: int
    weak: bool = False  # satisfies the expression of the condition, inside its filter


@dataclass(frozen=True, slots=True)
class Record:
    """One run of one test on one device.

    `positive` counts the iterations whose outcome satisfies the expression of the condition, `negative` the others:
    with the histogram they sum to `iterations`. Empty texts mean "not known".
    """

    test: str
    hash: str = ""  # of the meaning of the test
    text: str = ""  # the test, as canonical litmus text
    condition: str = ""  # as printed: `exists (0:r2=0 /\\ 1:r2=0)`
    device: str = ""  # `cuda:0`, `opencl:…`, `sim:kepler`
    chip: str = ""
    architecture: str = ""
    simulated: bool = False
    driver: str = ""
    toolkit: str = ""
    options: tuple[tuple[str, str], ...] = ()  # incantation and compiler options, by name
    seed: int | None = None
    iterations: int = 0
    histogram: tuple[OutcomeCount, ...] = ()
    positive: int = 0
    negative: int = 0
    optcheck: str = ""  # the finding of optcheck; "" where there is no SASS to check
    optcheck_text: str = ""
    assembler: str = ""  # what the log prints as the assembler that was made from the test
    liveness: Liveness | None = None
    launch_sums: LaunchSums | None = None
    no_evidence: str = ""  # why the run is no evidence, though it ended well and its binary is the test
    ending: Ending = Ending.FINISHED
    reason: str = ""  # in words, where the ending needs them
    seconds: float = 0.0
    started: str = ""  # ISO 8601, UTC
    tool: str = ""  # what made the record, with its version
    source: str = ""  # where published counts come from, or the file and line of a log
    device_info: tuple[tuple[str, str], ...] = ()  # what else the device said of itself, by name
    notes: str = ""  # lines of a log that the reader does not know, kept as they are


def switches_of(options: Iterable[tuple[str, str]]) -> Mapping[str, bool]:
    """Which of the four are known, and whether they were on."""
    found: dict[str, bool] = {}
    for name, value in options:
        switch = SPELLINGS.get(name.replace("-", "_"))
        if switch is not None:
            found[switch] = value.strip().lower() not in OFF
    return found


def incantation_label(options: Iterable[tuple[str, str]]) -> str:
    """`stress+sync+random`, `none` when all were off, and nothing when the record does not say."""
    known = switches_of(options)
    if not known:
        return ""
    return "+".join(switch for switch in SWITCHES if known.get(switch)) or NONE


def incantation_column(options: Iterable[tuple[str, str]]) -> int | None:
    """The column of the published table, 1 to 16, or None when some switch is not known."""
    known = switches_of(options)
    if len(known) < len(SWITCHES):
        return None
    return 1 + sum(weight * known[switch] for weight, switch in zip((8, 4, 2, 1), SWITCHES, strict=True))


def options_of_column(column: int) -> tuple[tuple[str, str], ...]:
    """The options that a column of the published table means."""
    names = ("memory_stress", "bank_conflicts", "synchronisation", "randomisation")
    bits = ((column - 1) >> shift & 1 for shift in (3, 2, 1, 0))
    return tuple((name, "true" if bit else "false") for name, bit in zip(names, bits, strict=True))
