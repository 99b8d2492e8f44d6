"""`RunTally`: the sums over the chunks of a run so far, and the record that they give."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime

from gpudiy.devices.device import Chip, Observation
from gpudiy.devices.settings import RunSettings
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.incantation_text import incantation_options
from gpudiy.litmus import Test, content_hash
from gpudiy.litmus.condition import Quantifier
from gpudiy.litmus.condition_text import condition_text
from gpudiy.litmus.outcome import Outcome
from gpudiy.litmus.printer import print_any_test
from gpudiy.logs.histogram import Histogram, make_histogram
from gpudiy.logs.record import Ending, Liveness, Record
from gpudiy.version import __version__


@dataclass(slots=True)
class RunTally:
    """Sums over chunks. The number of iterations is the sum of the outcomes; nothing else counts them."""

    test: Test
    incantation: Incantation
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    liveness: Liveness = field(default_factory=Liveness)
    optcheck: str = ""
    optcheck_text: str = ""
    largest: int = 0  # iterations of the chunk whose incantation is kept: the last one may be smaller
    seconds: float = 0.0  # measured by the device: without building, and without waiting for a worker
    started: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def iterations(self) -> int:
        return self.outcomes.total()

    def add(self, given: object, asked: int) -> str:
        """Count an observation; returns what is wrong with it if it cannot be counted, else an empty text."""
        if not isinstance(given, Observation):
            return f"the device gave {type(given).__name__} instead of an observation"
        if any(len(outcome) != len(self.test.observed) for outcome in given.outcomes):
            return "the device gave an outcome that is not one of this test"
        if any(not isinstance(count, int) or count < 0 for count in given.outcomes.values()):
            return "the device gave an outcome a count that is not a natural number"
        if given.iterations < asked:
            return f"the device gave {given.iterations:,} outcomes of {asked:,} iterations"
        self.outcomes.update(given.outcomes)
        self.liveness += given.liveness
        self.seconds += given.seconds
        self.optcheck, self.optcheck_text = given.optcheck, given.optcheck_text
        if given.incantation is not None and given.iterations > self.largest:
            self.incantation, self.largest = given.incantation, given.iterations
        return ""

    def histogram(self) -> Histogram:
        return make_histogram(self.test, self.outcomes)

    def sightings(self) -> int:
        counted = self.histogram()
        universal = self.test.condition.quantifier is Quantifier.FORALL
        return counted.negative if universal else counted.positive

    def record(self, chip: Chip, settings: RunSettings, ending: Ending, reason: str = "") -> Record:
        counted = self.histogram()
        return Record(
            test=self.test.name,
            hash=content_hash(self.test),
            text=print_any_test(self.test),
            condition=condition_text(self.test.condition),
            device=chip.device,
            chip=chip.chip,
            architecture=chip.architecture,
            simulated=chip.simulated,
            driver=chip.driver,
            toolkit=chip.toolkit,
            options=(("incantation", settings.incantations.name), *incantation_options(self.incantation)),
            seed=settings.seed,
            iterations=self.iterations,
            histogram=counted.entries,
            positive=counted.positive,
            negative=counted.negative,
            optcheck=self.optcheck,
            optcheck_text=self.optcheck_text,
            liveness=self.liveness if self.iterations else None,
            ending=ending,
            reason=reason,
            seconds=round(self.seconds, 6),
            started=self.started.isoformat(timespec="seconds"),
            tool=f"gpudiy {__version__}",
        )
