"""`CudaDevice`: tests on a GPU, or on several that reach each other's memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gpudiy.devices.cuda_binaries import Binaries, FolderBinaries, FreshBinaries
from gpudiy.devices.cuda_driver import Driver, driver_errors, image_errors
from gpudiy.devices.cuda_gpu import Gpu, Kernel, driver_version
from gpudiy.devices.cuda_launch import Buffers, Kernels, Parameters, TestKernel, launch
from gpudiy.devices.cuda_occupancy import WARP_SIZE, Needs, describe_occupancy, resident_groups
from gpudiy.devices.device import Chip, DeviceError, Observation
from gpudiy.devices.host_access import check_host_access, check_memory, find_host_place
from gpudiy.devices.host_threads import describe_host, host_threads_at_once, load_host_threads
from gpudiy.devices.measuring import Launcher, measure
from gpudiy.harness.build_options import BuildOptions
from gpudiy.harness.built import BuiltTest
from gpudiy.harness.host_side import Counted, decode, pack_launch
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_data import buffer_bytes, host_launch_bytes, launch_values
from gpudiy.harness.launch_plan import DeviceLimits, Impossible, LaunchPlan, plan_launch
from gpudiy.harness.shape import Shape, is_timed, shape_of
from gpudiy.harness.source import Dialect, kernel_name, obstacle
from gpudiy.litmus import Test
from gpudiy.logs.memory_place import MEMORY, MemoryPlace
from gpudiy.logs.record import Ending

USUAL_GROUP = 128  # threads of a CTA, for the description of a device, where the kernel is not known yet
MOST_GROUPS = 4096  # of a launch: the range of an incantation
MOST_MEMORY = 1 << 30  # bytes that a launch uses
SHARE_OF_MEMORY = 4  # and at most this part of the free memory: one in 4
MOST_KERNELS = 8  # at the same time on a GPU, if it can run more than one


class CudaDevice:
    """GPU number `ordinal`; other GPUs are used for tests whose threads are on several devices."""

    def __init__(self, driver: Driver, ordinal: int) -> None:
        self._driver = driver
        self._gpus = _reachable(driver, ordinal)
        self._home = self._gpus[0]
        self._joined: set[int] = {ordinal}
        self._buffers = Buffers(self._home)
        self._binaries: Binaries = FreshBinaries(BuildOptions(newest=driver.version() // 1000))
        with self._home.enter():  # fails if the GPU cannot be used at all
            self._free_bytes = self._home.free_bytes()

    @property
    def chip(self) -> Chip:
        gpu = self._home
        return Chip(
            f"cuda:{gpu.ordinal}",
            gpu.name,
            gpu.architecture,
            driver_version(self._driver),
            self._binaries.toolkit(gpu.architecture),
            groups=resident_groups(gpu.multiprocessor, Needs(0, 0), USUAL_GROUP),
            group_size=gpu.most_threads,
            launches=True,
            gpu=True,
        )

    def obstacle(self, test: Test) -> str | None:
        found = obstacle(test, Dialect.CUDA)
        if found is not None:
            return found
        shape = shape_of(test, timed=is_timed(self._home.architecture))
        smallest = shape.warps * WARP_SIZE
        try:
            gpus = self._gpus_of(shape)
            check_memory(gpus, self._buffers.place)
            check_host_access(test, self._home, self._buffers.place)
            room = min(resident_groups(gpu.multiprocessor, Needs(0, 0, shape.ctas), smallest) for gpu in gpus)
            plan_launch(shape, Incantation(), self._limits(gpus, room, min(gpu.most_threads for gpu in gpus)))
        except Impossible as reason:
            return str(reason)
        return None

    def use_built(self, folder: str) -> Chip:
        """Run the binaries of a folder that `gpudiy build` wrote, and no others; raises `InputError` if it cannot."""
        binaries = FolderBinaries(Path(folder))
        binaries.expect(self._home.architecture)
        self._binaries = binaries
        return self.chip

    def use_memory(self, place: str) -> str:
        """Let the locations of tests lie there from now on; `obstacle` says which tests cannot have it so."""
        with driver_errors(), self._home.enter():
            self._buffers.use_place(MemoryPlace(place))
        return place

    def prepare(self, tests: Sequence[Test]) -> None:
        self._binaries.prepare(tests, self._home.architecture)

    def run(self, test: Test, incantation: Incantation, iterations: int, seed: int) -> Observation:
        shape = shape_of(test, timed=is_timed(self._home.architecture))
        with driver_errors():
            try:
                gpus = self._gpus_of(shape)
            except Impossible as reason:
                raise DeviceError(str(reason), Ending.NOT_RUNNABLE) from None
            self._join(gpus)
            binary = self._binaries.find(test, self._home.architecture)
            kernels = self._kernels(test, shape, gpus)
            run_kernels = [one.kernel for one in kernels.run]

            def plan_rest(left: int) -> LaunchPlan:
                return self._plan(shape, incantation, gpus, run_kernels, left)

            def launch_plan(plan: LaunchPlan, launch_seed: int) -> Counted:
                sizes = buffer_bytes(shape, plan, incantation)
                values = launch_values(test, shape, plan, incantation, launch_seed) | {"constants": binary.constants}
                parameters = Parameters(pack_launch(values), host_launch_bytes(values))
                with self._home.enter():
                    self._buffers.use_host_place(find_host_place(shape, self._home))
                    self._buffers.fit(sizes)
                table, counters = launch(kernels, self._buffers, plan, parameters, sizes)
                return decode(shape, plan.table_slots, table, counters)

            observation = measure(incantation, iterations, seed, Launcher(plan_rest, launch_plan))
        occupancy = self._occupancy(gpus, observation.incantation or incantation)
        host = (("host", describe_host()),) if kernels.host is not None else ()
        return replace(
            observation,
            optcheck=binary.optcheck,
            optcheck_text=binary.optcheck_text,
            options=(*observation.options, (MEMORY, str(self._buffers.place)), ("occupancy", occupancy), *host),
        )

    def _occupancy(self, gpus: Sequence[Gpu], used: Incantation) -> str:
        """The warps of an SM in the first launch, which is the largest."""
        groups = _most_kernels(gpus) * (used.testing_groups + used.stress_groups)
        return describe_occupancy(self._home.multiprocessor, groups, used.group_size)

    def close(self) -> None:
        """Free memory and contexts; the device cannot be used afterwards."""
        with driver_errors():
            with self._home.enter():
                self._buffers.close()
            for gpu in self._gpus:
                gpu.close()

    def _gpus_of(self, shape: Shape) -> list[Gpu]:
        """The GPU of each kernel that runs on one: the first device of the scope tree is this GPU."""
        numbers = {device: number for number, device in enumerate(dict.fromkeys(shape.gpu_devices))}
        if len(numbers) > len(self._gpus):
            there = len(self._gpus)
            found = "no other GPU shares memory with this one" if there == 1 else f"only {there} GPUs share memory"
            raise Impossible(f"its threads are on {len(numbers)} devices, but {found}")
        for other in self._gpus[1 : len(numbers)]:
            if self._driver.peer_atomics(other.ordinal, self._home.ordinal) is False:
                pair = f"cuda:{self._home.ordinal} and cuda:{other.ordinal}"
                raise Impossible(f"its threads are on {len(numbers)} devices, but there are no atomics between {pair}")
        return [self._gpus[numbers[device]] for device in shape.gpu_devices]

    def _join(self, gpus: Sequence[Gpu]) -> None:
        """Let the GPUs of a test access the memory of the first one, where all buffers are."""
        for gpu in gpus:
            if gpu.ordinal not in self._joined:
                gpu.reach(self._home)
                self._joined.add(gpu.ordinal)

    def _kernels(self, test: Test, shape: Shape, gpus: Sequence[Gpu]) -> Kernels:
        run = []
        on_gpus = [number for number in range(shape.kernels) if number not in shape.host_kernels]
        for kernel_number, gpu in zip(on_gpus, gpus, strict=True):
            binary = self._binaries.find(test, gpu.architecture)
            kernel = self._load(gpu, binary, kernel_name(shape.ctas), shape.ctas)
            run.append(TestKernel(kernel, kernel_number, binary.number))
        home = self._binaries.find(test, self._home.architecture)
        reset, reduce = (self._load(self._home, home, name, 1) for name in ("reset", "reduce"))
        return Kernels(tuple(run), reset, reduce, load_host_threads(test) if shape.host_kernels else None)

    def _load(self, gpu: Gpu, binary: BuiltTest, name: str, cluster_groups: int) -> Kernel:
        assert binary.file is not None
        with gpu.enter(), image_errors(driver_version(self._driver), binary.toolkit):
            return gpu.kernel(self._binaries.cubin(binary), binary.file, name, cluster_groups)

    def _plan(
        self, shape: Shape, incantation: Incantation, gpus: Sequence[Gpu], kernels: Sequence[Kernel], iterations: int
    ) -> LaunchPlan:
        """A plan whose CTAs are all resident: how many fit depends on their size, which depends on the plan."""
        most_threads = self._most_threads(shape, incantation, gpus, kernels)
        size, shared = most_threads, 0
        while True:
            room = min(kernel.resident(size, shared) for kernel in kernels)
            plan = plan_launch(shape, incantation, self._limits(gpus, room, most_threads), iterations)
            on_one = _most_kernels(gpus) * plan.groups
            if all(on_one <= kernel.resident(plan.group_size, plan.shared_bytes) for kernel in kernels):
                return plan
            if (size, shared) == (plan.group_size, plan.shared_bytes):
                raise Impossible(f"{on_one} CTAs of {size} threads do not run at the same time here")
            size, shared = plan.group_size, plan.shared_bytes

    def _most_threads(
        self, shape: Shape, incantation: Incantation, gpus: Sequence[Gpu], kernels: Sequence[Kernel]
    ) -> int:
        """The threads of a CTA: as asked for, or fewer, so that all CTAs of an instance run at the same time."""
        smallest = shape.warps * WARP_SIZE
        size = min(*(kernel.most_threads for kernel in kernels), incantation.group_size or USUAL_GROUP)
        needed = _most_kernels(gpus) * shape.clusters * shape.ctas
        while size // 2 >= smallest and min(kernel.resident(size, 0) for kernel in kernels) < needed:
            size //= 2
        return max(smallest, size)

    def _limits(self, gpus: Sequence[Gpu], groups: int, group_size: int) -> DeviceLimits:
        return DeviceLimits(
            min(groups, MOST_GROUPS),
            group_size,
            cluster_groups=min(gpu.cluster_groups for gpu in gpus),
            kernels=MOST_KERNELS if all(gpu.kernels_at_once for gpu in gpus) else 1,
            devices=len(self._gpus),
            shared_bytes=min(gpu.shared_bytes for gpu in gpus),
            memory_bytes=min(MOST_MEMORY, self._free_bytes // SHARE_OF_MEMORY),
            host_threads=host_threads_at_once(),
        )


def _most_kernels(gpus: Sequence[Gpu]) -> int:
    """The largest number of kernels on one GPU."""
    return max(gpus.count(gpu) for gpu in gpus)


def _reachable(driver: Driver, ordinal: int) -> list[Gpu]:
    """The GPU of that number, then every other GPU such that both can access the memory of the other."""
    first = Gpu(driver, ordinal)
    gpus = [first]
    for number in range(driver.count()):
        if number != ordinal:
            other = Gpu(driver, number)
            if driver.can_access_peer(ordinal, number) and driver.can_access_peer(number, ordinal):
                gpus.append(other)
    return gpus
