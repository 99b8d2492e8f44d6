"""The lines that `gpudiy run` prints of a record: one unit for a rate and its intervals, nothing that is not known."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gpudiy.cli.run_output import describe_counts, details
from gpudiy.logs.decision import decide_record
from gpudiy.logs.record import Liveness, Record, add_launch_sums, sum_launch
from gpudiy.logs.statistics import format_interval, format_rate
from gpudiy.logs.tables.tally import SightingTally

SIZE = 10_000  # iterations of a launch


def launched(*sightings: int) -> Record:
    """A record of launches with so many sightings each."""
    total, seen = SIZE * len(sightings), sum(sightings)
    sums = add_launch_sums(sum_launch(SIZE, count) for count in sightings)
    alive = Liveness(meetings=9, stress_accesses=9, timed=0, inversions=0, launches=len(sightings))
    counts = {"iterations": total, "positive": seen, "negative": total - seen}
    return Record("SB", condition="exists (x=1)", liveness=alive, launch_sums=sums, **counts)  # type: ignore[arg-type]


def units(text: str) -> set[bool]:
    """Whether the rates of a line are in per cent: that after the colon, and the ends of its intervals."""
    rates = re.findall(r"(?:: |\(|to |launches )([\d.e-]+)( %)?(?= \(|;| to|\))", text)
    assert len(rates) >= 3, text
    return {bool(unit) for _, unit in rates}


@pytest.mark.parametrize("sightings", [(11, 10), (20, 1, 0, 22), (3, 0, 0, 0), (9, 8, 10), (11, 9, 10), (400, 2)])
def test_a_rate_and_its_intervals_have_one_unit(sightings: tuple[int, ...]) -> None:
    record = launched(*sightings)
    decision = decide_record(record)
    assert decision.clustered is not None
    assert len(units(describe_counts(record, decision))) == 1


def test_the_unit_is_that_of_the_rate() -> None:
    assert format_interval(0.00088, 0.00129, 0.00107) == "0.088 % to 0.129 %"
    assert format_interval(0.0004, 0.002, 0.0009) == "0.0004 to 0.002"
    assert (format_rate(0.5), format_rate(0.00099)) == ("50 %", "0.00099")
    record = launched(20, 1, 0, 22)
    tally = SightingTally()
    tally.add(record, decide_record(record))
    assert len(re.findall(" %", tally.describe_launches())) == 2


def test_what_no_clock_has_measured_is_not_said_to_be_zero() -> None:
    lines = details(launched(1, 2))
    assert any("no clock" in line for line in lines)
    assert not any("overlap" in line or "with a clock" in line or "in another order" in line for line in lines)
    timed = replace(launched(1, 2), liveness=Liveness(meetings=9, timed=5, inversions=0, overlaps=0))
    assert any("0 overlaps" in line for line in details(timed))
    assert any("5 iterations with a clock, 0 in another order" in line for line in details(timed))


def test_one_launch_has_no_interval_between_launches() -> None:
    alone = "1 launch: no interval between launches"
    assert alone in details(launched(5))
    assert alone not in details(launched(5, 6))
    assert alone not in details(launched(0))
    assert alone not in details(replace(launched(5), liveness=None, launch_sums=None))
