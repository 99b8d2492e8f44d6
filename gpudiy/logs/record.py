"""`Record`: what one run of one test on one device gave; it can be understood without the command that made it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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


@dataclass(frozen=True, slots=True)
class Liveness:
    """Signs that the harness was alive: threads met and overlapped, the stress really ran."""

    meetings: int = 0  # meetings of all threads of an instance that came about
    timeouts: int = 0  # meetings given up by somebody
    overlaps: int = 0  # runs of `meet_every` instances in which all threads were seen running at the same time
    stress_accesses: int = 0  # accesses made by stressing threads


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
    optcheck: str = ""  # a verdict of optcheck; "" where there is no SASS to check
    optcheck_text: str = ""
    liveness: Liveness | None = None
    ending: Ending = Ending.FINISHED
    reason: str = ""  # in words, where the ending needs them
    seconds: float = 0.0
    started: str = ""  # ISO 8601, UTC
    tool: str = ""  # what made the record, with its version
    source: str = ""  # where published counts come from, or the file and line of a log
