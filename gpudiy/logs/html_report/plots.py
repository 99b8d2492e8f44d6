"""Plots as files: the heat map of tests and chips, and what incantations do, drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiy.errors import MissingTool
from gpudiy.files import whole_file
from gpudiy.logs.decision import Sighting
from gpudiy.logs.tables.heat import LIGHT, colour, step_of
from gpudiy.logs.tables.kinds import switch_letters
from gpudiy.logs.tables.table import LOWEST_HEAT, heat_of
from gpudiy.logs.tables.tally import Observations

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMED_TESTS = 80  # up to here each test is named below the heat map
SUFFIXES = (".png", ".svg")
ZERO, NO_EVIDENCE, INK, QUIET = "#f0ede8", "#b5aca0", "#1c1917", "#6f675e"
MOST_PANELS = 24  # of incantations: more do not fit a page
RESOLUTION = 160  # dots per inch


def write_plots(found: Observations, tests: Sequence[str], chips: Sequence[str], folder: Path) -> list[Path]:
    """Write every plot there is data for, as PNG and as SVG; each file appears whole."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingTool("plots need matplotlib: pip install 'gpudiy[report]'") from error
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    with matplotlib.rc_context({"svg.hashsalt": "gpudiy", "font.size": 9, "text.color": INK, "axes.edgecolor": QUIET}):
        files += _save_figure(_heat_map(found, tests, chips), folder / "heat-map")
        panels = [
            (test, chip)
            for chip in chips
            for test in tests
            if any((test, chip, n) in found.incantations for n in range(16))
        ]
        if panels:
            files += _save_figure(_incantations(found, panels[:MOST_PANELS]), folder / "incantations")
    return files


def _figure(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _heat_map(found: Observations, tests: Sequence[str], chips: Sequence[str]) -> Figure:
    """A row for each chip, a column for each test; the same colours as everywhere."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, LogNorm, to_rgb

    named = len(tests) <= NAMED_TESTS
    figure = _figure(max(6.0, min(16.0, 2.5 + 0.24 * len(tests))), 1.2 + 0.3 * len(chips) + (1.8 if named else 0.3))
    axes = figure.add_subplot()
    pixels = [[to_rgb(_cell_colour(found, test, chip)) for test in tests] for chip in chips]
    axes.imshow(pixels, aspect="auto", interpolation="nearest")
    axes.set_yticks(range(len(chips)), [_plain(chip) for chip in chips])
    if named:
        axes.set_xticks(
            range(len(tests)), [_plain(test) for test in tests], rotation=60, ha="right", family="monospace", fontsize=7
        )
    else:
        axes.set_xticks([])
        axes.set_xlabel(f"{len(tests):,} tests")
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=0)
    scale = LinearSegmentedColormap.from_list("heat", LIGHT)
    bar = figure.colorbar(ScalarMappable(LogNorm(LOWEST_HEAT * 1e5, 1e5), scale), ax=axes, fraction=0.03, pad=0.02)
    bar.set_label("sightings in 100,000 iterations")
    bar.outline.set_visible(False)
    return figure


def _incantations(found: Observations, panels: Sequence[tuple[str, str]]) -> Figure:
    """Bars of the sixteen settings, a panel for each test and chip."""
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    figure = _figure(6.2 * columns, 1.9 * rows)
    for index, (test, chip) in enumerate(panels):
        axes = figure.add_subplot(rows, columns, index + 1)
        tallies = [found.incantations.get((test, chip, number)) for number in range(16)]
        rates = [(tally.rate or 0.0) * 1e5 if tally else 0.0 for tally in tallies]
        shades = [colour(max(1, step_of(heat_of(rate / 1e5))))[0] for rate in rates]
        axes.bar(range(16), rates, color=shades, width=0.82)
        axes.set_ylim(0, max(1.0, 1.08 * max(rates)))
        axes.set_xticks(range(16), [switch_letters(number) for number in range(16)], family="monospace", fontsize=7)
        axes.set_title(_plain(f"{test} on {chip}"), loc="left", fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(axis="x", length=0)
    figure.supylabel("sightings in 100,000 iterations", fontsize=8)
    return figure


def _cell_colour(found: Observations, test: str, chip: str) -> str:
    tally = found.tallies.get((test, chip))
    if tally is None:
        return "#ffffff"
    if tally.sighting is Sighting.OBSERVED:
        return colour(step_of(heat_of(tally.rate or 0.0)))[0]
    return ZERO if tally.sighting is Sighting.NOT_OBSERVED else NO_EVIDENCE


def _plain(text: str) -> str:
    """A name that matplotlib does not take for a formula."""
    return text.replace("$", r"\$")


def _save_figure(figure: Figure, stem: Path) -> list[Path]:
    files = []
    for suffix in SUFFIXES:
        path = stem.with_suffix(suffix)
        with whole_file(path) as temporary:
            figure.savefig(
                temporary, format=suffix[1:], dpi=RESOLUTION, metadata={"Date": None} if suffix == ".svg" else None
            )
        files.append(path)
    return files
