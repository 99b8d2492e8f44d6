"""`sim:PROFILE`: a simulated GPU for teaching, demonstrations and tests; everything it gives says that it is simulated."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudiy.devices.device import Chip, DeviceError, Observation, Outcome
from gpudiy.devices.simulation.arithmetic import CannotCompute
from gpudiy.devices.simulation.clock import ROUND, STRESSING_THREADS, Chunk, Clock
from gpudiy.devices.simulation.counting import Counter
from gpudiy.devices.simulation.many_views import many_views
from gpudiy.devices.simulation.moment import NeverEnds, Timetable
from gpudiy.devices.simulation.obstacles import find_obstacle
from gpudiy.devices.simulation.profile import Family, Profile, find_profile
from gpudiy.devices.simulation.program import Program
from gpudiy.devices.simulation.replay import Replay, SingleMemory
from gpudiy.devices.simulation.single_memory import interleaving, single_memory
from gpudiy.devices.simulation.views import ManyViews
from gpudiy.harness.incantation import Incantation
from gpudiy.litmus import Test
from gpudiy.logs.record import Ending, Liveness

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CHUNK = 1 << 16  # instances drawn at once; a run is the beginning of an endless series of chunks
PATIENCE = 64  # chunks in a row in which no instance ended, before a test is given up
PREFIX = "sim:"


class SimulatedDevice:
    """The device `sim:PROFILE`."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile

    @staticmethod
    def named(name: str) -> SimulatedDevice:
        """The device of a name like `sim:kepler`; raises `UnknownProfile`."""
        return SimulatedDevice(find_profile(name.removeprefix(PREFIX)))

    @property
    def chip(self) -> Chip:
        profile = self.profile
        return Chip(PREFIX + profile.name, profile.chip, profile.architecture, simulated=True, group_size=1024)

    def obstacle(self, test: Test) -> str | None:
        return find_obstacle(test, self.profile)

    def prepare(self, tests: Sequence[Test]) -> None:
        """There is nothing to build."""

    def run(self, test: Test, incantation: Incantation, iterations: int, seed: int) -> Observation:
        """Exactly so many iterations; instances in which a loop did not end are drawn anew and never counted."""
        started = time.perf_counter()
        obstacle = self.obstacle(test)
        if obstacle is not None:
            raise DeviceError(f"{PREFIX}{self.profile.name} cannot run {test.name}: {obstacle}")
        try:
            run = Run(test, self.profile, incantation, seed)
            outcomes = run.count(iterations)
        except CannotCompute as problem:
            raise DeviceError(str(problem)) from None
        except NeverEnds as problem:
            raise DeviceError(str(problem), Ending.TIMEOUT) from None
        return Observation(outcomes, run.liveness(), time.perf_counter() - started)


def timetable(program: Program, profile: Profile) -> Timetable:
    """The moments of a program and their order on this chip."""
    if profile.family is Family.INTERLEAVING:
        return interleaving(program)
    if profile.family is Family.SINGLE_MEMORY:
        return single_memory(program, profile.reads_in_order)
    return many_views(program)


def machine(table: Timetable, profile: Profile) -> Replay:
    return ManyViews(table) if profile.family is Family.MANY_VIEWS else SingleMemory(table)


class Run:
    """A run under way: chunks are drawn one after the other, and their outcomes counted."""

    def __init__(self, test: Test, profile: Profile, incantation: Incantation, seed: int) -> None:
        table = timetable(Program(test), profile)
        self.clock = Clock(table, profile, incantation)
        self.counter = Counter(table, machine(table, profile))
        self.incantation = incantation
        self.seed = seed
        self.test = test
        self.discarded = 0
        self.meetings = self.overlaps = self.stressed = 0

    def count(self, iterations: int) -> dict[Outcome, int]:
        import numpy as np

        found: dict[Outcome, int] = {}
        done = number = barren = 0
        while done < iterations:
            chunk = self.clock.draw((self.seed, number), CHUNK)
            number += 1
            codes = self.counter.codes(chunk.times) if chunk.times else np.zeros(CHUNK, np.int64)
            counts = self.counter.outcomes(chunk.times, codes)
            used = self._ended(codes, counts)
            left = iterations - done
            if np.count_nonzero(used) > left:
                used &= np.cumsum(used) <= left
            if used.any():
                self.discarded += int(np.flatnonzero(used)[-1]) + 1 - int(np.count_nonzero(used))
            if not used.all():
                counts = self.counter.outcomes(chunk.times, codes[used]) if used.any() else {}
            for code, times in counts.items():
                outcome = self.counter.known[code]
                assert outcome is not None
                found[outcome] = found.get(outcome, 0) + times
            gained = sum(counts.values())
            done += gained
            barren = 0 if gained else barren + 1
            if barren == PATIENCE:
                raise NeverEnds(f"no instance of {PATIENCE * CHUNK:,} ended: a loop waits for what never happens")
            self._watch(chunk, used)
        return found

    def _ended(self, codes: NDArray[np.int64], counts: dict[int, int]) -> NDArray[np.bool_]:
        """The instances all of whose loops ended."""
        import numpy as np

        given_up = [code for code in counts if self.counter.known[code] is None]
        return ~np.isin(codes, given_up) if given_up else np.ones(len(codes), np.bool_)

    def liveness(self) -> Liveness:
        accesses = self.stressed * STRESSING_THREADS * self.incantation.stress_iterations // ROUND
        return Liveness(self.meetings, 0, self.overlaps, accesses, self.discarded)

    def _watch(self, chunk: Chunk, rows: NDArray[np.bool_]) -> None:
        import numpy as np

        self.meetings += int(np.count_nonzero(chunk.met & rows))
        self.overlaps += int(np.count_nonzero(chunk.overlapping & rows))
        self.stressed += int(np.count_nonzero(chunk.stressed & rows))
