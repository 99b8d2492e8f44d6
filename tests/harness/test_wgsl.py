"""The harness in WGSL, without a device: what tests become, which cannot be run, and what the host writes and reads."""

from __future__ import annotations

import os
import re
import struct

import pytest
from conftest import ROOT

from gpudiy.diy.families import FAMILIES
from gpudiy.diy.generator import Generator
from gpudiy.harness.host_side import LAUNCH_FIELDS
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_plan import DeviceLimits, plan_launch
from gpudiy.harness.shape import shape_of
from gpudiy.harness.source import Dialect, module_source, obstacle, render_test
from gpudiy.harness.wgsl_launch import (
    FIELDS,
    NAMES,
    STORAGE_BUFFERS,
    WGSL_COUNTERS,
    decode_wgsl,
    find_missing_work,
    wgsl_buffer_bytes,
    wgsl_launch_bytes,
)
from gpudiy.harness.wgsl_obstacles import WGSL_TABLE
from gpudiy.harness.wgsl_source import instance_passes, may_be_cut, wgsl_prelude
from gpudiy.litmus import Test, read_test

MP = """GPU_PTX MP
{{0:.reg .s32 r0; 1:.reg .s32 r1; 1:.reg .u32 r2; 1:.reg .pred p0; 1:.reg .b64 r3 = x; 1:.reg .b64 r4;}}
 P0 | P1 ;
 {store} | {load} ;
 st.relaxed.gpu.s32 [y],2 | ld.relaxed.gpu.u32 r2,[y] ;
{tree}
x: {space}, y: global
exists (1:r1=0 /\\ 1:r2=2)
"""
TWO_CTAS = "(device (kernel (cta (warp P0)) (cta (warp P1))))"
ONE_CTA = "(device (kernel (cta (warp P0) (warp P1))))"
ONE_WARP = "(device (kernel (cta (warp P0 P1))))"


def mp(
    store: str = "st.relaxed.gpu.s32 [x],1",
    load: str = "ld.relaxed.gpu.s32 r1,[x]",
    tree: str = TWO_CTAS,
    space: str = "global",
) -> Test:
    return read_test(MP.format(store=store, load=load, tree=tree, space=space))


def thread_code(test: Test) -> str:
    """The function of the test, without its name and its kernel."""
    return render_test(test, Dialect.WGSL).text.split("@compute")[0].split("(", 1)[1]


def test_accesses_are_relaxed_atomics() -> None:
    code = thread_code(mp())
    assert "atomicStore(&locations[at_x >> 2u], 1u);" in code
    assert "r1 = atomicLoad(&locations[at_x >> 2u]);" in code
    assert "results[instance * launch.rows + 0u] = r1;" in code


@pytest.mark.parametrize(
    "store", ["st.cg.s32 [x],1", "st.wt.s32 [x],1", "st.volatile.s32 [x],1", "st.relaxed.sys.s32 [x],1"]
)
def test_other_spellings_of_an_access_at_the_level_of_the_device(store: str) -> None:
    assert thread_code(mp(store)) == thread_code(mp())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"store": "st.s32 [x],1"}, "P0: a weak access would be a relaxed atomic, which is stronger"),
        ({"load": "ld.ca.s32 r1,[x]"}, "P1: WGSL has nothing like the cache operator .ca"),
        ({"load": "ld.acquire.gpu.s32 r1,[x]"}, "P1: WGSL has relaxed atomics only, nothing like .acquire"),
        ({"store": "st.release.gpu.s32 [x],1"}, "P0: WGSL has relaxed atomics only, nothing like .release"),
        ({"load": "ld.relaxed.cta.s32 r1,[x]"}, "P1: atomics of WGSL in global memory have the scope of the device"),
        ({"store": "st.relaxed.gpu.s64 [x],1", "load": "ld.relaxed.gpu.s64 r4,[x]"}, "atomics of WGSL have 32"),
        ({"load": "membar.gl"}, "P1: WGSL has no fences"),
        ({"load": "fence.acq_rel.cta"}, "P1: WGSL has no fences"),
        ({"load": "fence.proxy.alias"}, "P1: WGSL has no fence.proxy"),
        ({"load": "bar.sync 0", "tree": ONE_CTA}, "barrier"),
        ({"tree": ONE_WARP}, "two of its threads are in one warp"),
        ({"tree": "(device (kernel (cluster (cta (warp P0)) (cta (warp P1)))))"}, "cluster of CTAs"),
        ({"load": "setp.eq.s64 p0,r3,0"}, "P1: WGSL compares numbers of 32 bits"),
        ({"load": "cvt.u32.u64 r1,r3"}, "P1: it observes r1, which holds an address"),
        ({"load": "shr.u64 r4,r3,1"}, "P1: it computes with an address, or in 64 bits: shr"),
        ({"space": "shared", "store": "st.s32 [x],1", "load": "ld.s32 r1,[x]", "tree": ONE_CTA}, "write .relaxed.cta"),
    ],
)
def test_what_wgsl_cannot_say_is_not_runnable(changes: dict[str, str], reason: str) -> None:
    found = obstacle(mp(**changes), Dialect.WGSL)
    assert found is not None and reason in found


def test_the_table_of_the_page_is_the_one_that_is_used() -> None:
    page_file = ROOT / "docs" / "vulkan.md"
    page = page_file.read_text()
    lines = ["| PTX | WGSL | why |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in WGSL_TABLE)]
    table = "\n".join(lines) + "\n"
    start, end = page.index("<!-- table -->\n") + 15, page.index("<!-- end of table -->")
    if os.environ.get("PROMOTE"):
        page_file.write_text(page[:start] + table + page[end:])
    else:
        assert page[start:end] == table


def test_the_classic_tests_without_fences_can_be_run() -> None:
    tests = [read_test(blueprint.text()) for blueprint in Generator(FAMILIES["classic"].recipe()).blueprints()]
    found = [obstacle(test, Dialect.WGSL) for test in tests]
    assert (len(found), found.count(None)) == (131, 26)  # as docs/vulkan.md says
    assert all("no fences" in reason for reason in found if reason is not None)


def test_shared_variables_are_in_the_memory_of_the_workgroup() -> None:
    test = mp(space="shared", store="st.relaxed.cta.s32 [x],1", load="ld.volatile.s32 r1,[x]", tree=ONE_CTA)
    code = render_test(test, Dialect.WGSL).text
    assert "atomicStore(&shared_memory[at_x >> 2u], 1u);" in code
    assert "begin_shared();" in code and "end_shared(" in code


@pytest.mark.parametrize(
    ("instruction", "line"),
    [
        ("atom.add.u32 r2,[x],5", "r2 = atomicAdd(&locations[at_x >> 2u], 5u);"),
        ("atom.exch.b32 r2,[x],5", "r2 = atomicExchange(&locations[at_x >> 2u], 5u);"),
        ("red.or.b32 [x],5", "atomicOr(&locations[at_x >> 2u], 5u);"),
        ("atom.max.u32 r2,[x],5", "r2 = atomicMax(&locations[at_x >> 2u], 5u);"),
        ("atom.max.s32 r1,[x],5", "atomicCompareExchangeWeak(&locations[at_x >> 2u], old, max_signed(old, operand));"),
        ("atom.cas.b32 r2,[x],0,5", "while (!answer.exchanged && answer.old_value == expected) {"),
        ("ld.relaxed.gpu.s32 r1,[r3]", "r1 = atomicLoad(&locations[r3 >> 2u]);"),
        ("add.u64 r3,r3,0", "r3 = r3 + 0u;"),
        ("mov.s32 r1,-1", "r1 = 4294967295u;"),
        ("sub.s32 r1,1,2", "r1 = number(1u) - 2u;"),
        ("setp.lt.s32 p0,r1,-1", "p0 = bitcast<i32>(r1) < bitcast<i32>(4294967295u);"),
        ("selp.b32 r2,1,2,p0", "r2 = select(2u, 1u, p0);"),
        ("@!p0 st.relaxed.gpu.s32 [x],3", "if (!p0) {"),
    ],
)
def test_instructions(instruction: str, line: str) -> None:
    assert line in thread_code(mp(load=instruction))


SPIN = """GPU_PTX spin
{0:.reg .s32 r0; 1:.reg .s32 r1; 1:.reg .pred p0; 1:.reg .s32 r2;}
 P0 | P1 ;
 st.relaxed.gpu.s32 [x],1 | AGAIN: ;
 st.relaxed.gpu.s32 [y],1 | ld.relaxed.gpu.s32 r1,[y] ;
  | setp.eq.s32 p0,r1,0 ;
  | @p0 bra AGAIN ;
  | ld.relaxed.gpu.s32 r2,[x] ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
x: global, y: global
exists (1:r2=0)
"""


def test_a_location_that_is_accessed_again_has_an_address_that_no_compiler_knows() -> None:
    code = thread_code(mp(load="ld.relaxed.gpu.s32 r1,[y]"))
    assert "r1 = atomicLoad(&locations[at_y >> 2u]);" in code
    assert "r2 = atomicLoad(&locations[(at_y + zero_0) >> 2u]);" in code
    assert "let zero_0 = launch.zeros[0];" in code
    assert "zero" not in thread_code(mp())


def test_a_loop_is_bounded_and_marks_what_it_cuts() -> None:
    test = read_test(SPIN)
    code = thread_code(test)
    assert "if (passes == launch.loop_limit || !may_wait()) {" in code
    assert "atomicStore(&cuts[instance], 1u);" in code
    assert may_be_cut(test) and not may_be_cut(mp())
    forward = read_test(
        SPIN.replace("AGAIN: ;", " ;").replace("r2,[x] ;", "r2,[x] ;\n  | AGAIN: ;")  # now it jumps over the last load
    )
    assert not may_be_cut(forward) and "cuts" not in thread_code(forward)
    assert instance_passes(forward) == 2


def test_a_module_has_all_its_tests_and_nothing_of_the_templates() -> None:
    tests = [render_test(test, Dialect.WGSL) for test in (mp(), read_test(SPIN))]
    source = module_source(tests, Dialect.WGSL)
    for entry in ("reset", "reduce", *(test.kernel for test in tests)):
        assert len(re.findall(rf"^fn {entry}\(", source, re.MULTILINE)) == 1
    assert not re.search(r"\{[%{]|[%}]\}", source)


def test_only_devices_that_know_the_attribute_get_it() -> None:
    assert "@volatile" not in wgsl_prelude(False)
    kept = re.findall(r"@volatile var<storage, read_write> (\w+)", wgsl_prelude(True))
    assert kept == ["locations", "meetings", "scratchpad", "counters"]


def test_every_field_of_a_launch_is_known_and_used() -> None:
    assert {field.name for field in LAUNCH_FIELDS} >= NAMES
    twice = mp(load="ld.relaxed.gpu.s32 r1,[y]")
    whole = module_source([render_test(twice, Dialect.WGSL)], Dialect.WGSL) + thread_code(read_test(SPIN))
    for field in FIELDS:
        assert f"launch.{field.name}" in whole, field.name
    for counter in WGSL_COUNTERS:
        assert f"counters[COUNT_{counter.name.upper()}]" in whole, counter.name


def test_the_bytes_of_a_launch_are_in_the_order_of_its_fields() -> None:
    test = mp()
    shape = shape_of(test)
    plan = plan_launch(shape, Incantation(), DeviceLimits(groups=4), 5000)
    data = wgsl_launch_bytes(test, shape, plan, Incantation(), 7, pass_limit=99)
    sizes = wgsl_buffer_bytes(shape, plan, Incantation(), loops=False)
    assert len(data) == sizes["launch"] == 4 * sum(field.count or 1 for field in FIELDS)
    assert set(sizes) == {buffer.name for buffer in STORAGE_BUFFERS}
    words, place, found = struct.unpack(f"<{len(data) // 4}I", data), 0, {}
    for field in FIELDS:
        found[field.name] = words[place]
        place += field.count or 1
    assert (found["instances"], found["rounds"], found["pass_limit"]) == (plan.instances, plan.rounds, 99)
    assert data == wgsl_launch_bytes(test, shape, plan, Incantation(), 7, pass_limit=99)
    assert data != wgsl_launch_bytes(test, shape, plan, Incantation(), 8, pass_limit=99)


def test_a_histogram_is_read_with_the_signs_of_its_types() -> None:
    shape = shape_of(mp())
    slots = 4
    table = struct.pack("<16I", 0, 3, 0, 1, 0, 7, 9, 2, 0, 0, 0xFFFFFFFF, 0xFFFFFFFF, 0, 0, 5, 6)
    counts = {"meetings": 1, "timeouts": 2, "overlaps": 3, "stress_low": 4, "stress_high": 1, "discarded": 6}
    counters = struct.pack(f"<{len(WGSL_COUNTERS)}I", *(counts.get(counter.name, 0) for counter in WGSL_COUNTERS))
    counted = decode_wgsl(shape, slots, table, counters)
    assert counted.outcomes == {(-1, 0xFFFFFFFF): 7, (5, 6): 2}
    assert (counted.meetings, counted.timeouts, counted.overlaps) == (1, 2, 3)
    assert (counted.stress_accesses, counted.discarded) == (4 + (1 << 32), 6)


def test_a_kernel_that_ended_early_is_noticed() -> None:
    shape = shape_of(mp())
    plan = plan_launch(shape, Incantation(), DeviceLimits(groups=4), 5000)

    def counters(initialised: int, ran: int) -> bytes:
        counts = {"initialised": initialised, "ran": ran}
        return struct.pack(f"<{len(WGSL_COUNTERS)}I", *(counts.get(counter.name, 0) for counter in WGSL_COUNTERS))

    assert find_missing_work(shape, plan, counters(plan.instances, 2 * plan.instances)) == ""
    assert "initialised" in find_missing_work(shape, plan, counters(plan.instances - 1, 2 * plan.instances))
    assert "threads ran" in find_missing_work(shape, plan, counters(plan.instances, 2 * plan.instances - 1))
