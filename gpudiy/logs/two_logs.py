"""Two logs test by test, as the literature compares them: a test is observed or it is not."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.logs.chips import Chips
from gpudiy.logs.columns import Columns
from gpudiy.logs.evidence import Count, gather
from gpudiy.logs.operations import natural


@dataclass(frozen=True, slots=True)
class Row:
    """A test with its counts in both logs; None where a log does not have it."""

    test: str
    counts: tuple[Count | None, Count | None]

    @property
    def in_both(self) -> bool:
        return None not in self.counts

    @property
    def relations(self) -> tuple[str, ...]:
        """What the first log is: a test that the other does not have counts like one with the other answer."""
        one, other = self.counts
        if one is None:
            return ()
        if other is None:
            return ("weaker",) if one.sightings else ("stronger",)
        if bool(one.sightings) == bool(other.sightings):
            return ("equal",)
        return ("weaker",) if one.sightings else ("stronger",)

    def cell(self, log: int) -> str:
        count = self.counts[log]
        return "--" if count is None else f"{count.sightings:,}/{count.iterations:,}"


def compared(first: Columns, second: Columns) -> list[Row]:
    """Every test of two logs, by name; all records of a log are added up, whatever their chips."""
    both = Columns()
    both.extend(first)
    both.extend(second)
    logs = Chips([0] * len(first) + [1] * len(second), ["first", "second"])
    evidence = gather(both, logs)
    ones, others = evidence.counts
    tests = sorted({*ones, *others}, key=lambda test: natural(evidence.matching.names[test]))
    return [Row(evidence.matching.names[test], (ones.get(test), others.get(test))) for test in tests]
