"""The data of a report: columns of plain values, compressed into a text that a page can hold."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from gpudiy.logs.decision import NoEvidence, Sighting
from gpudiy.logs.html_report.model_verdicts import NO_TEXT, VERDICT_WORDS, ModelVerdicts
from gpudiy.logs.statistics import CONFIDENCE
from gpudiy.logs.tables.heat import step_of
from gpudiy.logs.tables.table import heat_of
from gpudiy.logs.tables.tally import Observations
from gpudiy.models.library import load_model
from gpudiy.version import __version__

STATES: dict[Sighting | NoEvidence, int] = {  # 0: no record
    Sighting.OBSERVED: 1, Sighting.NOT_OBSERVED: 2,
    NoEvidence.HARNESS: 3, NoEvidence.FAILED: 4, NoEvidence.NOT_RUNNABLE: 5,
}  # fmt: skip
SHOWN_SOURCES = 20  # of a cell


@dataclass(slots=True)
class _Texts:
    """Texts that are stored once and referred to by position."""

    texts: list[str] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def place(self, text: str) -> int:
        """The position of the text; -1 for no text."""
        if not text:
            return -1
        if text not in self.places:
            self.places[text] = len(self.texts)
            self.texts.append(text)
        return self.places[text]


def payload(
    found: Observations,
    tests: Sequence[str],
    chips: Sequence[str],
    verdicts: Mapping[str, ModelVerdicts],
    models: Sequence[str],
    asked_pictures: int,
) -> dict[str, object]:
    """All a page shows, as JSON can hold it. Cells come test by test, and for each test chip by chip."""
    texts = _Texts()
    judged = [verdicts.get(test, ModelVerdicts(NO_TEXT * len(models))) for test in tests]
    return {
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "version": __version__,
        "confidence": CONFIDENCE,
        "records": found.records,
        "models": list(models),
        "about": [load_model(model).about for model in models],
        "chips": [_chip(found, chip, models) for chip in chips],
        "names": list(tests),
        "conditions": [found.tests[test].condition for test in tests],
        "listings": [found.tests[test].text for test in tests],
        "verdictWords": VERDICT_WORDS,
        "verdicts": [entry.letters for entry in judged],
        "pictures": [texts.place(entry.picture) for entry in judged],
        "captions": [texts.place(entry.caption) for entry in judged],
        "askedPictures": asked_pictures,
        **_cells(found, tests, chips, texts),
        "incantations": _incantations(found, tests, chips),
        "texts": texts.texts,
    }


def pack_data(data: dict[str, object]) -> str:
    """JSON, compressed, in letters that mean nothing to HTML."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 9, mtime=0)).decode("ascii")


def _chip(found: Observations, chip: str, models: Sequence[str]) -> dict[str, object]:
    entry = found.chips[chip]
    architecture = ", ".join(entry.architectures)
    return {
        "name": chip, "simulated": entry.simulated, "architecture": architecture,
        "device": ", ".join(entry.devices), "driver": ", ".join(entry.drivers), "toolkit": ", ".join(entry.toolkits),
        "promised": [load_model(model).chips.includes(architecture) for model in models],    }  # fmt: skip


def _cells(found: Observations, tests: Sequence[str], chips: Sequence[str], texts: _Texts) -> dict[str, object]:
    """States, counts and heat of all cells; outcomes of each test, counted by cell. The page makes the intervals."""
    states: list[str] = []
    sightings: list[int] = []
    iterations: list[int] = []
    steps: list[str] = []
    notes: dict[int, int] = {}
    excerpts: dict[int, int] = {}
    sources: dict[int, list[int]] = {}
    outcomes: list[list[list[object]]] = []
    counts: dict[int, list[int]] = {}
    launches: dict[int, int] = {}
    for row, test in enumerate(tests):
        order: dict[str, list[object]] = {}
        tallies = [found.tallies.get((test, chip)) for chip in chips]
        for tally in tallies:
            for outcome, (_, weak) in tally.outcomes.items() if tally else ():
                order.setdefault(outcome, [outcome, weak])
        outcomes.append(list(order.values()))
        for column, tally in enumerate(tallies):
            cell = row * len(chips) + column
            states.append(str(0 if tally is None else STATES[tally.kind or tally.sighting]))
            sightings.append(0 if tally is None else tally.sightings)
            iterations.append(0 if tally is None else tally.iterations)
            steps.append("0" if tally is None else f"{step_of(heat_of(tally.rate or 0.0)):x}")
            if tally is None:
                continue
            sources[cell] = [texts.place(source) for source in tally.sources[:SHOWN_SOURCES]]
            if tally.sighting.is_evidence and (beside := tally.describe_launches()):
                launches[cell] = texts.place(beside)
            if tally.reasons:
                notes[cell] = texts.place("; ".join(tally.reasons))
            if (test, chips[column]) in found.excerpts:
                excerpts[cell] = texts.place(found.excerpts[test, chips[column]])
            if tally.outcomes:
                counts[cell] = [tally.outcomes.get(outcome, (0, 0))[0] for outcome in order]
    return {
        "states": "".join(states), "steps": "".join(steps), "sightings": sightings, "iterations": iterations,
        "notes": notes, "excerpts": excerpts, "sources": sources, "outcomes": outcomes, "counts": counts,
        "launches": launches,
    }  # fmt: skip


def _incantations(found: Observations, tests: Sequence[str], chips: Sequence[str]) -> list[list[int]]:
    """Test, chip, switches, sightings, iterations, heat of every tally whose incantation is known."""
    rows, columns = ({name: place for place, name in enumerate(names)} for names in (tests, chips))
    return [
        [rows[test], columns[chip], number, tally.sightings, tally.iterations, step_of(heat_of(tally.rate or 0.0))]
        for (test, chip, number), tally in sorted(found.incantations.items(), key=lambda item: item[0][2])
        if test in rows and chip in columns
    ]
