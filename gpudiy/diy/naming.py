"""The names of tests: the classic name of the literature, and a suffix for each thread.

The shape of a thread is the directions of its first and of its last access. They determine the communication to the
next thread, so the shapes of all threads determine the classic name. The suffix names what is between the accesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpudiy.diy.edge import ATOMIC_MARK, DEFAULT_MARKS, Communication, Edge, End, ProgramOrder

SHAPE_ORDER = ("W", "WW", "RR", "RW", "WR")  # classic tests start with the first of these that they have
CLASSIC_NAMES = {
    "WW+RR": "MP",
    "WW+RW": "S",
    "WW+WR": "R",
    "W+RW+RR": "WRC",
    "W+RW+RW": "WWC",
    "W+RR+WR": "RWC",
    "W+RW+WR": "WRW+WR",
    "W+RW+WW": "WRW+2W",
    "W+RR+WW": "WRR+2W",
    "WW+RW+RR": "ISA2",
    "WW+RR+WR": "W+RWC",
    "WW+RW+WR": "Z6.0",
    "WW+WW+RW": "Z6.1",
    "WW+RW+RW": "Z6.2",
    "WW+WW+RR": "Z6.3",
    "WW+WR+WR": "Z6.4",
    "WW+WW+WR": "Z6.5",
    "W+RR+W+RR": "IRIW",
    "W+RR+W+RW": "IRRWIW",
    "W+RW+W+RW": "IRWIW",
}
ROUNDS = {"WR": "SB", "RW": "LB", "WW": "2W"}  # any number of threads, all of this shape
COHERENCE_NAMES = {"WW": "CoWW", "RW": "CoRW1", "WR": "CoWR0", "W+RR": "CoRR", "W+RW": "CoRW", "W+WR": "CoWR"}
PLAIN, PLAIN_SAME = "po", "pos"


class ThreadName(NamedTuple):
    """The part of one thread in the name of its test.

    `words` name what is between its accesses; `marked` also names every mark that is not the default.
    """

    shape: str
    words: str
    marked: str
    plain_marks: bool
    changes: int

    @property
    def rank(self) -> tuple[int, str]:
        return (SHAPE_ORDER.index(self.shape) if self.shape in SHAPE_ORDER else len(SHAPE_ORDER), self.shape)

    @property
    def word_rank(self) -> tuple[bool, str, str]:
        """Threads with something between their accesses come first, as in `SB+membar.gl+po`."""
        return (self.words in (PLAIN, PLAIN_SAME), self.words, self.marked)


def thread_name(edges: Sequence[Edge]) -> ThreadName:
    """The name of a thread, from the edges that start at its accesses; the last edge leaves the thread."""
    ends = [edge.source for edge in edges]
    first, last = ends[0].direction, ends[-1].direction
    words = [_word(edge) for edge in edges[:-1]]
    marks = ["" if end.mark in (DEFAULT_MARKS[end.space], ATOMIC_MARK) else _mark_word(end) for end in ends]
    marked: list[str] = []
    for position, mark in enumerate(marks):
        if mark and not _second_half(edges, position):
            marked.append(mark)
        if position < len(words):
            marked.append(words[position])
    return ThreadName(
        first if len(ends) == 1 else first + last,
        "-".join(words),
        "-".join(marked) or _mark_word(ends[0]),
        not any(marks),
        sum(not edge.same_location for edge in edges),
    )


def test_name(threads: Sequence[ThreadName]) -> str:
    """The name of a test without scope tree and memory map, for threads in their classic order."""
    plain = all(thread.plain_marks for thread in threads)
    suffixes = [word for thread in threads if (word := thread.words if plain else thread.marked)]
    several_locations = any(thread.changes for thread in threads)
    base = base_name([thread.shape for thread in threads], several_locations)
    if all(word == (PLAIN if several_locations else PLAIN_SAME) for word in suffixes):
        return base
    if len(suffixes) > 1 and len(set(suffixes)) == 1 and not suffixes[0].endswith("s"):
        return f"{base}+{suffixes[0]}s"
    return "+".join([base, *suffixes])


def base_name(shapes: Sequence[str], several_locations: bool = True) -> str:
    """The classic name for threads of these shapes, or the shapes themselves if there is none."""
    joined = "+".join(shapes)
    if not several_locations:
        return COHERENCE_NAMES.get(joined, f"Co{joined}")
    if len(set(shapes)) == 1 and shapes[0] in ROUNDS and len(shapes) > 1:
        word = ROUNDS[shapes[0]]
        if len(shapes) == 2:
            return "2+2W" if word == "2W" else word
        return f"{len(shapes)}.{word}"
    return CLASSIC_NAMES.get(joined, joined)


def _word(edge: Edge) -> str:
    if isinstance(edge, Communication):
        return f"{edge.relation.lower()}i"
    if edge.same_location and not edge.means.atomic:
        return PLAIN_SAME if edge.means.word == PLAIN else f"{edge.means.word}.same"
    return edge.means.word


def _mark_word(end: End) -> str:
    return end.mark.removeprefix(".").removeprefix("atom_")


def _second_half(edges: Sequence[Edge], position: int) -> bool:
    before = edges[position - 1] if position else None
    return isinstance(before, ProgramOrder) and before.means.atomic
