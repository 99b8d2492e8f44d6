"""A GPU that is opened: its images, its buffers and its launches."""

import ctypes
import hashlib
import struct
from pathlib import Path

from run_driver import ClusterSize, Driver, LaunchConfig
from run_kit import now, quoted, read_checked, say, stop

MOST_KERNELS = 8
GROUPS, GROUP_SIZE, SHARED_BYTES, HELPER_GROUPS, HELPER_SIZE, HELPER_SHARED = range(6)  # the first numbers of a row
CLOCK, SM_COUNT, WATCHDOG, SM_THREADS, MAJOR, MINOR, REGISTERS = 13, 16, 17, 39, 75, 76, 4
INVALID_VALUE, NO_BINARY, CLUSTER_DIMENSION, LINK_PTX = 1, 209, 4, 1
JIT_MAX_REGISTERS, JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE, JIT_LEVEL = 0, 5, 6, 7


class Gpu(Driver):
    """A GPU that is opened, its images, its buffers and its launches."""

    def __init__(self, kit, log, number, identity, quiet):
        super().__init__(log, number, quiet)
        if self.identity != identity:
            self.leave(f"error: GPU {number} is another one now: {self.identity}, not {identity}")
        self.kit, self.without_cubins, self.cold = kit, False, True
        self.modules, self.hashes, self.compiled, self.buffers = {}, {}, {}, {}
        context, free, total = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
        self.sms = self.attribute(SM_COUNT)
        self.chip = 10 * self.attribute(MAJOR) + self.attribute(MINOR)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.call("cuCtxPushCurrent_v2", context)
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        self.free, self.memory = free.value, total.value
        self.streams = [ctypes.c_void_p() for _ in range(MOST_KERNELS)]
        for stream in self.streams:
            self.call("cuStreamCreate", ctypes.byref(stream), 0)
        self.target = self.choose_target()
        self.write_device()

    def write_device(self):
        chosen = self.kit.images[self.target] if self.target is not None else {"number": 0, "kind": ""}
        self.log.write(
            '{{"device":{},"program":"run.py","gpu":"{}","pci":"{}","name":{},"major":{},"minor":{},"multiprocessors":{},'
            '"memory":{},"free":{},"driver":{},"module":{},"clock_khz":{},"watchdog":{},"target":{},"kind":"{}",'
            '"started":"{}"'.format(
                self.number, self.identity, self.pci, self.name, self.chip // 10, self.chip % 10, self.sms,
                self.memory, self.free, self.driver, quoted(module_version()), self.attribute(CLOCK),
                self.attribute(WATCHDOG), chosen["number"], chosen["kind"], now(),
            )
        )  # fmt: skip

    def serves(self, image):
        """Whether this GPU may run an image, as the driver decides it for the parts of a fatbin."""
        number, kind = image["number"], image["kind"]
        if kind == "ptx":
            return number <= self.chip
        if self.without_cubins or number // 10 != self.chip // 10:
            return False
        return number == self.chip if kind == "exact" else number <= self.chip

    def choose_target(self):
        """The image for this GPU: its own cubin, one of an older chip of its family, else PTX; None if none fits."""
        images = self.kit.images
        fitting = [place for place, image in enumerate(images) if self.serves(image)]
        best = [(images[place]["kind"] != "ptx", images[place]["number"], -place) for place in fitting]
        return -max(best)[2] if best else None

    def take_ptx(self, place):
        """From now on PTX is compiled, since the driver refuses the cubins of this kit."""
        say("the driver does not run {} on this chip: its PTX is compiled".format(self.kit.images[place]["files"][0]))
        self.without_cubins = True
        self.target = self.choose_target()
        self.write_device()

    def compile_ptx(self, place):
        """Let the driver compile PTX, with as many registers as the cubins have."""
        image, link, errors = self.kit.images[place], ctypes.c_void_p(), ctypes.create_string_buffer(4096)
        options = (ctypes.c_int * 4)(JIT_LEVEL, JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE, JIT_MAX_REGISTERS)
        values = (ctypes.c_void_p * 4)(
            self.kit.level, ctypes.addressof(errors), ctypes.sizeof(errors), self.kit.registers
        )
        count = 4 if self.kit.registers else 3
        self.call("cuLinkCreate_v2", count, options, values, ctypes.byref(link))
        for name in image["files"]:
            text = read_checked(name) + b"\0"
            size = ctypes.c_size_t(len(text))
            self.call_linker(errors, "cuLinkAddData_v2", link, LINK_PTX, text, size, name.encode(), 0, None, None)
        made, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.call_linker(errors, "cuLinkComplete", link, ctypes.byref(made), ctypes.byref(size))
        cubin = ctypes.string_at(made, size.value)
        self.call("cuLinkDestroy", link)
        return cubin

    def call_linker(self, errors, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            say(errors.value.decode("utf-8", "replace"))
            self.fail(name, code)

    def keep_compiled(self, place, cubin):
        """Keep the cubin that the driver made beside the log, so that optcheck can look at it later."""
        self.compiled[place] = f"compiled-sm_{self.chip}-{self.hashes[place][:16]}.cubin"
        try:
            with Path(self.compiled[place]).open("wb") as file:
                file.write(cubin)
        except OSError as error:
            stop(f"{self.compiled[place]}: {error.strerror}")

    def module(self, place):
        """The module of an image; None if the driver says that it is not for this chip, and there is PTX instead."""
        if place in self.modules:
            return self.modules[place]
        image = self.kit.images[place]
        ptx = image["kind"] == "ptx"
        cubin = self.compile_ptx(place) if ptx else read_checked(image["files"][0])
        self.hashes[place] = hashlib.sha256(cubin).hexdigest()
        if ptx:
            self.keep_compiled(place, cubin)
        found = ctypes.c_void_p()
        code = self.library.cuModuleLoadDataEx(ctypes.byref(found), cubin, 0, None, None)
        has_ptx = any(one["kind"] == "ptx" and self.serves(one) for one in self.kit.images)
        if code == NO_BINARY and not ptx and has_ptx:
            return None
        if code in (200, 222):
            version = f"{self.driver // 1000}.{self.driver % 1000 // 10}"
            say("the driver, for CUDA {}, does not load what {} made".format(version, image["maker"]))
        if code:
            self.fail("cuModuleLoadDataEx", code)
        self.modules[place] = found
        return found

    def function(self, module, name):
        found = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(found), module, name.encode())
        return found

    def global_address(self, module):
        """Where a module keeps the launch in constant memory; None if it does not."""
        if self.kit.global_name is None:
            return None
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        name = self.kit.global_name.encode()
        self.call("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), module, name)
        return address

    def groups_of_sm(self, function, threads, shared):
        groups = ctypes.c_int()
        name = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        arguments = (ctypes.byref(groups), function, threads, ctypes.c_size_t(shared))
        return 0 if self.call(name, *arguments, accept=INVALID_VALUE) else groups.value

    def resident(self, function, threads, shared, cluster=1):
        """The CTAs that the GPU runs at the same time."""
        if cluster < 2:
            return self.groups_of_sm(function, threads, shared) * self.sms
        if not self.has("cuOccupancyMaxActiveClusters"):
            return 0
        size = ClusterSize(id=CLUSTER_DIMENSION, x=cluster, y=1, z=1)
        config = LaunchConfig((cluster, 1, 1), (threads, 1, 1), shared, None, ctypes.pointer(size), 1)
        clusters = ctypes.c_int()
        arguments = (ctypes.byref(clusters), function, ctypes.byref(config))
        failed = self.call("cuOccupancyMaxActiveClusters", *arguments, accept=INVALID_VALUE)
        return 0 if failed else clusters.value * cluster

    def choose_room(self, test, binary, function):
        """The first room whose CTAs all run at the same time, in memory that is free; and the most CTAs of any."""
        known, most, kit = {}, 0, self.kit
        for room in range(len(test["table"]["rooms"])):
            row = kit.row(test, binary, room, 0)
            shape = row[GROUP_SIZE], row[SHARED_BYTES]
            if shape not in known:
                known[shape] = self.resident(function, shape[0], shape[1], test["cluster"])
            most = max(most, known[shape])
            memory = sum(kit.size(row, name) for name in kit.buffers)
            if row[GROUPS] * test["kernels"] <= known[shape] and memory <= self.free // 2:
                return room, most
        return None, most

    def fit_buffers(self, row):
        for name in self.kit.buffers:
            size = self.kit.size(row, name)
            address, before = self.buffers.get(name, (None, 0))
            if before >= size:
                continue
            if before:
                self.call("cuMemFree_v2", address)
                del self.buffers[name]
            address = ctypes.c_uint64()
            self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
            self.buffers[name] = address, size

    def launch(self, function, kind, kernel, number, groups, threads, shared, stream):
        data = b""
        for word in self.kit.arguments[kind]:
            name, _, size = word.partition(":")
            value = {"kernel": kernel, "test": number, "nothing": 0}[name] if size else self.buffers[name][0].value
            each = int(size or 8)
            data += b"\0" * (-len(data) % each) + struct.pack("<I" if each == 4 else "<Q", value)
        size = ctypes.c_size_t(len(data))
        held = ctypes.create_string_buffer(data, len(data))
        extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(held), 2, ctypes.addressof(size), 0)
        self.call("cuLaunchKernel", function, groups, 1, 1, threads, 1, 1, shared, stream, None, extra)

    def helper(self, function, row):
        room = self.resident(function, row[HELPER_SIZE], row[HELPER_SHARED])
        groups = max(1, min(row[HELPER_GROUPS], room))
        self.launch(function, "helpers", 0, 0, groups, row[HELPER_SIZE], row[HELPER_SHARED], self.streams[0])

    def run_row(self, test, number, functions, row):
        """One launch of a row: reset, every kernel of the test, reduce; the table of outcomes and the counters."""
        kit, first = self.kit, self.streams[0]
        run, reset, reduce, constants = functions
        self.fit_buffers(row)
        words = struct.pack(f"<{kit.words}I", *row[kit.launch_place :])
        self.call("cuMemcpyHtoDAsync_v2", self.buffers["launch"][0], words, ctypes.c_size_t(len(words)), first)
        if constants is not None:
            self.call("cuMemcpyHtoDAsync_v2", constants, words, ctypes.c_size_t(len(words)), first)
        cleared = ctypes.c_size_t(kit.size(row, "scratchpad") // 4)
        self.call("cuMemsetD32Async", self.buffers["scratchpad"][0], 0, cleared, first)
        self.helper(reset, row)
        if test["kernels"] > 1:
            self.call("cuStreamSynchronize", first)  # the other streams start when memory is ready
        for kernel in range(test["kernels"]):
            geometry = row[GROUPS], row[GROUP_SIZE], row[SHARED_BYTES]
            self.launch(run, "run", kernel, number, geometry[0], geometry[1], geometry[2], self.streams[kernel])
        for stream in self.streams[1 : test["kernels"]]:
            self.call("cuStreamSynchronize", stream)
        self.helper(reduce, row)
        table = ctypes.create_string_buffer(kit.size(row, "table"))
        counters = (ctypes.c_uint32 * len(kit.counters))()
        for to, name in ((table, "table"), (counters, "counters")):
            size = ctypes.c_size_t(ctypes.sizeof(to))
            self.call("cuMemcpyDtoHAsync_v2", to, self.buffers[name][0], size, first)
        self.call("cuStreamSynchronize", first)
        return table.raw, list(counters)

    def close(self):
        for address, _ in self.buffers.values():
            self.call("cuMemFree_v2", address)
        for module in self.modules.values():
            self.call("cuModuleUnload", module)
        for stream in self.streams:
            self.call("cuStreamDestroy_v2", stream)
        self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        self.call("cuDevicePrimaryCtxRelease_v2", self.device)


def module_version():
    try:
        with Path("/proc/driver/nvidia/version").open() as file:
            return file.readline()
    except OSError:
        return ""
