"""Which work comes next: first everything once, then again what has no certain answer yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpudiy.campaign.plan import CampaignPlan
from gpudiy.campaign.test_set import PlannedTest
from gpudiy.campaign.unit import ROUND, Unit, groups
from gpudiy.harness.incantation_text import IncantationBook
from gpudiy.logs.decision import count_sightings
from gpudiy.logs.record import EVIDENCE, Record
from gpudiy.models.verdict import Answer

Verdicts = Mapping[str, Mapping[str, Answer]]  # by hash of the test, then by model


@dataclass(slots=True)
class Evidence:
    """What is known of a test on a device so far."""

    sightings: int = 0
    failed: bool = False


class Knowledge:
    """The evidence of each round, learnt record by record; the records themselves are not kept."""

    def __init__(self) -> None:
        self._rounds: dict[int, dict[tuple[str, str], Evidence]] = {}

    def learn(self, record: Record) -> None:
        known = self._rounds.setdefault(int(dict(record.options)[ROUND]), {})
        found = known.setdefault((record.hash, record.device), Evidence())
        if record.ending in EVIDENCE:
            found.sightings += count_sightings(record)
        else:
            found.failed = True

    def before(self, round: int) -> dict[tuple[str, str], Evidence]:
        """What the rounds before this one tell, by hash of the test and device."""
        summed: dict[tuple[str, str], Evidence] = {}
        for number, known in self._rounds.items():
            for key, found in known.items() if number < round else ():
                total = summed.setdefault(key, Evidence())
                total.sightings += found.sightings
                total.failed |= found.failed
        return summed


def units_of_round(
    plan: CampaignPlan,
    tests: Sequence[PlannedTest],
    books: dict[str, IncantationBook],
    verdicts: Verdicts,
    known: Mapping[tuple[str, str], Evidence],
    round: int,
) -> list[Unit]:
    """The work of a round, the most uncertain tests first.

    The first round runs everything. A later one runs what some model allows, or no model was asked about, and what
    has been seen fewer times than the plan wants. It depends on the finished rounds before it and on nothing else, so
    that a campaign that was interrupted goes on as if it had not been.
    """
    units = []
    for group in groups(plan, books, round):
        chosen = []
        for test in tests:
            seen = known.get((test.hash, group.device), Evidence())
            possible = _possible(verdicts.get(test.hash, {}))
            if round == 1 or (possible and not seen.failed and seen.sightings < plan.run.sightings):
                chosen.append((not possible, seen.sightings, test))
        chosen.sort(key=lambda entry: entry[:2])
        units += [Unit.of(test, group) for _, _, test in chosen]
    return units


def _possible(verdicts: Mapping[str, Answer]) -> bool:
    """Whether the outcome may be seen, as far as the models say."""
    return not verdicts or any(verdict is not Answer.FORBIDDEN for verdict in verdicts.values())
