"""The output of `gpudiy run`: one line per record, and a summary."""

from __future__ import annotations

from collections import Counter

from gpudiy.errors import format_count
from gpudiy.logs.decision import Decision, Sighting, decide_record
from gpudiy.logs.record import Record

NAME_WIDTH, SIGHTING_WIDTH = 28, 13
PER_CENT_FROM = 0.001


class RunTable:
    """Prints one line per record; `finish` prints the summary."""

    def __init__(self, quiet: bool, verbose: bool = False) -> None:
        self.quiet = quiet
        self.verbose = verbose
        self.sightings: Counter[Sighting] = Counter()
        self.iterations = 0
        self.seconds = 0.0
        self.device = ""

    def show(self, record: Record) -> None:
        if record.device != self.device:
            self.device = record.device
            simulated = ", simulated" if record.simulated else ""
            print(f"on {record.device}{simulated}: {record.chip}")
        decision = decide_record(record)
        self.sightings[decision.sighting] += 1
        self.iterations += record.iterations
        self.seconds += record.seconds
        print(f"{record.test:<{NAME_WIDTH}} {decision.sighting:<{SIGHTING_WIDTH}} {describe_counts(record, decision)}")
        if self.verbose:
            print("\n".join(f"    {line}" for line in details(record)))

    def finish(self) -> None:
        tests = self.sightings.total()
        found = ", ".join(
            f"{self.sightings[sighting]:,} {sighting}" for sighting in Sighting if self.sightings[sighting]
        )
        speed = f"; {self.iterations / self.seconds:,.0f} iterations/s" if self.seconds > 0 and not self.quiet else ""
        print(f"{format_count(tests, 'test')}: {found}{speed}")


def details(record: Record) -> list[str]:
    """The outcomes, and the liveness counters of the harness."""
    lines = [f"{entry.count:>12,} {'*' if entry.weak else ':'}> {entry.outcome}" for entry in record.histogram]
    if record.liveness is not None:
        alive = record.liveness
        lines.append(
            f"{alive.meetings:,} meetings, {alive.timeouts:,} given up, {alive.overlaps:,} overlaps, "
            f"{alive.stress_accesses:,} stressing accesses"
        )
    optcheck = f", optcheck: {record.optcheck}" if record.optcheck else ""
    return [*lines, f"seed {record.seed}, {record.seconds:.3g} s{optcheck}"]


def describe_counts(record: Record, decision: Decision) -> str:
    """The counts with their interval or bound, or why there are none."""
    if decision.rate is not None:
        rate = decision.rate
        interval = f"({format_rate(rate.low)} to {format_rate(rate.high)}){_describe_stop(record)}"
        return f"{rate.sightings:,} of {rate.iterations:,}: {format_rate(rate.value)} {interval}"
    if decision.bound is not None:
        return f"0 of {record.iterations:,}: below {format_rate(decision.bound)}{_describe_stop(record)}"
    return decision.reason


def format_rate(rate: float) -> str:
    """A rate as text: in per cent if that needs few digits."""
    return f"{100 * rate:.3g} %" if rate >= PER_CENT_FROM else f"{rate:.2g}"


def _describe_stop(record: Record) -> str:
    return f"; stopped: {record.reason}" if record.reason else ""
