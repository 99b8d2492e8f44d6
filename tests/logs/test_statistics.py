"""Statistics, against scipy and the figures of the literature."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudiy.logs.statistics import iterations_needed, rate, reproduction, zero_bound

beta = pytest.importorskip("scipy.stats").beta

counts = st.integers(1, 10**9).flatmap(lambda n: st.tuples(st.integers(0, min(n, 10**6)), st.just(n)))


def exact(sightings: int, iterations: int, confidence: float) -> tuple[float, float]:
    tail = (1 - confidence) / 2
    low = beta.ppf(tail, sightings, iterations - sightings + 1) if sightings else 0.0
    high = beta.isf(tail, sightings + 1, iterations - sightings) if sightings < iterations else 1.0
    return low, high


@given(counts, st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.9999]))
def test_the_interval_is_that_of_clopper_and_pearson(count: tuple[int, int], confidence: float) -> None:
    found = rate(*count, confidence)
    low, high = exact(*count, confidence)
    assert found.low == pytest.approx(low, rel=1e-7)
    assert found.high == pytest.approx(high, rel=1e-7)
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize(
    ("sightings", "iterations"),
    [
        (1, 1), (0, 1), (1, 2), (6673, 100_000), (1, 10**12), (3, 10**15), (10**6, 10**12), (999_999, 10**6),
        (10**6, 10**6), (5 * 10**7, 10**8), (10**8 - 1, 10**8),
    ],
)  # fmt: skip
def test_corners(sightings: int, iterations: int) -> None:
    found = rate(sightings, iterations)
    low, high = exact(sightings, iterations, 0.95)
    assert (found.low, found.high) == (pytest.approx(low, rel=1e-6), pytest.approx(high, rel=1e-6))


@given(st.integers(1, 10**15))
def test_a_zero_follows_the_rule_of_three(iterations: int) -> None:
    bound = zero_bound(iterations)
    assert bound == pytest.approx(float(beta.isf(0.05, 1, iterations)), rel=1e-9)
    if iterations >= 100:
        assert bound * iterations == pytest.approx(3, rel=0.02)


def test_three_expected_sightings_reproduce_in_95_of_100() -> None:
    assert reproduction(3) == pytest.approx(0.950, abs=0.001)
    assert iterations_needed(3 / 1000) == 999
    assert iterations_needed(1e-12) == math.ceil(-math.log(0.05) * 1e12)
    assert rate(6673, 100_000).iterations_needed() == 45
    assert rate(0, 100_000).iterations_needed() is None


@pytest.mark.parametrize(
    ("sightings", "iterations", "confidence"), [(0, 0, 0.95), (-1, 5, 0.95), (6, 5, 0.95), (1, 5, 1)]
)
def test_nonsense_is_refused(sightings: int, iterations: int, confidence: float) -> None:
    with pytest.raises(ValueError, match=r"iteration|confidence"):
        rate(sightings, iterations, confidence)
    with pytest.raises(ValueError, match="above 0"):
        iterations_needed(0)
