"""How long a run is: so many iterations, and where a device runs launches also so many launches and seconds.

A few large launches last a millisecond on a GPU whose clocks are still low, and their iterations are alike. Many
smaller launches over some time tell more. Launches before the clocks have settled do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpudiy.devices.device import Chip, Observation
from gpudiy.devices.settings import RunSettings
from gpudiy.devices.tally import RunTally

GPU_SECONDS = 1.0  # for each test, unless the settings say otherwise
WINDOW, TOLERANCE = 3, 1.1  # so many launches in a row whose times differ by no more than this factor are settled
COLD_SECONDS = 0.25  # of launches on a device that was just opened: low clocks are stable, too, before they rise
MOST_SECONDS, MOST_LAUNCHES = 2.0, 256  # of a warm-up, after which a test runs with clocks as they are


@dataclass(frozen=True, slots=True)
class RunLength:
    """The least that a test is run; 0 launches and 0 seconds where these mean nothing."""

    iterations: int
    launches: int = 0
    seconds: float = 0.0

    def is_reached(self, tally: RunTally) -> bool:
        """Whether the run is long enough. A device that does not tell its launches is not asked for more of them."""
        enough_launches = tally.launch_count >= self.launches or not tally.launch_count
        return tally.iterations >= self.iterations and enough_launches and tally.seconds >= self.seconds

    def next_chunk(self, tally: RunTally, size: int) -> int:
        """The iterations to ask for next: no more than is left, and as few as give the least number of launches."""
        left = self.iterations - tally.iterations
        asked = min(size, left) if left > 0 else size
        return min(asked, self.largest_launch) if tally.launch_count < self.launches else asked

    @property
    def largest_launch(self) -> int:
        """The iterations of a launch that leave room for the least number of launches."""
        return -(-self.iterations // max(1, self.launches))


def run_length(settings: RunSettings, chip: Chip) -> RunLength:
    """The least that a test is run on a chip: a simulated one has no launches, and only a GPU clocks to wait for."""
    if chip.simulated or not chip.launches:
        return RunLength(settings.iterations)
    usual = GPU_SECONDS if chip.gpu else 0.0
    return RunLength(settings.iterations, settings.launches, usual if settings.seconds is None else settings.seconds)


@dataclass(slots=True)
class WarmUp:
    """Launches that do not count, until their times have settled; times are those that the device measured."""

    least: float  # seconds that it must last
    times: list[float] = field(default_factory=list)  # of one iteration, for each launch
    seconds: float = 0.0

    def add(self, observation: Observation) -> None:
        self.seconds += observation.seconds
        self.times.append(observation.seconds / max(1, observation.iterations))

    @property
    def settled(self) -> bool:
        return self.seconds >= self.least and is_settled(self.times)

    @property
    def ended(self) -> bool:
        return self.settled or self.seconds >= MOST_SECONDS or len(self.times) >= MOST_LAUNCHES

    def describe(self) -> str:
        """For the record: how long it was, and whether clocks settled."""
        how = "settled" if self.settled else "not settled"
        return f"{len(self.times)} launches in {self.seconds:.3g} s: {how}"


def is_settled(times: Sequence[float]) -> bool:
    """Whether the last launches took the same time for an iteration, within the tolerance."""
    last = times[-WINDOW:]
    return len(last) == WINDOW and max(last) <= TOLERANCE * min(last)
