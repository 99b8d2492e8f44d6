"""Tuning: a seeded random search over incantations, with successive halving.

Every stage runs the candidates that are left on all tests, with twice the iterations of the stage before, and keeps the
better half: the best over all tests, and the best for each test. The winners are measured once more with another
seed, since the best of many was partly lucky.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from gpudiy.devices.runner import Runner
from gpudiy.devices.settings import RunSettings
from gpudiy.harness.incantation import Incantation, StressPattern
from gpudiy.harness.incantation_text import IncantationBook, published_combinations
from gpudiy.litmus import Test
from gpudiy.logs.decision import count_sightings
from gpudiy.logs.record import EVIDENCE, Record

SPREAD = 2.0  # doublings by which a parameter typically differs from its default
UNSET = 1 << 5  # used as the default of a parameter that the device chooses
LEFT_TO_DEVICE = 0.5  # how often the device still chooses it
MEASURED_AGAIN = 1  # added to the seed for the last measurement


@dataclass(frozen=True, slots=True)
class Score:
    """What an incantation showed of one test; a failed run counts as no iterations."""

    sightings: int = 0
    iterations: int = 0
    seconds: float = 0.0

    def rate(self, per_second: bool) -> float:
        base = self.seconds if per_second else self.iterations
        return self.sightings / base if base else 0.0

    def smoothed_rate(self, per_second: bool) -> float:
        """A rate that is never 0, and nearer to 0 after more iterations."""
        base = self.seconds if per_second else self.iterations
        return (self.sightings + 0.5) / base if base else 1e-12


Scores = Mapping[str, Score]  # by test


@dataclass(frozen=True, slots=True)
class Candidate:
    """An incantation to try, with a name for people."""

    name: str
    incantation: Incantation


@dataclass(frozen=True, slots=True)
class Tuned:
    """The best settings: for all tests, and for each test that showed its outcome; and their scores."""

    portable: Candidate
    portable_scores: Scores
    single: Mapping[str, Candidate]
    single_scores: Scores
    default_scores: Scores
    tried: int

    def book(self) -> IncantationBook:
        return _book(self.portable, self.single)


class Tuning:
    """A search on one device."""

    def __init__(self, runner: Runner, tests: Sequence[Test], settings: RunSettings, per_second: bool = False) -> None:
        self.runner = runner
        self.tests = tests
        self.settings = settings
        self.per_second = per_second
        self.best_so_far: IncantationBook | None = None  # of the last stage, not measured again

    def search(self, candidates: int, say: Callable[[str], None]) -> Tuned:
        """Find the best settings; `say` gets a message for each stage."""
        left = list(_draw_candidates(candidates, self.settings.seed))
        stages = max(1, math.ceil(math.log2(len(left))))
        scores: dict[str, Scores] = {}
        for stage in range(stages):
            iterations = max(1, self.settings.iterations >> (stages - stage))
            scores = {candidate.name: self.measure(candidate, iterations) for candidate in left}
            seen = sum(any(scores[one.name][test.name].sightings for one in left) for test in self.tests)
            say(
                f"stage {stage + 1} of {stages}: {len(left)} settings, {iterations:,} iterations of each test; "
                f"{seen} of {len(self.tests)} tests show their outcome"
            )
            left = self._better_half(left, scores)
            self.best_so_far = _book(left[0], self._winners(left, scores))
        return self._measure_winners(left, scores, candidates)

    def measure(self, candidate: Candidate, iterations: int, seed: int | None = None) -> Scores:
        settings = replace(
            self.settings,
            iterations=iterations,
            incantations=IncantationBook(candidate.name, candidate.incantation),
            seed=self.settings.seed if seed is None else seed,
        )
        records = self.runner.run(self.tests, settings)
        return {record.test: _score(record) for record in records}

    def measure_published(self) -> dict[str, Scores]:
        """The 16 combinations of ASPLOS'15 on the same tests, with the same iterations."""
        return {
            name: self.measure(Candidate(name, incantation), self.settings.iterations)
            for name, incantation in published_combinations().items()
        }

    def portable_score(self, scores: Scores, best: Mapping[str, float]) -> float:
        """The geometric mean over the tests of the rate, as a part of the best that any setting reached."""
        parts = [scores[test].smoothed_rate(self.per_second) / rate for test, rate in best.items()]
        return math.exp(sum(map(math.log, parts)) / len(parts)) if parts else 0.0

    def _better_half(self, left: list[Candidate], scores: Mapping[str, Scores]) -> list[Candidate]:
        best = self._best_rates(left, scores)
        order = sorted(left, key=lambda one: -self.portable_score(scores[one.name], best))
        kept = {one.name for one in order[: max(1, len(left) // 2)]}
        kept |= {one.name for one in self._winners(left, scores).values()}
        return [one for one in order if one.name in kept]

    def _measure_winners(self, left: list[Candidate], scores: Mapping[str, Scores], tried: int) -> Tuned:
        iterations, seed = self.settings.iterations, self.settings.seed + MEASURED_AGAIN
        portable, single = left[0], self._winners(left, scores)
        chosen = {one.name: one for one in (portable, *single.values(), Candidate("default", Incantation()))}
        again = {name: self.measure(one, iterations, seed) for name, one in chosen.items()}
        return Tuned(
            portable,
            again[portable.name],
            single,
            {test: again[one.name][test] for test, one in single.items()},
            again["default"],
            tried,
        )

    def _winners(self, left: list[Candidate], scores: Mapping[str, Scores]) -> dict[str, Candidate]:
        """The best setting for each test that showed its outcome."""
        return {test: self._best_of(test, left, scores) for test in self._best_rates(left, scores)}

    def _best_rates(self, left: list[Candidate], scores: Mapping[str, Scores]) -> dict[str, float]:
        """The best rate of each test that showed its outcome at all."""
        return {
            test.name: max(scores[one.name][test.name].smoothed_rate(self.per_second) for one in left)
            for test in self.tests
            if any(scores[one.name][test.name].sightings for one in left)
        }

    def _best_of(self, test: str, left: list[Candidate], scores: Mapping[str, Scores]) -> Candidate:
        return max(left, key=lambda one: scores[one.name][test].rate(self.per_second))


def _book(portable: Candidate, single: Mapping[str, Candidate]) -> IncantationBook:
    return IncantationBook("tuned", portable.incantation, {test: one.incantation for test, one in single.items()})


def _draw_candidates(count: int, seed: int) -> Iterator[Candidate]:
    """Up to one half are known: the default and combinations of ASPLOS'15, most switches first. The rest is random."""
    known = {Incantation(): "default"}
    for name, incantation in reversed(published_combinations().items()):
        known.setdefault(incantation, name)
    chosen = list(known.items())[: max(1, count // 2)]
    yield from (Candidate(name, incantation) for incantation, name in chosen)
    dice = random.Random(seed)
    for number in range(1, count - len(chosen) + 1):
        yield Candidate(f"random {number}", random_incantation(dice))


def random_incantation(dice: random.Random) -> Incantation:
    """An incantation within the ranges of its fields.

    Percentages and strides are drawn evenly, other numbers mostly within a few doublings of their defaults.
    """
    values: dict[str, Any] = {}
    for entry in fields(Incantation):
        low, high = entry.metadata["low"], entry.metadata["high"]
        default: Any = entry.default
        if isinstance(default, bool):
            values[entry.name] = dice.random() < 0.5
        elif isinstance(default, StressPattern):
            values[entry.name] = dice.choice(list(StressPattern))
        elif entry.metadata["tried"]:
            values[entry.name] = dice.choice(entry.metadata["tried"])
        elif entry.name.endswith("_percent"):
            values[entry.name] = dice.randint(low, high)
        elif default == 0 and dice.random() < LEFT_TO_DEVICE:
            values[entry.name] = 0
        else:
            size = math.log2(default or UNSET) + dice.gauss(0, SPREAD)
            values[entry.name] = min(high, max(low, round(2 ** min(size, 40))))
    return Incantation(**values)


def _score(record: Record) -> Score:
    if record.ending not in EVIDENCE:
        return Score()
    return Score(count_sightings(record), record.iterations, record.seconds)
