"""Executions of small tests, and the pictures of them."""

from __future__ import annotations

from functools import cache

import pytest

from gpudiy.litmus import read_test
from gpudiy.models.cat_compile import LIBRARY, compile_cat
from gpudiy.models.execution import Execution
from gpudiy.models.execution_picture import picture_of
from gpudiy.models.exploration import Exploration
from gpudiy.models.model import Model
from gpudiy.models.verdict import target_of
from gpudiy.pictures.picture import Picture

SVG = "{http://www.w3.org/2000/svg}"


Row = tuple[str, ...]


def source(name: str, rows: list[Row], condition: str, ctas: str = "") -> str:
    """A test in the PTX format; every thread has registers r0 to r2, and rx, ry, rz for the addresses."""
    threads = range(len(rows[0]))
    header = tuple(f"P{thread}" for thread in threads)
    registers = [f"{t}:.reg .s32 r{n};" for t in threads for n in range(3)]
    registers += [f"{t}:.reg .b64 r{v} = {v};" for t in threads for v in "xyz"]
    registers += [f"{t}:.reg .pred p;" for t in threads]
    tree = ctas or " ".join(f"(cta (warp P{thread}))" for thread in threads)
    lines = [f"GPU_PTX {name}", "{", *registers, "}", *(" | ".join(row) + " ;" for row in [header, *rows])]
    lines += ["scopeTree", f"(device (kernel {tree}))", "x: global, y: global, z: global", f"exists ({condition})"]
    return "\n".join(lines)


SOURCES = {
    "SB": source(
        "SB",
        [("st.cg.s32 [rx],1", "st.cg.s32 [ry],1"), ("ld.cg.s32 r0,[ry]", "ld.cg.s32 r0,[rx]")],
        "0:r0=0 /\\ 1:r0=0",
    ),
    "MP": source(
        "MP",
        [("st.s32 [rx],1", "ld.acquire.gpu.s32 r0,[ry]"), ("st.release.gpu.s32 [ry],1", "ld.s32 r1,[rx]")],
        "1:r0=1 /\\ 1:r1=1",
    ),
    "fences": source(
        "fences",
        [
            ("st.relaxed.gpu.s32 [rx],1", "st.relaxed.gpu.s32 [ry],1"),
            ("fence.sc.gpu", "fence.sc.gpu"),
            ("ld.relaxed.gpu.s32 r0,[ry]", "ld.relaxed.gpu.s32 r0,[rx]"),
        ],
        "0:r0=1 /\\ 1:r0=1",
    ),
    "2+2W": source(
        "2+2W",
        [("st.cg.s32 [rx],1", "st.cg.s32 [ry],1"), ("st.cg.s32 [ry],2", "st.cg.s32 [rx],2")],
        "x=1 /\\ y=1",
    ),
    "atomics": source(
        "atomics",
        [
            ("atom.add.s32 r0,[rx],1", "atom.add.s32 r0,[rx],1", "ld.relaxed.gpu.s32 r0,[rx]"),
            ("st.release.gpu.s32 [ry],1", "ld.acquire.gpu.s32 r1,[ry]", "ld.s32 r1,[ry]"),
        ],
        "0:r0=0 /\\ 1:r0=1 /\\ 2:r0=2 /\\ 1:r1=1",
    ),
    "dependencies": source(
        "dependencies",
        [
            ("ld.cg.s32 r0,[rx]", "ld.cg.s32 r0,[ry]"),
            ("st.cg.s32 [ry],r0", "setp.eq.s32 p,r0,5"),
            ("membar.gl", "@p bra END"),
            ("st.cg.s32 [rz],1", "st.cg.s32 [rx],1"),
            ("ld.cg.s32 r2,[rz]", "st.cg.s32 [rz],2"),
            ("bar.sync 1", "END:"),
            ("", "bar.sync 1"),
        ],
        "0:r0=1 /\\ 1:r0=1",
        ctas="(cta (warp P0) (warp P1))",
    ),
    "ring": source(
        "ring",
        [
            tuple("st.cg.s32 [rx],1" if t % 3 == 0 else "st.cg.s32 [ry],1" for t in range(6)),
            tuple("ld.cg.s32 r0,[ry]" if t % 2 == 0 else "ld.cg.s32 r0,[rx]" for t in range(6)),
        ],
        "0:r0=0 /\\ 5:r0=0",
    ),
}


MODELS = {"MP": "ptx-6.0", "fences": "ptx-6.0", "atomics": "ptx-6.0"}


FREE = '"No constraint but coherence"\nacyclic (po & loc) | rf | co | fr as coherence\n'


@cache
def model(name: str) -> Model:
    text = FREE if name == "free" else (LIBRARY / f"{name}.cat").read_text()
    return compile_cat(text, f"{name}.cat", name)


@cache
def execution(name: str) -> Execution:
    test = read_test(SOURCES[name])
    return next(Exploration(test, model(MODELS.get(name, "free")), 2).executions(target_of(test)))


def extra(name: str) -> dict[str, int]:
    if name not in MODELS:
        return {}
    named = model(MODELS[name]).named
    return {relation: execution(name).slots[named[relation].slot] for relation in ("sync", "sc", "cause-base")}


@cache
def picture(name: str) -> Picture:
    """The picture of an execution, with the values its reads have there."""
    found = execution(name)
    return picture_of(found.skeleton, found.rf, found.co, extra(name), name, events=found.events)


def cycle_picture() -> Picture:
    found = execution("SB")
    a = found.skeleton.algebra
    fr = a.compose(a.inverse(found.rf), found.co)
    cycle = a.cycle(found.skeleton.static("po") | found.rf | found.co | fr)
    return picture_of(found.skeleton, found.rf, found.co, {}, "SB", cycle, note="forbidden by sc: sc")


def named(shown: Picture, relation: str) -> set[tuple[str, str]]:
    """The pairs of a relation that are drawn, by the letters (or labels) of their events."""
    names = [node.name or node.label for node in shown.nodes]
    return {(names[a.source], names[a.target]) for a in shown.arrows if a.relation == relation}


every_picture = pytest.mark.parametrize("name", SOURCES)
