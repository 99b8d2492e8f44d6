"""`sim:PROFILE`: a simulated GPU for teaching, demonstrations and tests; its records say that they are simulated."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudiy.devices.device import Chip, DeviceError, Observation
from gpudiy.devices.opening import Listing, UnknownDevice
from gpudiy.devices.simulation.clock import Chunk, Clock
from gpudiy.devices.simulation.counting import CodeCounter
from gpudiy.devices.simulation.lines import add_lines
from gpudiy.devices.simulation.many_views import many_views
from gpudiy.devices.simulation.moment import NeverEnds, Timetable
from gpudiy.devices.simulation.obstacles import find_obstacle
from gpudiy.devices.simulation.profile import PROFILES, PROMPT, MemoryFamily, Profile
from gpudiy.devices.simulation.program import SimulatedProgram
from gpudiy.devices.simulation.replay import Replay, SingleMemory
from gpudiy.devices.simulation.signs import Signs
from gpudiy.devices.simulation.single_memory import interleaving, single_memory
from gpudiy.devices.simulation.views import ManyViews
from gpudiy.errors import near_name
from gpudiy.harness.incantation import Incantation
from gpudiy.litmus import Test
from gpudiy.litmus.arithmetic import CannotCompute
from gpudiy.litmus.outcome import Outcome
from gpudiy.logs.record import Ending

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
        if test.scope_tree.host is not None:
            return f"{PREFIX}{self.profile.name} simulates no host thread"
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
        return Observation(outcomes, run.signs.liveness(), time.perf_counter() - started)


def make_timetable(program: SimulatedProgram, profile: Profile) -> Timetable:
    """The moments of a program and their order on this chip."""
    if profile.family is MemoryFamily.INTERLEAVING:
        return interleaving(program)
    if profile.family is MemoryFamily.SINGLE_MEMORY:
        table = single_memory(program, profile.reads_in_order)
        if profile.lines is not PROMPT:
            add_lines(table, profile.emptied_by)
        return table
    return many_views(program)


def make_machine(table: Timetable, profile: Profile) -> Replay:
    """The memory that replays instances on this chip."""
    return ManyViews(table) if profile.family is MemoryFamily.MANY_VIEWS else SingleMemory(table)


class SimulatedRun:
    """A run: chunks are drawn one after the other, and their outcomes counted."""

    def __init__(self, test: Test, profile: Profile, incantation: Incantation, seed: int) -> None:
        table = make_timetable(SimulatedProgram(test), profile)
        self.clock = Clock(table, profile, incantation)
        self.counter = CodeCounter(table, make_machine(table, profile))
        self.signs = Signs(table, incantation)
        self.seed = seed

    def count(self, iterations: int) -> dict[Outcome, int]:
        """The outcomes of the first so many instances that ended."""
        done = number = barren = 0
        counts: Counter[Outcome] = Counter()
        while done < iterations:
            chunk = self.clock.draw((self.seed, number), CHUNK)
            found = self._count_chunk(chunk, iterations - done)
            number += 1
            done += sum(found.values())
            barren = 0 if found else barren + 1
            counts.update(found)
            if barren == PATIENCE:
                raise NeverEnds(
                    f"no instance of {PATIENCE * CHUNK:,} ended: a loop waits for something that never happens"
                )
        return dict(counts)

    def _count_chunk(self, chunk: Chunk, most: int) -> Counter[Outcome]:
        """The outcomes of the first instances of a chunk that ended, up to a number."""
        codes = self.counter.codes(chunk.times, CHUNK)
        found: Counter[Outcome] = Counter()
        place = 0
        while place < CHUNK and found.total() < most:
            part = slice(place, min(CHUNK, place + max(PART, most - found.total())))
            found += self._count_part(chunk.cut(part), codes[part], most - found.total())
            place = part.stop
        return found

    def _count_part(self, chunk: Chunk, codes: NDArray[np.int64], most: int) -> Counter[Outcome]:
        """The outcomes of the first instances of a part that ended, up to a number."""
        import numpy as np

        counts = self.counter.count(chunk.times, codes)
        given_up = [code for code in counts if self.counter.known[code] is None]
        ended = ~np.isin(codes, given_up)
        self.signs.discarded += int(np.count_nonzero(~ended[: _find_place(ended, most)]))
        if np.count_nonzero(ended) > most:
            ended &= np.cumsum(ended) <= most
            counts = self.counter.count([time[ended] for time in chunk.times], codes[ended])
        found: Counter[Outcome] = Counter()
        for code, times in counts.items():
            outcome = self.counter.known[code]
            if outcome is not None:
                found[outcome] += times
        self.signs.add(chunk, ended)
        return found


def _find_place(ended: NDArray[np.bool_], most: int) -> int:
    """The length of the beginning that has so many instances that ended; the whole length if there are fewer."""
    import numpy as np

    places = np.flatnonzero(ended)
    return int(places[most - 1]) + 1 if len(places) >= most else len(ended)
