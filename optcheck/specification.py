"""`Specification`: the accesses, fences and dependencies that the SASS of a test must have."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import Access, Proxy, Space
from gpudiy.litmus.dependencies import branch_targets, list_reads, thread_dependencies
from gpudiy.litmus.flow import memory_uses
from gpudiy.litmus.test import Test, Thread
from optcheck.literal import POSITIONS, THREADS, Literal, type_number


class AccessKind(StrEnum):
    """The kind of an access, as messages name it."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"
    REDUCE = "reduction"


class DependencyKind(StrEnum):
    """The kind of a dependency, as messages name it."""

    ADDRESS = "addr"
    DATA = "data"
    CONTROL = "ctrl"


@dataclass(frozen=True, slots=True)
class ExpectedAccess:
    """An access of a thread: its instruction's index, and whether a branch or a guard may skip it."""

    position: int
    index: int
    kind: AccessKind
    space: Space | None
    access: Access
    operation: isa.AtomicOperation | None
    conditional: bool
    literal: Literal


@dataclass(frozen=True, slots=True)
class ExpectedFence:
    """A fence after the first `after` accesses of its thread and before the others."""

    index: int
    after: int
    fence: isa.Fence | isa.ProxyFence | isa.Barrier


@dataclass(frozen=True, slots=True)
class Dependency:
    """The access `target` depends on the value that the access `source` read."""

    kind: DependencyKind
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class ThreadSpecification:
    """The accesses, fences and dependencies of one thread."""

    thread: int
    accesses: tuple[ExpectedAccess, ...]
    fences: tuple[ExpectedFence, ...]
    dependencies: tuple[Dependency, ...]
    loops: bool  # some branch goes back
    literals_only: bool = False  # fences and dependencies are not known


@dataclass(frozen=True, slots=True)
class Specification:
    """The specification of a test; without threads, if a `problem` prevents it."""

    threads: tuple[ThreadSpecification, ...]
    problem: str = ""


def specify(test: Test) -> Specification:
    """Compute the specification of a test."""
    problem = _find_problem(test)
    if problem:
        return Specification((), problem)
    spaces = access_spaces(test)
    return Specification(
        tuple(
            _specify_thread(number, thread, tuple(spaces[number].items())) for number, thread in enumerate(test.threads)
        )
    )


def access_spaces(test: Test) -> list[dict[int, Space | None]]:
    """The space of every memory instruction, by thread and index: the stated one, or that of all its targets."""
    spaces: list[dict[int, Space | None]] = [{} for _ in test.threads]
    mapped = {variable.name: variable.space for variable in test.memory_map.variables}
    for use in memory_uses(test):
        touched = {mapped[name] for name in use.targets if name in mapped}
        known = touched.pop() if len(touched) == 1 else None
        spaces[use.thread][use.position] = use.instruction.access.space or known
    return spaces


def _find_problem(test: Test) -> str:
    if len(test.threads) > THREADS:
        return f"the test has {len(test.threads)} threads; literals can name {THREADS}"
    for number, thread in enumerate(test.threads):
        accesses = [instruction for instruction in thread if isinstance(instruction, isa.MemoryInstruction)]
        if len(accesses) > POSITIONS:
            return f"P{number} has {len(accesses)} accesses; literals can name {POSITIONS}"
        if any(instruction.access.proxy is not Proxy.GENERIC for instruction in accesses):
            return f"P{number} accesses memory through a proxy other than generic"
    return ""


@lru_cache(1 << 14)
def _specify_thread(
    number: int, thread: Thread, space_items: tuple[tuple[int, Space | None], ...]
) -> ThreadSpecification:
    """The specification of one thread; cached, because many tests share threads."""
    spaces = dict(space_items)
    regions = _branch_regions(thread)
    accesses: list[ExpectedAccess] = []
    fences: list[ExpectedFence] = []
    for index, instruction in enumerate(thread):
        if isinstance(instruction, isa.MemoryInstruction):
            position = len(accesses)
            conditional = isa.guard_of(instruction) is not None or any(index in region for _, region in regions)
            accesses.append(
                ExpectedAccess(
                    position,
                    index,
                    _kind_of(instruction),
                    spaces[index],
                    instruction.access,
                    instruction.operation if isinstance(instruction, (isa.Atomic, isa.Reduce)) else None,
                    conditional,
                    Literal(number, type_number(instruction), position),
                )
            )
        elif isinstance(instruction, (isa.Fence, isa.ProxyFence, isa.Barrier)):
            fences.append(ExpectedFence(index, len(accesses), instruction))
    loops = any(region and region.start <= branch for branch, region in regions)
    dependencies = _dependencies(thread, accesses, regions)
    return ThreadSpecification(number, tuple(accesses), tuple(fences), tuple(dependencies), loops)


def _kind_of(instruction: isa.MemoryInstruction) -> AccessKind:
    match instruction:
        case isa.Load():
            return AccessKind.LOAD
        case isa.Store():
            return AccessKind.STORE
        case isa.Atomic():
            return AccessKind.ATOMIC
        case isa.Reduce():
            return AccessKind.REDUCE


def _branch_regions(thread: Thread) -> list[tuple[int, range]]:
    """Every branch, and the instructions that run only if it is not taken, or again if it goes back."""
    return [
        (index, range(index + 1, target) if target > index else range(target, index + 1))
        for index, target in branch_targets(thread).items()
    ]


def _dependencies(thread: Thread, accesses: list[ExpectedAccess], regions: list[tuple[int, range]]) -> list[Dependency]:
    """The dependencies that the SASS must keep; a control dependency ends where the paths of its branch join."""
    positions = {access.index: access.position for access in accesses}
    found = thread_dependencies(thread)
    dependencies: list[Dependency] = []
    for access in accesses:
        depends = found[access.index]
        if depends is None:
            continue
        control = depends.guard
        for branch, region in regions:
            decided = found[branch]
            if decided is not None and branch < access.index and access.index in region:
                control |= decided.guard
        for kind, reads in (
            (DependencyKind.ADDRESS, depends.address),
            (DependencyKind.DATA, depends.data),
            (DependencyKind.CONTROL, control),
        ):
            dependencies += (Dependency(kind, positions[source], access.position) for source in list_reads(reads))
    return dependencies
