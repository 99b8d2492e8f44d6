"""Edges: the steps a cycle is made of, each a potential relaxation between two accesses."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.litmus.access import ACCESS_SCOPES, MEMBAR_WORDS, Access, CacheOperator, Order, ScalarType, Scope, Space
from gpudiy.litmus.instruction import AtomicOperation, Fence, FenceKind

READ, WRITE = "R", "W"
INTERNAL = "i"
LEVELS = "twlckd"  # what separates two threads, innermost first
LEVEL_MEANINGS = {
    "i": "in one thread",
    "t": "between threads of one warp",
    "w": "between warps of one CTA",
    "l": "between CTAs of one cluster",
    "c": "between CTAs of one kernel",
    "k": "between kernels",
    "d": "between devices",
}
SPACES = {"g": Space.GLOBAL, "s": Space.SHARED}
INSIDE_A_CTA = "itw"  # the levels that shared space can be reached across

ATOMIC_MARK = ".atom"
DEFAULT_MARKS = {"g": "l2", "s": ".weak"}


@dataclass(frozen=True, slots=True)
class End:
    """The access at one end of an edge. An empty `space` or `mark` is open: it can be filled in later.

    `mark` is the strength of the access: `l1` or `l2` (a cache operator), `.weak`, `.volatile`, an order with its scope
    such as `.release.gpu`, or `.atom` for one half of an atomic, `.atom_acquire.cta` if it is not relaxed.gpu.
    """

    direction: str
    space: str = ""
    mark: str = ""

    @property
    def open(self) -> bool:
        return not self.space or not self.mark

    @property
    def atomic(self) -> bool:
        return self.mark.startswith(ATOMIC_MARK)

    @property
    def name(self) -> str:
        return self.direction + self.space + self.mark


def access_of(end: End, operation: AtomicOperation | None = None) -> Access:
    """The attributes of the instruction for this access; `operation` is that of an atomic."""
    space = Space.SHARED if end.space == "s" else None  # global is the default of the format
    if end.mark in ("l1", "l2"):
        first_level = CacheOperator.CA if end.direction == READ else CacheOperator.WB
        return Access(space=space, cache=first_level if end.mark == "l1" else CacheOperator.CG)
    if end.atomic:
        order, scope = (end.mark.removeprefix(ATOMIC_MARK)[1:] or "relaxed.gpu").split(".")
        type = ScalarType.S32 if operation is AtomicOperation.ADD else ScalarType.B32
        return Access(type=type, order=Order(order), scope=Scope[scope.upper()], space=space)
    order, _, scope = end.mark[1:].partition(".")
    return Access(order=Order(order), scope=Scope[scope.upper()] if scope else None, space=space)


def _add_scopes(*orders: str) -> tuple[str, ...]:
    return tuple(f"{order}.{scope.word}" for order in orders for scope in ACCESS_SCOPES)


PLAIN_MARKS = {
    READ: ("l1", "l2", ".weak", ".volatile", *_add_scopes(".relaxed", ".acquire")),
    WRITE: ("l1", "l2", ".weak", ".volatile", *_add_scopes(".relaxed", ".release")),
}
ATOMIC_MARKS = (
    ATOMIC_MARK,
    *(
        f"{ATOMIC_MARK}_{words}"
        for words in _add_scopes("relaxed", "acquire", "release", "acq_rel")
        if words != "relaxed.gpu"  # written as `.atom` alone
    ),
)


@dataclass(frozen=True, slots=True)
class Means:
    """How a program-order edge joins its accesses: by a fence, a dependency, a barrier, an atomic, or nothing."""

    name: str  # in the name of an edge
    word: str  # in the name of a test
    meaning: str
    dependency: str = ""  # addr, data or ctrl
    fence: Fence | None = None
    barrier: bool = False
    operation: AtomicOperation | None = None

    @property
    def atomic(self) -> bool:
        return self.operation is not None

    def joins(self, source: str, target: str) -> bool:
        """Whether these means can join accesses of these directions."""
        if self.atomic:
            return source == READ and target == WRITE
        if self.dependency:
            return source == READ and (target == WRITE or self.dependency != "data")
        return True


@dataclass(frozen=True, slots=True)
class Communication:
    """Rf, Fr or Co between two accesses to one location, in one thread or across exactly one level of the tree."""

    relation: str
    level: str
    source: End
    target: End

    @property
    def external(self) -> bool:
        return self.level != INTERNAL

    @property
    def same_location(self) -> bool:
        return True

    @property
    def name(self) -> str:
        return f"{self.relation}-{self.level}-{self.source.space}{self.source.mark}{self.target.mark}"

    @property
    def meaning(self) -> str:
        what = {"Rf": "a read from a write", "Fr": "a read before a write", "Co": "a write before a write"}
        return f"{what[self.relation]}, {LEVEL_MEANINGS[self.level]}"


@dataclass(frozen=True, slots=True)
class ProgramOrder:
    """Two accesses of one thread, one after the other."""

    means: Means
    same_location: bool
    source: End
    target: End

    @property
    def external(self) -> bool:
        return False

    @property
    def name(self) -> str:
        place = "s" if self.same_location else "d"
        return f"{self.means.name}-{place}-{self.source.name}-{self.target.name}"

    @property
    def meaning(self) -> str:
        place = "the same location" if self.same_location else "different locations"
        words = {READ: "a read", WRITE: "a write"}
        source, target = words[self.source.direction], words[self.target.direction]
        return f"{source}, then {target}, {place}, {self.means.meaning}"


Edge = Communication | ProgramOrder
DIRECTIONS = {"Rf": (WRITE, READ), "Fr": (READ, WRITE), "Co": (WRITE, WRITE)}


def _list_means() -> dict[str, Means]:
    fences = [
        Means(f"M{short}", f"membar.{short}", f"membar.{short} between", fence=Fence(FenceKind.MEMBAR, scope))
        for short, scope in MEMBAR_WORDS.items()
    ]
    for kind in (FenceKind.SC, FenceKind.ACQ_REL):
        for scope in ACCESS_SCOPES:
            word = f"fence.{kind}.{scope.word}"
            fences.append(Means(f"Fence.{kind}.{scope.word}", word, f"{word} between", fence=Fence(kind, scope)))
    dependencies = [
        Means("DpAddr", "addr", "the read decides the address", dependency="addr"),
        Means("DpData", "data", "the read decides the value", dependency="data"),
        Means("DpCtrl", "ctrl", "the read decides a branch", dependency="ctrl"),
    ]
    both = [
        Means(f"Ctrl+{m.name}", f"ctrl{m.word}", f"the read decides a branch, then {m.word}", "ctrl", m.fence)
        for m in fences
    ]
    atomics = [
        Means(f"Rmw.{operation}", f"rmw.{operation}", f"both halves of one atom.{operation}", operation=operation)
        for operation in (AtomicOperation.CAS, AtomicOperation.EXCH, AtomicOperation.ADD)
    ]
    barrier = Means("Bar", "bar", "bar.sync between", barrier=True)
    everything = [Means("Po", "po", "nothing between"), *fences, *dependencies, *both, barrier, *atomics]
    return {means.name: means for means in everything}


MEANS = _list_means()


def is_open(edge: Edge) -> bool:
    """Whether a space or a mark of the edge must still be filled in."""
    return edge.source.open or edge.target.open


def fault_of(edge: Edge) -> str | None:
    """Why such an edge cannot exist, whatever its open ends are filled with; None if it can."""
    spaces = {edge.source.space, edge.target.space} - {""}
    if isinstance(edge, Communication):
        if "s" in spaces and edge.level not in INSIDE_A_CTA:
            return "shared space cannot be reached from another CTA"
    else:
        source, target = edge.source.direction, edge.target.direction
        if not edge.means.joins(source, target):
            return f"{edge.means.word} cannot join {source} to {target}"
        if edge.means.atomic and not edge.same_location:
            return "an atomic accesses one location"
        if edge.means.atomic and not _one_atomic(edge.source, edge.target):
            return "both halves of an atomic must have the same mark"
        if edge.same_location and len(spaces) > 1:
            return "a location has one space"
    return None


def _one_atomic(source: End, target: End) -> bool:
    marks = {source.mark, target.mark} - {""}
    return len(marks) < 2 and all(mark.startswith(ATOMIC_MARK) for mark in marks)
