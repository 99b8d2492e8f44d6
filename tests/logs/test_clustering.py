"""Intervals that respect launches, held against simulated launches whose rates differ."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudiy.cli import main
from gpudiy.cli.run_output import describe_counts, details
from gpudiy.logs import Columns, write_log
from gpudiy.logs.clustering import (
    Launches,
    add_launches,
    clustered_rate,
    design_effect,
    launch_bound,
    launches_of,
    student_quantile,
)
from gpudiy.logs.comparison import compare
from gpudiy.logs.decision import decide_record
from gpudiy.logs.operations import normalize_record, sum_records
from gpudiy.logs.record import Liveness, Record, add_launch_sums, sum_launch
from gpudiy.logs.statistics import rate
from gpudiy.logs.tables.kinds import table

Counts = list[tuple[int, int]]  # iterations and sightings of each launch
REPETITIONS = 300


def launches(counts: Counts) -> Launches:
    sums = add_launch_sums(sum_launch(*launch) for launch in counts)
    assert sums is not None
    return Launches(len(counts), sums)


def record_of(counts: Counts, **changed: object) -> Record:
    iterations, sightings = (sum(each) for each in zip(*counts, strict=True))
    alive = Liveness(meetings=9, overlaps=9, launches=len(counts))
    found = Record("SB", chip="A", iterations=iterations, positive=sightings, negative=iterations - sightings)
    return replace(found, liveness=alive, launch_sums=launches(counts).sums, **changed)  # type: ignore[arg-type]


def draw(generator: np.random.Generator, count: int, size: int, mean: float, correlation: float) -> Counts:
    """Launches of a beta-binomial: each has a rate of its own."""
    weight = (1 - correlation) / correlation if correlation else 0.0
    rates = generator.beta(mean * weight, (1 - mean) * weight, count) if correlation else np.full(count, mean)
    sizes = generator.integers(size // 2, 3 * size // 2, count)
    return [(int(n), int(y)) for n, y in zip(sizes, generator.binomial(sizes, rates), strict=True)]


@pytest.mark.parametrize(
    ("count", "mean", "correlation", "plain_below"),
    [(32, 0.01, 0.01, 0.5), (8, 0.05, 0.05, 0.4), (100, 0.2, 0.2, 0.4), (4, 0.05, 0.02, 0.5), (32, 0.01, 0.0, 1.0)],
)
def test_coverage(count: int, mean: float, correlation: float, plain_below: float) -> None:
    generator = np.random.default_rng(7)
    covered = covered_by_plain = 0
    for _ in range(REPETITIONS):
        counts = draw(generator, count, 3000, mean, correlation)
        iterations, sightings = (sum(each) for each in zip(*counts, strict=True))
        over, plain = clustered_rate(sightings, iterations, launches(counts)), rate(sightings, iterations)
        assert over is not None
        covered += over.low <= mean <= over.high
        covered_by_plain += plain.low <= mean <= plain.high
    assert covered / REPETITIONS >= 0.91
    assert covered_by_plain / REPETITIONS <= plain_below


def test_quantiles_of_student() -> None:
    table = {(0.975, 1): 12.7062, (0.975, 5): 2.5706, (0.975, 31): 2.0395, (0.95, 10): 1.8125, (0.995, 2): 9.9248}
    for (probability, freedom), expected in table.items():
        assert student_quantile(probability, freedom) == pytest.approx(expected, abs=1e-4)


def test_the_design_effect_of_known_launches() -> None:
    """Launches that show all or nothing are worth one iteration each: k/(k-1) of the iterations of a launch."""
    counts = [(100, 100), (100, 0)] * 8
    assert design_effect(800, 1600, launches(counts)) == pytest.approx(100 * 16 / 15)
    same = [(100, 10)] * 16
    assert design_effect(160, 1600, launches(same)) == 1.0  # launches that differ less than chance prove no more


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 10**6)), min_size=2, max_size=40))
def test_the_interval_is_never_narrower_than_the_plain_one(given_counts: Counts) -> None:
    counts = [(n, y % (n + 1)) for n, y in given_counts]
    iterations, sightings = (sum(each) for each in zip(*counts, strict=True))
    over = clustered_rate(sightings, iterations, launches(counts))
    assert (over is None) is (sightings in (0, iterations))
    if over is not None:
        plain = rate(sightings, iterations)
        assert over.design_effect >= 1 and over.effective <= iterations
        assert over.low <= plain.low * (1 + 1e-9) and over.high >= plain.high * (1 - 1e-9)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 10**6)), min_size=4, max_size=20))
def test_records_can_be_summed(given_counts: Counts) -> None:
    counts = [(n, y % (n + 1)) for n, y in given_counts]
    parts = [record_of(counts[:2]), record_of(counts[2:])]
    (total,) = sum_records(parts)
    assert launches_of(total) == launches(counts) == add_launches(map(launches_of, parts))
    assert add_launches([launches_of(total), None]) is None
    assert launches_of(normalize_record(total, 999)) is None  # scaled counts are those of no launch


def test_a_zero_has_two_bounds() -> None:
    decision = decide_record(record_of([(1000, 0)] * 32))
    assert decision.bound == pytest.approx(3 / 32_000, rel=0.01)
    assert decision.launch_bound == pytest.approx(1 - 0.05 ** (1 / 32)) == launch_bound(launches([(1000, 0)] * 32))
    text = describe_counts(record_of([(1000, 0)] * 32), decision)
    assert text == "0 of 32,000: below 9.4e-05 (0 of 32 launches: below 8.94 %)"
    unknown = decide_record(replace(record_of([(1000, 0)] * 32), launch_sums=None))
    assert unknown.launch_bound is None


def test_what_is_shown_beside_the_plain_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen, zero = record_of([(1000, 100), (1000, 0)] * 16), record_of([(1000, 0)] * 32, chip="B")
    decision = decide_record(seen)
    assert decision.clustered is not None and decision.rate is not None
    assert decision.clustered.low < decision.rate.low
    assert "; by 32 launches 3.33 % to 7.18 %)" in describe_counts(seen, decision)
    assert any(line.startswith("design effect 5") for line in details(seen))
    write_log(Columns.of([seen, zero]), str(tmp_path / "log.jsonl"))
    (pair,) = compare(tmp_path / "log.jsonl").as_json()["pairs"]
    (difference,) = pair["weaker"]
    assert difference["clustered"]["launches"] == 32 and difference["other_launches"] == 32
    assert difference["clustered"]["low"] == pytest.approx(decision.clustered.low)
    assert main(["compare", str(tmp_path / "log.jsonl")]) == 1
    assert "0 of 32 launches: < 0.089" in capsys.readouterr().out
    assert main(["table", str(tmp_path / "log.jsonl"), "--json"]) == 0
    assert "by 32 launches" in json.dumps(
        [cell["counts"] for cell in json.loads(capsys.readouterr().out)["cells"].values()]
    )


def test_a_difference_must_hold_for_launches_too() -> None:
    """One launch showed everything: 50 sightings that are one event."""
    burst = record_of([(1000, 50), *[(1000, 0)] * 31])
    even = record_of([(1000, 2)] * 25 + [(1000, 0)] * 7)
    zero = record_of([(1000, 0)] * 32, chip="B")
    assert not compare([burst, zero]).differs
    assert compare([even, zero]).differs
    assert compare([replace(burst, launch_sums=None), zero]).differs  # where launches are not known


def test_tables_name_launches() -> None:
    assert "0 of 32 launches: below 8.94 %" in table([record_of([(1000, 0)] * 32)])[0].rows[0].cells[0].title
