"""What the tests of the simulated device share: running, and asking the model of the profile."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from models.suite import widen_model

from gpudiy.devices.simulated import SimulatedDevice, open_device
from gpudiy.devices.simulation.profile import PROMPT
from gpudiy.devices.simulation.unrolled import PASSES
from gpudiy.harness.incantation import Incantation
from gpudiy.litmus import Test
from gpudiy.litmus.condition import holds
from gpudiy.models.library import load_model
from gpudiy.models.model import Model
from gpudiy.models.verdict import Undecided, decide, outcomes, target_of

DEFAULT = Incantation()
FAR = Incantation(warm_percent=0, location_stride=64)  # no line of L1 is older than the test
RMO = "let rmo(fence) = dp | fence | (rf & ext) | co | fr"
L1 = "let L1 = (R & GLOBAL & (WEAK | (RLX & CTA))) \\ (CG | CV | RMW)\n"
# no dependency makes a load that L1 answers wait; a barrier does, a fence only where it empties L1
STALE_LINES = L1 + ("let rmo(fence) = ((dp | (fence \\ barrier)) \\ (_*L1)) | (fence & barrier) | (rf & ext) | co | fr")
EMPTIED_LINES = L1 + "let rmo(fence) = (dp \\ (_*L1)) | fence | (rf & ext) | co | fr"
PROFILES = ("fermi", "kepler", "maxwell", "volta", "sc")


@cache
def device(profile: str) -> SimulatedDevice:
    return open_device(profile)


@cache
def model_of(profile: str) -> Model:
    """The model of the chip, also for accesses that the model of old chips does not speak of.

    What it says of loads from L2 and of global memory holds for all others, but for loads that L1 may answer.
    """
    chip = device(profile).profile
    if not chip.model.startswith("ptx-asplos15"):
        return load_model(chip.model)
    if chip.lines is PROMPT:
        return widen_model(chip.model)
    return widen_model(chip.model, (RMO, STALE_LINES if chip.emptied_by is None else EMPTIED_LINES))


def weak_count(test: Test, observed: dict) -> int:
    """How often what the condition asks about was seen."""
    target = target_of(test)
    return sum(
        count
        for outcome, count in observed.items()
        if holds(target, dict(zip(test.observed, outcome, strict=True)).__getitem__)
    )


def counts(profile: str, test: Test, iterations: int = 20_000, seed: int = 1, cast: Incantation = DEFAULT) -> dict:
    return dict(device(profile).run(test, cast, iterations, seed).outcomes)


@dataclass(slots=True)
class Soundness:
    """What became of the tests: those with an outcome that the model forbids, and those nobody can judge."""

    judged: int = 0
    unsound: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def check(profile: str, tests: Iterable[Test], iterations: int = 20_000, limit: float = 10.0) -> Soundness:
    found = Soundness()
    for test in tests:
        try:
            allowed = set(outcomes(test, model_of(profile), unroll=PASSES, limit=limit))
        except Undecided as problem:
            found.skipped.append(f"{test.name}: {problem.verdict.reason}")
            continue
        obstacle = device(profile).obstacle(test)
        if obstacle is not None:
            found.skipped.append(f"{test.name}: {obstacle}")
            continue
        if not allowed:
            found.skipped.append(f"{test.name}: no run ends")
            continue
        found.judged += 1
        if not within(test, counts(profile, test, iterations), allowed):
            found.unsound.append(test.name)
    return found


def within(test: Test, observed: dict, allowed: set) -> bool:
    """Whether all outcomes are allowed; a model says nothing of those outside the filter."""
    inside = [
        outcome
        for outcome in observed
        if test.filter is None or holds(test.filter, dict(zip(test.observed, outcome, strict=True)).__getitem__)
    ]
    return set(inside) <= allowed


@dataclass(slots=True)
class Completeness:
    allowed: int = 0
    never: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        return 1 - len(self.never) / self.allowed if self.allowed else 1.0


def completeness(profile: str, tests: Iterable[Test], first: int, most: int) -> Completeness:
    """How many of the tests whose condition the model allows the machine shows, the longer the run the rarer."""
    found = Completeness()
    for test in tests:
        if device(profile).obstacle(test) is not None:
            continue
        if not decide(test, model_of(profile), limit=10.0).allowed:
            continue
        found.allowed += 1
        iterations = first
        while iterations <= most and not weak_count(test, counts(profile, test, iterations, seed=iterations)):
            iterations *= 4
        if iterations > most:
            found.never.append(test.name)
    return found
