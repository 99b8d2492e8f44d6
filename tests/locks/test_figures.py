"""The tests of the figures are among those that are made of the locks they were distilled from by hand."""

from __future__ import annotations

from pathlib import Path

from gpudiy.litmus import read_test, shape_hash
from gpudiy.locks.source import load_lock
from gpudiy.models.library import load_model
from gpudiy.models.verdict import decide
from locks.known import all_tests, known, needs_compiler

DATA = Path(__file__).parent / "data"
FIGURE_2_13 = """\
GPU_PTX figure-2.13
{ lock=1; }
 P0              | P1                       ;
 ld.cg r0,[x]    | atom.cas r2,[lock],0,1   ;
 st.cg [lock],0  | setp.eq p,r2,0           ;
 membar.gl       | @p mov r3,1              ;
                 | @p st.cg [x],1           ;
scopeTree (device (kernel (cta (warp P0)) (cta (warp P1))))
lock: global, x: global
exists (0:r0=1 /\\ 1:r2=0)
"""
FIGURE_2_15 = """\
GPU_PTX figure-2.15
{ lock=0; }
 P0                       | P1               ;
 st.cg [x],1              | ld.cg r3,[lock]  ;
 ld.cg r0,[flag]          | setp.eq p,r3,1   ;
 ld.cg r1,[marked]        | @p mov r4,1      ;
 setp.eq p,r0,r1          | @p ld.cg r5,[x]  ;
 @p atom.inc r2,[lock],1  |                  ;
 membar.gl                |                  ;
scopeTree (device (kernel (cta (warp P0)) (cta (warp P1))))
lock: global, x: global, flag: global, marked: global
exists (1:r3=1 /\\ 1:r5=0)
"""


def shapes(name: str) -> set[str]:
    return {shape_hash(test) for test in all_tests(known(name))}


@needs_compiler
def test_figure_2_13_is_made_from_the_published_source() -> None:
    assert shape_hash(read_test(FIGURE_2_13)) in shapes("he-yu-spinlock")
    assert shape_hash(read_test(FIGURE_2_13)) not in shapes("he-yu-spinlock-fixed")


def test_figure_2_13_is_made_from_its_ptx() -> None:
    assert shape_hash(read_test(FIGURE_2_13)) in shapes("he-yu-spinlock-ptx")


def test_figure_2_15_is_made_from_its_ptx() -> None:
    lock = load_lock(str(DATA / "figure-2.15.lock"))
    assert shape_hash(read_test(FIGURE_2_15)) in {shape_hash(test) for test in all_tests(lock)}


@needs_compiler
def test_figure_2_15_is_made_from_the_published_source() -> None:
    """The source counts with atomicAdd; the figure writes an atom.inc that does the same to 0."""
    as_published = FIGURE_2_15.replace("@p atom.inc r2,[lock],1", "@p atom.add r2,[lock],1")
    assert shape_hash(read_test(as_published)) in shapes("he-yu-counter")
    assert shape_hash(read_test(as_published)) not in shapes("he-yu-counter-fixed")


def test_the_models_allow_what_the_figures_observed() -> None:
    for text in (FIGURE_2_13, FIGURE_2_15):
        for model in ("ptx-6.0", "ptx-asplos15"):
            assert decide(read_test(text), load_model(model)).allowed
