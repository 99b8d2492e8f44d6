"""The second check: the loops by which a harness stresses memory are still there, accesses and all.

A stressing function stores values that carry the number of their pattern; see `optcheck.literal.stress_literal`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from optcheck.finding import Check, Deviation, Finding
from optcheck.graph import Graph
from optcheck.listing import SassFunction
from optcheck.literal import stress_pattern
from optcheck.sass import Touch
from optcheck.values import Values

CALLS = frozenset({"CALL", "JCAL", "CAL"})
PATTERNS = {0: ("store", "store"), 1: ("store", "load"), 2: ("load", "store"), 3: ("load", "load")}


def check_stress(function: SassFunction) -> Check | None:
    """Whether all patterns of a stressing function are in loops; None for a function that does not stress."""
    if not any(stress_pattern(instruction.literal or 0) is not None for instruction in function.instructions):
        return None
    there = stress_patterns(function)
    deviations = tuple(
        Deviation(Finding.REMOVED, f"the stress pattern {'-'.join(kinds)} has no loop with its accesses")
        for pattern, kinds in PATTERNS.items()
        if pattern not in there
    )
    finding = Finding.REMOVED if deviations else Finding.UNCHANGED
    return Check(function.name, finding, deviations, architecture=function.architecture)


def check_harness(functions: Sequence[SassFunction], kernel: str, ways: Iterable[str]) -> tuple[Deviation, ...]:
    """What is wrong with the stress of a whole harness.

    `kernel` is what the names of its kernels begin with; each must call functions with the names `ways` in theirs, and
    these the function with the loops.
    """
    checks = {function.name: check for function in functions if (check := check_stress(function)) is not None}
    if not checks:
        return (Deviation(Finding.REMOVED, "no loop that stresses memory is in the binary"),)
    deviations = [deviation for check in checks.values() for deviation in check.deviations]
    calls = {function.name: _called(function) for function in functions}
    kernels = [name for name in calls if name.startswith(kernel)]
    if not kernels:
        deviations.append(Deviation(Finding.UNVERIFIABLE, f"there is no kernel {kernel} in the binary"))
    for name, way in ((name, way) for name in kernels for way in ways):
        if not any(way in called and calls.get(called, set()) & set(checks) for called in calls[name]):
            deviations.append(Deviation(Finding.REMOVED, f"{name} does not stress memory by way of {way}"))
    return tuple(deviations)


def _called(function: SassFunction) -> set[str]:
    """The names of the functions that a function calls."""
    return {
        name
        for index, names in function.named_targets.items()
        if function.instructions[index].opcode in CALLS
        for name in names
    }


def stress_patterns(function: SassFunction) -> frozenset[int]:
    """The patterns whose two accesses stand in a loop, to one place each time."""
    values = Values(Graph(function))
    found = {_pattern(values, block) for block in _loop_blocks(values.graph)}
    return frozenset(pattern for pattern in found if pattern is not None)


def _loop_blocks(graph: Graph) -> list[int]:
    """Blocks that can run again after themselves."""
    found = []
    for block in range(len(graph.starts)):
        waiting, seen = list(graph.successors[block]), set()
        while waiting:
            current = waiting.pop()
            if current == block:
                found.append(block)
                break
            if current not in seen:
                seen.add(current)
                waiting += graph.successors[current]
    return found


def _pattern(values: Values, block: int) -> int | None:
    """The pattern that the accesses of a block are."""
    touches = [
        index
        for index in range(values.graph.starts[block], values.graph.ends[block])
        if values.instructions[index].touch in (Touch.LOAD, Touch.STORE)
    ]
    if len(touches) < 2 or len({_place(values, index) for index in touches}) != 1:
        return None
    kinds = [values.instructions[index].touch for index in touches]
    stores = [index for index in touches if values.instructions[index].touch is Touch.STORE]
    marks = {values.nodes.node(values.stored(index)[0]) for index in stores}
    if not marks:
        return 3
    (mark, *others) = marks
    pattern = stress_pattern(mark[1]) if mark[0] == "number" and not others else None
    if pattern is None or (kinds[0], kinds[1]) != tuple(map(Touch, PATTERNS.get(pattern, ("load", "load")))):
        return None
    return pattern


def _place(values: Values, index: int) -> tuple[object, ...]:
    address = values.instructions[index].address
    return (index,) if address is None else (address.offset, *values.address(address, index))
