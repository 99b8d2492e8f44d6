"""Statistics of counts: rates with exact intervals, the bound that a zero gives, iterations to see something again.

And how they are printed: a rate and both ends of its intervals in one unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, expm1, inf, isclose, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist

CONFIDENCE = 0.95
CLOSE = 1e-13  # relative: where the search for a bound ends
MOST_STEPS = 200  # of that search; halving alone needs about 60, and more only for rates below 1e-15
TINY = 1e-300  # in place of 0 in a continued fraction
PER_CENT_FROM = 0.001  # rates below are printed as fractions


@dataclass(frozen=True, slots=True)
class Rate:
    """Sightings in iterations as a probability, with its interval of Clopper and Pearson."""

    sightings: int
    iterations: int
    confidence: float
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.sightings / self.iterations

    def iterations_needed(self, probability: float = CONFIDENCE) -> int | None:
        """Iterations that show the outcome again with this probability; None when it was never seen."""
        return None if not self.sightings else iterations_needed(self.value, probability)


def rate(sightings: int, iterations: int, confidence: float = CONFIDENCE) -> Rate:
    """The rate of sightings and its two-sided interval, which is exact: it never covers less than it says."""
    _check(sightings, iterations, confidence)
    tail = (1 - confidence) / 2
    low = 0.0 if sightings == 0 else beta_quantile(tail, sightings, iterations - sightings + 1)
    high = 1.0 if sightings == iterations else 1 - beta_quantile(tail, iterations - sightings, sightings + 1)
    if sightings == 0:
        high = -expm1(log(tail) / iterations)  # the same number, exact also where 1 - … would lose its digits
    elif sightings < iterations / 2:
        high = beta_quantile(1 - tail, sightings + 1, iterations - sightings)
    return Rate(sightings, iterations, confidence, low, high)


def zero_bound(iterations: int, confidence: float = CONFIDENCE) -> float:
    """The rate that zero sightings rule out: about 3 in the number of iterations, the rule of three."""
    _check(0, iterations, confidence)
    return -expm1(log(1 - confidence) / iterations)


def reproduction(expected: float) -> float:
    """The probability to see again what is expected to show so many times: 1 - e^-n."""
    return -expm1(-expected)


def iterations_needed(probability_each: float, probability: float = CONFIDENCE) -> int:
    """Iterations after which an outcome of this rate has been seen with this probability; 3 expected give 95 %."""
    if not 0 < probability_each <= 1:
        raise ValueError(f"a rate is above 0 and at most 1, not {probability_each!r}")
    return ceil(-log1p(-probability) / probability_each)


def format_rate(rate: float, beside: float | None = None) -> str:
    """A rate as text: in per cent if that needs few digits, or in the unit of the rate that it stands beside."""
    in_per_cent = (rate if beside is None else beside) >= PER_CENT_FROM
    return f"{100 * rate:.3g} %" if in_per_cent else f"{rate:.2g}"


def format_interval(low: float, high: float, value: float) -> str:
    """Both ends of the interval of a rate, in the unit of the rate."""
    return f"{format_rate(low, value)} to {format_rate(high, value)}"


def normal_quantile(probability: float) -> float:
    """Where the normal distribution reaches a probability."""
    return NormalDist().inv_cdf(probability)


def _check(sightings: int, iterations: int, confidence: float) -> None:
    if iterations < 1:
        raise ValueError("no iteration, no rate")
    if not 0 <= sightings <= iterations:
        raise ValueError(f"{sightings:,} sightings cannot be in {iterations:,} iterations")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence is between 0 and 1, not {confidence!r}")


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Where the cumulative beta distribution reaches a probability: Newton's steps, kept between safe bounds."""
    low, high = 0.0, 1.0
    at = a / (a + b)
    for _ in range(MOST_STEPS):
        reached = _cumulative_beta(at, a, b)
        if reached < probability:
            low = at
        else:
            high = at
        slope = exp(_log_power(at, a, b)) / (at * (1 - at))
        step = at - (reached - probability) / slope if slope > 0 else inf
        nearer = step if low < step < high else (sqrt(low * high) if low > 0 and high > 4 * low else (low + high) / 2)
        if isclose(nearer, at, rel_tol=CLOSE) or nearer in (0.0, 1.0):
            return nearer
        at = nearer
    return at


def _cumulative_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction on the side where that is quick."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x < (a + 1) / (a + b + 2):
        return exp(_log_power(x, a, b)) * _continued_fraction(x, a, b) / a
    return 1 - exp(_log_power(x, a, b)) * _continued_fraction(1 - x, b, a) / b


def _log_power(x: float, a: float, b: float) -> float:
    """log(x^a (1-x)^b / B(a, b)), arranged around the mean so that large counts do not cancel."""
    total = a + b
    mean = a / total
    spread = a * _log_ratio(x, mean) + b * log1p((mean - x) * total / b)  # 1 - x would lose the digits of a small x
    return spread + 0.5 * log(mean * b / (2 * pi)) + _correction(total) - _correction(a) - _correction(b)


def _log_ratio(one: float, other: float) -> float:
    difference = (one - other) / other
    return log1p(difference) if abs(difference) < 0.5 else log(one / other)


def _correction(x: float) -> float:
    """What Stirling's formula lacks of the logarithm of the gamma function."""
    if x > 20:
        square = 1 / (x * x)
        return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x
    return lgamma(x) - ((x - 0.5) * log(x) - x + 0.5 * log(2 * pi))


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Lentz's method; the number of steps grows with the square root of the smaller count."""
    c, d = 1.0, 1 / _nonzero(1 - (a + b) * x / (a + 1))
    result = d
    step = 0
    while True:
        step += 1
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        for coefficient in (even, odd):
            d = 1 / _nonzero(1 + coefficient * d)
            c = _nonzero(1 + coefficient / c)
            result *= c * d
        if abs(c * d - 1) < 1e-15:
            return result


def _nonzero(number: float) -> float:
    return number if abs(number) > TINY else TINY
