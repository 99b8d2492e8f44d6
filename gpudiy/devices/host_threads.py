"""Threads of a test that run on the host, beside those on a GPU: compiled by the C++ compiler of this machine.

They run the same harness as the GPU does, built for this processor: they find their positions, meet the threads on the
GPU in memory that both access, run their code and store results. optcheck does not look at their machine code; accesses
are volatile atomics of C++, which compilers neither remove nor reorder.
"""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from gpudiy.devices.device import DeviceError
from gpudiy.errors import MissingTool
from gpudiy.harness.cache import default_folder
from gpudiy.harness.host_build import compile_host, host_compiler
from gpudiy.harness.host_side import BUFFERS
from gpudiy.harness.launch_plan import LaunchPlan
from gpudiy.harness.nvrtc import CompileError
from gpudiy.harness.shape import shape_of
from gpudiy.harness.source import Dialect, kernel_name, module_source, render_test
from gpudiy.litmus import Test
from gpudiy.logs.record import Ending


@dataclass(frozen=True, slots=True)
class HostThreads:
    """The threads of a test on the host; `kernels` are their numbers among the kernels of the test."""

    library: ctypes.CDLL
    kernel: str
    kernels: tuple[int, ...]

    def start(self, plan: LaunchPlan, parameters: bytes, addresses: Mapping[str, int]) -> list[threading.Thread]:
        """Start them; `addresses` are those of the buffers on the host. Each ends by itself, met by others or not."""
        launch = ctypes.create_string_buffer(parameters, len(parameters))
        started = [
            threading.Thread(target=self._run, args=(plan.testing_groups, number, launch, addresses))
            for number in self.kernels
        ]
        for thread in started:
            thread.start()
        return started

    def _run(
        self, groups: int, kernel_number: int, launch: ctypes.Array[ctypes.c_char], addresses: Mapping[str, int]
    ) -> None:
        pointers = {**addresses, "launch": ctypes.addressof(launch)}
        values = [ctypes.c_void_p(pointers.get(buffer.name, 0)) for buffer in BUFFERS]
        scalars = [ctypes.c_uint32(kernel_number), ctypes.c_uint32(0)]
        places = [ctypes.addressof(value) for value in (*values, *scalars)]
        arguments = (ctypes.c_void_p * len(places))(*places)
        getattr(self.library, f"run_{self.kernel}")(groups, 1, 0, arguments)


def load_host_threads(test: Test) -> HostThreads:
    """Compile the threads of a test that run on the host, or take them from the cache; raises `DeviceError`."""
    shape = shape_of(test)
    source = module_source([render_test(test, Dialect.HOST)], Dialect.HOST)
    try:
        library = _compile(source)
    except (MissingTool, CompileError, OSError) as problem:
        raise DeviceError(f"the thread on the host: {problem}", Ending.BUILD_FAILED) from None
    return HostThreads(ctypes.CDLL(str(library)), kernel_name(shape.ctas), shape.host_kernels)


def host_threads_at_once() -> int:
    """The threads that the host runs at the same time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def describe_host() -> str:
    """The processor and the compiler of the threads on the host, for the record."""
    done = subprocess.run([host_compiler(), "--version"], capture_output=True, text=True)
    compiler = (done.stdout.splitlines() or ["an unknown compiler"])[0]
    return f"{platform.machine()}, {host_threads_at_once()} threads, {compiler}; not checked by optcheck"


def _compile(source: str) -> Path:
    folder = default_folder()
    key = sha256("\0".join((source, host_compiler(), os.environ.get("CXXFLAGS", ""))).encode()).hexdigest()[:32]
    library = folder / f"host-{key}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = library.with_suffix(f".{os.getpid()}")
        try:
            compile_host(source, unfinished)
            unfinished.replace(library)
        finally:
            unfinished.unlink(missing_ok=True)
    return library


def join_all(threads: Sequence[threading.Thread]) -> None:
    """Wait until all of them have ended."""
    for thread in threads:
        thread.join()
