"""The Vulkan device on Mesa's lavapipe, which is the processor of this machine behind Vulkan."""

from __future__ import annotations

import platform
import random
from dataclasses import replace
from typing import Any

import pytest

from gpudiy.devices import vulkan, vulkan_plan
from gpudiy.devices.device import DeviceError
from gpudiy.devices.runner import Runner
from gpudiy.devices.settings import RunSettings
from gpudiy.devices.stop_rule import parse_stop_rule
from gpudiy.devices.vulkan import VulkanDevice
from gpudiy.devices.vulkan_adapters import choose, find_adapters, list_devices, name_of
from gpudiy.diy.families import FAMILIES
from gpudiy.diy.generator import Generator
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.incantation_text import named_incantation
from gpudiy.harness.launch_plan import DeviceLimits
from gpudiy.harness.source import Dialect, obstacle, render_test
from gpudiy.harness.wgsl_source import wgsl_prelude
from gpudiy.litmus import Test, read_test
from gpudiy.litmus.outcome import outcome_text
from gpudiy.logs.decision import Sighting, decide_record
from gpudiy.logs.record import Ending, Record
from gpudiy.models.library import load_model
from gpudiy.models.verdict import outcomes

pytest.importorskip("wgpu", reason="wgpu is not there: pip install 'gpudiy[vulkan]'")
pytestmark = [
    pytest.mark.vulkan,
    pytest.mark.skipif(
        not any("llvmpipe" in name_of(adapter) for adapter in find_adapters()) or platform.machine() != "x86_64",
        reason="lavapipe on x86 is not there: apt-get install mesa-vulkan-drivers",
    ),
]
LAVAPIPE = "vulkan:llvmpipe"
MANY_MEETINGS = 2_000  # of 64 instances each: after these even a rare outcome should have shown
GROUPS_OF_MANY = DeviceLimits(groups=3, group_size=64, warp_size=16, memory_bytes=16 << 20)  # of no real device

SB = """GPU_PTX SB
{0:.reg .s32 r2; 1:.reg .s32 r2;}
 P0 | P1 ;
 st.relaxed.gpu.s32 [x],1 | st.relaxed.gpu.s32 [y],1 ;
 ld.relaxed.gpu.s32 r2,[y] | ld.relaxed.gpu.s32 r2,[x] ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
x: global, y: global
exists (0:r2=0 /\\ 1:r2=0)
"""
TWO_READS = """GPU_PTX two-reads
{1:.reg .s32 r0; 1:.reg .s32 r1;}
 P0 | P1 ;
 st.relaxed.gpu.s32 [x],1 | ld.relaxed.gpu.s32 r0,[x] ;
  | ld.relaxed.gpu.s32 r1,[x] ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
x: global
exists (1:r0=0 /\\ 1:r1=1)
"""
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


@pytest.fixture(scope="module")
def device() -> VulkanDevice:
    return VulkanDevice(*choose("llvmpipe"))


def family(name: str) -> list[Test]:
    return [read_test(blueprint.text()) for blueprint in Generator(FAMILIES[name].recipe()).blueprints()]


def run(tests: list[Test], **settings: Any) -> list[Record]:
    with Runner(LAVAPIPE) as runner:
        return list(runner.run(tests, RunSettings(**settings)))


def check_sound(record: Record) -> None:
    assert record.ending in (Ending.FINISHED, Ending.STOPPED), record.reason
    assert sum(entry.count for entry in record.histogram) == record.iterations == record.positive + record.negative
    assert record.liveness is not None


def run_until_seen(test: Test) -> Record:
    """Run until the outcome shows; on a machine that is too busy two threads never run at the same time."""
    (record,) = run([test], iterations=100_000_000, until=parse_stop_rule("observed"), limit=60.0)
    check_sound(record)
    assert record.liveness is not None
    if not record.positive and record.liveness.meetings < MANY_MEETINGS:
        pytest.skip(f"in {record.seconds:.0f} s threads met {record.liveness.meetings} times only: the machine is busy")
    return record


def test_a_weak_outcome_shows() -> None:
    record = run_until_seen(read_test(SB))
    assert decide_record(record).sighting is Sighting.OBSERVED, record


def test_the_compiler_keeps_both_reads_of_a_location() -> None:
    record = run_until_seen(read_test(TWO_READS))
    assert record.positive > 0, "a compiler has merged the reads"


@pytest.mark.parametrize(("name", "share"), [("classic", 1), ("coherence", 1), ("dependencies", 3), ("rmw", 12)])
def test_every_outcome_is_allowed_by_tso(name: str, share: int) -> None:
    tests = [test for test in family(name) if obstacle(test, Dialect.WGSL) is None][::share]
    ran = 0
    for test, record in zip(tests, run(tests, iterations=4000), strict=True):
        if record.ending is Ending.NOT_RUNNABLE:
            assert "CTAs at the same time, the device runs" in record.reason
            continue
        check_sound(record)
        allowed = {outcome_text(test, outcome) for outcome in outcomes(test, load_model("tso"))}
        assert {entry.outcome for entry in record.histogram} <= allowed, test.name
        ran += 1
    assert ran >= 4


@pytest.mark.parametrize("name", ["classic", "coherence", "dependencies", "rmw", "modern"])
@pytest.mark.parametrize("volatile", [False, True])
def test_naga_accepts_every_kind_of_test(device: VulkanDevice, name: str, volatile: bool) -> None:
    tests = [test for test in family(name) if obstacle(test, Dialect.WGSL) is None]
    chosen = random.Random(1).sample(tests, min(len(tests), 25))
    texts = [render_test(test, Dialect.WGSL).text for test in chosen]
    device._device.create_shader_module(code="\n".join([wgsl_prelude(volatile), *texts]))


REGISTERS = 6
LITERALS = (0, 1, 3, 31, 32, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
ALONE = ("add.t", "sub.t", "mul.lo.t", "min.t", "max.t", "and.b32", "or.b32", "xor.b32", "shl.b32", "shr.t")
ATOMIC = ("exch.b32", "add.u32", "min.t", "max.t", "and.b32", "or.b32", "xor.b32", "inc.u32", "dec.u32", "cas.b32")


def draw_program(seed: int) -> Test:
    """One thread alone, with registers and locations of 32 bits and literals at the ends of their ranges."""
    dice = random.Random(seed)

    def operand() -> str:
        return f"r{dice.randrange(REGISTERS)}" if dice.randrange(2) else str(dice.choice(LITERALS))

    def row() -> str:
        guard, type = dice.choice(("", "", "@p0 ", "@!p0 ")), dice.choice(("s32", "u32"))
        into, at = f"r{dice.randrange(REGISTERS)}", dice.choice("xy")
        match dice.randrange(6):
            case 0:
                return f"{guard}setp.{dice.choice(('eq', 'lt', 'ge'))}.{type} p0,{operand()},{operand()}"
            case 1:
                return f"{guard}selp.b32 {into},{operand()},{operand()},p0"
            case 2:
                return guard + dice.choice(
                    (f"ld.relaxed.gpu.b32 {into},[{at}]", f"st.relaxed.gpu.b32 [{at}],{operand()}")
                )
            case 3:
                operation = dice.choice(ATOMIC).replace(".t", f".{type}")
                first = f"{operand()}," if operation.startswith("cas") else ""
                return f"{guard}atom.{operation} {into},[{at}],{first}{operand()}"
            case _:
                return f"{guard}{dice.choice(ALONE).replace('.t', f'.{type}')} {into},{operand()},{operand()}"

    types = [dice.choice(("s32", "u32", "b32")) for _ in range(REGISTERS)]
    declared = [f"0:.reg .{type} r{number} = {dice.choice(LITERALS)};" for number, type in enumerate(types)]
    memory = [f"{name} = {dice.choice(LITERALS)};" for name in "xy"]
    shown = "".join(f" 0:r{number};" for number in range(REGISTERS))
    tree = "(device (kernel (cta (warp P0))))"
    lines = ["GPU_PTX alone", *declared, "0:.reg .pred p0;", *memory, "P0", *(row() for _ in range(8)), tree]
    return read_test("\n".join([*lines, "x: global, y: global", f"locations [{shown} x; y;]", "exists (x=1)"]))


def test_one_thread_alone_computes_what_the_models_say(device: VulkanDevice) -> None:
    ran = 0
    for seed in range(60):
        test = draw_program(seed)
        if device.obstacle(test) is None:  # some results do not depend on what was read
            seen = device.run(test, Incantation(), 100, seed)
            assert set(seen.outcomes) == set(outcomes(test, load_model("sc"))), seed
            ran += 1
    assert ran >= 20


def test_a_loop_that_waits_is_seen_to_its_end_or_discarded(device: VulkanDevice) -> None:
    seen = device.run(read_test(SPIN), Incantation(), 2000, 1)
    assert seen.iterations >= 2000
    assert set(seen.outcomes) == {(1,)}  # x86 does not reorder the stores, nor the loads


def test_a_loop_that_never_ends_is_cut_and_the_test_given_up() -> None:
    endless = read_test(SPIN.replace("st.relaxed.gpu.s32 [y],1", "st.relaxed.gpu.s32 [x],2"))
    (never, after) = run([endless, read_test(SB)], iterations=500)
    assert (never.ending, never.iterations) == (Ending.TIMEOUT, 0)
    assert "a loop was cut in every instance" in never.reason
    check_sound(after)


def test_a_kernel_that_the_driver_ends_early_is_not_believed(
    device: VulkanDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vulkan_plan, "FIXED_PASSES", 1 << 30)
    monkeypatch.setattr(vulkan_plan, "SOFTWARE_PASSES", 1 << 30)
    with pytest.raises(DeviceError, match="the driver ended a kernel early: threads ran"):
        device.run(read_test(SB), Incantation(synchronisation=False), 400_000, 1)


@pytest.mark.parametrize("name", ["none", "all", "stress", "sync+random"])
def test_every_incantation_runs(device: VulkanDevice, name: str) -> None:
    seen = device.run(read_test(SB), named_incantation(name), 5000, 1)
    assert seen.iterations >= 5000
    assert (seen.liveness.stress_accesses > 0) is ("stress" in name or name == "all")
    assert (seen.liveness.meetings + seen.liveness.timeouts > 0) is ("sync" in name or name == "all")


PLACES = """GPU_PTX places
{{0:.reg .s32 r0; 1:.reg .s32 r0; 2:.reg .s32 r0;}}
 P0 | P1 | P2 ;
 atom.add.u32 r0,[a],1 | atom.add.u32 r0,[b],1 | atom.add.u32 r0,[c],1 ;
 {more}
{tree}
a: global, b: global, c: global{spaces}
locations [0:r0; 1:r0; 2:r0; a; b; c;]
exists (a=0)
"""
SHARED = " atom.add.u32 r0,[s],1 | red.add.u32 [s],2 | red.add.u32 [t],4 ;"
TREES = {
    "three CTAs": "(device (kernel (cta (warp P0)) (cta (warp P1)) (cta (warp P2))))",
    "two warps": "(device (kernel (cta (warp P0) (warp P1)) (cta (warp P2))))",
    "three warps": "(device (kernel (cta (warp P0) (warp P1) (warp P2))))",
}


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("shuffle", [0, 100])
def test_every_thread_runs_every_instance_once(
    device: VulkanDevice, monkeypatch: pytest.MonkeyPatch, tree: str, shuffle: int
) -> None:
    """Workgroups of many threads, as on a GPU, which lavapipe runs one after another: nobody meets, all run."""
    monkeypatch.setattr(vulkan, "limits_of", lambda *_: GROUPS_OF_MANY)
    test = read_test(PLACES.format(tree=TREES[tree], more="", spaces=""))
    incantation = Incantation(shuffle_percent=shuffle, spin_limit=2, stress_iterations=64, testing_groups=3)
    seen = device.run(test, incantation, 2000, 5)
    assert set(seen.outcomes) == {(1, 0, 0, 0, 1, 1)}  # a; what P0, P1 and P2 read; b and c


def test_shared_variables_are_those_of_their_instance(device: VulkanDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vulkan, "limits_of", lambda *_: GROUPS_OF_MANY)
    text = PLACES.format(tree=TREES["two warps"], more=SHARED, spaces=", s: shared, t: shared")
    test = read_test(text.replace("a; b; c;]", "s; t;]").replace("locations [0:r0; 1:r0; 2:r0; ", "locations ["))
    seen = device.run(test, Incantation(spin_limit=2, testing_groups=3), 2000, 5)
    assert set(seen.outcomes) == {(1, 3, 4)}  # a, s, t


def test_a_record_tells_what_ran() -> None:
    (record,) = run([read_test(SB)], iterations=5000, seed=9)
    assert record.device.startswith("vulkan:") and record.seed == 9 and not record.simulated
    assert record.chip.startswith("llvmpipe") and "software" in record.chip
    assert (record.architecture, record.optcheck) == ("Vulkan", "")
    assert "Mesa" in record.driver and "nopt" in record.toolkit and "wgpu" in record.toolkit
    alive = record.liveness
    assert alive is not None and alive.meetings + alive.timeouts > 0
    assert (alive.timed, alive.overlaps) == (0, 0)  # WGSL has no clock that would show them


def test_the_least_launches_and_seconds_are_those_asked_for() -> None:
    usual, many, long = (
        run([read_test(SB)], iterations=500, **least)[0] for least in ({}, {"launches": 50}, {"seconds": 0.5})
    )
    counts = [record.liveness.launches or 0 for record in (usual, many) if record.liveness is not None]
    assert counts[0] >= 32 and counts[1] >= 50
    assert decide_record(usual).clustered is not None or decide_record(usual).launch_bound is not None
    assert long.seconds >= 0.5
    assert "warm-up" not in dict(usual.options)  # a processor has no clocks that must rise


def test_the_same_seed_gives_the_same_launches(device: VulkanDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[bytes] = []
    pack = vulkan.wgsl_launch_bytes
    monkeypatch.setattr(vulkan, "wgsl_launch_bytes", lambda *told: given.append(pack(*told)) or given[-1])
    for seed in (3, 3, 4):
        device.run(read_test(SB), Incantation(), 2000, seed)
    first, again, other = given
    assert first == again != other


def test_a_table_that_is_too_small_grows(device: VulkanDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudiy.harness.launch_plan.DEFAULT_SLOTS", 1)
    test = replace(read_test(SB), name="SB-2")
    assert device.run(test, Incantation(synchronisation=False), 20_000, 1).iterations >= 20_000


def test_failures_of_wgpu_have_their_endings(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = VulkanDevice(*choose("llvmpipe"))
    monkeypatch.setattr(vulkan, "wgsl_prelude", lambda *_: "nonsense")
    with pytest.raises(DeviceError, match=r"nonsense|expected") as caught:
        broken.prepare([read_test(SB)])
    assert caught.value.ending is Ending.BUILD_FAILED
    broken.close()


def test_names_and_listing() -> None:
    for number, adapter in enumerate(find_adapters()):
        found, chosen = choose(str(number))
        assert (found, name_of(chosen)) == (number, name_of(adapter))
    software = [listing for listing in list_devices() if "llvmpipe" in listing.what]
    assert software and all("software" in listing.what and listing.there for listing in software)
