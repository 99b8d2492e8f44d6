"""`OpenClDevice`: AMD, Intel and Arm GPUs, and CPUs through PoCL, by PyOpenCL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from gpudiy.devices.device import Chip, DeviceError, Observation
from gpudiy.devices.measuring import Launcher, measure
from gpudiy.devices.opencl_abilities import abilities_of, sub_group_of_kernel
from gpudiy.devices.opencl_platform import chip_of, choose, limits_of, list_devices, version_of
from gpudiy.devices.opencl_workers import part_of
from gpudiy.harness.host_side import BUFFERS, Counted, decode
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_data import buffer_bytes, helper_shared_bytes, launch_bytes
from gpudiy.harness.launch_plan import DeviceLimits, Impossible, LaunchPlan, plan_launch
from gpudiy.harness.shape import Shape
from gpudiy.harness.source import Dialect, NotRunnable, RenderedTest, function_name, module_source, render_test
from gpudiy.litmus import Test
from gpudiy.logs.record import Ending

__all__ = ["OpenClDevice", "list_devices", "open_device"]

LEAST_BUFFER = 8  # bytes: OpenCL has no empty buffers


def open_device(rest: str) -> OpenClDevice:
    """The OpenCL device of the name after the colon."""
    return OpenClDevice(*choose(rest))


class OpenClDevice:
    """One OpenCL device with one queue; all tests of a batch are one program.

    A test with more groups than the device runs at once, but no more than it has workers, runs on a part of it whose
    groups take turns: `crowd` is the number of its groups, and 0 on the device itself.
    """

    def __init__(self, number: int, device: Any, crowd: int = 0) -> None:
        import pyopencl

        self._cl = pyopencl
        self._chip = chip_of(number, device)
        self._whole = number, device
        self._crowd = crowd
        self._abilities = abilities_of(device, version_of(device))
        self._limits = replace(limits_of(device), groups=crowd) if crowd else limits_of(device)
        self._device = part_of(device, self._limits.groups)
        self._crowds: dict[int, OpenClDevice] = {}  # by the number of groups
        self._kernels: dict[str, tuple[Any, Any, Any]] = {}  # reset, run, reduce of a test, by the name of its function
        self._rendered: dict[str, RenderedTest] = {}
        self._buffers: dict[str, Any] = {}
        self._slots: dict[str, int] = {}  # tests whose outcomes need a larger table
        with self._failures():
            self._context = pyopencl.Context([self._device])
            self._queue = pyopencl.CommandQueue(self._context)

    @property
    def chip(self) -> Chip:
        return self._chip

    def obstacle(self, test: Test) -> str | None:
        try:
            shape = self._render(test).shape
            plan_launch(shape, Incantation(), self._device_for(shape)._limits)
        except (NotRunnable, Impossible) as reason:
            return str(reason)
        if not self._limits.in_sequence and self._abilities.sub_group is None and shape.warps * shape.lanes > 1:
            return "its threads share a CTA, and this device does not say how many threads of one run together"
        return self._abilities.obstacle(test)

    def prepare(self, tests: Sequence[Test]) -> None:
        """Build one program of all tests that run on the same part of the device; no test is built twice."""
        by_device: dict[OpenClDevice, list[Test]] = {}
        for test in tests:
            by_device.setdefault(self._device_for(self._render(test).shape), []).append(test)
        for device, together in by_device.items():
            device._build(together)

    def _build(self, tests: Sequence[Test]) -> None:
        missing = {
            function_name(test): self._render(test) for test in tests if function_name(test) not in self._kernels
        }
        if not missing:
            return
        source = module_source(list(missing.values()), Dialect.OPENCL)
        with self._failures():
            program = self._cl.Program(self._context, source).build(self._options())
            reset, reduce = (self._cl.Kernel(program, name) for name in ("reset", "reduce"))
            for name, test in missing.items():
                self._kernels[name] = reset, self._cl.Kernel(program, test.kernel), reduce

    def run(self, test: Test, incantation: Incantation, iterations: int, seed: int) -> Observation:
        name, shape = function_name(test), self._render(test).shape
        device = self._device_for(shape)
        if device is not self:
            cores = self._limits.groups
            turns = f"{shape.threads} threads on {cores} core{'' if cores == 1 else 's'}"
            return replace(device.run(test, incantation, iterations, seed), options=(("turns", turns),))
        self.prepare([test])
        kernel = self._kernels[name][1]

        def plan_rest(left: int) -> LaunchPlan:
            plan = self._plan(kernel, shape, incantation, left)
            return replace(plan, table_slots=max(plan.table_slots, self._slots.get(name, 0)))

        def launch_plan(plan: LaunchPlan, seed: int) -> Counted:
            self._slots[name] = plan.table_slots
            return self._launch(test, shape, plan, incantation, seed)

        return measure(incantation, iterations, seed, Launcher(plan_rest, launch_plan))

    def warm_up(self, test: Test) -> None:
        """Launch no rounds: some drivers compile a kernel at its first launch."""
        shape = self._render(test).shape
        device = self._device_for(shape)
        if device is not self:
            device.warm_up(test)
            return
        self.prepare([test])
        plan = self._plan(self._kernels[function_name(test)][1], shape, Incantation(), 1)
        self._launch(test, shape, replace(plan, rounds=0), Incantation(), 0)

    def close(self) -> None:
        for device in self._crowds.values():
            device.close()
        for buffer in self._buffers.values():
            buffer.release()
        self._buffers.clear()

    def _device_for(self, shape: Shape) -> OpenClDevice:
        """This device, or the part of it whose groups take turns, for a test with more groups than run at once."""
        number, device = self._whole
        groups = shape.clusters * shape.ctas
        if not self._limits.in_sequence or not self._limits.groups < groups <= device.max_compute_units:
            return self
        if groups not in self._crowds:
            self._crowds[groups] = OpenClDevice(number, device, groups)
        return self._crowds[groups]

    def _plan(self, kernel: Any, shape: Shape, incantation: Incantation, iterations: int) -> LaunchPlan:
        """A launch of at most so many iterations; of more only if more instances run at the same time."""
        limits = self._limits_of(kernel, plan_launch(shape, incantation, self._limits, iterations).group_size)
        plan = plan_launch(shape, incantation, limits, iterations)
        rest = iterations % (plan.batch * plan.instance_groups)
        if plan.instances > iterations > rest:
            return plan_launch(shape, incantation, limits, iterations - rest)
        if plan.instances > iterations:
            last = replace(incantation, meet_every=max(1, iterations // plan.instance_groups))
            return plan_launch(shape, last, limits, iterations)
        return plan

    def _limits_of(self, kernel: Any, group_size: int) -> DeviceLimits:
        """The limits with the sub-group size of the kernel: some compilers choose one for each kernel."""
        told = None if self._limits.in_sequence else sub_group_of_kernel(kernel, self._device, group_size)
        return self._limits if told is None else replace(self._limits, warp_size=told)

    def _launch(self, test: Test, shape: Shape, plan: LaunchPlan, incantation: Incantation, seed: int) -> Counted:
        """Reset, run and reduce once."""
        import numpy

        cl, queue = self._cl, self._queue
        reset, kernel, reduce = self._kernels[function_name(test)]
        parameters = launch_bytes(test, shape, plan, incantation, seed)
        with self._failures():
            sizes = buffer_bytes(shape, plan, incantation)
            buffers = [self._buffer(entry.name, sizes[entry.name]) for entry in BUFFERS]
            named = dict(zip((entry.name for entry in BUFFERS), buffers, strict=True))
            table = numpy.empty(sizes["table"], numpy.uint8)
            counters = numpy.empty(sizes["counters"], numpy.uint8)
            cl.enqueue_copy(queue, named["launch"], numpy.frombuffer(parameters, numpy.uint8), is_blocking=False)
            helper = cl.LocalMemory(helper_shared_bytes())
            kernel_number = numpy.uint32(0)
            helpers = (plan.helper_groups * plan.helper_size,), (plan.helper_size,)
            reset(queue, *helpers, *buffers, kernel_number, helper)
            shared = cl.LocalMemory(max(8, plan.shared_bytes))
            kernel(queue, (plan.groups * plan.group_size,), (plan.group_size,), *buffers, kernel_number, shared)
            reduce(queue, *helpers, *buffers, kernel_number, helper)
            cl.enqueue_copy(queue, table, named["table"], is_blocking=False)
            cl.enqueue_copy(queue, counters, named["counters"], is_blocking=True)
        return decode(shape, plan.table_slots, table.tobytes(), counters.tobytes())

    def _render(self, test: Test) -> RenderedTest:
        """The code of a test, rendered once; raises `NotRunnable`."""
        name = function_name(test)
        if name not in self._rendered:
            self._rendered[name] = render_test(test, Dialect.OPENCL)
        return self._rendered[name]

    def _buffer(self, name: str, size: int) -> Any:
        """A buffer of at least this size, kept from launch to launch."""
        found = self._buffers.get(name)
        if found is None or found.size < size:
            if found is not None:
                found.release()
            flags = self._cl.mem_flags.READ_WRITE
            found = self._buffers[name] = self._cl.Buffer(self._context, flags, max(LEAST_BUFFER, size))
        return found

    def _options(self) -> list[str]:
        standard = "CL3.0" if version_of(self._device) >= (3, 0) else "CL2.0"
        turns = ["-DGROUPS_TAKE_TURNS"] if self._crowd else []
        return [f"-cl-std={standard}", *(["-DGROUPS_OF_ONE"] if self._limits.in_sequence else []), *turns]

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Turn errors of OpenCL into `DeviceError`s with their ending."""
        cl = self._cl
        try:
            yield
        except cl.MemoryError as error:
            raise DeviceError(_first_error(error), Ending.OUT_OF_MEMORY) from None
        except cl.Error as error:
            raise DeviceError(_first_error(error), _ending(cl, error)) from None


def _ending(cl: Any, error: Any) -> Ending:
    code = getattr(error, "code", None)
    status = cl.status_code
    if code in (status.BUILD_PROGRAM_FAILURE, status.COMPILE_PROGRAM_FAILURE, status.LINK_PROGRAM_FAILURE):
        return Ending.BUILD_FAILED
    if code in (status.DEVICE_NOT_AVAILABLE, status.DEVICE_NOT_FOUND, status.INVALID_COMMAND_QUEUE):
        return Ending.DEVICE_LOST
    if code == status.OUT_OF_RESOURCES:
        return Ending.OUT_OF_MEMORY
    return Ending.CRASHED


def _first_error(error: Exception) -> str:
    """The first error of a message, or its first line; the whole log of a compiler is too long for a record."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    wrong = [line for line in lines if "error:" in line]
    return (wrong or lines or [type(error).__name__])[0]
