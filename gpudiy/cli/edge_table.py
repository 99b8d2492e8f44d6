"""Print the vocabulary of `gpudiy generate` as tables."""

from __future__ import annotations

from collections.abc import Iterable

from gpudiy.aligned_text import align_columns
from gpudiy.diy.edge import ATOMIC_MARKS, LEVEL_MEANINGS, PLAIN_MARKS
from gpudiy.diy.families import FAMILIES
from gpudiy.diy.vocabulary import outline

ACCESSES = (
    ("R, W", "a read, a write; * is either"),
    ("g, s", "in global space, in shared space (one CTA only); * is either"),
    ("l2", "cached in L2: ld.cg, st.cg; the default in global space"),
    ("l1", "cached in L1: ld.ca, st.wb"),
    (".weak", "no cache operator; the default in shared space"),
    (".volatile", "ld.volatile, st.volatile"),
    (".ORDER.SCOPE", f"a PTX order and scope; reads: {', '.join(PLAIN_MARKS['R'][4:])}"),
    ("", f"writes: {', '.join(PLAIN_MARKS['W'][4:])}"),
    (ATOMIC_MARKS[0], "one half of an atomic, relaxed.gpu"),
    (".atom_ORDER.SCOPE", f"one half of an atomic of another order: {', '.join(ATOMIC_MARKS[1:4])}, …"),
)


def print_tables() -> None:
    """Print every edge with its shorthand and meaning, then levels, accesses and families."""
    _print_table("Edges (accesses left open)", ("name", "shorthand", "meaning"), outline())
    _print_table("Levels of communications", ("level", "meaning"), [*LEVEL_MEANINGS.items(), ("*", "all but i")])
    _print_table("Accesses, as in Po-d-Wgl2-Rg.acquire.gpu and Rf-c-gl2.acquire.gpu", ("part", "meaning"), ACCESSES)
    _print_table("Families", ("name", "meaning"), ((family.name, family.meaning) for family in FAMILIES.values()))


def _print_table(title: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    table = [heads, *rows]
    rule = tuple("-" * max(map(len, column)) for column in zip(*table, strict=True))
    print(title)
    print(align_columns([heads, rule, *table[1:]], indent="  "))
    print()
