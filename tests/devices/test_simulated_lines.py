"""L1 of the simulated chips: stale lines, what brings and empties them, narrow fences, and what was published."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from conftest import ROOT
from models.test_generated import generated

from devices.simulated_runs import DEFAULT, FAR, check, completeness, counts, device, weak_count
from gpudiy.devices.runner import run_tests
from gpudiy.devices.settings import RunSettings
from gpudiy.devices.simulation import lines
from gpudiy.devices.simulation.replay import SingleMemory
from gpudiy.diy.generator import blueprint_of_cycle
from gpudiy.diy.one_cycle import parse_cycle
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.incantation_text import IncantationBook
from gpudiy.litmus import Test, read_test
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import CacheOperator, Order, Proxy
from gpudiy.logs.decision import Sighting, decide_record
from gpudiy.logs.record import Record

WARM = replace(FAR, warm_percent=100)
NEAR = replace(FAR, location_stride=1)
REUSE = replace(FAR, location_stride=0, reuse_percent=100)
MOST = 4_000_000
ARCHITECTURES = {"Fermi": "fermi", "Kepler": "kepler", "Maxwell": "maxwell"}
SHAPES = {
    "MP": "{}dWW Rfe {}dRR Fre",
    "LB": "{}dRW Rfe {}dRW Rfe",
    "SB": "{}dWR Fre {}dWR Fre",
    "R": "{}dWW Coe {}dWR Fre",
    "S": "{}dWW Rfe {}dRW Coe",
    "2+2W": "{}dWW Coe {}dWW Coe",
}
LINKS = {"po": "Po", "membar.cta": "MembarCta", "membar.gl": "MembarGl"}
TWO_CTAS = "(device (kernel (cta (warp P0)) (cta (warp P1))))"
ONE_CTA = "(device (kernel (cta (warp P0) (warp P1))))"


def program(rows: str, condition: str, tree: str = TWO_CTAS) -> Test:
    return read_test(f"GPU_PTX T\n\n{rows}\n\n{tree}\n\nx: global, y: global\n\n{condition}\n")


def weak_of(profile: str, test: Test, cast: Incantation = DEFAULT, iterations: int = 200_000) -> int:
    return weak_count(test, counts(profile, test, iterations, cast=cast))


def load_from_l1(test: Test) -> Test:
    """The test with all its weak loads from L1."""
    threads = tuple(
        tuple(
            replace(each, access=replace(each.access, cache=CacheOperator.CA))
            if isinstance(each, isa.Load) and each.access.order is Order.WEAK and each.access.proxy is Proxy.GENERIC
            else each
            for each in thread
        )
        for thread in test.threads
    )
    return replace(test, name=f"{test.name}-L1", threads=threads)


def cached(family: str, start: int, step: int) -> Iterator[Test]:
    return (load_from_l1(test) for test in generated(family, start, step))


# what was published


@cache
def published() -> dict[tuple[str, str], Test]:
    """The tests that chips with a profile of their own showed, by profile and name."""
    found: dict[tuple[str, str], Test] = {}
    for log in ("asplos15", "sorensen-2014", "thesis"):
        for line in (ROOT / "logs" / f"{log}.jsonl").read_text().splitlines():
            record = json.loads(line)
            profile, name = ARCHITECTURES.get(record["architecture"]), record["test"]
            if profile is None or not record["positive"] or name.startswith("dlb-"):
                continue  # no source says what the dlb tests are
            found[profile, name] = read_test(record["text"]) if record.get("text") else write_test(name)
    return found


def write_test(name: str) -> Test:
    """The test of a published name: a shape, the links of its threads, the placement, and the spaces."""
    name, shared, _ = name.partition("-xsys")
    name, one_cta, _ = name.partition("-p0:p1")
    shape = next(each for each in SHAPES if name == each or name.startswith(f"{each}+"))
    words = name[len(shape) + 1 :].split("+") if name != shape else ["po", "po"]
    words = [words[0][:-1]] * 2 if len(words) == 1 else words
    cycle = SHAPES[shape].format(*(LINKS[word] for word in words))
    text = blueprint_of_cycle(parse_cycle(cycle, name)).text()
    assert TWO_CTAS in text and "x: global, y: global" in text
    text = text.replace(TWO_CTAS, ONE_CTA) if one_cta else text
    return read_test(
        text.replace(".cg", "").replace("y: global", "y: shared").replace("x: global", "x: shared") if shared else text
    )


def test_the_logs_tell_of_lines_and_narrow_fences() -> None:
    names = {name for profile, name in published() if profile == "fermi"}
    assert {"mp-L1+membar.gls", "coRR-L2-L1+membar.sys", "SB+membar.ctas", "MP-p0:p1-xsys"} <= names
    assert len(published()) > 45


@pytest.mark.parametrize("profile", ARCHITECTURES.values())
def test_what_chips_showed_the_simulated_ones_show(profile: str) -> None:
    never = []
    for (chip, name), test in published().items():
        iterations = 100_000
        while chip == profile and iterations <= MOST and not weak_of(profile, test, iterations=iterations):
            iterations *= 4
        if iterations > MOST:
            never.append(name)
    assert not never


@pytest.mark.parametrize("profile", ARCHITECTURES.values())
def test_fences_that_helped_all_chips_help_the_simulated_ones(profile: str) -> None:
    """On Kepler and Maxwell no load behind a wide fence was stale, on Fermi some were, as published."""
    showed = {}
    for name in ("mp-L1+membar.gls", "mp-L1+membar.sys+membar.sys", "coRR-L2-L1+membar.cta", "coRR-L2-L1+membar.gl"):
        showed[name] = weak_of(profile, published()["fermi", name]) > 0
    assert set(showed.values()) == {profile == "fermi"}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("profile", ["fermi", "kepler"])
def test_narrow_fences_count_inside_their_scope_only(profile: str, shape: str) -> None:
    inside, across = write_test(f"{shape}+membar.ctas-p0:p1"), write_test(f"{shape}+membar.ctas")
    assert weak_of(profile, inside) == 0 and weak_of(profile, across) > 0
    assert weak_of(profile, load_from_l1(across)) > 0
    assert weak_of(profile, load_from_l1(inside)) == 0 or (profile == "fermi" and shape in ("MP", "SB", "R"))


# what brings stale lines


@pytest.mark.parametrize("name", ["mp-L1+membar.gls", "coRR-L2-L1+membar.cta", "coRR-L2-L1+membar.sys"])
def test_only_lines_that_were_there_before_are_stale(name: str) -> None:
    test = published()["fermi", name]
    assert weak_of("fermi", test, FAR, 1_000_000) == 0
    for cast in (WARM, NEAR, REUSE, DEFAULT):
        assert weak_of("fermi", test, cast) > 0


def test_loads_of_l2_and_of_shared_memory_are_never_stale() -> None:
    rows = "P0 : P1\nst.cg [x],1 : ld.cg r1,[y]\nmembar.gl : membar.gl\nst.cg [y],1 : ld{} r2,[x]"
    for operator in (".cg", ".cv", ".volatile"):
        assert weak_of("fermi", program(rows.format(operator), r"1:r1=1 /\ 1:r2=0")) == 0
    for operator in ("", ".ca", ".lu", ".cs"):
        assert weak_of("fermi", program(rows.format(operator), r"1:r1=1 /\ 1:r2=0")) > 0
    text = (
        f"GPU_PTX T\n\n{rows.format('').replace('.cg', '')}\n\n{ONE_CTA}\n\nx: shared, y: shared\n\n"
        + r"1:r1=1 /\ 1:r2=0"
    )
    assert weak_of("fermi", read_test(text)) == 0


def test_a_load_of_the_thread_brings_a_line_too() -> None:
    rows = """P0 : P1
st.cg [x],1 : ld.ca r0,[x]
membar.gl : membar.gl
st.cg [y],1 : ld.cg r1,[y]
: membar.gl
: ld.ca r2,[x]"""
    test = program(rows, r"1:r1=1 /\ 1:r2=0")
    assert weak_of("fermi", test, FAR) > 0
    assert weak_of("kepler", test, FAR) == 0


def test_no_dependency_waits_for_a_fresh_line() -> None:
    test = read_test(blueprint_of_cycle(parse_cycle("MembarGldWW Rfe DpAddrdR Fre", "addr")).text())
    for profile in ("fermi", "kepler"):
        assert weak_of(profile, test) == 0
        assert weak_of(profile, load_from_l1(test)) > 0
        assert weak_of(profile, load_from_l1(test), FAR) == 0


def test_a_thread_finds_its_own_stores() -> None:
    own = program("P0 : P1\nst.cg [x],1 : mov.s32 r1,0\nld.ca r0,[x] :", "0:r0=0")
    assert counts("fermi", own) == {(1,): 20_000}


def test_weak_loads_of_volta_are_stale_only_where_lines_are() -> None:
    """The fence behind the loads lets the other one order its stores, but it makes nothing known to them."""
    rows = """1:.reg .s32 r0; 1:.reg .s32 r1; 1:.reg .b32 r4; 1:.reg .b64 r5; 1:.reg .b64 r3 = x;

P0 : P1
st.s32 [x],1 : ld.relaxed.gpu.s32 r0,[y]
fence.acq_rel.gpu : and.b32 r4,r0,0x80000000
st.relaxed.gpu.s32 [y],1 : cvt.u64.u32 r5,r4
: add.u64 r3,r3,r5
: {}.s32 r1,[r3]
: fence.acq_rel.gpu"""
    condition = r"1:r0=1 /\ 1:r1=0"
    for load in ("ld", "ld.ca", "ld.relaxed.cta"):
        test = program(rows.format(load), condition)
        assert weak_of("volta", test) > 0
        assert weak_of("volta", test, FAR) == 0
    assert weak_of("volta", program(rows.format("ld.relaxed.gpu"), condition), FAR) > 0


# soundness and completeness


@pytest.mark.parametrize("profile", ["fermi", "kepler", "volta"])
@pytest.mark.parametrize(("family", "step"), [("classic", 3), ("dependencies", 23), ("coherence", 11), ("rmw", 41)])
def test_generated_tests_from_l1_are_sound(profile: str, family: str, step: int) -> None:
    tests = list(cached(family, 1, step))
    found = check(profile, tests, iterations=5_000, limit=60.0)
    assert not found.unsound
    assert found.judged >= len(tests) * 9 // 10, found.skipped


@pytest.mark.heavy
@pytest.mark.parametrize("profile", ["fermi", "kepler"])
@pytest.mark.parametrize("family", ["classic", "dependencies", "coherence", "rmw"])
def test_all_generated_tests_from_l1_are_sound(profile: str, family: str) -> None:
    assert not check(profile, cached(family, 0, 1), iterations=50_000).unsound


@pytest.mark.heavy
@pytest.mark.parametrize("profile", ["fermi", "kepler"])
def test_tests_of_other_tools_are_sound(profile: str, corpus: Path) -> None:
    tests = [read_test(file.read_text(), str(file)) for file in sorted(corpus.rglob("*.litmus"))]
    found = check(profile, [*tests, *map(load_from_l1, tests)], iterations=20_000)
    assert not found.unsound
    assert found.judged >= 80


@pytest.mark.parametrize("profile", ["fermi", "kepler"])
def test_what_lines_allow_is_shown(profile: str) -> None:
    found = completeness(profile, cached("classic", 0, 7), 20_000, 8_000_000)
    assert found.allowed > 10
    assert found.share >= 0.9, found.never


@pytest.mark.heavy
@pytest.mark.parametrize("profile", ["fermi", "kepler"])
@pytest.mark.parametrize(("family", "step"), [("classic", 1), ("dependencies", 3), ("coherence", 1), ("rmw", 5)])
def test_most_of_what_lines_allow_is_shown(profile: str, family: str, step: int) -> None:
    found = completeness(profile, cached(family, 0, step), 50_000, 8_000_000)
    print(f"{profile} {family}: {found.share:.1%} of {found.allowed} shown; never: {', '.join(found.never) or 'none'}")
    assert found.share >= 0.9, found.never


BARRIER = program("P0 : P1\nst.cg [x],1 : bar.sync 0\nbar.sync 0 : ld.ca r0,[x]", "1:r0=0", ONE_CTA)
OWN = program("P0 : P1\nst.cg [x],1 : st.cg [x],2\nld.ca r0,[x] : ld.ca r0,[x]", r"0:r0=0 \/ 1:r0=0")
FENCED = load_from_l1(write_test("MP+membar.gls"))
FAULTS: dict[str, tuple[str, object, str, Test]] = {
    "barriers leave stale lines": ("fermi", lines, "order_after_barriers", BARRIER),
    "fences that empty L1 leave stale lines": ("kepler", lines, "order_after_fences", FENCED),
    "a thread keeps lines of what it stores": ("fermi", SingleMemory, "_remove_lines", OWN),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_l1_are_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    profile, place, name, test = FAULTS[fault]
    assert not check(profile, [test]).unsound
    monkeypatch.setattr(place, name, lambda *_: None)
    assert check(profile, [test]).unsound


# signs of life


def test_liveness_counts_lines_and_bodies() -> None:
    test = published()["fermi", "mp-L1+membar.gls"]
    alive = {
        name: device("fermi").run(test, cast, 100_000, 1).liveness
        for name, cast in {"far": FAR, "warm": WARM, "near": NEAR, "reuse": REUSE, "default": DEFAULT}.items()
    }
    assert (alive["far"].warmed, alive["far"].near) == (0, 0)
    assert (alive["warm"].warmed, alive["warm"].near) == (4 * 100_000, 0)
    assert (alive["near"].warmed, alive["near"].near) == (0, 100_000)
    assert (alive["reuse"].warmed, alive["reuse"].near) == (0, 100_000)
    assert 0 < (alive["default"].warmed or 0) < 400_000 and 0 < (alive["default"].near or 0) < 100_000
    for liveness in alive.values():
        assert liveness.timed == 100_000 and liveness.launches is None
        assert (liveness.skew or 0) > 0


@pytest.mark.parametrize("name", ["mp-L1+membar.gls", "coRR-L2-L1+membar.sys"])
def test_a_run_without_lines_is_no_evidence(name: str) -> None:
    def run(cast: Incantation) -> Record:
        settings = RunSettings(iterations=20_000, seed=1, incantations=IncantationBook(common=cast))
        (record,) = run_tests([published()["fermi", name]], "sim:fermi", settings)
        return record

    decision = decide_record(run(FAR))
    assert decision.sighting is Sighting.NO_EVIDENCE and "may be answered by a cache" in decision.reason
    assert decide_record(run(DEFAULT)).sighting is Sighting.OBSERVED


@pytest.mark.parametrize("tree", [TWO_CTAS, "(device (kernel (cta (warp P0 P1))))"])
def test_threads_begin_in_both_orders_also_in_one_warp(tree: str) -> None:
    test = program("P0 : P1\nst.cg [x],1 : st.cg [y],1\nld.cg r0,[y] : ld.cg r1,[x]", r"0:r0=0 /\ 1:r1=0", tree)
    liveness = device("kepler").run(test, DEFAULT, 100_000, 1).liveness
    assert 30_000 < (liveness.inversions or 0) < 70_000
    assert 50_000 < liveness.overlaps <= 100_000


def test_a_thread_that_has_nobody_to_wait_for_overlaps() -> None:
    alone = program("P0 : P1\nst.cg [x],1 : mov.s32 r1,0\nld.ca r0,[x] :", "0:r0=0")
    liveness = device("fermi").run(alone, DEFAULT, 1_000, 1).liveness
    assert (liveness.timed, liveness.overlaps, liveness.inversions, liveness.skew) == (1_000, 1_000, 0, 0)


def test_bodies_that_do_not_meet_rarely_overlap() -> None:
    test = program("P0 : P1\nst.cg [x],1 : st.cg [y],1\nld.cg r0,[y] : ld.cg r1,[x]", r"0:r0=0 /\ 1:r1=0")
    apart = device("kepler").run(test, Incantation(synchronisation=False), 100_000, 1).liveness
    together = device("kepler").run(test, DEFAULT, 100_000, 1).liveness
    assert 0 < apart.overlaps < together.overlaps / 10
    assert (apart.skew or 0) > 10 * (together.skew or 0)
