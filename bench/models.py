"""How fast models decide: verdicts per CPU second on one core, and how the cost grows.

The tests are the 611 of four threads that the edges Pod**, one fence, Rfe, Fre and Coe make. Each line ends with the
ratio to a named baseline: herd7 7.58 under TSO, and its 2015 ancestor for PTX, as measured on a machine like this one.
A baseline in the same run: the search without checks before the last choice is made.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace

from gpudiy.diy.cycle import CycleLimits
from gpudiy.diy.generator import Generator, Recipe, Trees
from gpudiy.diy.vocabulary import fill_open_ends, parse_edges
from gpudiy.litmus import Test, read_test
from gpudiy.models import library
from gpudiy.models.algebra import Algebra
from gpudiy.models.exploration import Engine
from gpudiy.models.library import load_model, model_names
from gpudiy.models.model import Model, Slots, Stage
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


def without_early_checks(name: str) -> Model:
    """The model with every check put off until all that it looks at is chosen."""
    model = load_model(name)
    late = replace(model)
    late.plan = replace(model.plan, early=(_pass,) * len(Stage), early_coherence=_pass)
    return late


def _pass(_algebra: Algebra, _slots: Slots) -> None:
    return None


def columns(name: str, threads: list[str], condition: str, memory: str = "x: global", registers: int = 3) -> Test:
    """A test of threads, each in a CTA of its own, their instructions separated by semicolons."""
    rows = [[each.strip() for each in thread.split(";")] for thread in threads]
    lines = [f"GPU_PTX {name}"]
    for number in range(len(rows)):
        lines += [f"{number}:.reg .s32 r{index};" for index in range(registers)] + [f"{number}:.reg .pred p;"]
    lines.append(" : ".join(f"P{number}" for number in range(len(rows))))
    for index in range(max(map(len, rows))):
        lines.append(" : ".join(row[index] if index < len(row) else "" for row in rows))
    ctas = " ".join(f"(cta P{number})" for number in range(len(rows)))
    lines += [f"(device (kernel {ctas}))", memory, f"exists ({condition})"]
    return read_test("\n".join(lines) + "\n")


def adders(count: int) -> Test:
    """So many threads, each with one atom.add."""
    asked = " /\\ ".join(f"{number}:r0={number}" for number in range(count))
    return columns(f"adders{count}", ["atom.relaxed.gpu.add.s32 r0,[x],1"] * count, asked)


def adds_of_one_thread(count: int) -> Test:
    """One thread with so many atom.add."""
    code = "; ".join(f"atom.relaxed.gpu.add.s32 r{number},[x],1" for number in range(count))
    return columns(f"adds{count}", [code], f"0:r{count - 1}={count - 1}", registers=count)


def loads(count: int) -> Test:
    """So many loads of a location with three values, in one thread."""
    code = "; ".join(f"ld.relaxed.gpu.s32 r{number},[x]" for number in range(count))
    asked = " /\\ ".join(f"0:r{number}={number * 3 // count}" for number in range(count))
    writers = ["st.relaxed.gpu.s32 [x],1", "st.relaxed.gpu.s32 [x],2"]
    return columns(f"loads{count}", [code, *writers], asked, registers=count)


def reductions() -> Test:
    """red.add beside a few loads: two threads, seven instructions."""
    first = "red.relaxed.gpu.add.s32 [x],1; ld.relaxed.gpu.s32 r0,[x]; "
    first += "red.relaxed.gpu.add.s32 [x],2; ld.relaxed.gpu.s32 r1,[x]"
    second = "red.relaxed.gpu.add.s32 [x],4; ld.relaxed.gpu.s32 r0,[x]; ld.relaxed.gpu.s32 r1,[x]"
    return columns("reductions", [first, second], "0:r0=1 /\\ 0:r1=7 /\\ 1:r0=5 /\\ 1:r1=7")


def locked_counters(count: int, swap: bool) -> Test:
    """So many threads that take a lock, by cas or by exch, add one to a counter, and give the lock back."""
    take = "atom.acquire.gpu.exch.b32 r0,[l],1" if swap else "atom.acquire.gpu.cas.b32 r0,[l],0,1"
    code = f"L:; {take}; setp.ne.s32 p,r0,0; @p bra L; "
    code += "ld.weak.s32 r1,[x]; add.s32 r2,r1,1; st.weak.s32 [x],r2; st.release.gpu.s32 [l],0"
    return columns(f"lock{count}{'-exch' if swap else ''}", [code] * count, f"not (x={count})", "x: global, l: global")


def crowd(seed: int, threads: int = 8, length: int = 8) -> Test:
    """Threads of loads, stores, atomics and fences on four locations; asks for what an interleaving showed."""
    source = random.Random(seed)
    code: list[list[tuple[str, str, int]]] = []
    for _ in range(threads):
        kinds = source.choices(("st", "ld", "atom", "fence"), (40, 45, 10, 5), k=length)
        code.append([(kind, source.choice("xyzw"), source.randint(1, 3)) for kind in kinds])
    memory = dict.fromkeys("xyzw", 0)
    seen: dict[tuple[int, int], int] = {}
    for number in source.sample([n for n in range(threads) for _ in range(length)], threads * length):
        step = sum(thread == number for thread, _ in seen)
        kind, variable, value = code[number][step]
        seen[number, step] = memory[variable]
        memory[variable] = {"st": value, "atom": memory[variable] + 1}.get(kind, memory[variable])
    texts = {
        "st": "st.relaxed.gpu.s32 [{1}],{2}", "ld": "ld.relaxed.gpu.s32 r{0},[{1}]",
        "atom": "atom.relaxed.gpu.add.s32 r{0},[{1}],1", "fence": "fence.sc.gpu",
    }  # fmt: skip
    columns_of_code = [
        "; ".join(texts[kind].format(step, variable, value) for step, (kind, variable, value) in enumerate(thread))
        for thread in code
    ]
    asked = [
        f"{number}:r{step}={value}" for (number, step), value in seen.items() if code[number][step][0] in ("ld", "atom")
    ]
    asked += [f"{variable}={value}" for variable, value in memory.items()]
    where = ", ".join(f"{variable}: global" for variable in memory)
    return columns(f"crowd{seed}", columns_of_code, " /\\ ".join(asked), where, length)


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
    late = without_early_checks("ptx-6.0")
    last = timed(lambda: [outcomes(test, late, Engine.SEARCH) for test in tests[:200]]) * len(tests) / 200
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
    print("hard cases (each line: verdict or all outcomes; sc, ptx-6.0)")
    for test, every in (
        (adders(8), True), (adds_of_one_thread(6), True), (loads(14), True), (reductions(), True),
        (locked_counters(4, swap=False), False), (locked_counters(4, swap=True), False),
        *((crowd(seed), False) for seed in range(4)),
    ):  # fmt: skip
        spent = [
            timed(lambda test=test, every=every, name=name: decide(test, load_model(name), all_outcomes=every))  # type: ignore[misc]
            for name in ("sc", "ptx-6.0")
        ]
        what = "all outcomes" if every else "verdict"
        print(f"  {test.name:<14}{what:<14}" + "".join(f"{each:7.3f} s" for each in spent))
    print(f"  most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
