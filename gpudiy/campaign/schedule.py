"""Which units run in a round: in the first all of them, later only those without a certain answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpudiy.campaign.plan import CampaignPlan
from gpudiy.campaign.test_set import PlannedTest
from gpudiy.campaign.unit import ROUND, Unit, list_groups
from gpudiy.harness.incantation_text import IncantationBook
from gpudiy.logs.decision import count_sightings
from gpudiy.logs.memory_place import MemoryPlace, memory_of
from gpudiy.logs.record import EVIDENCE, Record
from gpudiy.models.verdict import Answer

Verdicts = Mapping[str, Mapping[str, Answer]]  # by hash of the test, then by model
Place = tuple[str, str, MemoryPlace]  # the hash of a test, a device, and the memory of the locations


@dataclass(slots=True)
class Evidence:
    """The evidence for a test on a device so far."""

    sightings: int = 0
    failed: bool = False


class Knowledge:
    """The evidence of each round, collected record by record; the records themselves are not kept."""

    def __init__(self) -> None:
        self._rounds: dict[int, dict[Place, Evidence]] = {}

    def learn(self, record: Record) -> None:
        """Add the evidence of one record."""
        known = self._rounds.setdefault(int(dict(record.options)[ROUND]), {})
        found = known.setdefault((record.hash, record.device, memory_of(record.options)), Evidence())
        if record.ending in EVIDENCE:
            found.sightings += count_sightings(record)
        else:
            found.failed = True

    def before(self, round: int) -> dict[Place, Evidence]:
        """The evidence of all rounds before this one, by hash of the test, device and memory."""
        summed: dict[Place, Evidence] = {}
        for number, known in self._rounds.items():
            for key, found in known.items() if number < round else ():
                total = summed.setdefault(key, Evidence())
                total.sightings += found.sightings
                total.failed |= found.failed
        return summed


def list_units(
    plan: CampaignPlan,
    tests: Sequence[PlannedTest],
    books: dict[str, IncantationBook],
    verdicts: Verdicts,
    evidence: Mapping[Place, Evidence],
    round: int,
) -> list[Unit]:
    """The units of a round, the most uncertain tests first.

    The first round runs all tests. A later round runs the tests whose weak outcome some model allows (or no model was
    asked) and that have fewer sightings than the plan asks for. It depends only on the finished rounds before it, so
    an interrupted campaign continues as if nothing had happened.
    """
    units = []
    for group in list_groups(plan, books, round):
        chosen = []
        for test in tests:
            seen = evidence.get((test.hash, group.device, group.memory), Evidence())
            possible = _is_possible(verdicts.get(test.hash, {}))
            if round == 1 or (possible and not seen.failed and seen.sightings < plan.run.sightings):
                chosen.append((not possible, seen.sightings, test))
        chosen.sort(key=lambda entry: entry[:2])
        units += [Unit.of(test, group) for _, _, test in chosen]
    return units


def _is_possible(verdicts: Mapping[str, Answer]) -> bool:
    """Whether the models leave it possible to observe the outcome."""
    return not verdicts or any(verdict is not Answer.FORBIDDEN for verdict in verdicts.values())
