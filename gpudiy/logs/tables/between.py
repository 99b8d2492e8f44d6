"""What is between the accesses of a test's threads: fences and dependencies, in the words of test names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import Scope
from gpudiy.litmus.dependencies import thread_dependencies
from gpudiy.litmus.test import Test, Thread
from gpudiy.litmus.traits import opcode_of, traits_of

PLAIN = "po"
CLASSIC_BASE = r"2\+2W|WRW\+2W|WRW\+WR|WRR\+2W|W\+RWC|[^+]+"  # classic names that hold a plus, and all others


@dataclass(frozen=True, slots=True)
class Between:
    """A test as a place in a grid: the grid it belongs to, and a word for each thread with two accesses or more."""

    shape: str
    words: tuple[str, ...]


def between(test: Test) -> Between | None:
    """The place of a test in a grid, by its instructions; None if no thread has two accesses."""
    threads = [_accesses(thread) for thread in test.threads]
    words = tuple(_word(thread) for thread in test.threads if len(_accesses(thread)) > 1)
    if not words:
        return None
    kinds = " | ".join(" ".join(_kind(instruction) for instruction in accesses) for accesses in threads)
    spaces = sorted({str(variable.space) for variable in test.memory_map.variables})
    return Between(f"{_base(test, threads)}: {kinds}, {_placement(test)}, {' and '.join(spaces)}", words)


def between_of_name(name: str) -> Between | None:
    """The place of a test in a grid, by its name alone, such as `MP+membar.gl+addr-p0:p1`."""
    place = re.search(r"-p0[\w:]*(?:-[xyzvw]\w*)?$", name)
    stem = name[: place.start()] if place else name
    found = re.match(rf"({CLASSIC_BASE})((?:\+[^+]+)*)$", stem)
    if found is None or not found[1]:
        return None
    words = [word for word in found[2].split("+") if word]
    if not words:
        words = [PLAIN, PLAIN]
    elif len(words) == 1:
        words = [words[0].removesuffix("s") if not words[0].endswith(".sys") else words[0]] * 2
    return Between(found[1] + (f", {place[0][1:]}" if place else ""), tuple(words))


def _accesses(thread: Thread) -> list[isa.MemoryInstruction]:
    return [instruction for instruction in thread if isinstance(instruction, isa.MemoryInstruction)]


def _base(test: Test, threads: list[list[isa.MemoryInstruction]]) -> str:
    """The classic name for the directions of the threads, as the tests of a family are named."""
    from gpudiy.diy.naming import base_name

    shapes = [_direction(accesses) for accesses in threads]
    several = len(test.memory_map.variables) > 1
    return base_name([shape for shape in shapes if shape], several)


def _direction(accesses: list[isa.MemoryInstruction]) -> str:
    ends = accesses[:1] + accesses[-1:] if len(accesses) > 1 else accesses
    return "".join(traits_of(access).direction for access in ends)


def _kind(access: isa.MemoryInstruction) -> str:
    return re.sub(r"\.[subf]\d+$", "", opcode_of(access))


def _placement(test: Test) -> str:
    tree = test.scope_tree
    widest = max(
        (tree.smallest_common_scope(one, other) for one in range(len(test.threads)) for other in range(one)),
        default=Scope.WARP,
    )
    return {
        Scope.WARP: "intra-warp", Scope.CTA: "intra-CTA", Scope.CLUSTER: "intra-cluster", Scope.KERNEL: "inter-CTA",
        Scope.GPU: "inter-kernel", Scope.SYS: "inter-device",
    }[widest]  # fmt: skip


def _word(thread: Thread) -> str:
    """The words of each gap between two accesses, joined; `po` where there is nothing."""
    places = [index for index, instruction in enumerate(thread) if isinstance(instruction, isa.MemoryInstruction)]
    return "-".join(_gap(thread, first, last) for first, last in pairwise(places))


def _gap(thread: Thread, first: int, last: int) -> str:
    fences = [word for instruction in thread[first + 1 : last] if (word := _fence(instruction))]
    return _dependency(thread, first, last) + "-".join(fences) or PLAIN  # `ctrlmembar.gl`, as tests are named


def _fence(instruction: isa.Instruction) -> str:
    match instruction:
        case isa.Fence() | isa.ProxyFence():
            return opcode_of(instruction)
        case isa.Barrier():
            return "bar"
        case (
            isa.Load()
            | isa.Store()
            | isa.Atomic()
            | isa.Reduce()
            | isa.Alu()
            | isa.SetPredicate()
            | isa.Branch()
            | isa.Label()
        ):
            return ""


def _dependency(thread: Thread, first: int, last: int) -> str:
    """How the access `last` depends on what `first` read."""
    depends = thread_dependencies(thread)[last]
    if depends is None:
        return ""
    if depends.address >> first & 1:
        return "addr"
    if depends.data >> first & 1:
        return "data"
    return "ctrl" if depends.control >> first & 1 else ""
