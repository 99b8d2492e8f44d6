"""The OpenCL device on whatever is there: PoCL, which is x86 behind OpenCL, or a GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpudiy.devices.device import DeviceError
from gpudiy.devices.opencl import OpenClDevice
from gpudiy.devices.opencl_platform import choose, find_devices, list_devices
from gpudiy.devices.opencl_workers import core_count
from gpudiy.devices.opening import UnknownDevice
from gpudiy.devices.runner import Runner
from gpudiy.devices.settings import RunSettings
from gpudiy.devices.stop_rule import NEVER, parse_stop_rule
from gpudiy.diy.families import FAMILIES
from gpudiy.diy.generator import Generator
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.incantation_text import IncantationBook, incantation_of, named_incantation
from gpudiy.litmus import Test, content_hash, read_test
from gpudiy.litmus.condition import AddressOf
from gpudiy.litmus.outcome import outcome_text
from gpudiy.logs.decision import NoEvidence, Sighting, decide_record
from gpudiy.logs.record import Ending, Record
from gpudiy.models.library import load_model
from gpudiy.models.verdict import Answer, decide, outcomes

pytest.importorskip("pyopencl")
TSO_DEVICES = [device for device in find_devices() if "pthread" in device.name and "x86" in device.version]
pocl = pytest.mark.skipif(not TSO_DEVICES, reason="PoCL on x86 is not there")
POCL = "opencl:pthread"

CORR = """GPU_PTX CoRR
{0:.reg .s32 r0; 1:.reg .s32 r0; 1:.reg .s32 r1;}
 P0 | P1 ;
 st.cg.s32 [x],1 | ld.cg.s32 r0,[x] ;
  | ld.cg.s32 r1,[x] ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
x: global
exists (1:r0=1 /\\ 1:r1=0)
"""
SB_FENCE = """GPU_PTX SB+fence.sc.gpus
{0:.reg .s32 r2; 1:.reg .s32 r2;}
 P0 | P1 ;
 st.relaxed.gpu.s32 [x],1 | st.relaxed.gpu.s32 [y],1 ;
 fence.sc.gpu | fence.sc.gpu ;
 ld.relaxed.gpu.s32 r2,[y] | ld.relaxed.gpu.s32 r2,[x] ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
x: global, y: global
exists (0:r2=0 /\\ 1:r2=0)
"""
SEEN = ("SB", "R")
UNSEEN = ("SB+membar.gls", "MP", "LB", "S", "2+2W")
TWO_CTAS = "(device (kernel (cta (warp P0)) (cta (warp P1))))"


@pytest.fixture(scope="module")
def classic() -> dict[str, Test]:
    tests = (read_test(blueprint.text()) for blueprint in Generator(FAMILIES["classic"].recipe()).blueprints())
    return {test.name: test for test in tests}


@pytest.fixture(scope="module")
def device() -> OpenClDevice:
    return OpenClDevice(*choose("pthread"))


def unseen(classic: dict[str, Test]) -> list[Test]:
    return [*(classic[name] for name in UNSEEN), read_test(CORR), read_test(SB_FENCE)]


def run(tests: list[Test], **settings: Any) -> list[Record]:
    with Runner(POCL) as runner:
        return list(runner.run(tests, RunSettings(**settings)))


def check_sound(record: Record) -> None:
    assert record.ending in (Ending.FINISHED, Ending.STOPPED), record.reason
    assert sum(entry.count for entry in record.histogram) == record.iterations == record.positive + record.negative
    assert record.liveness is not None


@pocl
def test_weak_outcomes_show(classic: dict[str, Test]) -> None:
    records = run([classic[name] for name in SEEN], iterations=50_000_000, until=parse_stop_rule("observed"))
    for record in records:
        check_sound(record)
        assert decide_record(record).sighting is Sighting.OBSERVED, record


@pocl
def test_every_outcome_is_allowed_by_tso(classic: dict[str, Test]) -> None:
    check_against_tso([*list(classic.values())[::15], *unseen(classic)], 20_000)


@pocl
@pytest.mark.heavy
def test_every_outcome_of_long_runs_is_allowed_by_tso(classic: dict[str, Test]) -> None:
    check_against_tso(list(classic.values()), 500_000)


def check_against_tso(tests: list[Test], iterations: int) -> None:
    """Every test runs, also those with more threads than there are cores."""
    for test, record in zip(tests, run(tests, iterations=iterations), strict=True):
        check_sound(record)
        assert record.iterations >= iterations
        allowed = {outcome_text(test, outcome) for outcome in outcomes(test, load_model("tso"))}
        assert {entry.outcome for entry in record.histogram} <= allowed, test.name


@pocl
@pytest.mark.heavy
def test_what_x86_allows_is_seen_or_explained(classic: dict[str, Test]) -> None:
    """With a core for each thread it is seen; threads that take turns cannot show it, and the record says so."""
    tso = load_model("tso")
    allowed = [test for test in classic.values() if decide(test, tso).answer is Answer.ALLOWED]
    assert len(allowed) == 29
    alone = [test for test in allowed if len(test.threads) <= core_count()]
    for record in run(alone, iterations=50_000_000, until=parse_stop_rule("observed")):
        check_sound(record)
        assert decide_record(record).sighting is Sighting.OBSERVED, record.test
    for record in run([test for test in allowed if test not in alone], iterations=1_000_000):
        check_sound(record)
        decision = decide_record(record)
        assert decision.sighting is Sighting.OBSERVED or "took turns" in decision.reason, record.test


@pocl
def test_more_threads_than_cores_meet_in_turns(classic: dict[str, Test], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudiy.devices.opencl_platform.core_count", lambda: 2)
    device = OpenClDevice(*choose("pthread"))
    test = classic["IRIW"]
    assert device.obstacle(test) is None
    seen = device.run(test, Incantation(), 20_000, 1)
    assert seen.options == (("turns", "4 threads on 2 cores"),)
    assert seen.liveness.meetings > seen.liveness.timeouts
    assert len(seen.outcomes) > 4
    two = device.run(classic["SB"], Incantation(), 20_000, 1)
    assert two.options == ()
    device.close()


@pocl
def test_threads_that_took_turns_are_no_evidence(classic: dict[str, Test]) -> None:
    (record,) = run([classic["IRIW"]], iterations=5000)
    if core_count() < 4:
        decision = decide_record(record)
        assert not decision.sighting.is_evidence
        assert f"took turns: 4 threads on {core_count()} cores" in decision.reason


@pocl
@pytest.mark.heavy
def test_forbidden_outcomes_do_not_show_in_ten_million_iterations(classic: dict[str, Test]) -> None:
    for record in run(unseen(classic), iterations=10_000_000):
        check_sound(record)
        assert record.iterations >= 10_000_000
        assert decide_record(record).sighting is Sighting.NOT_OBSERVED, record


@pocl
def test_a_record_tells_how_it_was_run(classic: dict[str, Test]) -> None:
    (record,) = run([classic["SB"]], iterations=5000, seed=9)
    assert record.iterations == 5000
    assert (record.device, record.seed, record.simulated, record.optcheck) == ("opencl:0", 9, False, "")
    assert "pthread" in record.chip and "OpenCL 3.0" in record.architecture
    used = incantation_of(record.options)
    assert (used.testing_groups, used.group_size, used.stress_groups) == (2, 1, 0)
    assert (used.instances, used.meet_every) == (2432, 64)  # of the first launch: there are several
    assert record.liveness is not None and record.liveness.stress_accesses > 0


@pocl
def test_stress_that_nobody_does_is_off(classic: dict[str, Test]) -> None:
    calm = IncantationBook("calm", Incantation(pre_stress_percent=0))
    (record,) = run([classic["LB"]], iterations=5000, incantations=calm, until=NEVER)
    assert dict(record.options)["memory_stress"] == "false"
    assert record.liveness is not None and record.liveness.stress_accesses == 0


@pocl
@pytest.mark.parametrize("name", ["none", "all", "stress", "sync+random"])
def test_every_incantation_runs(device: OpenClDevice, classic: dict[str, Test], name: str) -> None:
    seen = device.run(classic["SB"], named_incantation(name), 5000, 1)
    assert seen.iterations >= 5000
    assert (seen.liveness.stress_accesses > 0) is ("stress" in name or name == "all")
    assert (seen.liveness.meetings + seen.liveness.timeouts > 0) is ("sync" in name or name == "all")


@pocl
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("(cta (warp P0)) (cta (warp P1))", "(cta (warp P0) (warp P1))"), "threads of one CTA run one after another"),
        (("(cta (warp P0)) (cta (warp P1))", "(cta (warp P0 P1))"), "threads of one warp run one after another"),
        ((TWO_CTAS, "(device (kernel (cta (warp P0))) (kernel (cta (warp P1))))"), "in 2 kernels"),
        ((TWO_CTAS, "(device (kernel (cta (warp P0)))) (device (kernel (cta (warp P1))))"), "on 2 devices"),
        (("ld.cg.s32 r0", "ld.ca.s32 r0"), "P1: "),
    ],
)
def test_what_it_cannot_run_as_it_is_meant(device: OpenClDevice, change: tuple[str, str], reason: str) -> None:
    assert device.obstacle(read_test(CORR)) is None
    found = device.obstacle(read_test(CORR.replace(*change)))
    assert found is not None and reason in found


@pocl
def test_a_table_that_is_too_small_grows(
    device: OpenClDevice, classic: dict[str, Test], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpudiy.harness.launch_plan.DEFAULT_SLOTS", 1)
    seen = device.run(classic["SB"], Incantation(), 200_000, 1)
    assert seen.iterations >= 200_000
    assert len(seen.outcomes) >= 2


@pocl
def test_failures_of_opencl_have_their_endings(classic: dict[str, Test], monkeypatch: pytest.MonkeyPatch) -> None:
    import pyopencl

    def fail(*_: object) -> None:
        raise pyopencl.MemoryError("no room")

    broken = OpenClDevice(*choose("pthread"))
    broken.prepare([classic["SB"]])
    monkeypatch.setattr(broken, "_buffer", fail)
    with pytest.raises(DeviceError, match="no room") as caught:
        broken.run(classic["SB"], Incantation(), 100, 1)
    assert caught.value.ending is Ending.OUT_OF_MEMORY
    monkeypatch.setattr("gpudiy.devices.opencl.module_source", lambda *_: "__kernel void reset() { nonsense; }")
    with pytest.raises(DeviceError, match="nonsense") as caught:
        broken.prepare([classic["MP"]])
    assert caught.value.ending is Ending.BUILD_FAILED


def test_names() -> None:
    devices = find_devices()
    for number, device in enumerate(devices):
        assert choose(str(number)) == (number, device)
    if devices:
        assert choose("")[0] == 0
    for name in ("99", "no such device"):
        with pytest.raises(UnknownDevice):
            choose(name)
    assert [listing.there for listing in list_devices()] == [True] * len(devices) or not devices


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ImportError

    monkeypatch.setattr("gpudiy.devices.opencl_platform.find_devices", missing)
    assert list_devices()[0].command == "pip install 'gpudiy[opencl]'"
    with pytest.raises(DeviceError, match="PyOpenCL"):
        choose("")
    monkeypatch.setattr("gpudiy.devices.opencl_platform.find_devices", list)
    assert "no OpenCL driver" in list_devices()[0].what
    with pytest.raises(DeviceError, match="no OpenCL device"):
        choose("")


@pocl
def test_a_test_that_never_ends_ends(classic: dict[str, Test]) -> None:
    endless = read_test(
        """GPU_PTX endless
{0:.reg .s32 r0; 0:.reg .pred p0; 1:.reg .s32 r1;}
 P0 | P1 ;
 AGAIN: | ld.cg.s32 r1,[y] ;
 ld.cg.s32 r0,[x] | ;
 setp.eq.s32 p0,r0,0 | ;
 @p0 bra AGAIN | ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
x: global, y: global
exists (0:r0=0 /\\ 1:r1=0)
"""
    )
    with Runner(POCL) as runner:
        (never,) = runner.run([endless], RunSettings(2000, limit=4.0))
        (after,) = runner.run([classic["SB"]], RunSettings(2000))
    assert never.ending is Ending.TIMEOUT
    assert decide_record(never).kind is NoEvidence.FAILED
    check_sound(after)


SPELT = """GPU_PTX MP-{name}
{{0:.reg .s32 r0; 1:.reg .s32 r1; 1:.reg .s32 r2;}}
 P0 | P1 ;
 st.cg.s32 [x],1 | ld.cg.s32 {one},[x] ;
 st.cg.s32 [y],2 | ld.cg.s32 {other},[y] ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
{variables}
exists ({condition})
"""


@pocl
def test_tests_of_one_meaning_keep_the_order_of_their_own_outcomes(device: OpenClDevice) -> None:
    first = read_test(
        SPELT.format(
            name=1, one="r1", other="r2", variables="x: global, y: global", condition="1:r1=0 /\\ 1:r2=2 /\\ x=1"
        )
    )
    again = read_test(
        SPELT.format(
            name=2, one="r2", other="r1", variables="y: global, x: global", condition="x=1 /\\ 1:r1=2 /\\ 1:r2=0"
        )
    )
    assert content_hash(first) == content_hash(again)
    device.prepare([first, again])
    for test in (first, again):
        seen = device.run(test, Incantation(), 5000, 1)
        assert set(seen.outcomes) <= set(outcomes(test, load_model("tso")))


@pocl
def test_what_nobody_accesses_is_shown_as_it_is(device: OpenClDevice) -> None:
    text = SPELT.format(name=1, one="r1", other="r2", variables="", condition="1:r1=0").replace(
        "r2;}\n", "r2; z = &x; big = 0x123456789; low = -5;}\n", 1
    )
    test = read_test(
        text.replace(
            "exists", "x: global, y: global, z: global, big: global, low: global\nlocations [z; big; low;]\nexists"
        )
    )
    (shown,) = {outcome[1:] for outcome in device.run(test, Incantation(), 1000, 1).outcomes}
    assert shown == (AddressOf("x"), 0x123456789, -5)


@pocl
def test_a_launch_whose_threads_did_not_end_is_not_believed(
    device: OpenClDevice, classic: dict[str, Test], monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = device._launch
    monkeypatch.setattr(device, "_launch", lambda *told: replace(launch(*told), finished_threads=1))
    with pytest.raises(DeviceError, match="1 of 2 threads finished"):
        device.run(classic["SB"], Incantation(), 1000, 1)


@pocl
def test_the_record_tells_what_most_of_the_run_was_like(classic: dict[str, Test]) -> None:
    (record,) = run([classic["SB"]], iterations=16_384 + 10, seed=9)
    assert record.iterations == 16_394
    used = incantation_of(record.options)
    assert (used.instances, used.meet_every) == (8128, 64)  # of a launch in the middle, not of the small last one
