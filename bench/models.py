"""How fast models decide: verdicts per CPU second on one core, and how the cost grows.

The tests are the 611 of four threads that the edges Pod**, one fence, Rfe, Fre and Coe make. Each line ends with the
ratio to a named baseline: herd7 7.58 under TSO, and its 2015 ancestor for PTX, as measured on a machine like this one.
A baseline in the same run: the search without checks before the last choice is made.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace

from gpudiy.diy.cycle import CycleLimits
from gpudiy.diy.generator import Generator, Recipe, Trees
from gpudiy.diy.vocabulary import fill_open_ends, parse_edges
from gpudiy.litmus import Test, read_test
from gpudiy.models import library
from gpudiy.models.cat_compile import compile_cat
from gpudiy.models.exploration import Engine
from gpudiy.models.library import load_model, model_names
from gpudiy.models.model import CompiledCheck, Model, Stage, stage_function
from gpudiy.models.verdict import decide, outcomes

HERD = {"tso": (893, 173), "ptx-asplos15": (1225, 170)}  # verdict only, all outcomes
EDGES = "Pod** MembarSysd** Rfe Fre Coe"


def family() -> list[Test]:
    recipe = Recipe(
        fill_open_ends(parse_edges(EDGES, "bench").edges), limits=CycleLimits(edges=8, threads=4), trees=Trees.ONE
    )
    return [read_test(blueprint.text()) for blueprint in Generator(recipe).blueprints()]


def writers(count: int) -> Test:
    """One location with `count` writers, and a thread that reads it twice."""
    names = [f"P{number}" for number in range(count + 1)]
    first = [f"st.cg [x],{number + 1}" for number in range(count)] + ["ld.cg r0,[x]"]
    second = [""] * count + ["ld.cg r1,[x]"]
    condition = f"exists ({count}:r0=1 /\\ {count}:r1=2)"
    return _built(f"writers{count}", names, first, second, "x: global", condition)


def iriw(readers: int) -> Test:
    """Two writers, and readers that look at both locations, every other one the other way round."""
    names = [f"P{number}" for number in range(readers + 2)]
    first = ["st.cg [x],1", "st.cg [y],1", *(f"ld.cg r0,[{'xy'[number % 2]}]" for number in range(readers))]
    second = ["", "", *(f"ld.cg r1,[{'yx'[number % 2]}]" for number in range(readers))]
    condition = " /\\ ".join(f"{number + 2}:r0=1 /\\ {number + 2}:r1=0" for number in range(readers))
    return _built(f"IRIW{readers}", names, first, second, "x: global, y: global", f"exists ({condition})")


def _built(name: str, names: list[str], first: list[str], second: list[str], memory: str, condition: str) -> Test:
    rows = "\n".join(" | ".join(cells) + " ;" for cells in (names, first, second))
    tree = " ".join(f"(cta {thread})" for thread in names)
    return read_test(f"GPU_PTX {name}\n{{}}\n{rows}\n(device {tree})\n{memory}\n{condition}\n")


def late(name: str) -> Model:
    """The model with every check put off until coherence is chosen."""
    model = load_model(name)
    steps = [replace(s, stage=Stage.COHERENCE) if isinstance(s, CompiledCheck) else s for s in model.steps]
    other = compile_cat("let com = rf\nacyclic com as one", "bench.cat", name)
    for field in ("slots", "inputs", "named", "partial_co", "orders"):
        setattr(other, field, getattr(model, field))
    other.steps = steps
    other.stages = [stage_function(steps, stage) for stage in Stage]
    return other


def timed(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> int:
    tests = family()
    print(f"{len(tests)} tests of four threads, one core, CPU time, model compilation included")
    for name in model_names():
        library._read_model.cache_clear()
        library.compiled_model.cache_clear()
        verdicts = len(tests) / timed(lambda name=name: [decide(test, load_model(name)) for test in tests])  # type: ignore[misc]
        every = len(tests) / timed(lambda name=name: [outcomes(test, load_model(name)) for test in tests])  # type: ignore[misc]
        line = f"{name:<26}{verdicts:7,.0f} verdicts/s {every:7,.0f} tests/s with all outcomes"
        if name in HERD:
            line += f"   {verdicts / HERD[name][0]:.1f} and {every / HERD[name][1]:.1f} times herd"
        print(line)
    early = timed(lambda: [outcomes(test, load_model("ptx-6.0"), Engine.SEARCH) for test in tests])
    last = timed(lambda: [outcomes(test, late("ptx-6.0"), Engine.SEARCH) for test in tests[:200]]) * len(tests) / 200
    print(f"checks as early as they can be: {last / early:.1f} times as fast as all at the end (ptx-6.0, all outcomes)")
    print("\ngrowth: one location, k writers, two reads (tso)        herd7: verdict 12 s at 9, all 11 s at 7")
    for count in (4, 6, 8, 10, 12):
        test = writers(count)
        verdict = timed(lambda test=test: decide(test, load_model("tso")))  # type: ignore[misc]
        every = timed(lambda test=test: outcomes(test, load_model("tso")))  # type: ignore[misc]
        print(f"  k={count:<3} verdict {verdict:7.3f} s   all outcomes {every:7.3f} s")
    print("growth: IRIW with n readers (tso)                       herd7: all 15 s at 7, over 120 s at 8")
    for count in (3, 4, 5, 6, 7, 8):
        every = timed(lambda count=count: outcomes(iriw(count), load_model("tso")))  # type: ignore[misc]
        print(f"  n={count:<3} all outcomes {every:7.3f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
