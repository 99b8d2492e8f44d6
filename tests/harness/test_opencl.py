"""The same harness in OpenCL C, compiled and run by PoCL on the processor of this machine."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import DATA

from gpudiy.harness.host_side import BUFFERS, Counted, decode
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_data import buffer_bytes, helper_shared_bytes, launch_bytes
from gpudiy.harness.launch_plan import DeviceLimits, plan_launch
from gpudiy.harness.source import Dialect, RenderedTest, module_source, render_test
from gpudiy.litmus import read_test

opencl: Any = pytest.importorskip("pyopencl", reason="PyOpenCL is not there: pip install 'gpudiy[opencl]'")

CPU = DeviceLimits(groups=2, group_size=1, in_sequence=True)
EXPECTED = {
    "alone": {(5, 5)},
    "apart": {(3, 4)},
    "each_its_own": {(10, 11, 10, 11)},
    "exchanged": {(0, 1, 2), (2, 0, 1)},
    "added": {(7, 9), (8, 9)},
}


@pytest.fixture(scope="module")
def context() -> Any:
    platforms = opencl.get_platforms()
    if not platforms:
        pytest.skip("there is no OpenCL platform: pip install 'gpudiy[opencl]'")
    return opencl.Context(platforms[0].get_devices()[:1])


def launched(context: Any, program: Any, one: RenderedTest, incantation: Incantation) -> tuple[Counted, int]:
    import numpy

    plan = plan_launch(one.shape, incantation, CPU)
    sizes = buffer_bytes(one.shape, plan, incantation)
    queue = opencl.CommandQueue(context)
    memory = {name: opencl.Buffer(context, opencl.mem_flags.READ_WRITE, size) for name, size in sizes.items()}
    launch = numpy.frombuffer(launch_bytes(one.test, one.shape, plan, incantation, 1), numpy.uint8)
    opencl.enqueue_copy(queue, memory["launch"], launch)
    helper = (plan.helper_groups, plan.helper_size, helper_shared_bytes())
    for name, groups, size, shared in (
        ("reset", *helper), (one.kernel, plan.groups, plan.group_size, max(8, plan.shared_bytes)), ("reduce", *helper),
    ):  # fmt: skip
        kernel = opencl.Kernel(program, name)
        kernel.set_args(*(memory[b.name] for b in BUFFERS), numpy.uint32(0), opencl.LocalMemory(shared))
        opencl.enqueue_nd_range_kernel(queue, kernel, (groups * size,), (size,))
    table, counters = bytearray(sizes["table"]), bytearray(sizes["counters"])
    opencl.enqueue_copy(queue, table, memory["table"])
    opencl.enqueue_copy(queue, counters, memory["counters"])
    return decode(one.shape, plan.table_slots, bytes(table), bytes(counters)), plan.instances


def test_outcomes_are_counted_and_possible(context: Any) -> None:
    texts = ((DATA / "harness" / f"{name}.litmus").read_text() for name in EXPECTED)
    rendered = [render_test(read_test(text), Dialect.OPENCL) for text in texts]
    program = opencl.Program(context, module_source(rendered, Dialect.OPENCL)).build("-cl-std=CL3.0")
    for one in rendered:
        counted, instances = launched(context, program, one, Incantation(instances=4096, spin_limit=64))
        assert sum(counted.outcomes.values()) == instances >= 4096
        assert set(counted.outcomes) <= EXPECTED[one.test.name]
        assert counted.meetings + counted.timeouts == instances // 64
        assert counted.overflow == 0 and counted.stress_accesses > 0
