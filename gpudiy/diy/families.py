"""Named families of tests."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.diy.cycle import DEFAULT_LIMITS, CycleLimits
from gpudiy.diy.edge import LEVELS
from gpudiy.diy.generator import Recipe, Trees
from gpudiy.diy.one_cycle import parse_cycle
from gpudiy.diy.vocabulary import fill_open_ends, parse_edges
from gpudiy.errors import InputError, near_name
from gpudiy.litmus.access import ACCESS_SCOPES


@dataclass(frozen=True, slots=True)
class Family:
    """A family: its edges by name, its limits, and whether its tests get all scope trees."""

    name: str
    meaning: str
    edges: str
    limits: CycleLimits = DEFAULT_LIMITS
    trees: Trees = Trees.ONE
    levels: str = LEVELS
    cycles: tuple[str, ...] = ()

    def recipe(self) -> Recipe:
        edges = fill_open_ends(parse_edges(self.edges, self.name).edges)
        cycles = tuple(parse_cycle(cycle, self.name) for cycle in self.cycles)
        return Recipe(edges, limits=self.limits, trees=self.trees, levels=self.levels, cycles=cycles)


def _thesis_edges() -> str:
    """All accesses are `.cg`, in either space; the fences are membar.cta and membar.gl."""
    orders = [f"{kind}-*-*{one}l2-*{other}l2" for kind in ("Po", "Mcta", "Mgl") for one in "gs" for other in "gs"]
    levels = [f"{level}-g" for level in "wckd"] + ["w-s"]
    return " ".join(orders + [f"{relation}-{place}l2l2" for relation in ("Rf", "Fr", "Co") for place in levels])


def _modern_edges() -> str:
    """Release last, acquire first, or a fence between relaxed accesses; one scope per thread."""
    names = ["Rf-*-g", "Fr-*-g", "Co-*-g"]
    for scope in (scope.word for scope in ACCESS_SCOPES):
        first = {"W": ("relaxed",), "R": ("relaxed", "acquire")}
        last = {"W": ("relaxed", "release"), "R": ("relaxed",)}
        names += [
            f"Po-d-{one}g.{order}.{scope}-{other}g.{next_order}.{scope}"
            for one in "RW"
            for other in "RW"
            for order in first[one]
            for next_order in last[other]
        ]
        names += [f"Fence.{kind}.{scope}-d-*g.relaxed.{scope}-*g.relaxed.{scope}" for kind in ("sc", "acq_rel")]
    return " ".join(names)


_FAMILIES = (
    Family("classic", "the classic tests with membar.gl or nothing", "Pod** MembarGld** Rfe Fre Coe"),
    Family(
        "thesis",
        "the edges of the thesis, .cg only: two fences, two spaces, four levels",
        _thesis_edges(),
        trees=Trees.ALL,
        levels="wckd",
    ),
    Family(
        "dependencies",
        "address, data and control dependencies, alone and with a fence",
        "Pod** MembarGld** DpAddrd* DpDatadW DpCtrld* CtrlMembarGld* Rfe Fre Coe",
    ),
    Family(
        "rmw",
        "atom.cas, atom.exch and atom.add among plain accesses",
        "Pod** MembarGld** RmwCas RmwExch RmwAdd Rfe Fre Coe",
        CycleLimits(edges=6, threads=3),
    ),
    Family(
        "scoped",
        "every mix of what separates the threads and how far a fence reaches",
        "Pod** Membar*d** Rf-* Fr-* Co-*",
        CycleLimits(edges=6, threads=3),
        Trees.ALL,
    ),
    Family(
        "modern",
        "acquire, release, fence.sc and fence.acq_rel of every scope, two threads",
        _modern_edges(),
        CycleLimits(edges=4, threads=2),
        Trees.ALL,
    ),
    Family(
        "coherence",
        "one location, with a fence or nothing, from one thread on",
        "Pos** MembarGls** Rfe Fre Coe Rfi Fri Coi",
        CycleLimits(edges=5, threads=3, locations=1, least_threads=1),
        cycles=("Coe PosWR Fre", "Coe MembarGlsWR Fre"),  # CoWR is classic, but not a critical cycle
    ),
)
FAMILIES = {family.name: family for family in _FAMILIES}


def find_family(name: str) -> Family:
    """The family with this name; raises `InputError` if there is none."""
    if name not in FAMILIES:
        hint = near_name(name, tuple(FAMILIES)) or f"families are {', '.join(FAMILIES)}"
        raise InputError(f"there is no family {name!r}", hint=hint)
    return FAMILIES[name]
