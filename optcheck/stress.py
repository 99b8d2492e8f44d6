"""The check of stress: the loops by which a harness stresses memory still contain their accesses.

A stressing function stores values that contain the number of their pattern; see `optcheck.literal.stress_literal`.
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
    """Check that all patterns of a stressing function are in loops; None if the function does not stress."""
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
    """Check the stress of a whole harness.

    The names of its kernels begin with `kernel`; each must call functions whose names contain the names `ways`, and
    these must call a function with the loops.
    """
    checks = {function.name: check for function in functions if (check := check_stress(function)) is not None}
    if not checks:
        return (Deviation(Finding.REMOVED, "the binary has no loop that stresses memory"),)
    deviations = [deviation for check in checks.values() for deviation in check.deviations]
    calls = {function.name: _list_calls(function) for function in functions}
    kernels = [name for name in calls if name.startswith(kernel)]
    if not kernels:
        deviations.append(Deviation(Finding.UNVERIFIABLE, f"the binary has no kernel {kernel}"))
    for name, way in ((name, way) for name in kernels for way in ways):
        if not any(way in called and calls.get(called, set()) & set(checks) for called in calls[name]):
            deviations.append(Deviation(Finding.REMOVED, f"{name} does not stress memory by way of {way}"))
    return tuple(deviations)


def _list_calls(function: SassFunction) -> set[str]:
    """The names of the functions that a function calls."""
    return {
        name
        for index, names in function.named_targets.items()
        if function.instructions[index].opcode in CALLS
        for name in names
    }


def stress_patterns(function: SassFunction) -> frozenset[int]:
    """The patterns whose two accesses are in a loop and access one place."""
    values = Values(Graph(function))
    found = {_match_pattern(values, block) for block in _loop_blocks(values.graph)}
    return frozenset(pattern for pattern in found if pattern is not None)


def _loop_blocks(graph: Graph) -> list[int]:
    """The blocks that are in a loop."""
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


def _match_pattern(values: Values, block: int) -> int | None:
    """The pattern of the accesses of a block; None if they have none."""
    touches = [
        index
        for index in range(values.graph.starts[block], values.graph.ends[block])
        if values.instructions[index].touch in (Touch.LOAD, Touch.STORE)
    ]
    if len(touches) < 2 or len({_accessed_place(values, index) for index in touches}) != 1:
        return None
    kinds = [values.instructions[index].touch for index in touches]
    stores = [index for index in touches if values.instructions[index].touch is Touch.STORE]
    marks = {values.nodes.node(values.stored_values(index)[0]) for index in stores}
    if not marks:
        return 3
    (mark, *others) = marks
    pattern = stress_pattern(mark[1]) if mark[0] == "number" and not others else None
    if pattern is None or (kinds[0], kinds[1]) != tuple(map(Touch, PATTERNS.get(pattern, ("load", "load")))):
        return None
    return pattern


def _accessed_place(values: Values, index: int) -> tuple[object, ...]:
    address = values.instructions[index].address
    return (index,) if address is None else (address.offset, *values.address(address, index))
