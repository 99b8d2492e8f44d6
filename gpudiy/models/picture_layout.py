"""Where everything of a picture stands: boxes on a grid, arrows that keep off boxes, labels that keep off both.

Every arrow has a few dozen possible routes; it takes the one that costs least beside what is already there, and after
all have one, each chooses again twice. Lengths are pixels, y grows downwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from math import hypot

from gpudiy.models.picture import Arrow, Picture

CHARACTER = 0.602  # the width of a character of a fixed font, in font sizes
TITLE_SIZE, LABEL_SIZE, SMALL_SIZE = 18, 14, 11
BOX_HEIGHT, ROW_GAP, LANE_PADDING, HEADER_HEIGHT, MARGIN, HEAD = 44, 58, 14, 30, 24, 10
CELL = 7  # arrows that share a cell of this size cross or touch
ROUNDS, ROUTES = 3, 48

Point = tuple[float, float]
Stop = tuple[Point, Point]  # a point of a curve and its direction there
Cell = tuple[int, int]
RIGHT, LEFT, DOWN, UP = (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)


@dataclass(frozen=True, slots=True)
class Box:
    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def meets(self, other: Box, margin: float = 0) -> bool:
        return (
            self.left < other.right + margin and other.left < self.right + margin
            and self.top < other.bottom + margin and other.top < self.bottom + margin
        )  # fmt: skip

    def holds(self, point: Point, margin: float = 0) -> bool:
        x, y = point
        return (
            self.left - margin < x < self.right + margin and self.top - margin < y < self.bottom + margin
        )  # fmt: skip

    def port(self, side: Point, share: float) -> Point:
        """The point at a share of the length of the side that faces this way."""
        if side in (LEFT, RIGHT):
            return (self.right if side == RIGHT else self.left), self.top + share * self.height
        return self.left + share * self.width, (self.bottom if side == DOWN else self.top)


@dataclass(frozen=True, slots=True)
class Route:
    """An arrow as drawn: Bézier points (one, then three a piece), the triangle of its head (tip first), its label."""

    curve: tuple[Point, ...]
    head: tuple[Point, Point, Point]
    label: Box


@dataclass(frozen=True, slots=True)
class Layout:
    """Places for all of a picture: boxes by node, routes by arrow, lanes by column; the frame is all that is seen."""

    frame: Box
    boxes: tuple[Box, ...]
    lanes: tuple[Box, ...]
    routes: tuple[Route, ...]


def laid_out(picture: Picture) -> Layout:
    grid = _Grid(picture)
    router = _Router(picture, grid)
    routes = router.routes()
    hulls = [_hull(route.curve) for route in routes]
    drawn = [Box(0, 0, 0, 0), *grid.lanes, *grid.boxes, *hulls, *(route.label for route in routes)]
    left, right = min(box.left for box in drawn) - MARGIN, max(box.right for box in drawn) + MARGIN
    top, bottom = min(box.top for box in drawn), max(box.bottom for box in drawn) + MARGIN
    return Layout(Box(left, top, right - left, bottom - top), tuple(grid.boxes), tuple(grid.lanes), tuple(routes))


def text_width(text: str, size: float) -> float:
    return len(text) * size * CHARACTER


class _Grid:
    """Boxes, lanes and the free channels between them."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        threads = range(len(picture.columns))
        self.rows = max((node.row + 1 for node in picture.nodes if node.column is not None), default=0)
        initial = [node for node in picture.nodes if node.column is None]
        self.lane_top: float = BOX_HEIGHT + ROW_GAP + 12 if initial else 0
        self.widths = [self._width(column) for column in threads]
        self.lefts: list[float] = []
        left = 0.0
        for column in threads:
            self.lefts.append(left)
            left += self.widths[column] + self._gutter(column)
        span = self.lefts[-1] + self.widths[-1] if self.lefts else 0.0
        bottom = self.row_top(self.rows) - ROW_GAP + LANE_PADDING if self.rows else self.lane_top + HEADER_HEIGHT
        self.lanes = [
            Box(x - LANE_PADDING, self.lane_top, width + 2 * LANE_PADDING, bottom - self.lane_top)
            for x, width in zip(self.lefts, self.widths, strict=True)
        ]
        self.headers = [
            Box(lane.left, lane.top, text_width(header, LABEL_SIZE) + LANE_PADDING, HEADER_HEIGHT - 4)
            for lane, header in zip(self.lanes, picture.columns, strict=True)
        ]
        leaving = Counter(arrow.source for arrow in picture.arrows)
        width = max((max(text_width(n.label, LABEL_SIZE) + 24, 18 * leaving[n.event]) for n in initial), default=0)
        step = max(width + 40, span / max(1, len(initial)))
        start = span / 2 - step * (len(initial) - 1) / 2 - width / 2
        places = {
            node.event: place for place, node in enumerate(sorted(initial, key=lambda node: self._pull(node.event)))
        }
        self.boxes = [
            Box(start + step * places[node.event], 0, width, BOX_HEIGHT) if node.column is None
            else Box(self.lefts[node.column], self.row_top(node.row), self.widths[node.column], BOX_HEIGHT)
            for node in picture.nodes
        ]  # fmt: skip

    def row_top(self, row: int) -> float:
        return self.lane_top + HEADER_HEIGHT + row * (BOX_HEIGHT + ROW_GAP)

    def passages(self) -> Iterator[float]:
        """Heights at which an arrow can cross columns: above all, between two rows, below all."""
        for away in (12, 26):
            yield self.lane_top - away
            yield self.lanes[0].bottom + away
        for row, shift in product(range(1, self.rows), (-16, 0, 16)):
            yield self.row_top(row) - ROW_GAP / 2 + shift

    def _width(self, column: int) -> float:
        texts = [text_width(self.picture.columns[column], LABEL_SIZE) - 6]
        for node in self.picture.nodes:
            if node.column == column:
                texts += [text_width(node.label, LABEL_SIZE), text_width(node.instruction, SMALL_SIZE)]
        return max(texts) + 24

    def _gutter(self, column: int) -> float:
        """The space after a column: more if more arrows need it."""
        crossing, widest = 0.0, 0.0
        for arrow in self.picture.arrows:
            one, other = (self.picture.nodes[end].column for end in (arrow.source, arrow.target))
            if one is None or other is None:
                crossing += 0.5 if column in (one, other) else 0
            elif min(one, other) <= column < max(one, other):
                crossing += 1
                widest = max(widest, text_width(arrow.relation, SMALL_SIZE))
        return 2 * LANE_PADDING + max(70.0, widest + 30) + min(15 * crossing, 150)

    def _pull(self, event: int) -> tuple[float, int]:
        """Where the arrows of an initial write go, so that it can stand above."""
        columns = [
            self.picture.nodes[arrow.target].column or 0 for arrow in self.picture.arrows if arrow.source == event
        ]
        return (sum(columns) / len(columns) if columns else 0.0), event


@dataclass(frozen=True, slots=True)
class _Way:
    """A way for an arrow to go: its curve, the cells on it, places for its label (with what each costs), its cost."""

    curve: tuple[Point, ...]
    trail: tuple[Cell, ...]
    labels: tuple[tuple[float, Box], ...]
    ends: tuple[Point, Point]
    cost: float


class _Router:
    """Routes for all arrows."""

    def __init__(self, picture: Picture, grid: _Grid) -> None:
        self.picture = picture
        self.grid = grid
        self.used: Counter[Cell] = Counter()
        self.covered: Counter[Cell] = Counter()
        self.chosen: dict[int, tuple[_Way, Box]] = {}

    def routes(self) -> list[Route]:
        choices = [self._choices(arrow) for arrow in self.picture.arrows]
        order = sorted(range(len(choices)), key=lambda index: choices[index][0].cost)
        for _ in range(ROUNDS):
            for index in order:
                if index in self.chosen:
                    self._mark(*self.chosen.pop(index), -1)
                _, way, label = min((self._crowding(way) for way in choices[index]), key=lambda found: found[0])
                self.chosen[index] = way, label
                self._mark(way, label, 1)
        for index in order:
            way, label = self.chosen.pop(index)
            self._mark(way, label, -1)
            label = self._best_label(way)[1]
            self.chosen[index] = way, label
            self._mark(way, label, 1)
        found = [self.chosen[index] for index in range(len(choices))]
        return [Route(way.curve, _head(way.curve), label) for way, label in found]

    def _mark(self, way: _Way, label: Box, by: int) -> None:
        for cell in _swollen(way.trail):
            self.used[cell] += by
        for cell in way.trail:
            self.used[cell] += 2 * by
        for cell in _cells_of(label):
            self.covered[cell] += by

    def _crowding(self, way: _Way) -> tuple[float, _Way, Box]:
        """The cost of a way beside all that is there now, and the best place for its label."""
        used, covered = self.used, self.covered
        cost = way.cost
        for cell in way.trail:
            if cell in used:
                cost += 8 * used[cell]
            if cell in covered:
                cost += 150 * covered[cell]
        for other, _ in self.chosen.values():
            for p, q in product(way.ends, other.ends):
                apart = abs(p[0] - q[0]) + abs(p[1] - q[1])
                cost += 60 * (HEAD - apart) if apart < HEAD else 0
        best, label = self._best_label(way)
        return cost + best, way, label

    def _best_label(self, way: _Way) -> tuple[float, Box]:
        used, covered = self.used, self.covered
        return min(
            ((extra + sum(30 * used[c] + 300 * covered[c] for c in _cells_of(box)), box) for extra, box in way.labels),
            key=lambda found: found[0],
        )

    def _choices(self, arrow: Arrow) -> list[_Way]:
        """The ways that are cheapest by themselves."""
        ways = [self._way(arrow, _curve(stops, bend)) for stops, bend in self._ways(arrow)]
        return sorted(ways, key=lambda way: way.cost + way.labels[0][0])[:ROUTES]

    def _way(self, arrow: Arrow, curve: tuple[Point, ...]) -> _Way:
        points = _sampled(curve)
        hull = _hull(curve)
        cost = 0.25 * sum(hypot(q[0] - p[0], q[1] - p[1]) for p, q in pairwise(points))
        for number, box in enumerate(self.grid.boxes):
            if box.meets(hull, 7):
                margin = -1 if number in (arrow.source, arrow.target) else 7
                cost += 500 * sum(box.holds(point, margin) for point in points)
        for header in self.grid.headers:
            if header.meets(hull, 4):
                cost += 200 * sum(header.holds(point, 4) for point in points)
        trail = tuple(dict.fromkeys((round(x / CELL), round(y / CELL)) for x, y in points))
        return _Way(curve, trail, tuple(self._labels(arrow, points)), (curve[0], _head(curve)[0]), cost)

    def _labels(self, arrow: Arrow, points: list[Point]) -> Iterator[tuple[float, Box]]:
        width = text_width(arrow.relation, SMALL_SIZE) + 6
        for share in (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82):
            x, y = points[round(share * (len(points) - 1))]
            label = Box(x - width / 2, y - 8, width, 16)
            blocked = any(box.meets(label, 2) for box in (*self.grid.boxes, *self.grid.headers))
            yield 40 * abs(share - 0.49) + 700 * blocked, label

    def _ways(self, arrow: Arrow) -> Iterator[tuple[list[Stop], float]]:
        """Ways to go: stops, and how far the curve bends out (0: as far as the next stop asks)."""
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
        """From column to column: directly, or past the columns between through a gap between rows.

        Arrows that go beside others leave and arrive at the same height of their boxes, so that they need not cross.
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
        yield _line(one.port(side, share), other.port(back, share)), 0


def _beside(one: Box, other: Box, sides: tuple[Point, ...]) -> Iterator[tuple[list[Stop], float]]:
    """Out of a side and back into the same side of another box."""
    leaves, arrivals = ((0.1, 0.2), (0.8, 0.9)) if one is other else ((0.3, 0.5, 0.7), (0.3, 0.5, 0.7))
    for side, leave, arrive, bend in product(sides, leaves, arrivals, (36, 54, 72, 96, 120)):
        yield [(one.port(side, leave), side), (other.port(side, arrive), (-side[0], -side[1]))], bend


def _line(start: Point, end: Point) -> list[Stop]:
    x, y = end[0] - start[0], end[1] - start[1]
    length = hypot(x, y) or 1
    return [(start, (x / length, y / length)), (end, (x / length, y / length))]


def _curve(stops: list[Stop], bend: float) -> tuple[Point, ...]:
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


def _head(curve: tuple[Point, ...]) -> tuple[Point, Point, Point]:
    (x, y), (before_x, before_y) = curve[-1], curve[-2]
    length = hypot(x - before_x, y - before_y) or 1
    dx, dy = (x - before_x) / length, (y - before_y) / length
    half = HEAD * 0.4
    return (x + dx * HEAD, y + dy * HEAD), (x - dy * half, y + dx * half), (x + dy * half, y - dx * half)


def _hull(curve: tuple[Point, ...]) -> Box:
    """A box that holds the whole curve."""
    xs, ys = [x for x, _ in curve], [y for _, y in curve]
    return Box(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))


def _sampled(curve: tuple[Point, ...], steps: int = 18) -> list[Point]:
    points = [curve[0]]
    for start in range(0, len(curve) - 1, 3):
        a, b, c, d = curve[start : start + 4]
        for step in range(1, steps + 1):
            t = step / steps
            u = 1 - t
            k, m, n, o = u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t
            points.append((k * a[0] + m * b[0] + n * c[0] + o * d[0], k * a[1] + m * b[1] + n * c[1] + o * d[1]))
    return points


def _cells_of(box: Box) -> Iterator[Cell]:
    for x in range(round(box.left / CELL), round(box.right / CELL) + 1):
        for y in range(round(box.top / CELL), round(box.bottom / CELL) + 1):
            yield x, y


def _swollen(trail: tuple[Cell, ...]) -> set[Cell]:
    """The cells of a trail and those beside them."""
    return {(x + dx, y + dy) for x, y in trail for dx, dy in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))}
