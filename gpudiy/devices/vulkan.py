"""`VulkanDevice`: GPUs of AMD, Intel, Arm and NVIDIA by Vulkan, those of Apple by Metal, through the wheel `wgpu`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from gpudiy.devices.device import Chip, DeviceError, Observation
from gpudiy.devices.measuring import Launcher, measure
from gpudiy.devices.vulkan_adapters import chip_of, choose, limits_of, list_devices
from gpudiy.devices.vulkan_plan import passes_to_wait, plan_on_adapter
from gpudiy.harness.host_side import Counted
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_plan import DeviceLimits, Impossible, LaunchPlan, plan_launch
from gpudiy.harness.source import Dialect, NotRunnable, RenderedTest, function_name, render_test
from gpudiy.harness.wgsl_launch import (
    STORAGE_BUFFERS,
    decode_wgsl,
    find_missing_work,
    wgsl_buffer_bytes,
    wgsl_launch_bytes,
)
from gpudiy.harness.wgsl_source import instance_passes, may_be_cut, wgsl_prelude
from gpudiy.litmus import Test
from gpudiy.logs.record import Ending

__all__ = ["VulkanDevice", "list_devices", "open_device"]

VOLATILE = "memory-decoration-volatile"  # the feature that makes compilers keep every access to a buffer
NEEDED_LIMITS = (
    "max-buffer-size",
    "max-compute-invocations-per-workgroup",
    "max-compute-workgroup-size-x",
    "max-compute-workgroup-storage-size",
    "max-storage-buffer-binding-size",
)


def open_device(rest: str) -> VulkanDevice:
    """The device of the name after the colon."""
    return VulkanDevice(*choose(rest))


class VulkanDevice:
    """One adapter with one queue; every test is a module of its own."""

    def __init__(self, number: int, adapter: Any) -> None:
        import wgpu

        self._wgpu = wgpu
        self._chip = chip_of(number, adapter)
        self._adapter = adapter
        self._volatile = VOLATILE in adapter.features
        self._rendered: dict[str, RenderedTest] = {}
        self._modules: dict[str, Any] = {}
        self._pipelines: dict[tuple[str, str, int, int], Any] = {}
        self._buffers: dict[str, Any] = {}
        self._slots: dict[str, int] = {}  # tests whose outcomes need a larger table
        with self._failures(Ending.DEVICE_LOST):
            self._device = adapter.request_device_sync(
                required_features=[VOLATILE] if self._volatile else [],
                required_limits={name: adapter.limits[name] for name in NEEDED_LIMITS},
            )
            self._layout = self._device.create_bind_group_layout(entries=_layout_entries())
            self._pipeline_layout = self._device.create_pipeline_layout(bind_group_layouts=[self._layout])

    @property
    def chip(self) -> Chip:
        return self._chip

    def obstacle(self, test: Test) -> str | None:
        try:
            plan_launch(self._render(test).shape, Incantation(), limits_of(self._adapter))
        except (NotRunnable, Impossible) as reason:
            return str(reason)
        return None

    def prepare(self, tests: Sequence[Test]) -> None:
        """Translate the tests, and build the pipelines of the default incantation."""
        for test in tests:
            plan = self._plan(test, Incantation(), 1)
            for entry in ("reset", self._render(test).kernel, "reduce"):
                self._pipeline(test, entry, plan)

    def run(self, test: Test, incantation: Incantation, iterations: int, seed: int) -> Observation:
        name = function_name(test)
        # No read of WGSL fills the cache of one workgroup, and its harness stresses the scratchpad only.
        incantation = replace(incantation, warm_percent=0, shared_stress_percent=0)

        def plan_rest(left: int) -> LaunchPlan:
            plan = self._plan(test, incantation, left)
            return replace(plan, table_slots=max(plan.table_slots, self._slots.get(name, 0)))

        def launch_plan(plan: LaunchPlan, seed: int) -> Counted:
            self._slots[name] = plan.table_slots
            return self._launch(test, plan, incantation, seed)

        return measure(incantation, iterations, seed, Launcher(plan_rest, launch_plan))

    def warm_up(self, test: Test) -> None:
        """Launch one round: some drivers compile a kernel at its first launch."""
        self._launch(test, self._plan(test, Incantation(), 1), Incantation(), 0)

    def close(self) -> None:
        for buffer in self._buffers.values():
            buffer.destroy()
        self._buffers.clear()
        self._device.destroy()

    def _plan(self, test: Test, incantation: Incantation, iterations: int) -> LaunchPlan:
        shape, limits = self._render(test).shape, self._limits(incantation)
        return plan_on_adapter(shape, incantation, limits, iterations, instance_passes(test))

    def _limits(self, incantation: Incantation) -> DeviceLimits:
        return limits_of(self._adapter, incantation.testing_groups + incantation.stress_groups)

    def _launch(self, test: Test, plan: LaunchPlan, incantation: Incantation, seed: int) -> Counted:
        """Reset, run and reduce once."""
        shape = self._render(test).shape
        device = self._device
        sizes = wgsl_buffer_bytes(shape, plan, incantation, may_be_cut(test))
        wait = passes_to_wait(plan, incantation, self._limits(incantation), instance_passes(test))
        parameters = wgsl_launch_bytes(test, shape, plan, incantation, seed, wait)
        with self._failures(Ending.CRASHED):
            group = device.create_bind_group(layout=self._layout, entries=self._bindings(sizes))
            device.queue.write_buffer(self._buffers["launch"], 0, parameters)
            device.queue.write_buffer(self._buffers["counters"], 0, bytes(sizes["counters"]))
            commands = device.create_command_encoder()
            for entry, groups in (
                ("reset", plan.helper_groups),
                (self._render(test).kernel, plan.groups),
                ("reduce", plan.helper_groups),
            ):
                work = commands.begin_compute_pass()
                work.set_pipeline(self._pipeline(test, entry, plan))
                work.set_bind_group(0, group)
                work.dispatch_workgroups(groups)
                work.end()
            device.queue.submit([commands.finish()])
            table, counters = (
                bytes(device.queue.read_buffer(self._buffers[name], 0, sizes[name])) for name in ("table", "counters")
            )
        missing = find_missing_work(shape, plan, counters)
        if missing:
            raise DeviceError(f"the driver ended a kernel early: {missing}")
        # Overlaps are those that a clock shows, and WGSL has none; that all arrived counts as a meeting only.
        return replace(decode_wgsl(shape, plan.table_slots, table, counters), overlaps=0)

    def _render(self, test: Test) -> RenderedTest:
        """The code of a test, rendered once; raises `NotRunnable`."""
        name = function_name(test)
        if name not in self._rendered:
            self._rendered[name] = render_test(test, Dialect.WGSL)
        return self._rendered[name]

    def _pipeline(self, test: Test, entry: str, plan: LaunchPlan) -> Any:
        """The kernel of that name for workgroups of a size, built once."""
        name = function_name(test)
        helps = entry in ("reset", "reduce")
        group_size = plan.helper_size if helps else plan.group_size
        shared_words = 1 if helps else max(1, plan.shared_bytes // 4)
        key = name, entry, group_size, shared_words
        if key not in self._pipelines:
            with self._failures(Ending.BUILD_FAILED):
                if name not in self._modules:
                    source = f"{wgsl_prelude(self._volatile)}\n{self._render(test).text}"
                    self._modules[name] = self._device.create_shader_module(code=source)
                self._pipelines[key] = self._device.create_compute_pipeline(
                    layout=self._pipeline_layout,
                    compute={
                        "module": self._modules[name],
                        "entry_point": entry,
                        "constants": {"group_size": group_size, "shared_words": shared_words},
                    },
                )
        return self._pipelines[key]

    def _bindings(self, sizes: Mapping[str, int]) -> list[dict[str, Any]]:
        """Buffers of at least these sizes, kept from launch to launch; kernels see no more than the size."""
        usage = self._wgpu.BufferUsage
        entries = []
        for number, entry in enumerate(STORAGE_BUFFERS):
            found = self._buffers.get(entry.name)
            if found is None or found.size < sizes[entry.name]:
                if found is not None:
                    found.destroy()
                found = self._device.create_buffer(
                    size=sizes[entry.name], usage=usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
                )
                self._buffers[entry.name] = found
            entries.append({"binding": number, "resource": {"buffer": found, "offset": 0, "size": sizes[entry.name]}})
        return entries

    @contextmanager
    def _failures(self, ending: Ending) -> Iterator[None]:
        """Turn errors of wgpu into `DeviceError`s with their ending."""
        try:
            yield
        except self._wgpu.GPUOutOfMemoryError as error:
            raise DeviceError(_shorten(error), Ending.OUT_OF_MEMORY) from None
        except self._wgpu.GPUError as error:
            raise DeviceError(_shorten(error), ending) from None


def _layout_entries() -> list[dict[str, Any]]:
    import wgpu

    return [
        {
            "binding": number,
            "visibility": wgpu.ShaderStage.COMPUTE,
            "buffer": {"type": "read-only-storage" if entry.mode == "read" else "storage"},
        }
        for number, entry in enumerate(STORAGE_BUFFERS)
    ]


def _shorten(error: Exception) -> str:
    """The lines of a message that say what is wrong; the whole message quotes the source."""
    lines = [line.strip() for line in str(error).splitlines()]
    said = [line for line in lines if line and line[0].isalpha() and not line.startswith(("Caused by", "In wgpu"))]
    return "; ".join(said[:3]) or type(error).__name__
