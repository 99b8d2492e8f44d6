"""The way of each arrow of a picture, and the position of its label.

Every arrow has some dozens of ways and takes the one that costs least beside the arrows already placed; when all have
one, each chooses again twice. The costs of all ways of an arrow are computed at once, on arrays: a way is a row of
points, crowding is a map of cells, and the sum over a label is four lookups in a map of prefix sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpudiy.pictures.grid import SMALL_SIZE, Box, Grid, text_width
from gpudiy.pictures.picture import Arrow, Picture
from gpudiy.pictures.ways import HEAD, Curve, Ways, head_of

CELL = 7  # arrows that share a cell of this size cross or touch
ROUNDS, ROUTES = 3, 48
LABEL_HEIGHT = 16
STEPS = 18  # sample points per piece of a curve
SHARES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)  # positions of a label along its curve, the best first
ASIDE = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Choices:
    """The cheapest ways of one arrow, other arrows ignored; each array has one row per way."""

    curves: list[Curve]
    cost: Reals
    cells: Integers  # way, point, x and y: each cell of a way once, then cells off the map
    ends: Reals  # way, first and last, x and y
    labels: Reals  # way, place: left and top
    label_cost: Reals  # way, place
    label_cells: Integers  # way, place: left, top, right, bottom
    width: float  # of the label

    def label(self, way: int, place: int) -> Box:
        left, top = self.labels[way, place]
        return Box(float(left), float(top), self.width, LABEL_HEIGHT)


def route_arrows(picture: Picture, grid: Grid) -> list[tuple[Curve, Box]]:
    """The curve and the label of each arrow, placed to cross and touch as little as possible."""
    ways = Ways(picture, grid)
    scene = _Scene(grid)
    choices = [scene.choices(arrow, ways.curves(arrow)) for arrow in picture.arrows]
    return _Router(choices).route_arrows() if choices else []


class _Scene:
    """The boxes that arrows and labels avoid."""

    def __init__(self, grid: Grid) -> None:
        self.boxes = _rectangles(grid.boxes)
        self.headers = _rectangles(grid.headers)

    def choices(self, arrow: Arrow, curves: Sequence[Curve]) -> Choices:
        points, there = _sample_curves(curves)
        steps = np.hypot(*np.moveaxis(np.diff(points, axis=1), 2, 0))
        margins = np.full(len(self.boxes), 7.0)
        margins[[arrow.source, arrow.target]] = -1.0
        cost = 0.25 * steps.sum(axis=1)
        cost += 500 * (_lie_inside(points, self.boxes, margins) & there[..., None]).sum(axis=(1, 2))
        cost += 200 * (_lie_inside(points, self.headers, np.full(len(self.headers), 4.0)) & there[..., None]).sum(
            axis=(1, 2)
        )
        width = text_width(arrow.relation, SMALL_SIZE) + 6
        middles = np.rint(np.array(SHARES) * (there.sum(axis=1)[:, None] - 1)).astype(np.int64)
        labels = np.take_along_axis(points, middles[..., None], axis=1) - (width / 2, LABEL_HEIGHT / 2)
        blocked = _touch_boxes(labels, width, self.boxes) | _touch_boxes(labels, width, self.headers)
        label_cost = 40 * np.abs(np.array(SHARES) - 0.49) + 700 * blocked
        best = np.argsort(cost + label_cost[:, 0], kind="stable")[:ROUTES]
        ends = np.array([(curve[0], head_of(curve)[0]) for curve in curves])
        corners = np.concatenate((labels, labels + np.array((width, LABEL_HEIGHT))), axis=2)
        return Choices(
            [curves[way] for way in best],
            cost[best],
            _drop_repeated_cells(np.rint(points[best] / CELL).astype(np.int64)),
            ends[best],
            labels[best],
            label_cost[best],
            np.rint(corners[best] / CELL).astype(np.int64),
            width,
        )


class _Router:
    """Lets the arrows choose, on maps of crowded cells."""

    def __init__(self, choices: list[Choices]) -> None:
        self.choices = choices
        places = [entry.cells.reshape(-1, 2) for entry in choices]
        places += [entry.label_cells.reshape(-1, 2) for entry in choices]
        everywhere = np.concatenate([entry[entry[:, 0] != NOWHERE] for entry in places])
        self.origin = everywhere.min(axis=0) - 2
        size = everywhere.max(axis=0) - self.origin + 3
        self.nowhere = tuple(size - 1)  # a cell that is never used
        self.used = np.zeros(size, np.int64)
        self.covered = np.zeros(size, np.int64)
        self.cells = [np.where(entry.cells == NOWHERE, self.nowhere, entry.cells - self.origin) for entry in choices]
        self.label_cells = [entry.label_cells - (*self.origin, *self.origin) for entry in choices]
        self.chosen: dict[int, tuple[int, int]] = {}  # by arrow: way and place of the label

    def route_arrows(self) -> list[tuple[Curve, Box]]:
        order = sorted(range(len(self.choices)), key=lambda arrow: float(self.choices[arrow].cost[0]))
        for _ in range(ROUNDS):
            for arrow in order:
                self._remove(arrow)
                self._place(arrow, *self._choose_way(arrow))
        for arrow in order:
            way = self._remove(arrow)
            self._place(arrow, way, int(self._label_costs(arrow)[way].argmin()))
        found = []
        for arrow, entry in enumerate(self.choices):
            way, place = self.chosen[arrow]
            found.append((entry.curves[way], entry.label(way, place)))
        return found

    def _choose_way(self, arrow: int) -> tuple[int, int]:
        """The cheapest way beside the arrows placed now, and the best position of its label."""
        entry, cells = self.choices[arrow], self.cells[arrow]
        crowd = 8 * self.used + 150 * self.covered
        cost = entry.cost + crowd[cells[..., 0], cells[..., 1]].sum(axis=1)
        if self.chosen:
            ends = np.concatenate([self.choices[other].ends[way] for other, (way, _) in self.chosen.items()])
            apart = np.abs(entry.ends[:, :, None] - ends).sum(axis=3)
            cost = cost + 60 * np.maximum(0, HEAD - apart).sum(axis=(1, 2))
        labels = self._label_costs(arrow)
        way = int((cost + labels.min(axis=1)).argmin())
        return way, int(labels[way].argmin())

    def _label_costs(self, arrow: int) -> Reals:
        sums = np.zeros(np.add(self.used.shape, 1), np.int64)
        sums[1:, 1:] = (30 * self.used + 300 * self.covered).cumsum(axis=0).cumsum(axis=1)
        left, top, right, bottom = np.moveaxis(self.label_cells[arrow], 2, 0)
        inside = sums[right + 1, bottom + 1] - sums[left, bottom + 1] - sums[right + 1, top] + sums[left, top]
        return np.asarray(self.choices[arrow].label_cost + inside)

    def _remove(self, arrow: int) -> int:
        """Take an arrow off the maps and return its way (-1 if it had none)."""
        if arrow not in self.chosen:
            return -1
        way, place = self.chosen.pop(arrow)
        self._mark(arrow, way, place, -1)
        return way

    def _place(self, arrow: int, way: int, place: int) -> None:
        self.chosen[arrow] = way, place
        self._mark(arrow, way, place, 1)

    def _mark(self, arrow: int, way: int, place: int, by: int) -> None:
        cells = self.cells[arrow][way]
        cells = cells[(cells != self.nowhere).any(axis=1)]
        beside = np.zeros(self.used.shape, np.bool_)
        for dx, dy in ASIDE:
            beside[cells[:, 0] + dx, cells[:, 1] + dy] = True
        self.used[beside] += by
        self.used[cells[:, 0], cells[:, 1]] += 2 * by
        left, top, right, bottom = self.label_cells[arrow][way, place]
        self.covered[left : right + 1, top : bottom + 1] += by


NOWHERE = np.iinfo(np.int64).min


def _rectangles(boxes: Sequence[Box]) -> Reals:
    return np.array([(box.left, box.top, box.right, box.bottom) for box in boxes]).reshape(-1, 4)


def _sample_curves(curves: Sequence[Curve]) -> tuple[Reals, npt.NDArray[np.bool_]]:
    """Points on the curves, one row per curve, and which are real: short rows repeat their last point."""
    pieces = np.array([(len(curve) - 1) // 3 for curve in curves])
    longest = int(pieces.max())
    control = np.array([(*curve, *(curve[-1],) * (3 * longest + 1 - len(curve))) for curve in curves])
    at = np.arange(1, STEPS + 1) / STEPS
    weights = np.stack(((1 - at) ** 3, 3 * (1 - at) ** 2 * at, 3 * (1 - at) * at**2, at**3), axis=1)
    parts = [control[:, :1]]
    parts += [weights @ control[:, start : start + 4] for start in range(0, 3 * longest, 3)]
    return np.concatenate(parts, axis=1), np.arange(longest * STEPS + 1) <= STEPS * pieces[:, None]


def _lie_inside(points: Reals, boxes: Reals, margins: Reals | np.float64) -> npt.NDArray[np.bool_]:
    """Way, point, box: whether the point lies in the box."""
    x, y = points[..., 0, None], points[..., 1, None]
    left, top, right, bottom = boxes.T
    found = (left - margins < x) & (x < right + margins) & (top - margins < y) & (y < bottom + margins)
    return np.asarray(found)


def _touch_boxes(labels: Reals, width: float, boxes: Reals) -> npt.NDArray[np.bool_]:
    """Way, place: whether a label there would touch a box."""
    x, y = labels[..., 0, None], labels[..., 1, None]
    left, top, right, bottom = boxes.T
    found = (left < x + width + 2) & (x < right + 2) & (top < y + LABEL_HEIGHT + 2) & (y < bottom + 2)
    return np.asarray(found.any(axis=-1))


def _drop_repeated_cells(cells: Integers) -> Integers:
    """The cells with repetitions in a row replaced by `NOWHERE`."""
    code = (cells[..., 0] << 32) + cells[..., 1]
    order = np.argsort(code, axis=1, kind="stable")
    ordered = np.take_along_axis(code, order, axis=1)
    again = np.zeros(code.shape, np.bool_)
    np.put_along_axis(again, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return np.where(again[..., None], NOWHERE, cells)
