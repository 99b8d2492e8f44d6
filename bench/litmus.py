"""How fast tests are read and printed: 10,000 tests in the style of generated families.

Prints tests per second on one core, the ratio of reading to printing, and the ratio to a named baseline in the same
run: the same reader when it has to run the grammar on every piece anew.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice, product

from gpudiy.litmus import declarations, draft, grammar, program, read_dat3m, read_scope_tree, sections
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.printer import print_test
from gpudiy.litmus.reader import read_test
from gpudiy.litmus.shape import shape_hash

COUNT = 10_000
SAMPLE = 200  # tests for the slow baseline and the hashes

# the accesses of each thread (R or W, and the variable), and a condition
SHAPES = {
    "SB": (("Wx", "Ry"), ("Wy", "Rx")),
    "MP": (("Wx", "Wy"), ("Ry", "Rx")),
    "LB": (("Rx", "Wy"), ("Ry", "Wx")),
    "S": (("Wx", "Wy"), ("Ry", "Wx")),
    "R": (("Wx", "Wy"), ("Wy", "Rx")),
    "WRC": (("Wx",), ("Rx", "Wy"), ("Ry", "Rx")),
    "ISA2": (("Wx", "Wy"), ("Ry", "Wz"), ("Rz", "Rx")),
    "IRIW": (("Wx",), ("Rx", "Ry"), ("Wy",), ("Ry", "Rx")),
}
LOADS = ("ld.cg.s32", "ld.ca.s32", "ld.volatile.s32", "ld.relaxed.gpu.s32", "ld.acquire.gpu.s32", "ld.acquire.cta.s32")
STORES = ("st.cg.s32", "st.wb.s32", "st.volatile.s32", "st.relaxed.gpu.s32", "st.release.gpu.s32", "st.release.cta.s32")
FENCES = ("", "membar.cta", "membar.gl", "membar.sys", "fence.sc.gpu", "fence.acq_rel.gpu")


def generated_tests() -> Iterator[str]:
    """Texts of distinct tests, without end for our purposes."""
    choices = product(FENCES, LOADS, STORES, ("cta", "warp"), FENCES, SHAPES)
    for number, (first, load, store, level, second, shape) in enumerate(choices):
        yield _text(f"{shape}{number:05}", SHAPES[shape], load, store, (first, second), level)


def _text(
    name: str, shape: tuple[tuple[str, ...], ...], load: str, store: str, fences: tuple[str, ...], level: str
) -> str:
    declarations, columns, asked = [], [], []
    for number, accesses in enumerate(shape):
        column = [f"P{number}"]
        for index, access in enumerate(accesses):
            data, address = f"r{2 * index}", f"r{2 * index + 1}"
            declarations += [f"{number}:.reg .s32 {data};", f"{number}:.reg .b64 {address} = {access[1]};"]
            if index and fences[number % 2]:
                column.append(fences[number % 2])
            if access[0] == "R":
                column.append(f"{load} {data},[{address}]")
                asked.append(f"{number}:{data}={1 - index}")
            else:
                column += [f"mov.s32 {data},1", f"{store} [{address}],{data}"]
        columns.append(column)
    height = max(map(len, columns))
    rows = (
        " : ".join(f"{column[row] if row < len(column) else '':<24}" for column in columns) for row in range(height)
    )
    threads = [f"(warp P{number})" for number in range(len(shape))]
    inside = " ".join(threads) if level == "warp" else ") (cta ".join(threads)
    variables = sorted({access[1] for accesses in shape for access in accesses})
    return "\n".join(
        (
            f"GPU_PTX {name}", "", *declarations, "", *rows, "",
            f"(device (kernel (cta {inside})))", "",
            ", ".join(f"{variable}: global" for variable in variables), "",
            " /\\ ".join(asked), "",
        )
    )  # fmt: skip


def timed(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def forget() -> None:
    """Empty every memory of pieces that were read before."""
    for module in (grammar, declarations, draft, program, read_dat3m, read_scope_tree, sections):
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


def read_and_forget(texts: list[str]) -> None:
    for text in texts:
        forget()
        read_test(text)


def main() -> int:
    texts = list(islice(generated_tests(), COUNT))
    assert len(set(texts)) == COUNT
    read_test(texts[0])
    forget()
    tests = []
    reading = timed(lambda: tests.extend(map(read_test, texts)))
    printing = timed(lambda: [print_test(test) for test in tests])
    again = timed(lambda: [read_test(text) for text in texts])
    baseline = timed(lambda: read_and_forget(texts[:SAMPLE])) / SAMPLE
    content = timed(lambda: [content_hash(test) for test in tests[:SAMPLE]]) / SAMPLE
    shape = timed(lambda: [shape_hash(test) for test in tests[:SAMPLE]]) / SAMPLE
    print(f"{COUNT:,} tests, one core, CPU time")
    print(f"read, first time     {COUNT / reading:10,.0f} tests/s   {1e6 * reading / COUNT:8.0f} us each")
    print(f"read, again          {COUNT / again:10,.0f} tests/s   {1e6 * again / COUNT:8.0f} us each")
    print(f"print                {COUNT / printing:10,.0f} tests/s   {1e6 * printing / COUNT:8.0f} us each")
    print(f"content hash         {1 / content:10,.0f} tests/s   {1e6 * content:8.0f} us each")
    print(f"shape hash           {1 / shape:10,.0f} tests/s   {1e6 * shape:8.0f} us each")
    print(f"ratio read/print     {reading / printing:10.2f}           (at most 4 is asked)")
    print(
        f"ratio to baseline    {baseline * COUNT / reading:10.1f}           (baseline: the grammar run on every piece)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
