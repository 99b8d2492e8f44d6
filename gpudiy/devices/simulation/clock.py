"""The clock: random times for the moments of many instances at once.

A thread issues one access per slot. With some probability an access, a store buffer or the way to another thread is
late, by an exponentially distributed number of slots; everything that must come later is delayed too. The incantation
changes how often that happens and how close together the threads start, never the order that the machine keeps; and it
decides whether L1 has lines that came before a load.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import exp, log
from typing import TYPE_CHECKING

from gpudiy.devices.simulation.event import SimulatedEvent, SimulatedEventKind
from gpudiy.devices.simulation.lines import loaded_before, sees_lines_only
from gpudiy.devices.simulation.moment import Moment, MomentStage, Timetable
from gpudiy.devices.simulation.profile import PROMPT, Pace, Profile
from gpudiy.harness.incantation import Incantation, StressPattern
from gpudiy.harness.launch_layout import FAR_SHARE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Times = NDArray[np.float32]
    Rows = NDArray[np.bool_]

LINE_BYTES = 128  # of L1, on the chips that have one
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
class Rounds:
    """What instances of a round have in common, one value per instance."""

    met: Rows
    shuffled: Rows
    stressed: Rows
    warm: Rows  # threads read the lines of their instance before they met
    near: Rows  # the lines also hold locations of other instances or rounds

    def cut(self, part: slice) -> Rounds:
        return Rounds(*(getattr(self, entry.name)[part] for entry in fields(self)))


@dataclass(frozen=True, slots=True)
class Chunk:
    """The times of the moments, one array per moment, and what the instances have in common."""

    times: list[Times]
    rounds: Rounds

    def cut(self, part: slice) -> Chunk:
        return Chunk([time[part] for time in self.times], self.rounds.cut(part))


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
        self.fills = [moment for moment in self.order if moment.stage is MomentStage.FILL]
        self.stale_views = {
            moment.number
            for moment in table.moments
            if moment.stage is MomentStage.SEEN and sees_lines_only(table, moment)
        }

    def draw(self, seed: tuple[int, ...], size: int) -> Chunk:
        import numpy as np

        generator = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
        rounds = self._draw_rounds(generator, seed, size)
        threshold = self._thresholds(rounds.shuffled, rounds.stressed)
        spread = _narrow(np.where(rounds.met, np.float32(TOGETHER), np.float32(APART)))
        starts = [generator.random(size, np.float32) * spread for _ in range(self.threads)]
        times: list[Times] = [np.empty(0, np.float32)] * len(self.order)
        for moment in self.order:
            number, event = moment.number, moment.event
            if moment.stage is MomentStage.FILL:
                continue
            if moment.stage is MomentStage.ISSUE:
                time = starts[event.thread] + np.float32(self.slots[event.number])
            else:
                time = times[self.table.issue(event)]
            for earlier in self.table.before[number]:
                time = np.maximum(time, times[earlier] + np.float32(GAP))
            if self.paces[number].slots > 0:
                time = self._draw_late(generator, number, threshold, rounds) + time
            elif moment.stage is MomentStage.ISSUE:
                time = time + generator.random(size, np.float32) * np.float32(JITTER)
            times[number] = time
        for moment in self.fills:
            times[moment.number] = self._draw_fill(generator, moment, rounds, starts, times)
        return Chunk(times, rounds)

    def _draw_late(self, generator: np.random.Generator, number: int, threshold: Times, rounds: Rounds) -> Times:
        """By how much a moment is late."""
        import numpy as np

        pace = self.paces[number]
        late = generator.standard_exponential(len(rounds.met), np.float32)
        jitter = np.minimum(late, np.float32(1))
        jitter *= np.float32(JITTER)
        late -= threshold - np.float32(log(pace.share))
        np.maximum(late, np.float32(0), out=late)
        late *= np.float32(pace.slots)
        if number in self.stale_views:
            late *= rounds.warm | rounds.near
        late += jitter
        return late

    def _draw_rounds(self, generator: np.random.Generator, seed: tuple[int, ...], size: int) -> Rounds:
        """What each round of the incantation is like; lines have their own random numbers, most tests have none."""
        cast = self.incantation
        met = self._rounds(generator, size, cast.barrier_percent if cast.synchronisation else 0)
        shuffled = self._rounds(generator, size, cast.shuffle_percent if cast.randomisation else 0)
        stressed = self._rounds(generator, size, cast.stress_percent if self.stress > 0 else 0)
        warm, near = self._draw_lines((*seed, 1), size)
        return Rounds(met, shuffled, stressed, warm, near)

    def _draw_lines(self, seed: tuple[int, ...], size: int) -> tuple[Rows, Rows]:
        """Which instances have lines that their threads read before, and lines that they share with others."""
        import numpy as np

        cast = self.incantation
        generator = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
        warm, reused, mixed = generator.random((3, -(-size // ROUND))) * 100
        if cast.location_stride:
            word_bytes = max([4, *(type.bits // 8 for type in self.table.program.types)])
            near = np.full(len(warm), cast.location_stride * word_bytes < LINE_BYTES)
        else:
            near = (reused < cast.reuse_percent) | (mixed >= 100 * FAR_SHARE)
        return _expand(warm < cast.warm_percent, size), _expand(near, size)

    def _draw_fill(
        self, generator: np.random.Generator, moment: Moment, rounds: Rounds, starts: list[Times], times: list[Times]
    ) -> Times:
        """When the line of a cached load came: when it was issued, or before, where such a line can be.

        A warm read brings it before the threads meet, an instance beside this one at any time, and an earlier load of
        the thread when it is issued.
        """
        import numpy as np

        issued = times[self.table.issue(moment.event)]
        pace = self.profile.lines
        drawn = generator.standard_exponential(len(issued), np.float32) + np.float32(log(pace.share))
        earlier = loaded_before(self.table.program, moment.event)
        brought = issued if earlier is None else times[self.table.fill(earlier)]
        brought = np.where(rounds.near, issued - drawn * np.float32(pace.slots), brought)
        brought = np.where(rounds.warm, starts[moment.event.thread] - np.float32(TOGETHER), brought)
        fill = np.where(drawn > 0, brought, issued)
        for number in self.table.before[moment.number]:
            fill = np.maximum(fill, times[number] + np.float32(GAP))
        return np.minimum(fill, issued)

    def _rounds(self, generator: np.random.Generator, size: int, percent: int) -> Rows:
        """Which instances are in a chosen round; each round is chosen with this probability."""
        return _expand(generator.random(-(-size // ROUND)) * 100 < percent, size)

    def _thresholds(self, shuffled: Rows, stressed: Rows) -> Times:
        """The number above which an exponential makes something late whose share is 1."""
        import numpy as np

        settled = np.where(shuffled, np.float32(0), np.float32(-log(SETTLED)))
        most = -log(max(self.stress, exp(-NEVER)))
        return _narrow(np.where(stressed, np.float32(min(most, -log(CALM))), np.float32(-log(CALM))) + settled)

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
        if stage is MomentStage.FILL:
            return profile.lines
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


def _expand(rounds: Rows, size: int) -> Rows:
    """One value per instance, from one value per round."""
    import numpy as np

    return np.broadcast_to(rounds[:, None], (len(rounds), ROUND)).reshape(-1)[:size]


def _narrow(values: Times) -> Times:
    """One value for all instances if they have the same, which is faster."""
    return values[:1] if values.min() == values.max() else values


def _stress_level(cast: Incantation) -> float:
    """From 0 (no stress) to 1."""
    if not cast.memory_stress:
        return 0.0
    reached = cast.stress_iterations / (cast.stress_iterations + HALF_STRESS)
    return PATTERNS[cast.stress_pattern] * reached * (0.4 if cast.bank_conflicts else 1.0)
