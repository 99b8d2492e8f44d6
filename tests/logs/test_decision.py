"""The verdict of a record, and that each of its gates closes when its fault is injected."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudiy.logs.decision import NoEvidence, Sighting, decide_record
from gpudiy.logs.record import Ending, Liveness, OutcomeCount, Record

ALIVE = Liveness(meetings=900, timeouts=3, overlaps=800, stress_accesses=10_000)
NONE_SEEN = Record(
    "SB",
    condition="exists (0:r2=0 /\\ 1:r2=0)",
    options=(("memory_stress", "true"), ("synchronisation", "true")),
    iterations=1000,
    histogram=(OutcomeCount("0:r2=0; 1:r2=1;", 600), OutcomeCount("0:r2=1; 1:r2=0;", 400)),
    negative=1000,
    optcheck="unchanged",
    liveness=ALIVE,
)
SEEN = replace(
    NONE_SEEN,
    histogram=(OutcomeCount("0:r2=0; 1:r2=0;", 10, weak=True), OutcomeCount("0:r2=1; 1:r2=0;", 990)),
    positive=10,
    negative=990,
)
ALONE = """GPU_PTX alone
{0:.reg .s32 r0; 0:.reg .b64 r1 = x;}
 P0 ;
 ld.cg.s32 r0,[r1] ;
(device (kernel (cta (warp P0))))
x: global
exists (0:r0=1)
"""


def test_sound_records_are_evidence() -> None:
    seen, none = decide_record(SEEN), decide_record(NONE_SEEN)
    assert seen.sighting is Sighting.OBSERVED
    assert seen.rate is not None and seen.rate.low < 0.01 < seen.rate.high
    assert none.sighting is Sighting.NOT_OBSERVED
    assert none.bound == pytest.approx(0.003, rel=0.01)


def test_forall_is_observed_when_it_breaks() -> None:
    record = replace(SEEN, condition="forall (0:r2=0 /\\ 1:r2=0)")
    decision = decide_record(record)
    assert decision.rate is not None and decision.rate.sightings == 990
    kept = replace(record, positive=1000, negative=0, histogram=(OutcomeCount("0:r2=0; 1:r2=0;", 1000, weak=True),))
    assert decide_record(kept).sighting is Sighting.NOT_OBSERVED


@pytest.mark.parametrize("ending", [ending for ending in Ending if ending not in (Ending.FINISHED, Ending.STOPPED)])
@pytest.mark.parametrize("record", [SEEN, NONE_SEEN])
def test_what_failed_is_never_evidence(ending: Ending, record: Record) -> None:
    decision = decide_record(replace(record, ending=ending, reason="because"))
    wanted = NoEvidence.NOT_RUNNABLE if ending is Ending.NOT_RUNNABLE else NoEvidence.FAILED
    assert decision.sighting is Sighting.NO_EVIDENCE and decision.kind is wanted
    assert "because" in decision.reason


def test_what_was_stopped_counts() -> None:
    assert decide_record(replace(SEEN, ending=Ending.STOPPED)).sighting is Sighting.OBSERVED
    assert decide_record(replace(NONE_SEEN, ending=Ending.STOPPED)).sighting is Sighting.NOT_OBSERVED


@pytest.mark.parametrize("record", [SEEN, NONE_SEEN])
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"iterations": 1002}, "the outcomes are 1,000"),
        ({"negative": 998}, "the outcomes are"),
        ({"iterations": 0}, "no iteration"),
        ({"histogram": (OutcomeCount("0:r2=0; 1:r2=1;", 999),)}, "sums to 999"),
        ({"histogram": (OutcomeCount("a", 1001), OutcomeCount("b", -1))}, "below zero"),
        ({"histogram": (OutcomeCount("a", 1000, weak=True),)}, "marked outcomes of the histogram are 1,000"),
    ],
)
def test_the_gate_of_the_counts(record: Record, fault: dict[str, object], reason: str) -> None:
    decision = decide_record(replace(record, **fault))  # type: ignore[arg-type]
    assert decision.kind is NoEvidence.HARNESS
    assert reason in decision.reason


@pytest.mark.parametrize("record", [SEEN, NONE_SEEN])
def test_the_gate_of_optcheck(record: Record) -> None:
    decision = decide_record(replace(record, optcheck="optimised"))
    assert decision.kind is NoEvidence.FAILED
    assert "optimised" in decision.reason
    assert decide_record(replace(record, optcheck="")).kind is not NoEvidence.FAILED


@pytest.mark.parametrize(
    ("liveness", "reason"),
    [
        (Liveness(stress_accesses=5), "at the same time"),
        (Liveness(timeouts=7, stress_accesses=5), "7 meetings were given up"),
        (Liveness(meetings=900, overlaps=800), "not one stressing access"),
        (Liveness(meetings=9, timeouts=991, overlaps=9, stress_accesses=1), "of 1,000 meetings only 9 came about"),
        (Liveness(), "at the same time"),
    ],
)
def test_the_gate_of_liveness(liveness: Liveness, reason: str) -> None:
    decision = decide_record(replace(NONE_SEEN, liveness=liveness))
    assert decision.kind is NoEvidence.HARNESS
    assert reason in decision.reason
    assert decide_record(replace(SEEN, liveness=liveness)).sighting is Sighting.OBSERVED  # a sighting is a fact


def test_liveness_that_suffices() -> None:
    for liveness in (
        Liveness(meetings=1, stress_accesses=1),
        Liveness(overlaps=1, stress_accesses=1),
        Liveness(meetings=10, timeouts=990, stress_accesses=1),
        Liveness(meetings=0, timeouts=1000, overlaps=500, stress_accesses=1),
        None,
    ):
        assert decide_record(replace(NONE_SEEN, liveness=liveness)).sighting is Sighting.NOT_OBSERVED
    calm = replace(NONE_SEEN, options=(("memory_stress", "false"),), liveness=Liveness(meetings=1))
    assert decide_record(calm).sighting is Sighting.NOT_OBSERVED


def test_one_thread_has_nobody_to_meet() -> None:
    record = replace(NONE_SEEN, text=ALONE, liveness=Liveness(stress_accesses=1))
    assert decide_record(record).sighting is Sighting.NOT_OBSERVED
    assert decide_record(replace(record, text="")).kind is NoEvidence.HARNESS
    assert decide_record(replace(record, text="nonsense")).kind is NoEvidence.HARNESS


SB = """GPU_PTX SB
{{0:.reg .s32 r2; 1:.reg .s32 r2;}}
 P0 | P1 ;
 st.cg.s32 [x],1 | st.cg.s32 [y],1 ;
 ld{kind}.s32 r2,[y] | ld{kind}.s32 r2,[x] ;
(device (kernel {tree}))
x: global, y: global
exists (0:r2=0 /\\ 1:r2=0)
"""
TWO_CTAS, ONE_WARP = "(cta (warp P0)) (cta (warp P1))", "(cta (warp P0 P1))"


def sb_record(kind: str = ".cg", tree: str = TWO_CTAS, **changed: object) -> Record:
    return replace(NONE_SEEN, text=SB.format(kind=kind, tree=tree), **changed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "near", "warmed", "evidence"),
    [
        (".cg", 0, 0, True),  # never in L1
        (".ca", 0, 0, False),
        ("", 0, 0, False),  # weak
        (".relaxed.cta", 0, 0, False),  # under-scoped: the other thread is in another CTA
        (".relaxed.gpu", 0, 0, True),
        (".volatile", 0, 0, True),
        (".ca", 1, 0, True),
        (".ca", 0, 1, True),
        (".ca", None, None, True),  # an old log does not say it
        (".ca", None, 0, True),
    ],
)
def test_reads_of_a_cache_need_lines_that_were_in_it(
    kind: str, near: int | None, warmed: int | None, evidence: bool
) -> None:
    decision = decide_record(sb_record(kind, liveness=replace(ALIVE, near=near, warmed=warmed)))
    assert decision.sighting is (Sighting.NOT_OBSERVED if evidence else Sighting.NO_EVIDENCE)
    assert evidence or f"ld{kind}" in decision.reason
    seen = sb_record(kind, liveness=replace(ALIVE, near=near, warmed=warmed), histogram=(), positive=1, negative=999)
    assert decide_record(seen).sighting is Sighting.OBSERVED


@pytest.mark.parametrize(
    ("tree", "overlaps", "inversions", "reason"),
    [
        (TWO_CTAS, 0, 40, "in none of 100 iterations"),
        (TWO_CTAS, 5, 0, ""),
        (ONE_WARP, 0, 40, "in none of 100 iterations"),
        (ONE_WARP, 5, 0, "began in the same order in all 100"),
        (ONE_WARP, 5, 100, "began in the same order in all 100"),
        (ONE_WARP, 5, 40, ""),
        (ONE_WARP, 5, None, ""),
    ],
)
def test_bodies_must_overlap_and_a_warp_must_run_both_orders(
    tree: str, overlaps: int, inversions: int | None, reason: str
) -> None:
    alive = replace(ALIVE, timed=100, overlaps=overlaps, inversions=inversions)
    decision = decide_record(sb_record(tree=tree, liveness=alive))
    assert reason in decision.reason and bool(decision.reason) is bool(reason)
    untimed = replace(alive, timed=0, overlaps=5)
    assert decide_record(sb_record(tree=tree, liveness=untimed)).sighting is Sighting.NOT_OBSERVED


@pytest.mark.parametrize(
    ("liveness", "reason"),
    [
        (replace(ALIVE, discarded=1), "1 iterations were cut in a loop"),
        (replace(ALIVE, timed=20_000, overlaps=1), "in 1 of 20,000 iterations with a clock did all threads run"),
        (replace(ALIVE, timed=20_000, overlaps=199), "in 199 of 20,000 iterations"),
        (replace(ALIVE, timed=20_000, overlaps=200), ""),
        (replace(ALIVE, meetings=0, timeouts=1000, timed=100, overlaps=50), ""),  # the clock knows better
    ],
)
def test_one_sign_of_many_is_not_enough(liveness: Liveness, reason: str) -> None:
    decision = decide_record(sb_record(liveness=liveness))
    assert reason in decision.reason and bool(decision.reason) is bool(reason)


THREE = """GPU_PTX three
{{0:.reg .s32 r0; 1:.reg .s32 r0; 2:.reg .s32 r0; 3:.reg .s32 r0;}}
 P0 | P1 | P2 | P3 ;
 st.cg.s32 [x],1 | ld.cg.s32 r0,[x] | ld.cg.s32 r0,[x] | ld.cg.s32 r0,[x] ;
(device (kernel {tree}))
x: global
exists (1:r0=2)
"""


@pytest.mark.parametrize(
    ("tree", "inversions", "reason"),
    [
        ("(cta (warp P0 P1)) (cta (warp P2)) (cta (warp P3))", 0, "began in the same order in all 20,000"),
        ("(cta (warp P0 P1)) (cta (warp P2)) (cta (warp P3))", 10, "in the same order in 19,990 of 20,000"),
        ("(cta (warp P0 P1)) (cta (warp P2)) (cta (warp P3))", 9000, ""),
        ("(cta (warp P0 P1)) (cta (warp P2 P3))", 9000, "does not tell their orders apart"),
        ("(cta (warp P0)) (cta (warp P1)) (cta (warp P2)) (cta (warp P3))", 0, ""),
    ],
)
def test_only_threads_of_the_same_warp_are_compared(tree: str, inversions: int, reason: str) -> None:
    alive = replace(ALIVE, timed=20_000, overlaps=9000, inversions=inversions)
    record = replace(NONE_SEEN, text=THREE.format(tree=tree), liveness=alive, condition="exists (1:r0=2)", histogram=())
    decision = decide_record(record)
    assert reason in decision.reason and bool(decision.reason) is bool(reason)


@pytest.mark.parametrize(
    ("outcomes", "order"),
    [
        (("0:r2=0; 1:r2=1;",), "P0, P1"),
        (("0:r2=1; 1:r2=0;",), "P1, P0"),
        (("0:r2=0; 1:r2=1;", "0:r2=1; 1:r2=0;"), ""),  # both orders
        (("0:r2=1; 1:r2=1;",), ""),  # no order gives this: threads ran at the same time
    ],
)
def test_outcomes_of_one_order_of_threads_are_no_evidence(outcomes: tuple[str, ...], order: str) -> None:
    histogram = tuple(OutcomeCount(outcome, 1000 // len(outcomes)) for outcome in outcomes)
    decision = decide_record(sb_record(histogram=histogram))
    assert decision.sighting is (Sighting.NO_EVIDENCE if order else Sighting.NOT_OBSERVED)
    assert decision.reason.endswith(f"in the order {order}") if order else not decision.reason
    published = sb_record(histogram=histogram, liveness=None)
    assert decide_record(published).sighting is Sighting.NOT_OBSERVED  # published logs keep their meaning
