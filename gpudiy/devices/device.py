"""`Device`: the interface of everything that runs tests, and `Observation`: what a run returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gpudiy.errors import DeviceFailure
from gpudiy.harness.incantation import Incantation
from gpudiy.litmus import Test
from gpudiy.litmus.outcome import Outcome
from gpudiy.logs.record import Ending, Liveness


@dataclass(frozen=True, slots=True)
class Chip:
    """The description of a device, as records keep it."""

    device: str  # its name: `cuda:0`, `opencl:0`, `sim:kepler`
    chip: str
    architecture: str = ""
    driver: str = ""
    toolkit: str = ""
    simulated: bool = False
    groups: int = 0  # groups that run at the same time; 0: not known
    group_size: int = 0  # threads of a group that run at the same time; 1: they run in sequence
    launches: bool = False  # whether it runs in launches, whose iterations are alike
    gpu: bool = False  # whether it is a GPU, whose clocks rise when it has work


@dataclass(frozen=True, slots=True)
class Observation:
    """Counts of outcomes; they sum to the iterations that were done."""

    outcomes: Mapping[Outcome, int]
    liveness: Liveness
    seconds: float
    optcheck: str = ""
    optcheck_text: str = ""
    incantation: Incantation | None = None  # as it was used, where the device chose or changed a field
    by_launch: Sequence[Mapping[Outcome, int]] = ()  # the outcomes of each launch; empty where they are not known
    options: tuple[tuple[str, str], ...] = ()  # what else a record must tell of how it was run
    layouts: Mapping[str, int] = field(default_factory=dict)  # launches by their layout, where the device draws it

    @property
    def iterations(self) -> int:
        return sum(self.outcomes.values())


class DeviceError(DeviceFailure):
    """The device failed at a test; `ending` goes into the record, the message says why."""

    def __init__(self, message: str, ending: Ending = Ending.CRASHED) -> None:
        super().__init__(message)
        self.ending = ending


class Device(Protocol):
    """What runs tests, in the process that opened it.

    A device may also have `close()`; `warm_up(test)`, which does the work that a driver would do at the first launch;
    `use_built(folder)`: from then on it runs the binaries that `gpudiy build` wrote there, and no others, which returns
    the `Chip` again, or raises `InputError`; and `use_memory(place)`: from then on the locations of tests lie there,
    which returns the name of the place. Where that is not possible `obstacle` says so.
    """

    @property
    def chip(self) -> Chip: ...

    def obstacle(self, test: Test) -> str | None:
        """Why this device cannot run the test without changing its meaning; None if it can."""
        ...

    def prepare(self, tests: Sequence[Test]) -> None:
        """Build what the tests need, all at once, since that is faster."""
        ...

    def run(self, test: Test, incantation: Incantation, iterations: int, seed: int) -> Observation:
        """Run about `iterations` iterations (no fewer); the same seed gives the same parameters and order."""
        ...
