"""Positions of the boxes and lanes of a picture, and the free channels between them. Lengths are in pixels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from gpudiy.pictures.picture import Picture

CHARACTER = 0.602  # the width of a character of a fixed-width font, as a share of the font size
TITLE_SIZE, LABEL_SIZE, SMALL_SIZE = 18, 14, 11
BOX_HEIGHT, ROW_GAP, LANE_PADDING, HEADER_HEIGHT, MARGIN = 44, 58, 14, 30, 24

Point = tuple[float, float]
RIGHT, LEFT, DOWN, UP = (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle; y grows downwards."""

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
        """The point on one side of the box, at this share of its length."""
        if side in (LEFT, RIGHT):
            return (self.right if side == RIGHT else self.left), self.top + share * self.height
        return self.left + share * self.width, (self.bottom if side == DOWN else self.top)


def text_width(text: str, size: float) -> float:
    """The width of a text in the fixed-width font, in pixels."""
    return len(text) * size * CHARACTER


class Grid:
    """Boxes, lanes and the free channels between them."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        threads = range(len(picture.columns))
        self.rows = max((node.row + 1 for node in picture.nodes if node.column is not None), default=0)
        initial = [node for node in picture.nodes if node.column is None]
        self.lane_top: float = BOX_HEIGHT + ROW_GAP + 12 if initial else 0
        self.widths = [self._column_width(column) for column in threads]
        self.lefts: list[float] = []
        left = 0.0
        for column in threads:
            self.lefts.append(left)
            left += self.widths[column] + self._gutter_width(column)
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
            node.event: place
            for place, node in enumerate(sorted(initial, key=lambda node: self._order_above(node.event)))
        }
        self.boxes = [
            Box(start + step * places[node.event], 0, width, BOX_HEIGHT) if node.column is None
            else Box(self.lefts[node.column], self.row_top(node.row), self.widths[node.column], BOX_HEIGHT)
            for node in picture.nodes
        ]  # fmt: skip

    def row_top(self, row: int) -> float:
        return self.lane_top + HEADER_HEIGHT + row * (BOX_HEIGHT + ROW_GAP)

    def passages(self) -> Iterator[float]:
        """Heights at which an arrow can cross columns: above all rows, between two rows, below all rows."""
        for away in (12, 26):
            yield self.lane_top - away
            yield self.lanes[0].bottom + away
        for row, shift in product(range(1, self.rows), (-16, 0, 16)):
            yield self.row_top(row) - ROW_GAP / 2 + shift

    def _column_width(self, column: int) -> float:
        texts = [text_width(self.picture.columns[column], LABEL_SIZE) - 6]
        for node in self.picture.nodes:
            if node.column == column:
                texts += [text_width(node.label, LABEL_SIZE), text_width(node.instruction, SMALL_SIZE)]
        return max(texts) + 24

    def _gutter_width(self, column: int) -> float:
        """The space to the right of a column; it grows with the number of arrows that cross it."""
        crossing, widest = 0.0, 0.0
        for arrow in self.picture.arrows:
            one, other = (self.picture.nodes[end].column for end in (arrow.source, arrow.target))
            if one is None or other is None:
                crossing += 0.5 if column in (one, other) else 0
            elif min(one, other) <= column < max(one, other):
                crossing += 1
                widest = max(widest, text_width(arrow.relation, SMALL_SIZE))
        return 2 * LANE_PADDING + max(70.0, widest + 30) + min(15 * crossing, 150)

    def _order_above(self, event: int) -> tuple[float, int]:
        """Sort key that puts an initial write above the columns that its arrows lead to."""
        columns = [
            self.picture.nodes[arrow.target].column or 0 for arrow in self.picture.arrows if arrow.source == event
        ]
        return (sum(columns) / len(columns) if columns else 0.0), event
