"""The output of `gpudiy run`: one line per record, and a summary."""

from __future__ import annotations

from collections import Counter

from gpudiy.errors import format_count
from gpudiy.logs.decision import Decision, NoEvidence, Sighting, decide_record
from gpudiy.logs.memory_place import memory_of, name_with_memory
from gpudiy.logs.record import Liveness, Record
from gpudiy.logs.statistics import Rate, format_interval, format_rate

NAME_WIDTH, SIGHTING_WIDTH = 28, 13


class RunTable:
    """Prints one line per record; `finish` prints the summary."""

    def __init__(self, quiet: bool, verbose: bool = False) -> None:
        self.quiet = quiet
        self.verbose = verbose
        self.sightings: Counter[Sighting] = Counter()
        self.kinds: Counter[NoEvidence | None] = Counter()
        self.iterations = 0
        self.seconds = 0.0
        self.place = ("", "")  # device and chip of the last record

    def show(self, record: Record) -> None:
        chip = name_with_memory(record.chip, memory_of(record.options))
        if (record.device, chip) != self.place:
            self.place = record.device, chip
            simulated = ", simulated" if record.simulated else ""
            print(f"on {record.device}{simulated}: {chip}")
        decision = decide_record(record)
        self.sightings[decision.sighting] += 1
        self.kinds[decision.kind] += 1
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
        named = (NoEvidence.FAILED, NoEvidence.NOT_RUNNABLE)
        kinds = ", ".join(f"{self.kinds[kind]:,} {kind}" for kind in named if self.kinds[kind])
        found += f" ({kinds})" if kinds else ""
        speed = f"; {self.iterations / self.seconds:,.0f} iterations/s" if self.seconds > 0 and not self.quiet else ""
        print(f"{format_count(tests, 'test')}: {found}{speed}")


def details(record: Record) -> list[str]:
    """The outcomes, and the liveness counters of the harness."""
    lines = [f"{entry.count:>12,} {'*' if entry.weak else ':'}> {entry.outcome}" for entry in record.histogram]
    if record.liveness is not None:
        alive = record.liveness
        lines += _describe_counters(alive)
    lines += _describe_launches(record)
    optcheck = f", optcheck: {record.optcheck}" if record.optcheck else ""
    return [*lines, f"seed {record.seed}, {record.seconds:.3g} s{optcheck}"]


def _describe_launches(record: Record) -> list[str]:
    """What launches say of a rate beside its interval, or why they say nothing."""
    decision = decide_record(record)
    over = decision.clustered
    if over is not None:
        return [f"design effect {over.design_effect:.3g}: as {over.effective:,.0f} independent iterations"]
    alone = decision.rate is not None and record.liveness is not None and record.liveness.launches == 1
    return ["1 launch: no interval between launches"] if alone else []


def _describe_counters(alive: Liveness) -> list[str]:
    """What is known of meetings and stress, and of clocks, lines and launches."""
    clock = alive.timed != 0  # without one, what it would show is not known
    first = (
        (alive.meetings, "meetings"),
        (alive.timeouts, "given up"),
        (alive.overlaps if clock else alive.overlaps or None, "overlaps"),
        (alive.stress_accesses, "stressing accesses"),
    )
    second = (
        (alive.timed if clock else None, "iterations with a clock"),
        (alive.inversions if clock else None, "in another order"),
        (alive.near, "with shared lines"),
        (alive.warmed, "warming reads"),
        (alive.launches, "launches"),
        (alive.discarded or None, "iterations discarded"),
    )
    lines = [[f"{count:,} {what}" for count, what in known if count is not None] for known in (first, second)]
    lines[1][:0] = [] if clock else ["no clock"]
    return [", ".join(words) for words in lines if words]


def describe_counts(record: Record, decision: Decision) -> str:
    """The counts with their interval or bound, or why there are none."""
    if decision.rate is not None:
        rate = decision.rate
        interval = f"{format_interval(rate.low, rate.high, rate.value)}{_describe_clustered(decision, rate)}"
        counts = f"{rate.sightings:,} of {rate.iterations:,}: {format_rate(rate.value)}"
        return f"{counts} ({interval}){_describe_stop(record)}"
    if decision.bound is not None:
        bound = f"below {format_rate(decision.bound)}{_describe_launch_bound(record, decision)}"
        return f"0 of {record.iterations:,}: {bound}{_describe_stop(record)}"
    return decision.explanation


def _describe_clustered(decision: Decision, rate: Rate) -> str:
    """The interval that respects launches, beside the one of independent iterations."""
    over = decision.clustered
    if over is None:
        return ""
    return f"; by {over.launches:,} launches {format_interval(over.low, over.high, rate.value)}"


def _describe_launch_bound(record: Record, decision: Decision) -> str:
    launches = None if record.liveness is None else record.liveness.launches
    if decision.launch_bound is None or launches is None:
        return ""
    return f" (0 of {launches:,} launch{'' if launches == 1 else 'es'}: below {format_rate(decision.launch_bound)})"


def _describe_stop(record: Record) -> str:
    return f"; stopped: {record.reason}" if record.reason else ""
