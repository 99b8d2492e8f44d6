"""The stand-in itself: it does what a driver does, and whoever uses it wrongly is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_standin import Machine, make_machines

from gpudiy.harness.nvrtc import compiler_for

pytestmark = pytest.mark.cuda
DATA = Path(__file__).parent.parent / "data" / "cuda"
Make = Callable[..., Machine]

BEGIN = """
import numpy, os, sys
import pycuda.driver as driver
driver.init()
context = driver.Device(0).make_context()
module = driver.module_from_buffer(open(os.environ["CUBIN"], "rb").read())
add = module.get_function("add")
numbers, sums = driver.mem_alloc(400), driver.mem_alloc(400)
stream = driver.Stream()
driver.memcpy_htod(numbers, numpy.arange(100, dtype=numpy.uint32))
driver.memset_d32(sums, 0, 100)
found = numpy.zeros(100, numpy.uint32)
arguments = [sums, numbers, numpy.uint64(5), numpy.uint32(100)]
grid, block, shared = (4, 1, 1), (32, 1, 1), 0
"""
LAUNCH = """
try:
    add(*arguments, grid=grid, block=block, shared=shared, stream=stream)
    stream.synchronize()
    driver.memcpy_dtoh(found, sums)
except driver.Error as error:
    print(type(error).__name__, error)
"""
END = """
for each in (numbers, sums):
    each.free()
del add, module, stream
context.pop()
context.detach()
"""


@pytest.fixture
def machine(tmp_path: Path) -> Make:
    """A machine with PyCUDA, which these tests call themselves."""
    return make_machines(tmp_path, ("pycuda",))


@pytest.fixture(scope="module")
def cubins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("cubins")
    source = (DATA / "add.cu").read_text()
    paths = {}
    for architecture in ("sm_80", "sm_90"):
        paths[architecture] = directory / f"{architecture}.cubin"
        paths[architecture].write_bytes(compiler_for(architecture).compile(source, architecture))
    return paths


def prepared(machine: Make, cubins: dict[str, Path], chips: str = "small80", faults: str = "", **more: str) -> Machine:
    made = machine(chips, faults, CUBIN=str(cubins["sm_80"]), **more)
    made.add_host_build(cubins["sm_80"].read_bytes(), (DATA / "add_host.cpp").read_text())
    return made


def test_a_correct_caller_gets_its_answer_and_no_violation(machine: Make, cubins: dict[str, Path]) -> None:
    here = prepared(machine, cubins)
    printed = here.python(BEGIN + LAUNCH + "print(found[0], found[99])" + END)
    assert printed.split() == ["5", "104"]
    assert here.journal.violations == []
    launch = here.journal.entries("launch")[0]
    assert (launch["kernel"], launch["grid"], launch["block"]) == ("add", "4", "32")
    assert launch["arguments"] == "p400 p400 5 100"


MISTAKES = {
    "an argument too few": ("arguments.pop()", "24 bytes of arguments, and it takes 28"),
    "an argument too wide": ("arguments[3] = numpy.uint64(100)", "32 bytes of arguments, and it takes 28"),
    "an address of the host": (
        "arguments[0] = numpy.uint64(found.ctypes.data)",
        "argument 0 is an address of the host",
    ),
    "arguments in the wrong order": ("arguments[1:3] = [numpy.uint64(5), numbers]", "touches 0x5"),
    "freed memory": ("sums.free(); sums = driver.mem_alloc(400)", "argument 0 is an address of freed memory"),
    "no threads": ("block = (0, 1, 1)", "cuFuncSetBlockShape(0, 1, 1)"),
    "no groups": ("grid = (0, 1, 1)", "grid and block have no zero extent"),
    "two dimensions": ("block = (16, 2, 1)", "have one dimension"),
    "too many threads": ("block = (2048, 1, 1)", "2048 threads a CTA"),
    "more groups than are resident": ("grid = (9, 1, 1)", "9 CTAs beside 0 under way, and the device holds 8"),
    "too much shared memory": ("shared = 50000", "0 + 50000 bytes of shared memory"),
    "a copy too long": ("found = numpy.zeros(101, numpy.uint32)", "404 bytes at byte 0 of an allocation of 400"),
    "memory written beyond its end": ("arguments[3] = numpy.uint32(101)", "beyond the end of an allocation"),
    "a memset too long": ("driver.memset_d32(sums, 0, 101)", "404 bytes at byte 0 of an allocation of 400"),
    "memory never freed": ("lost = driver.mem_alloc(12)", "12 bytes are never freed"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_written_down(machine: Make, cubins: dict[str, Path], mistake: str) -> None:
    code, message = MISTAKES[mistake]
    here = prepared(machine, cubins)
    here.run("-c", BEGIN + f"try:\n    {code}\nexcept driver.Error:\n    pass\n" + LAUNCH + END)
    assert any(message in violation for violation in here.journal.violations), here.journal.lines


def test_a_context_left_behind_is_written_down(machine: Make) -> None:
    here = machine()
    here.run(
        "-c",
        "import os, sys, pycuda.driver as d; d.init(); c = d.Device(0).make_context(); c.pop(); import ctypes; "
        "ctypes.CDLL(None).exit(0)",
    )
    assert here.journal.violations == ["a context of device 0 is never given back"]


def test_new_memory_is_not_zero(machine: Make, cubins: dict[str, Path]) -> None:
    here = prepared(machine, cubins)
    code = "fresh = driver.mem_alloc(8); two = numpy.zeros(2, numpy.uint32)\n"
    printed = here.python(BEGIN + code + "driver.memcpy_dtoh(two, fresh); fresh.free(); print(hex(two[0]))" + END)
    assert printed.strip() == "0xcbcbcbcb"


def test_freed_memory_cannot_be_read_by_anybody(machine: Make, cubins: dict[str, Path]) -> None:
    here = prepared(machine, cubins)
    code = "import ctypes\naddress = int(sums)\nsums.free()\nprint(ctypes.c_uint.from_address(address))"
    assert here.run("-c", BEGIN + code).returncode == -11


def test_a_cubin_of_another_architecture_is_refused(machine: Make, cubins: dict[str, Path]) -> None:
    here = prepared(machine, cubins, chips="small90")
    found = here.run("-c", BEGIN)
    assert "no kernel image is available for execution on the device" in found.stderr


def test_what_is_no_cubin_is_refused(machine: Make, cubins: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "nonsense"
    path.write_bytes(b"nonsense" * 100)
    found = machine(CUBIN=str(path)).run("-c", BEGIN)
    assert "device kernel image is invalid - no cubin" in found.stderr


FAULTS = {
    "cuLaunchKernel#1=719": "LaunchError cuLaunchKernel failed: unspecified launch failure",
    "kernel/add=700": "LogicError cuStreamSynchronize failed: an illegal memory access was encountered",
    "kernel#1=719": "LaunchError cuStreamSynchronize failed: unspecified launch failure",
    "cuMemcpyDtoH=999": "Error cuMemcpyDtoH failed: unknown error",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_strikes_and_sticks(machine: Make, cubins: dict[str, Path], fault: str) -> None:
    here = prepared(machine, cubins, faults=fault)
    again = "\ntry:\n    driver.mem_alloc(4)\nexcept driver.Error as error:\n    print('again', error)\n"
    printed = here.python(BEGIN + LAUNCH + again + END)
    first, second = printed.splitlines()
    assert first == FAULTS[fault]
    assert second.split(": ")[1] == first.split(": ")[1]


def test_memory_that_does_not_suffice(machine: Make, cubins: dict[str, Path]) -> None:
    here = prepared(machine, cubins)
    code = "try:\n    driver.mem_alloc(1 << 30)\nexcept driver.MemoryError as error:\n    print(error)\n"
    assert here.python(BEGIN + code + END) == "cuMemAlloc failed: out of memory\n"


def test_a_miscount_adds_one(machine: Make, cubins: dict[str, Path]) -> None:
    here = prepared(machine, cubins, faults="copy=miscount")
    printed = here.python(BEGIN + LAUNCH + "print(found[0], found[99])" + END)
    assert printed.split() == ["6", "105"]


MEETING = """#include <atomic>
#include <cstdint>
#include <thread>
static std::atomic<int> came;
extern "C" void run_add(uint32_t, uint32_t, uint32_t, void **)
{
    for (came++; came < 2;) {
        std::this_thread::yield();
    }
}
"""


def test_kernels_of_two_streams_run_at_the_same_time(machine: Make, cubins: dict[str, Path]) -> None:
    """Each of two kernels waits for the other, so they end only if both run."""
    here = prepared(machine, cubins)
    here.add_host_build(cubins["sm_80"].read_bytes(), MEETING)
    code = """
other = driver.Stream()
for each in (stream, other):
    add(*arguments, grid=(2, 1, 1), block=block, stream=each)
stream.synchronize(); other.synchronize()
print("both"); del other
"""
    assert here.python(BEGIN + code + END) == "both\n"
    assert here.journal.violations == []


WAITING = """#include <cstdint>
#include <cstdlib>
#include <thread>
#include <unistd.h>
extern "C" void run_add(uint32_t, uint32_t, uint32_t, void **) {
    while (access(getenv("KERNEL_MAY_END"), F_OK) != 0) std::this_thread::yield();
}
"""


def test_a_copy_beside_a_stream_that_nothing_orders(machine: Make, cubins: dict[str, Path], tmp_path: Path) -> None:
    may_end = tmp_path / "may-end"
    here = prepared(machine, cubins, KERNEL_MAY_END=str(may_end))
    here.add_host_build(cubins["sm_80"].read_bytes(), WAITING)
    code = """
stream = driver.Stream(1)
add(*arguments, grid=grid, block=block, stream=stream)
driver.memcpy_dtoh(found, sums)
"""
    here.python(BEGIN + code + f"open({str(may_end)!r}, 'w').close()\n" + END)
    message = "cuMemcpyDtoH: 400 bytes that work on another stream may still use"
    assert message in here.journal.violations
    (here.directory / "journal").unlink()
    here.python(BEGIN + code.replace("Stream(1)", "Stream(0)") + END)  # which the default stream waits for
    assert here.journal.violations == []


def test_two_kernels_do_not_share_the_room_of_one(machine: Make, cubins: dict[str, Path]) -> None:
    here = prepared(machine, cubins)
    here.add_host_build(cubins["sm_80"].read_bytes(), MEETING)
    code = """
other = driver.Stream()
for each in (stream, other):
    add(*arguments, grid=(5, 1, 1), block=block, stream=each)
stream.synchronize(); other.synchronize(); del other
"""
    here.python(BEGIN + code + END)
    assert any("5 CTAs beside 5 under way, and the device holds 8" in found for found in here.journal.violations)


def test_memory_of_another_device_needs_access(machine: Make, cubins: dict[str, Path]) -> None:
    here = prepared(machine, cubins, chips="small80,small80")
    code = """
there = driver.Device(1).make_context()
far = driver.mem_alloc(400)
context.push()
arguments[0] = far
{access}
"""
    end = "\ncontext.pop(); there.push(); far.free(); there.pop(); there.pop(); there.detach()\n"
    here.run("-c", BEGIN + code.format(access="") + LAUNCH.replace("sums", "numbers") + end)
    assert "add: argument 0 is memory of device 1, to which there is no access" in here.journal.violations
    (here.directory / "journal").unlink()
    access = "driver.Context.enable_peer_access(there)"
    here.run("-c", BEGIN + code.format(access=access) + LAUNCH.replace("sums", "numbers") + end)
    assert not any("argument 0" in found for found in here.journal.violations)
