"""Random records for hypothesis, and the logs of a real GTX Titan."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from gpudiy.logs.record import LARGEST_SUM, Ending, LaunchSums, Liveness, OutcomeCount, Record

WORDS = st.text("abcXYZ0189_+-.", min_size=1, max_size=12)
LINES = st.text("abc XYZ=:/()0189", max_size=20).map(lambda text: " ".join(text.split()))
PROGRAM = """GPU_PTX {name}
{{0:.reg .s32 r0; 0:.reg .b64 r1 = x;}}
 P0 ;
 st.cg.s32 [r1],{value} ;
(device (kernel (cta (warp P0))))
x: global
exists (x={value})
"""
COUNTS_OR_NOTHING = st.none() | st.integers(0, 10**9)
SERIAL_SB = """GPU_PTX SB
{0:.reg .s32 r2; 1:.reg .s32 r2;}
 P0 | P1 ;
 st.cg.s32 [x],1 | st.cg.s32 [y],1 ;
 ld.cg.s32 r2,[y] | ld.cg.s32 r2,[x] ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
x: global, y: global
exists (0:r2=0 /\\ 1:r2=0)
"""
OPTIONS = ("memory_stress", "gpu-rand-threads", "SIZE_OF_TEST", "cc options", "barrier")
TITAN = ("IRIW_gl_cta.txt", "RWC_uniproc.txt", "WRR+2W_uniproc.txt")


def titan_logs(corpus: Path) -> list[Path]:
    return [corpus / "gpu-litmus-titan" / name for name in TITAN]


@st.composite
def histograms(draw: st.DrawFn) -> tuple[OutcomeCount, ...]:
    values = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), unique=True, max_size=6))
    weak = draw(st.integers(-1, len(values)))
    return tuple(
        OutcomeCount(f"0:r0={one}; x={other};", draw(st.integers(1, 10**12)), place == weak)
        for place, (one, other) in enumerate(values)
    )


@st.composite
def records(draw: st.DrawFn, failed: bool = True) -> Record:
    name = draw(WORDS)
    ending = draw(st.sampled_from(Ending if failed else (Ending.FINISHED, Ending.STOPPED)))
    counted = ending in (Ending.FINISHED, Ending.STOPPED)
    histogram = draw(histograms()) if counted else ()
    positive = sum(entry.count for entry in histogram if entry.weak)
    negative = sum(entry.count for entry in histogram if not entry.weak)
    if not histogram:
        positive, negative = draw(st.integers(0, 10**6)), draw(st.integers(0, 10**6))
    text = draw(st.sampled_from(("", PROGRAM.format(name=name, value=draw(st.integers(1, 9))))))
    quantifier = draw(st.sampled_from(("exists", "~exists", "forall")))
    return Record(
        name,
        hash=draw(st.sampled_from(("", "0123456789abcdef" * 2))),
        text=text,
        condition=draw(st.sampled_from((f"{quantifier} (0:r0=1 /\\ x=2)", ""))),
        device=draw(st.sampled_from(("", "cuda:0", "sim:kepler"))),
        chip=draw(LINES),
        architecture=draw(st.sampled_from(("", "sm_35", "Kepler"))),
        simulated=draw(st.booleans()),
        driver=draw(LINES),
        toolkit=draw(LINES),
        options=tuple((option, draw(WORDS)) for option in draw(st.lists(st.sampled_from(OPTIONS), unique=True))),
        seed=draw(st.none() | st.integers(0, 2**63 - 1)),
        iterations=positive + negative,
        histogram=histogram,
        positive=positive,
        negative=negative,
        optcheck=draw(st.sampled_from(("", "unchanged", "optimised", "error"))),
        optcheck_text=draw(st.sampled_from(("", "thread 0: ok\nthread 1: ok\n"))) if text else "",
        assembler="st.cg.s32 [sr1],1 ;\n" if text and draw(st.booleans()) else "",
        liveness=draw(st.none() | st.builds(Liveness, *[st.integers(0, 10**9)] * 5, *[COUNTS_OR_NOTHING] * 6)),
        launch_sums=draw(st.none() | st.builds(LaunchSums, *[st.integers(0, LARGEST_SUM)] * 4)),
        no_evidence=draw(LINES),
        ending=ending,
        reason="" if counted else draw(LINES),
        seconds=draw(st.sampled_from((0.0, 0.25, 11.31, 1e-7, 12345.678901))),
        started=draw(st.sampled_from(("", "2026-01-02T03:04:05Z"))),
        tool=draw(st.sampled_from(("", "gpudiy 0.1", "1951, version 5.01"))),
        source=draw(LINES),
        device_info=draw(st.sampled_from(((), (("Number of multiprocessors", "14"), ("Clock", "1 GHz"))))),
        notes=draw(st.sampled_from(("", "a line nobody knows\nand another"))),
    )
