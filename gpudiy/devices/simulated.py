"""`sim:PROFILE`: a simulated GPU for teaching, demonstrations and tests; its records say that they are simulated."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudiy.devices.device import Chip, DeviceError, Observation
from gpudiy.devices.opening import Listing, UnknownDevice
from gpudiy.devices.simulation.clock import ROUND, STRESSING_THREADS, Chunk, Clock
from gpudiy.devices.simulation.counting import Counter
from gpudiy.devices.simulation.many_views import many_views
from gpudiy.devices.simulation.moment import NeverEnds, Timetable
from gpudiy.devices.simulation.obstacles import find_obstacle
from gpudiy.devices.simulation.profile import PROFILES, MemoryFamily, Profile
from gpudiy.devices.simulation.program import SimulatedProgram
from gpudiy.devices.simulation.replay import Replay, SingleMemory
from gpudiy.devices.simulation.single_memory import interleaving, single_memory
from gpudiy.devices.simulation.views import ManyViews
from gpudiy.errors import near_name
from gpudiy.harness.incantation import Incantation
from gpudiy.litmus import Test
from gpudiy.litmus.arithmetic import CannotCompute
from gpudiy.litmus.outcome import Outcome
from gpudiy.logs.record import Ending, Liveness

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CHUNK = 1 << 14  # instances drawn at once; a longer run begins with the same chunks
PATIENCE = 16  # chunks in a row without an instance that ended, after which a test is given up
PART = 1024  # the least number of instances that are counted at once
PREFIX = "sim:"


def list_devices() -> list[Listing]:
    """All profiles: none needs hardware."""
    return [
        Listing(f"{PREFIX}{profile.name}", f"{profile.chip}; what it shows is allowed by {profile.model}")
        for profile in PROFILES.values()
    ]


def open_device(profile: str) -> SimulatedDevice:
    """The simulated device of a profile; raises `UnknownDevice`."""
    if profile not in PROFILES:
        hint = near_name(profile, list(PROFILES)) or "the profiles are " + ", ".join(PROFILES)
        raise UnknownDevice(f"there is no simulated chip {profile!r}", hint=hint)
    return SimulatedDevice(PROFILES[profile])


class SimulatedDevice:
    """The device `sim:PROFILE`."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile

    @property
    def chip(self) -> Chip:
        profile = self.profile
        return Chip(PREFIX + profile.name, profile.chip, profile.architecture, simulated=True, group_size=1024)

    def obstacle(self, test: Test) -> str | None:
        return find_obstacle(test, self.profile)

    def prepare(self, tests: Sequence[Test]) -> None:
        """There is nothing to build."""

    def run(self, test: Test, incantation: Incantation, iterations: int, seed: int) -> Observation:
        """Run exactly so many iterations; an instance in which a loop did not end is replaced by another."""
        started = time.perf_counter()
        obstacle = self.obstacle(test)
        if obstacle is not None:
            raise DeviceError(f"{PREFIX}{self.profile.name} cannot run {test.name}: {obstacle}")
        try:
            run = SimulatedRun(test, self.profile, incantation, seed)
            outcomes = run.count(iterations)
        except CannotCompute as problem:
            raise DeviceError(str(problem)) from None
        except NeverEnds as problem:
            raise DeviceError(str(problem), Ending.TIMEOUT) from None
        return Observation(outcomes, run.liveness(), time.perf_counter() - started)


def make_timetable(program: SimulatedProgram, profile: Profile) -> Timetable:
    """The moments of a program and their order on this chip."""
    if profile.family is MemoryFamily.INTERLEAVING:
        return interleaving(program)
    if profile.family is MemoryFamily.SINGLE_MEMORY:
        return single_memory(program, profile.reads_in_order)
    return many_views(program)


def make_machine(table: Timetable, profile: Profile) -> Replay:
    """The memory that replays instances on this chip."""
    return ManyViews(table) if profile.family is MemoryFamily.MANY_VIEWS else SingleMemory(table)


class SimulatedRun:
    """A run: chunks are drawn one after the other, and their outcomes counted."""

    def __init__(self, test: Test, profile: Profile, incantation: Incantation, seed: int) -> None:
        table = make_timetable(SimulatedProgram(test), profile)
        self.clock = Clock(table, profile, incantation)
        self.counter = Counter(table, make_machine(table, profile))
        self.incantation = incantation
        self.seed = seed
        self.test = test
        self.discarded = 0
        self.meetings = self.overlaps = self.stressed = 0

    def count(self, iterations: int) -> dict[Outcome, int]:
        """The outcomes of the first so many instances that ended."""
        found: dict[Outcome, int] = {}
        done = number = barren = 0
        while done < iterations:
            chunk = self.clock.draw((self.seed, number), CHUNK)
            codes = self.counter.codes(chunk.times, CHUNK)
            number += 1
            before, place = done, 0
            while place < CHUNK and done < iterations:
                part = slice(place, min(CHUNK, place + max(PART, iterations - done)))
                done += self._count_part(chunk, codes, part, iterations - done, found)
                place = part.stop
            barren = 0 if done > before else barren + 1
            if barren == PATIENCE:
                raise NeverEnds(
                    f"no instance of {PATIENCE * CHUNK:,} ended: a loop waits for something that never happens"
                )
        return found

    def _count_part(
        self, chunk: Chunk, codes: NDArray[np.int64], part: slice, most: int, found: dict[Outcome, int]
    ) -> int:
        """Count the first instances of a part that ended, up to a number; returns how many these are."""
        import numpy as np

        counts = self.counter.count([time[part] for time in chunk.times], codes[part])
        given_up = [code for code in counts if self.counter.known[code] is None]
        ended = ~np.isin(codes[part], given_up)
        self.discarded += int(np.count_nonzero(~ended[: _find_place(ended, most)]))
        if np.count_nonzero(ended) > most:
            ended &= np.cumsum(ended) <= most
            counts = self.counter.count([time[part][ended] for time in chunk.times], codes[part][ended])
        for code, times in counts.items():
            outcome = self.counter.known[code]
            if outcome is not None:
                found[outcome] = found.get(outcome, 0) + times
        gained = int(np.count_nonzero(ended))
        self.meetings += int(np.count_nonzero(chunk.met[part] & ended))
        self.overlaps += int(np.count_nonzero(chunk.overlapping[part] & ended))
        self.stressed += int(np.count_nonzero(chunk.stressed[part] & ended))
        return gained

    def liveness(self) -> Liveness:
        accesses = self.stressed * STRESSING_THREADS * self.incantation.stress_iterations // ROUND
        return Liveness(self.meetings, 0, self.overlaps, accesses, self.discarded)


def _find_place(ended: NDArray[np.bool_], most: int) -> int:
    """The length of the beginning that has so many instances that ended; the whole length if there are fewer."""
    import numpy as np

    places = np.flatnonzero(ended)
    return int(places[most - 1]) + 1 if len(places) >= most else len(ended)
