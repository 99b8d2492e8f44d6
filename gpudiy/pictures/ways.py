"""The possible ways of an arrow: curves from box to box, directly, beside a column, or through gaps between rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from math import hypot

from gpudiy.pictures.grid import DOWN, HEADER_HEIGHT, LEFT, RIGHT, UP, Box, Grid, Point
from gpudiy.pictures.picture import Arrow, Picture

HEAD = 10
Stop = tuple[Point, Point]  # a point of a curve and its direction there
Curve = tuple[Point, ...]  # Bézier points: one, then three per piece


class Ways:
    """Lists the possible ways of the arrows of a picture."""

    def __init__(self, picture: Picture, grid: Grid) -> None:
        self.picture = picture
        self.grid = grid

    def curves(self, arrow: Arrow) -> list[Curve]:
        return [_curve(stops, bend) for stops, bend in self._list_ways(arrow)]

    def _list_ways(self, arrow: Arrow) -> Iterator[tuple[list[Stop], float]]:
        """Each way as its stops and how far the curve bends out (0: in proportion to the distance of the stops)."""
        source, target = (self.picture.nodes[end] for end in (arrow.source, arrow.target))
        one, other = self.grid.boxes[arrow.source], self.grid.boxes[arrow.target]
        if source.column is None and target.column is None:
            yield from _beside(one, other, (UP, DOWN))
        elif source.column is None:
            yield from self._from_above(one, other, target.column or 0)
        elif target.column is None:
            for stops, bend in self._from_above(other, one, source.column):
                yield [(point, (-x, -y)) for point, (x, y) in reversed(stops)], bend
        elif source.column == target.column:
            if abs(source.row - target.row) == 1:
                yield from _straight_down(one, other)
            yield from _beside(one, other, (RIGHT, LEFT))
        else:
            others = [a for a in self.picture.arrows if (a.source, a.target) == (arrow.source, arrow.target)]
            parallel = len(others) > 1 or source.row == target.row
            yield from self._across(one, other, source.column, target.column, parallel)

    def _from_above(self, one: Box, other: Box, column: int) -> Iterator[tuple[list[Stop], float]]:
        """From an initial write through a gutter to a side, or straight into the top."""
        lane = self.grid.lanes[column]
        for leave, arrive in product((0.3, 0.5, 0.7), (0.6, 0.75, 0.9)):
            yield [(one.port(DOWN, leave), DOWN), (other.port(UP, arrive), DOWN)], 0
        for leave, arrive, away, side in product((0.2, 0.5, 0.8), (0.25, 0.5, 0.75), (14, 26, 38, 50), (LEFT, RIGHT)):
            x = lane.left - away if side == LEFT else lane.right + away
            into = RIGHT if side == LEFT else LEFT
            stops = [(one.port(DOWN, leave), DOWN), ((x, lane.top + HEADER_HEIGHT / 2), DOWN)]
            turn = other.top - 30
            if turn > lane.top + HEADER_HEIGHT:
                stops.append(((x, turn), DOWN))
            yield [*stops, (other.port(side, arrive), into)], 0

    def _across(
        self, one: Box, other: Box, here: int, there: int, parallel: bool
    ) -> Iterator[tuple[list[Stop], float]]:
        """From column to column: directly, or through a gap between rows of the columns between them.

        Parallel arrows leave and arrive at the same height of their boxes, so that they do not cross.
        """
        way = RIGHT if there > here else LEFT
        back = LEFT if there > here else RIGHT
        between = self.grid.lanes[min(here, there) + 1 : max(here, there)]
        shares = (0.15, 0.32, 0.5, 0.68, 0.85)
        level = [(share, share) for share in (*shares, 0.24, 0.41, 0.59, 0.76)]
        for leave, arrive in level if parallel else product(shares, repeat=2):
            yield [(one.port(way, leave), way), (other.port(back, arrive), way)], 0
        if not between:
            return
        near, far = (between[0].left, between[-1].right) if way == RIGHT else (between[-1].right, between[0].left)
        for y, leave, arrive in product(self.grid.passages(), (0.2, 0.5, 0.8), (0.2, 0.5, 0.8)):
            start, end = one.port(way, leave), other.port(back, arrive)
            yield [(start, way), ((near, y), way), ((far, y), way), (end, way)], 0


def _straight_down(one: Box, other: Box) -> Iterator[tuple[list[Stop], float]]:
    side, back = (DOWN, UP) if one.top < other.top else (UP, DOWN)
    for share in (0.5, 0.3, 0.7, 0.15, 0.85):
        yield _straight_stops(one.port(side, share), other.port(back, share)), 0


def _beside(one: Box, other: Box, sides: tuple[Point, ...]) -> Iterator[tuple[list[Stop], float]]:
    """Out of a side and back into the same side of another box."""
    leaves, arrivals = ((0.1, 0.2), (0.8, 0.9)) if one is other else ((0.3, 0.5, 0.7), (0.3, 0.5, 0.7))
    for side, leave, arrive, bend in product(sides, leaves, arrivals, (36, 54, 72, 96, 120)):
        yield [(one.port(side, leave), side), (other.port(side, arrive), (-side[0], -side[1]))], bend


def _straight_stops(start: Point, end: Point) -> list[Stop]:
    x, y = end[0] - start[0], end[1] - start[1]
    length = hypot(x, y) or 1
    return [(start, (x / length, y / length)), (end, (x / length, y / length))]


def _curve(stops: list[Stop], bend: float) -> Curve:
    """Bézier pieces through the stops; the last ends where the head begins."""
    (x, y), (dx, dy) = stops[-1]
    stops = [*stops[:-1], ((x - dx * HEAD, y - dy * HEAD), (dx, dy))]
    points = [stops[0][0]]
    for (p, d), (q, e) in pairwise(stops):
        gap = (q[0] - p[0], q[1] - p[1])
        out = bend or 0.5 * abs(gap[0] * d[0] + gap[1] * d[1])
        back = bend or 0.5 * abs(gap[0] * e[0] + gap[1] * e[1])
        points += [(p[0] + d[0] * out, p[1] + d[1] * out), (q[0] - e[0] * back, q[1] - e[1] * back), q]
    return tuple(points)


def head_of(curve: Curve) -> tuple[Point, Point, Point]:
    """The triangle at the end of a curve, tip first."""
    (x, y), (before_x, before_y) = curve[-1], curve[-2]
    length = hypot(x - before_x, y - before_y) or 1
    dx, dy = (x - before_x) / length, (y - before_y) / length
    half = HEAD * 0.4
    return (x + dx * HEAD, y + dy * HEAD), (x - dy * half, y + dx * half), (x + dy * half, y - dx * half)


def hull_of(curve: Curve) -> Box:
    """The bounding box of the points of a curve, which encloses the curve."""
    xs, ys = [x for x, _ in curve], [y for _, y in curve]
    return Box(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))
