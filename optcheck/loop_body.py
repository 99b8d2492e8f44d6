"""What the loops of a function write."""

from __future__ import annotations

from functools import lru_cache

from optcheck.graph import Graph
from optcheck.sass import Touch
from optcheck.term import Term, symbol

Body = tuple[tuple[str, ...], tuple[int, ...]]  # what a loop writes: registers, and words of the stack


def find_loop_bodies(graph: Graph) -> dict[int, Body]:
    """For the head of each loop, the registers that the loop writes, and the words of the stack."""
    bodies: dict[int, set[int]] = {}
    for last, head in graph.back:
        body = bodies.setdefault(head, {head})
        waiting = [last]
        while waiting:
            block = waiting.pop()
            if block not in body:
                body.add(block)
                waiting += graph.predecessors[block]
    written = {}
    for head, body in bodies.items():
        names: dict[str, None] = {}
        places: dict[int, None] = {}
        for block in sorted(body):
            for instruction in graph.function.instructions[graph.starts[block] : graph.ends[block]]:
                if not instruction.changes_nothing:
                    names.update(instruction.cleared)
                if instruction.space == "local" and instruction.touch is Touch.STORE and instruction.address:
                    offset = instruction.address.offset
                    first = offset - (1 << 32) if offset >> 31 else offset
                    places |= {first + 4 * word: None for word in range(instruction.words)}
        written[head] = (tuple(names), tuple(places))
    return written


@lru_cache(1 << 12)
def unknown_words(loop: int, names: tuple[str, ...]) -> dict[str, Term]:
    """What is known of the words that a loop writes: nothing. The number of the loop on its path is in their names."""
    return {name: symbol("round", loop, name) for name in names}


def forget_unknown_words() -> None:
    """Forget terms that are no longer those of today."""
    unknown_words.cache_clear()
