"""`Table`: rows and columns of cells, independent of how they are printed."""

from __future__ import annotations

from dataclasses import dataclass
from math import log10

from gpudiy.logs.decision import NoEvidence, Sighting
from gpudiy.logs.tables.tally import SightingTally

LOWEST_HEAT, FAINTEST = 1e-6, 0.06  # the rate from which on a cell has colour, and how much that is
WORDS = {NoEvidence.HARNESS: "no evidence", NoEvidence.FAILED: "failed", NoEvidence.NOT_RUNNABLE: "n/a"}
MEANINGS = {
    NoEvidence.HARNESS: "no evidence: nothing shows that the run could have seen the outcome, so its zero says nothing",
    NoEvidence.FAILED: "failed: the run broke off, or optcheck found that what ran is not the test",
    NoEvidence.NOT_RUNNABLE: "n/a: the device cannot run this test as it is meant",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a cell, its number, and its heat from 0 (never seen) to 1 (always)."""

    text: str = ""
    number: float | None = None
    weak: bool = False
    heat: float = 0.0
    title: str = ""
    sighting: Sighting | None = None
    kind: NoEvidence | None = None


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: its labels, then one cell per column."""

    labels: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """`corner` heads the labels of the rows; `groups`, where there are any, are headings over several columns."""

    title: str
    corner: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    groups: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def starts(self) -> frozenset[int]:
        """The columns with which a group starts."""
        return frozenset(sum(span for _, span in self.groups[:place]) for place in range(len(self.groups)))


class Tables(list[Table]):
    """The tables of one kind; `str(tables)` is their text, and a notebook shows them as tables."""

    def __str__(self) -> str:
        from gpudiy.logs.tables.terminal import plain_text  # it needs the class itself

        return plain_text(self).rstrip("\n")

    def __repr__(self) -> str:
        return f"<Tables: {', '.join(f'{table.title} ({len(table.rows)} rows)' for table in self)}>"

    def _repr_markdown_(self) -> str:
        """What a notebook shows."""
        from gpudiy.logs.tables.printing import markdown_text

        return markdown_text(self)


def cell_of(tally: SightingTally | None, absolute: bool = False) -> Cell:
    """A tally as a cell: what was seen in 100,000 iterations, or in all there were."""
    if tally is None:
        return Cell()
    sighting = tally.sighting
    if tally.rate is None or tally.kind is not None:
        kind = tally.kind or NoEvidence.HARNESS
        return Cell(WORDS[kind], title="; ".join(tally.reasons), sighting=sighting, kind=kind)
    number = float(tally.sightings) if absolute else tally.rate * 100_000
    text = f"{tally.sightings}" if absolute else per_100k(tally.sightings, tally.iterations)
    beside = tally.describe_launches()
    title = f"{tally.sightings:,} of {tally.iterations:,}" + (f"; {beside}" if beside else "")
    return Cell(text, number, tally.sightings > 0, heat_of(tally.rate), title, sighting)


def per_100k(sightings: int, iterations: int) -> str:
    """Sightings in 100,000 iterations: whole from 10 on, else two digits that count; never 0 for what was seen."""
    exact, rest = divmod(sightings * 100_000, iterations)
    if rest == 0:
        return str(exact)
    rate = sightings * 100_000 / iterations
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.{max(1, 1 - int(log10(rate) // 1))}f}"


def heat_of(rate: float) -> float:
    """A rate on a logarithmic scale, so that 1 and 1,000 in 100,000 look different."""
    if rate <= 0:
        return 0.0
    return max(FAINTEST, min(1.0, 1 - log10(rate) / log10(LOWEST_HEAT)))


def notes_for(rows: tuple[TableRow, ...], absolute: bool) -> tuple[str, ...]:
    """How to read the cells, with a line for each unusual word in them."""
    unit = "Sightings of the weak outcome" + ("." if absolute else " in 100,000 iterations.")
    used = {cell.kind for row in rows for cell in row.cells}
    blank = any(not cell.text for row in rows for cell in row.cells)
    return (
        unit, *(meaning for kind, meaning in MEANINGS.items() if kind in used),
        *(("empty: no record",) if blank else ()),
    )  # fmt: skip
