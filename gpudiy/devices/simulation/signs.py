"""Signs of life: what the harness of a chip would count, as the simulated clock shows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from gpudiy.devices.simulation.clock import ROUND, STRESSING_THREADS, Chunk
from gpudiy.devices.simulation.moment import Timetable, accesses
from gpudiy.harness.incantation import Incantation
from gpudiy.logs.record import Liveness

if TYPE_CHECKING:
    from gpudiy.devices.simulation.clock import Rows, Times

TICKS = 16  # of the simulated clock in a slot


@dataclass(slots=True)
class Signs:
    """Sums over the instances that were counted."""

    table: Timetable
    incantation: Incantation
    discarded: int = 0
    _sums: dict[str, int] = field(default_factory=dict)

    def add(self, chunk: Chunk, counted: Rows) -> None:
        """Add those instances of a chunk that count."""
        import numpy as np

        rounds = chunk.rounds
        rows = {"met": rounds.met, "stressed": rounds.stressed, "warm": rounds.warm, "near": rounds.near}
        begins, ends = self._bodies(chunk.times)
        if begins:
            first, last = reduce(np.minimum, begins), reduce(np.maximum, begins)
            rows["overlaps"] = last < reduce(np.minimum, ends)
            inverted = (begins[thread] < begins[earlier] for thread, earlier in self._pairs())
            rows["inversions"] = reduce(np.logical_or, inverted, first > last)
            self._add("skew", int(TICKS * ((last - first) * counted).sum()))
        for name, chosen in rows.items():
            self._add(name, int(np.count_nonzero(chosen & counted)))
        self._add("timed", int(np.count_nonzero(counted)))

    def liveness(self) -> Liveness:
        """The counters; there are no launches, since instances are drawn independently of each other."""
        sums = self._sums
        program = self.table.program
        return Liveness(
            meetings=sums.get("met", 0),
            overlaps=sums.get("overlaps", 0),
            stress_accesses=sums.get("stressed", 0) * STRESSING_THREADS * self.incantation.stress_iterations // ROUND,
            discarded=self.discarded,
            timed=sums.get("timed", 0),
            inversions=sums.get("inversions", 0),
            skew=sums.get("skew", 0),
            warmed=sums.get("warm", 0) * len(program.placements) * len(program.cached_locations),
            near=sums.get("near", 0),
        )

    def _pairs(self) -> list[tuple[int, int]]:
        """Threads that access memory, by their places among these, each with the earlier one of its warp."""
        program = self.table.program
        members = sorted({event.thread for event in accesses(program.events)})
        places = {thread: place for place, thread in enumerate(members)}
        earlier = program.test.scope_tree.earlier_threads()
        return [
            (places[thread], places[one])
            for thread in members
            if (one := earlier[thread]) is not None and one in places
        ]

    def _add(self, name: str, number: int) -> None:
        self._sums[name] = self._sums.get(name, 0) + number

    def _bodies(self, times: list[Times]) -> tuple[list[Times], list[Times]]:
        """When each thread that accesses memory began its first access, and ended its last; an access takes a slot."""
        import numpy as np

        begins, ends = [], []
        members = accesses(self.table.program.events)
        for thread in range(len(self.table.program.placements)):
            issued = [times[self.table.issue(event)] for event in members if event.thread == thread]
            if issued:
                begins.append(reduce(np.minimum, issued))
                ends.append(reduce(np.maximum, issued) + np.float32(1))
        return begins, ends
