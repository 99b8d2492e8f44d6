"""`Device`: the one interface of everything that runs tests, and `Observation`: what it gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from gpudiy.errors import DeviceFailure
from gpudiy.harness.incantation import Incantation
from gpudiy.litmus import Test
from gpudiy.litmus.outcome import Outcome
from gpudiy.logs.record import Ending, Liveness


@dataclass(frozen=True, slots=True)
class Chip:
    """What a device says of itself."""

    device: str  # the name it is asked for by: `cuda:0`, `opencl:0`, `sim:kepler`
    chip: str
    architecture: str = ""
    driver: str = ""
    toolkit: str = ""
    simulated: bool = False
    groups: int = 0  # groups that run at the same time; 0: not known
    group_size: int = 0  # threads of a group that run at the same time; 1: they run in sequence


@dataclass(frozen=True, slots=True)
class Observation:
    """Counts of outcomes; they sum to the iterations that were done."""

    outcomes: Mapping[Outcome, int]
    liveness: Liveness
    seconds: float
    optcheck: str = ""
    optcheck_text: str = ""
    incantation: Incantation | None = None  # as it was really used, where the device chose or changed something

    @property
    def iterations(self) -> int:
        return sum(self.outcomes.values())


class DeviceError(DeviceFailure):
    """The device failed at a test; `ending` of the record says how, the message says why."""

    def __init__(self, message: str, ending: Ending = Ending.CRASHED) -> None:
        super().__init__(message)
        self.ending = ending


class Device(Protocol):
    """A device is opened in the process that uses it and never leaves it.

    A device whose driver puts work off until the first launch may also have `warm_up(test)`, which has it done without
    running anything of the test, and `close()`. One that loads binaries may have `use_built(folder)`, which has it run
    those that `gpudiy build` left, and no others; it gives the `Chip` again, or raises `InputError`.
    """

    @property
    def chip(self) -> Chip: ...

    def obstacle(self, test: Test) -> str | None:
        """Why this device cannot run the test as it is meant, if it cannot."""
        ...

    def prepare(self, tests: Sequence[Test]) -> None:
        """Build what running the tests needs, all at once, since that is cheaper."""
        ...

    def run(self, test: Test, incantation: Incantation, iterations: int, seed: int) -> Observation:
        """Run about `iterations` iterations (no fewer); the same seed gives the same parameters and order."""
        ...
