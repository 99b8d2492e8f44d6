"""The clock: random times for the moments of many instances at once.

A thread issues one access per slot. With some probability an access, a store buffer or the way to another thread is
late, by an exponentially distributed number of slots; everything that must come later is delayed too. The incantation
changes how often that happens and how close together the threads start, never the order that the machine keeps.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING

from gpudiy.devices.simulation.event import SimulatedEvent, SimulatedEventKind
from gpudiy.devices.simulation.moment import MomentStage, Timetable
from gpudiy.devices.simulation.profile import PROMPT, Pace, Profile
from gpudiy.harness.incantation import Incantation, StressPattern

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Times = NDArray[np.float32]
    Rows = NDArray[np.bool_]

ROUND = 512  # instances of a round: they share whether there is stress, threads are shuffled, and threads meet
GAP = 1e-3  # slots between two moments that must follow each other
JITTER = 0.6  # slots, at most: the time of each access varies, but that alone reorders nothing
NEVER = 40.0  # no exponential is ever so large: P = e^-40
CALM = 2e-4  # how much less often something is late without stress
SETTLED = 0.4  # and how much less often without shuffled threads
APART = 150.0  # slots between the starts of threads that do not meet
TOGETHER = 2.5  # and of those that do
PATTERNS = {
    StressPattern.STORE_LOAD: 1.0, StressPattern.LOAD_STORE: 0.9, StressPattern.STORE_STORE: 0.8,
    StressPattern.LOAD_LOAD: 0.4,
}  # fmt: skip
HALF_STRESS = 32  # accesses of a stressing thread in a round that give half of the full stress
STRESSING_THREADS = 256


@dataclass(frozen=True, slots=True)
class Chunk:
    """The times of the moments, one array per moment, and what the harness counts."""

    times: list[Times]
    met: Rows
    overlapping: Rows
    stressed: Rows


class Clock:
    """Draws times for one program under one incantation."""

    def __init__(self, table: Timetable, profile: Profile, incantation: Incantation) -> None:
        self.table = table
        self.profile = profile
        self.incantation = incantation
        self.order = [table.moments[number] for number in table.sort()]
        self.stress = _stress_level(incantation)
        self.slots = self._slots()
        self.paces = [self._pace(moment.stage, moment.event) for moment in table.moments]
        self.threads = len(table.program.placements)

    def draw(self, seed: tuple[int, ...], size: int) -> Chunk:
        import numpy as np

        generator = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
        cast = self.incantation
        met = self._rounds(generator, size, cast.barrier_percent if cast.synchronisation else 0)
        shuffled = self._rounds(generator, size, cast.shuffle_percent if cast.randomisation else 0)
        stressed = self._rounds(generator, size, cast.stress_percent if self.stress > 0 else 0)
        threshold = self._thresholds(shuffled, stressed)
        spread = np.where(met, np.float32(TOGETHER), np.float32(APART))
        starts = [generator.random(size, np.float32) * spread for _ in range(self.threads)]
        times: list[Times] = [np.empty(0, np.float32)] * len(self.order)
        for moment in self.order:
            number = moment.number
            pace = self.paces[number]
            event = moment.event
            if moment.stage is MomentStage.ISSUE:
                time = starts[event.thread] + np.float32(self.slots[event.number])
            else:
                time = times[self.table.issue(event)]
            for earlier in self.table.before[number]:
                time = np.maximum(time, times[earlier] + np.float32(GAP))
            if pace.slots > 0:
                drawn = generator.standard_exponential(size, np.float32)
                late = np.maximum(drawn - (threshold - np.float32(log(pace.share))), np.float32(0))
                late *= np.float32(pace.slots)
                late += np.minimum(drawn, np.float32(1)) * np.float32(JITTER)
                time = time + late
            elif moment.stage is MomentStage.ISSUE:
                time = time + generator.random(size, np.float32) * np.float32(JITTER)
            times[number] = time
        return Chunk(times, met, self._overlapping(starts, times), stressed)

    def _rounds(self, generator: np.random.Generator, size: int, percent: int) -> Rows:
        """Which instances are in a chosen round; each round is chosen with this probability."""
        import numpy as np

        drawn = generator.random(-(-size // ROUND)) * 100 < percent
        return np.repeat(drawn, ROUND)[:size]

    def _thresholds(self, shuffled: Rows, stressed: Rows) -> Times:
        """The number above which an exponential makes something late whose share is 1."""
        import numpy as np

        settled = np.where(shuffled, np.float32(0), np.float32(-log(SETTLED)))
        most = -log(max(self.stress, exp(-NEVER)))
        return np.where(stressed, np.float32(min(most, -log(CALM))), np.float32(-log(CALM))) + settled

    def _overlapping(self, starts: list[Times], times: list[Times]) -> Rows:
        """Whether some two threads of an instance ran at the same time."""
        import numpy as np

        ends = list(starts)
        for moment in self.order:
            if moment.stage is MomentStage.ISSUE:
                ends[moment.event.thread] = np.maximum(ends[moment.event.thread], times[moment.number])
        found = np.zeros(len(starts[0]), np.bool_)
        for one in range(self.threads):
            for other in range(one + 1, self.threads):
                found |= (starts[one] < ends[other]) & (starts[other] < ends[one])
        return found

    def _slots(self) -> list[int]:
        """The slot in which each event would be issued if nothing were late."""
        seen = [0] * len(self.table.program.placements)
        slots = []
        for event in self.table.program.events:
            slots.append(seen[event.thread])
            seen[event.thread] += 1
        return slots

    def _pace(self, stage: MomentStage, event: SimulatedEvent) -> Pace:
        profile = self.profile
        if stage is MomentStage.SEEN:
            return profile.views
        if stage is MomentStage.ARRIVE:
            return profile.stores if event.kind is SimulatedEventKind.WRITE else PROMPT
        if event.kind is SimulatedEventKind.ATOMIC:
            return profile.atomics
        if event.kind is not SimulatedEventKind.READ:
            return PROMPT
        pace = profile.rereads if self._read_again(event) else profile.loads
        if not self.incantation.bank_conflicts:
            return pace
        return Pace(min(1.0, pace.share * profile.bank_conflicts_hold_loads), pace.slots)

    def _read_again(self, load: SimulatedEvent) -> bool:
        program = self.table.program
        return any(other.reads and program.before(load, other) and other.may_meet(load) for other in program.events)


def _stress_level(cast: Incantation) -> float:
    """From 0 (no stress) to 1."""
    if not cast.memory_stress:
        return 0.0
    reached = cast.stress_iterations / (cast.stress_iterations + HALF_STRESS)
    return PATTERNS[cast.stress_pattern] * reached * (0.4 if cast.bank_conflicts else 1.0)
