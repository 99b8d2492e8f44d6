"""The CUDA device: what it launches, where, with what, and that it believes nobody blindly."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

import pytest
from cuda_standin import INTER_CTA, SHORT, Machine, sb_test

from gpudiy.diy.families import FAMILIES
from gpudiy.diy.generator import Generator
from gpudiy.harness.host_side import LAUNCH_BYTES, PRIMES_BYTES
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.source import Dialect, obstacle
from gpudiy.litmus import Test, print_test, read_test
from gpudiy.models.library import load_model
from gpudiy.models.verdict import outcomes

pytestmark = pytest.mark.cuda
Make = Callable[..., Machine]

TREES = {
    "one warp": "(device (kernel (cta (warp P0 P1))))",
    "one CTA": "(device (kernel (cta (warp P0) (warp P1))))",
    "two CTAs": INTER_CTA,
    "two kernels": "(device (kernel (cta (warp P0))) (kernel (cta (warp P1))))",
    "two devices": "(system (device (kernel (cta (warp P0)))) (device (kernel (cta (warp P1)))))",
    "one cluster": "(device (kernel (cluster (cta (warp P0)) (cta (warp P1)))))",
}
CHEAP = Incantation(group_size=32, stress_iterations=8, instances=512)

PROGRAM = """
import json, sys
from gpudiy.devices.device import DeviceError
from gpudiy.devices.opening import open_device
from gpudiy.harness.incantation import Incantation
from gpudiy.litmus import read_test
requests, patch = json.load(open(sys.argv[1]))
exec(patch)
device = open_device("cuda:0")
tests = [read_test(request[0]) for request in requests]
device.prepare([test for test in tests if device.obstacle(test) is None])
for test, (_, incantation, iterations, seed) in zip(tests, requests):
    given = {"obstacle": device.obstacle(test)}
    if given["obstacle"] is None:
        try:
            found = device.run(test, Incantation(**incantation), iterations, seed)
            given["outcomes"] = [[list(outcome), count] for outcome, count in sorted(found.outcomes.items())]
            given["liveness"] = [found.liveness.meetings, found.liveness.timeouts, found.liveness.timed,
                                 found.liveness.stress_accesses]
        except DeviceError as error:
            given["error"] = [str(error.ending), str(error)]
    print(json.dumps(given))
device.close()
"""


def run(
    machine: Machine,
    tests: Sequence[Test],
    *incantations: Incantation,
    iterations: int = 500,
    seeds: Sequence[int] = (1,),
    patch: str = "",
) -> list[dict[str, object]]:
    """What the device said of each test, under each incantation, with each seed."""
    requests = [
        (print_test(test), asdict(incantation), iterations, seed)
        for test in tests
        for incantation in incantations or (CHEAP,)
        for seed in seeds
    ]
    path = machine.directory / "requests.json"
    path.write_text(json.dumps([requests, patch]))
    found = machine.run("-c", PROGRAM, str(path))
    assert found.returncode == 0 or patch, found.stderr
    return [json.loads(line) for line in found.stdout.splitlines()]


def total(given: dict[str, object]) -> int:
    return sum(count for _, count in given["outcomes"])  # type: ignore[attr-defined]


def possible(given: dict[str, object]) -> bool:
    return all(number in (0, 1) for outcome, _ in given["outcomes"] for number in outcome)  # type: ignore[attr-defined]


@pytest.mark.parametrize("place", ["one warp", "one CTA", "two CTAs"])
def test_a_test_of_one_kernel(machine: Make, place: str) -> None:
    here = machine()
    test = sb_test(TREES[place])
    here.add_tests([test])
    (given,) = run(here, [test])
    assert here.journal.violations == []
    assert total(given) >= 500
    assert possible(given)
    meetings, timeouts, timed, stress = given["liveness"]  # type: ignore[misc]
    assert meetings + timeouts == total(given)
    assert timed == total(given)
    assert stress > 0
    launches = here.journal.entries("launch")
    assert [launch["kernel"] for launch in launches][:3] == ["reset", "run", "reduce"]
    assert launches[1]["block"] == ("64" if place == "one CTA" else "32")


def test_kernels_run_side_by_side_on_streams_of_their_own(machine: Make) -> None:
    """They meet each other, which they cannot unless both run; together they have room."""
    here = machine()
    test = sb_test(TREES["two kernels"])
    here.add_tests([test])
    (given,) = run(here, [test])
    assert here.journal.violations == []
    assert total(given) >= 500
    assert given["liveness"][2] > 0  # type: ignore[index]
    launches = [launch for launch in here.journal.entries("launch") if launch["kernel"] == "run"]
    assert [launch["arguments"].split()[7] for launch in launches] == ["0", "1"]
    assert len({launch["stream"] for launch in launches}) == 2
    assert sum(int(launch["grid"]) for launch in launches) <= 8


def test_devices_share_the_memory_of_the_first(machine: Make) -> None:
    here = machine("small80,small80")
    test = sb_test(TREES["two devices"])
    here.add_tests([test])
    (given,) = run(here, [test])
    assert here.journal.violations == []
    assert total(given) >= 500
    meetings, _, timed, _ = given["liveness"]  # type: ignore[misc]
    assert meetings > 0 and timed == 0  # two GPUs have no clock in common
    launches = [launch for launch in here.journal.entries("launch") if launch["kernel"] == "run"]
    assert [(launch["device"], launch["arguments"].split()[7]) for launch in launches] == [("0", "0"), ("1", "1")]
    assert here.journal.entries("peer") == [{"from": "1", "to": "0"}]
    constants = str(LAUNCH_BYTES + PRIMES_BYTES)  # the constant memory of a module is on its GPU
    assert {found["device"] for found in here.journal.entries("alloc") if found["bytes"] != constants} == {"0"}


def test_clusters_are_launched_whole_where_there_are_clusters(machine: Make) -> None:
    here = machine("small90")
    test = sb_test(TREES["one cluster"])
    here.add_tests(
        [test], "sm_90", host=[sb_test()]
    )  # the processor has no clusters; where threads stand is told at run time
    (given,) = run(here, [test])
    assert here.journal.violations == []
    assert total(given) >= 500
    assert given["liveness"][2] > 0  # type: ignore[index]
    launch = here.journal.entries("launch")[1]
    assert (launch["kernel"], launch["cluster"]) == ("run_cluster_2", "2")
    assert int(launch["grid"]) % 2 == 0


def test_what_cannot_be_placed_is_not_run(machine: Make) -> None:
    here = machine("small80")
    asked = [sb_test(TREES["two devices"]), sb_test(TREES["one cluster"])]
    devices, cluster = run(here, asked)
    assert devices["obstacle"] == "its threads are on 2 devices, but no other GPU shares memory with this one"
    assert cluster["obstacle"] == "a cluster of 2 CTAs does not fit: 1 is the most here"
    (apart,) = run(machine("small80,small80", STANDIN_NO_PEER="1"), asked[:1])
    assert apart["obstacle"] == "its threads are on 2 devices, but no other GPU shares memory with this one"
    (crowded,) = run(machine("tiny80"), [sb_test(TREES["two kernels"])])
    assert crowded["obstacle"] == "an instance needs 2 CTAs at the same time, the device runs 1"
    assert here.journal.entries("launch") == []
    assert here.journal.violations == []


def test_shared_memory_and_addresses(machine: Make) -> None:
    here = machine()
    shared = sb_test(TREES["one CTA"], "shared", "SB-shared")
    here.add_tests([shared])
    (given,) = run(here, [shared])
    assert here.journal.violations == []
    assert total(given) >= 500
    assert int(here.journal.entries("launch")[1]["shared"]) > 0


def test_incantations_stay_inside_their_memory(machine: Make) -> None:
    here = machine()
    test = sb_test()
    here.add_tests([test])
    incantations = [
        replace(CHEAP, memory_stress=False, randomisation=False),
        replace(CHEAP, bank_conflicts=True, pre_stress_percent=100),
        replace(CHEAP, group_size=64, synchronisation=False, meet_every=3, instances=900),
        replace(CHEAP, group_size=1024, testing_groups=2, stress_groups=1, stress_lines=1, instances=64),
        replace(CHEAP, location_stride=1, location_spread=1, stress_line_size=1, instances=0),
    ]
    for given in run(here, [test], *incantations):
        assert total(given) >= 500
    assert here.journal.violations == []


def test_tests_of_one_module_keep_their_numbers_and_constants(machine: Make) -> None:
    here = machine()
    tests = [read_test(print_test(sb_test()).replace("],1", f"],{value}")) for value in (1, 2, 3)]
    here.add_tests(tests)
    for value, given in zip((1, 2, 3), run(here, tests), strict=True):
        seen = {number for outcome, _ in given["outcomes"] for number in outcome}  # type: ignore[attr-defined]
        assert {value} <= seen <= {0, value}
    assert here.journal.violations == []
    assert len(here.journal.entries("module")) < 3


def test_the_same_seed_tells_the_kernels_the_same(machine: Make) -> None:
    here = machine()
    here.add_tests([sb_test()])
    run(here, [sb_test()], iterations=1100, seeds=(7, 7, 8))
    told = [copy["hash"] for copy in here.journal.entries("cuMemcpyHtoDAsync")]
    assert len(told) == 18  # three launches for each seed, each told to global and to constant memory
    assert told[::2] == told[1::2]
    assert told[:6] == told[6:12]
    assert len(set(told)) == 6


@pytest.mark.parametrize(("chip", "architecture"), [("t4", "sm_75"), ("a100", "sm_80"), ("h100", "sm_90")])
def test_real_chips_are_filled_and_not_overfilled(machine: Make, chip: str, architecture: str) -> None:
    """The kernels do not run, as no host has so many threads; what they leave undone is noticed."""
    here = machine(chip, STANDIN_IDLE="1")
    test = sb_test()
    here.add_tests([test], architecture)
    incantations = (Incantation(group_size=size) for size in (0, 32, 256, 1024))
    for given in run(here, [test], *incantations, iterations=10_000_000):
        assert given["error"][0] == "crashed"  # type: ignore[index]
    assert here.journal.violations == []
    sms = {"t4": 40, "a100": 108, "h100": 132}[chip]
    grids = [int(launch["grid"]) for launch in here.journal.entries("launch") if launch["kernel"] == "run"]
    assert len(set(grids)) >= 3
    assert all(10 * grid >= 9 * sms for grid in grids)


FAULTS = {
    "cuLaunchKernel#2=719": "crashed",
    "kernel/run=700": "crashed",
    "kernel/run=702": "timeout",
    "kernel/run=999": "device lost",
    "kernel/run=214": "device lost",
    "cuMemAlloc=2": "out of memory",
    "cuModuleLoadDataEx=2": "out of memory",
    "cuMemcpyDtoHAsync=46": "device lost",
    "copy#1=miscount": "crashed",
    "copy#2=miscount": "crashed",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_an_ending(machine: Make, fault: str) -> None:
    here = machine(faults=fault)
    here.add_tests([sb_test()])
    (given,) = run(here, [sb_test()])
    assert given["error"][0] == FAULTS[fault], given  # type: ignore[index]
    assert here.journal.violations == []


def test_a_cubin_of_another_architecture_is_refused_by_name(machine: Make) -> None:
    here = machine("small80")
    patch = """
from gpudiy.devices.cuda_binaries import FreshBinaries
find = FreshBinaries.find
FreshBinaries.find = lambda self, test, architecture: find(self, test, "sm_90")
"""
    (given,) = run(here, [sb_test()], patch=patch)
    assert given["error"] == ["build failed", "the cubin was built for sm_90, but Stand-in 80 needs sm_80"]


def test_a_cubin_that_the_driver_does_not_load_is_explained(machine: Make) -> None:
    here = machine(faults="cuModuleLoadDataEx=200")
    here.add_tests([sb_test()])
    (given,) = run(here, [sb_test()])
    ending, message = given["error"]  # type: ignore[misc]
    assert ending == "build failed"
    assert "does not load the cubin that NVRTC" in message and "pip install 'gpudiy[cuda12]'" in message


def test_an_old_driver_gets_an_old_compiler(machine: Make) -> None:
    """Cubins of CUDA 13 do not load on a driver of CUDA 12: nothing is built with it, and the message says so."""
    here = machine(STANDIN_CUDA="12040")
    path = here.directory / "sb.litmus"
    path.write_text(print_test(sb_test()))
    found = here.run("-m", "gpudiy", "run", str(path), "-d", "cuda:0", "-s", "100", *SHORT, "-q")
    assert found.returncode == 3
    said = found.stdout + found.stderr
    assert "the driver loads what CUDA 12 makes, but for sm_80 only NVRTC 13." in said
    assert "is installed: update the driver, or pip install 'gpudiy[cuda12]'" in said
    assert here.journal.entries("launch") == []


def test_a_test_that_does_not_fit_the_memory(machine: Make) -> None:
    """The device asks for a part of what is free; where others have taken it in between, that is said."""
    here = machine("tiny80")
    test = sb_test(TREES["one CTA"])
    here.add_tests([test])
    patch = "import gpudiy.devices.cuda_device as module; module.SHARE_OF_MEMORY = 1; module.MOST_MEMORY = 1 << 33\n"
    patch += "module.CudaDevice._limits_before = module.CudaDevice._limits\n"
    patch += "from dataclasses import replace\n"
    patch += (
        "module.CudaDevice._limits = lambda *a: replace(module.CudaDevice._limits_before(*a), memory_bytes=1 << 33)"
    )
    (given,) = run(here, [test], Incantation(instances=1 << 22, location_stride=64), iterations=1 << 22, patch=patch)
    assert given["error"][0] == "out of memory"  # type: ignore[index]


MUTANTS = {
    "two buffers exchanged": """
import gpudiy.devices.cuda_launch as module
right = module.Buffers.arguments
def arguments(self):
    found = right(self)
    found[2], found[3] = found[3], found[2]
    return found
module.Buffers.arguments = arguments
""",
    "a buffer too small": """
import gpudiy.devices.cuda_device as module
right = module.buffer_bytes
def sizes(*given):
    found = right(*given)
    return found | {"locations": 8}  # less than one location, whatever stride the launch draws
module.buffer_bytes = sizes
""",
    "memory never freed": "import gpudiy.devices.cuda_launch as module; module.Buffers.close = lambda self: None",
    "nothing is reset": """
import gpudiy.devices.cuda_launch as module
right = module._launch_helper
calls = []
def helper(*given):
    calls.append(1)
    if len(calls) % 2 == 0:
        right(*given)
module._launch_helper = helper
""",
    "nothing is reduced": """
import gpudiy.devices.cuda_launch as module
right = module._launch_helper
calls = []
def helper(*given):
    calls.append(1)
    if len(calls) % 2 == 1:
        right(*given)
module._launch_helper = helper
""",
    "more CTAs than fit": """
import gpudiy.devices.cuda_gpu as module
right = module.Kernel.resident
module.Kernel.resident = lambda self, *given: 2 * right(self, *given)
""",
    "nobody waits for the kernel": """
import ctypes
from gpudiy.devices.cuda_bindings import BindingsDriver
from gpudiy.devices.cuda_pycuda import PyCudaDriver
def copy(self, to, source, stream):
    place = ctypes.addressof((ctypes.c_char * len(to)).from_buffer(to))
    self.call("cuMemcpyDtoH", place, source.address, len(to))
BindingsDriver.make_stream = lambda self: self.call("cuStreamCreate", 1)
BindingsDriver.copy_to_host = copy
PyCudaDriver.make_stream = lambda self: self._driver.Stream(1)
PyCudaDriver.copy_to_host = lambda self, to, source, stream: self._driver.memcpy_dtoh(to, source.address)
""",
    "another kernel": """
import gpudiy.devices.cuda_launch as module
import numpy
right = module._launch_run
class Shifted:
    def __init__(self, kernel):
        self.gpu, self.launch = kernel.gpu, lambda arguments, *more: kernel.launch(
            (*arguments[:7], numpy.uint32(1), *arguments[8:]), *more)
def parts(kernels, *given):
    from dataclasses import replace
    return right(replace(kernels, run=tuple(map(Shifted, kernels.run))), *given)
module._launch_run = parts
""",
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mistake_of_the_device_does_not_pass(machine: Make, mutant: str) -> None:
    """Each mistake leads to a violation, an error, the death of the process or outcomes that cannot be."""
    here = machine()
    here.add_tests([sb_test()])
    given = run(here, [sb_test()], patch=MUTANTS[mutant])
    quiet = bool(given) and "outcomes" in given[0] and not here.journal.violations
    assert not (quiet and possible(given[0])), (given, here.journal.lines)


def test_every_outcome_of_a_family_is_allowed_by_the_processor(machine: Make) -> None:
    """The classic tests as they are generated, one module; those that the compiler changed are refused, and not run."""
    here = machine()
    generated = (read_test(found.text()) for found in Generator(FAMILIES["classic"].recipe()).blueprints())
    tests = [test for test in generated if obstacle(test, Dialect.HOST) is None]
    kept = here.add_tests(tests)
    ran = 0
    for test, given in zip(tests, run(here, tests), strict=True):
        if test not in kept:
            assert given["error"][0] == "refused"  # type: ignore[index]
            continue
        allowed = {tuple(outcome) for outcome in outcomes(test, load_model("tso"))}
        assert {tuple(outcome) for outcome, _ in given["outcomes"]} <= allowed, test.name  # type: ignore[attr-defined]
        ran += 1
    assert here.journal.violations == []
    assert ran > len(tests) // 2


def test_barriers_and_loops_run(machine: Make) -> None:
    """A barrier forbids what it must; a loop that never ends is cut, and the run ends by itself."""
    here = machine()
    head = "GPU_PTX {name}\n{{0:.reg .pred p0; 1:.reg .s32 r0; 1:.reg .s32 r1;}}\n P0 | P1 ;\n"
    tail = "(device (kernel (cta (warp P0) (warp P1))))\nx: global, y: global\nexists (1:r0=1 /\\ 1:r1=0)"
    waits = " st.s32 [x],1 | bar.sync 0 ;\n bar.sync 0 | ld.s32 r1,[x] ;\n st.s32 [y],1 | ld.s32 r0,[y] ;\n"
    spins = " L: | ld.s32 r0,[x] ;\n bra L | ;\n"
    tests = [read_test(head.format(name=name) + body + tail) for name, body in (("waits", waits), ("spins", spins))]
    here.add_tests(tests)
    (waited,) = run(here, tests[:1])
    assert {outcome[1] for outcome, _ in waited["outcomes"]} == {1}  # type: ignore[attr-defined]
    assert total(waited) >= 500 and here.journal.violations == []
    launch = next(entry for entry in here.journal.entries("launch") if entry["kernel"] == "run")
    assert launch["block"] == "64"
    (spun,) = run(here, tests[1:], iterations=32)
    assert "a loop was cut in every instance" in str(spun)
