"""The verdict of a record, and that each of its gates closes when its fault is injected."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudiy.logs.decision import Sighting, decide_record
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
    wanted = Sighting.NOT_RUNNABLE if ending is Ending.NOT_RUNNABLE else Sighting.FAILED
    assert decision.sighting is wanted
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
    assert decision.sighting is Sighting.DEAD
    assert reason in decision.reason


@pytest.mark.parametrize("record", [SEEN, NONE_SEEN])
def test_the_gate_of_optcheck(record: Record) -> None:
    decision = decide_record(replace(record, optcheck="optimised"))
    assert decision.sighting is Sighting.FAILED
    assert "optimised" in decision.reason
    assert decide_record(replace(record, optcheck="")).sighting is not Sighting.FAILED


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
    assert decision.sighting is Sighting.DEAD
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
    assert decide_record(replace(record, text="")).sighting is Sighting.DEAD
    assert decide_record(replace(record, text="nonsense")).sighting is Sighting.DEAD
