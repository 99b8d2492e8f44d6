"""Dependencies: models, optcheck, simulated devices and tables read them off one analysis, so they agree."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from litmus_strategies import litmus_tests

from gpudiy.devices.simulation.program import SimulatedProgram
from gpudiy.litmus import read_test
from gpudiy.litmus.dependencies import branch_targets, list_reads, thread_dependencies
from gpudiy.litmus.instruction import Atomic, Branch, Fence, Load, MemoryInstruction, guard_of
from gpudiy.litmus.test import Test, Thread
from gpudiy.logs.tables.between import between
from gpudiy.models.path_runner import PathRunner
from gpudiy.models.problems import Undecidable
from optcheck.specification import specify

Found = set[tuple[str, int, int]]  # kind, the index of the read, the index of the access that depends on it


def static(thread: Thread) -> Found:
    found: Found = set()
    for index, depends in enumerate(thread_dependencies(thread)):
        if depends is not None and isinstance(thread[index], MemoryInstruction):
            for kind, reads in (("addr", depends.address), ("data", depends.data), ("ctrl", depends.control)):
                found |= {(kind, read, index) for read in list_reads(reads)}
    return found


def of_models(test: Test, number: int) -> Found:
    """All that some path of the thread depends on."""
    runner = PathRunner(test, number, test.memory_map.locations(), frozenset(), collapse=False)
    positions = {id(instruction): index for index, instruction in enumerate(runner.thread)}
    found: Found = set()
    for path in runner.paths(1, lambda: None):
        trace = path.trace
        places = [positions[id(event.instruction)] for event in trace.events]
        for kind, pairs in (("addr", trace.address), ("data", trace.data), ("ctrl", trace.control)):
            found |= {
                (kind, places[one], places[other])
                for one, other in pairs
                if isinstance(runner.thread[places[other]], MemoryInstruction)
            }
    return found


def of_optcheck(test: Test, number: int) -> Found:
    thread = specify(test).threads[number]
    return {
        (d.kind.value, thread.accesses[d.source].index, thread.accesses[d.target].index) for d in thread.dependencies
    }


def of_simulation(test: Test, number: int) -> set[tuple[int, int]]:
    program = SimulatedProgram(test)
    positions = {event.number: program.steps[event.thread][event.step].position for event in program.events}
    return {
        (positions[source], positions[event.number])
        for event in program.events
        if event.thread == number and isinstance(event.instruction, MemoryInstruction)
        for source in event.dependencies
    }


def of_table(test: Test, number: int) -> list[str]:
    """The dependency from each access to the next one, as the table of fences and dependencies names it."""
    from gpudiy.logs.tables.between import _dependency

    thread = test.threads[number]
    places = [index for index, instruction in enumerate(thread) if isinstance(instruction, MemoryInstruction)]
    return [_dependency(thread, one, other) for one, other in pairwise(places)]


def table_words(thread: Thread, found: Found) -> list[str]:
    places = [index for index, instruction in enumerate(thread) if isinstance(instruction, MemoryInstruction)]
    return [
        next((kind for kind in ("addr", "data", "ctrl") if (kind, one, other) in found), "")
        for one, other in pairwise(places)
    ]


@settings(max_examples=60, deadline=None)
@given(litmus_tests())
def test_all_who_ask_for_dependencies_agree(test: Test) -> None:
    assume(not specify(test).problem and not test.memory_map.symbolic)
    for number, thread in enumerate(test.threads):
        if any(target <= index for index, target in branch_targets(thread).items()):
            continue  # static analysis looks at one pass of a loop, runs at several
        found = static(thread)
        kept = of_optcheck(test, number)
        assert {each for each in kept if each[0] != "ctrl"} == {each for each in found if each[0] != "ctrl"}
        assert kept <= found
        assert of_simulation(test, number) == {(one, other) for _, one, other in found}
        assert of_table(test, number) == table_words(thread, found)
        try:
            seen = of_models(test, number)
        except Undecidable:
            continue
        assert seen <= found
        if not any(isinstance(each, Branch) or guard_of(each) is not None for each in thread):
            assert seen == found


@pytest.mark.parametrize(
    ("between_accesses", "last", "expected"),
    [
        ("@p0 mov.s32 r1,1", "st.s32 [y],r1", "data"),  # r1 keeps its old value or gets a new one: the guard decides
        ("@p0 ld.s32 r1,[z]", "st.s32 [y],r1", "data"),
        ("mov.s32 r0,1", "st.s32 [y],r0", ""),
        ("@p1 mov.s32 r0,1", "st.s32 [y],r0", "data"),  # the old value may still be there
        ("bra L ; mov.s32 r0,1 ; L:", "st.s32 [y],r0", "data"),
        ("@p1 bra L ; mov.s32 r0,1 ; L:", "st.s32 [y],r0", "data"),
        ("@p0 bra L ; mov.s32 r1,1 ; L:", "st.s32 [y],1", "ctrl"),
        ("fence.sc.gpu", "@p0 st.s32 [y],1", "ctrl"),
        ("membar.gl", "atom.add.s32 r2,[y],r0", "data"),
    ],
)
def test_one_example_of_each_rule(between_accesses: str, last: str, expected: str) -> None:
    before = ("ld.s32 r3,[z]", "setp.eq.s32 p1,r3,0", "ld.s32 r0,[x]", "setp.eq.s32 p0,r0,0")
    rows = " ;\n ".join((*before, *between_accesses.split(" ; "), last))
    registers = "0:.reg .pred p0; 0:.reg .pred p1; " + "; ".join(f"0:.reg .s32 r{number}" for number in range(4))
    text = f"GPU_PTX some\n{{ {registers}; }}\n P0 ;\n {rows} ;\nscopeTree (device (kernel (cta (warp P0))))\n"
    test = read_test(f"{text}x: global, y: global, z: global\nexists (0:r0=1)")
    read, end = 2, len(test.threads[0]) - 1
    found = {kind for kind, one, other in static(test.threads[0]) if (one, other) == (read, end)}
    assert found == ({expected} if expected else set())
    assert {kind for kind, one, other in of_models(test, 0) if (one, other) == (read, end)} == found
    if "bra" not in between_accesses or expected != "ctrl":  # of control, optcheck asks for what a branch can skip
        assert {kind for kind, one, other in of_optcheck(test, 0) if (one, other) == (read, end)} == found
    assert ((read, end) in of_simulation(test, 0)) == bool(expected)


def test_the_result_of_an_atomic_is_what_it_read() -> None:
    rows = "ld.s32 r0,[x] ;\n atom.add.s32 r1,[y],r0 ;\n st.s32 [x],r1 ;"
    test = read_test(
        f"GPU_PTX some\n{{ }}\n P0 ;\n {rows}\nscopeTree (device (kernel (cta (warp P0))))\n"
        "x: global, y: global\nexists (0:r0=1)"
    )
    assert static(test.threads[0]) == {("data", 0, 1), ("data", 1, 2)}
    assert isinstance(test.threads[0][1], Atomic) and isinstance(test.threads[0][0], Load)


def test_tables_name_a_guarded_move_as_data() -> None:
    rows = "ld.s32 r0,[x] ;\n setp.eq.s32 p0,r0,0 ;\n @p0 mov.s32 r1,1 ;\n st.s32 [y],r1 ;"
    test = read_test(
        f"GPU_PTX some\n{{ }}\n P0 ;\n {rows}\nscopeTree (device (kernel (cta (warp P0))))\n"
        "x: global, y: global\nexists (0:r0=1)"
    )
    found = between(test)
    assert found is not None and found.words == ("data",)
    assert not any(isinstance(each, Fence) for each in test.threads[0])
