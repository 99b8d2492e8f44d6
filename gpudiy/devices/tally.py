"""`RunTally`: the sums over the chunks of a run so far, and the record that they give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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
from gpudiy.logs.clustering import Launches
from gpudiy.logs.decision import keep_doubt
from gpudiy.logs.histogram import Histogram, make_histogram
from gpudiy.logs.memory_place import add_memory
from gpudiy.logs.record import Ending, LaunchSums, Liveness, Record, add_launch_sums, add_liveness, sum_launch
from gpudiy.version import __version__


@dataclass(slots=True)
class RunTally:
    """Sums over chunks. The number of iterations is the sum of the outcomes; nothing else counts them."""

    test: Test
    incantation: Incantation
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    liveness: list[Liveness] = field(default_factory=list)  # of each chunk
    launch_sums: list[LaunchSums | None] = field(default_factory=list)
    layouts: Counter[str] = field(default_factory=Counter)
    launch_count: int = 0
    warm_up: str = ""  # how long it was, and whether clocks settled
    optcheck: str = ""
    optcheck_text: str = ""
    options: tuple[tuple[str, str], ...] = ()
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
        if given.by_launch and sum((Counter(launch) for launch in given.by_launch), Counter()) != +Counter(
            given.outcomes
        ):
            return "the outcomes of the launches are not those of the run"
        if given.iterations < asked:
            return f"the device gave {given.iterations:,} outcomes of {asked:,} iterations"
        self.outcomes.update(given.outcomes)
        self.liveness.append(given.liveness)
        self.launch_sums.append(self._sum_launches(given.by_launch))
        self.launch_count += len(given.by_launch)
        self.layouts.update(given.layouts)
        self.seconds += given.seconds
        self.optcheck, self.optcheck_text = given.optcheck, given.optcheck_text
        self.options = given.options
        if given.incantation is not None and given.iterations > self.largest:
            self.incantation, self.largest = given.incantation, given.iterations
        return ""

    def histogram(self) -> Histogram:
        return make_histogram(self.test, self.outcomes)

    def sightings(self) -> int:
        return self._count_sightings(self.outcomes)

    def launches(self) -> Launches | None:
        """The launches so far; None if the device does not tell them."""
        sums = add_launch_sums(self.launch_sums)
        return None if sums is None or not self.launch_count else Launches(self.launch_count, sums)

    def _count_sightings(self, outcomes: Mapping[Outcome, int]) -> int:
        counted = make_histogram(self.test, outcomes)
        universal = self.test.condition.quantifier is Quantifier.FORALL
        return counted.negative if universal else counted.positive

    def _sum_launches(self, launches: Sequence[Mapping[Outcome, int]]) -> LaunchSums | None:
        return add_launch_sums(
            sum_launch(sum(outcomes.values()), self._count_sightings(outcomes)) for outcomes in launches
        )

    def _options(self, settings: RunSettings) -> tuple[tuple[str, str], ...]:
        layouts = ", ".join(f"{launches} x {layout}" for layout, launches in sorted(self.layouts.items()))
        return (
            ("incantation", settings.incantations.name),
            *incantation_options(self.incantation),
            *((("layouts", layouts),) if layouts else ()),
            *((("warm-up", self.warm_up),) if self.warm_up else ()),
            *add_memory(self.options, settings.memory),  # also if nothing could be run
        )

    def record(self, chip: Chip, settings: RunSettings, ending: Ending, reason: str = "") -> Record:
        """The record of the run; where nothing shows that it could have seen the outcome, it says so in words."""
        record = self._make_record(chip, settings, ending, reason)
        return keep_doubt(record, record)

    def _make_record(self, chip: Chip, settings: RunSettings, ending: Ending, reason: str) -> Record:
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
            options=self._options(settings),
            seed=settings.seed,
            iterations=self.iterations,
            histogram=counted.entries,
            positive=counted.positive,
            negative=counted.negative,
            optcheck=self.optcheck,
            optcheck_text=self.optcheck_text,
            liveness=add_liveness(self.liveness) if self.iterations else None,
            launch_sums=add_launch_sums(self.launch_sums),
            ending=ending,
            reason=reason,
            seconds=round(self.seconds, 6),
            started=self.started.isoformat(timespec="seconds"),
            tool=f"gpudiy {__version__}",
        )
