"""Kernels around single threads or whole tests, as plain as can be, so that a compiler may do to them what it likes.

Unlike the harness of gpudiy, they tell the compiler everything: the locations are a constant distance apart, so that it
knows them to be different, and constants are parameters of the kernel.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from gpudiy.harness.nvrtc import compiler_for
from gpudiy.harness.spelling import Spelling
from gpudiy.harness.thread_ptx import Input, InputKind, ThreadPtx, threads_ptx
from gpudiy.litmus import Space, Test, print_test
from optcheck.check import check_kernels
from optcheck.disassembler import disassemble
from optcheck.finding import Check

C_TYPES = {"l": "unsigned long long", "r": "unsigned", "h": "unsigned short"}
GLOBAL_STRIDE, SHARED_STRIDE = 64, 1  # words from one location to the next


def kernel_source(test: Test, name: str, *, uniform: bool = False, stride: int = GLOBAL_STRIDE) -> str:
    """A kernel whose threads run those of the test in a loop; with `uniform`, all of a CTA at one place."""
    blocks = threads_ptx(test, Spelling.AS_WRITTEN)
    parameters = ["unsigned *memory", "unsigned *results", "unsigned long long specification", "int rounds"]
    parameters += [
        f"{C_TYPES[entry.constraint]} {value}"
        for block in blocks
        for entry, value in zip(values_of(block), names_of(block), strict=True)
    ]
    text = ",".join(map(str, print_test(test).encode() + b"\0"))
    where = "0" if uniform else f"(who / {len(blocks)}u)"
    lines = [
        f'extern "C" __device__ const unsigned char {name}_text[] = {{{text}}};',
        f'extern "C" __global__ void {name}({", ".join(parameters)}) {{',
        "  __shared__ unsigned nearby[4096];",
        "  const unsigned who = threadIdx.x + blockIdx.x;",
        "#pragma unroll 1",
        "  for (int round = 0; round < rounds; ++round) {",
        f"    unsigned *base = memory + (round * 64u + {where}) * 1024u;",
        "    unsigned *mine = results + (round * 64u + who) * 16u;",
    ]
    counts = {Space.GLOBAL: 0, Space.SHARED: 0}
    for variable in test.memory_map.variables:
        number = counts[variable.space]
        counts[variable.space] += 1
        if variable.space is Space.SHARED:
            place = f"&nearby[(who & 31) * 8 + {number * SHARED_STRIDE}]"
            lines.append(f"    unsigned at_{variable.name} = (unsigned)__cvta_generic_to_shared({place});")
        else:
            lines.append(
                f"    auto at_{variable.name} = (unsigned long long)__cvta_generic_to_global(base + {number * stride});"
            )
    lines.append(f"    switch (who % {len(blocks)}u) {{")
    for block in blocks:
        lines += [f"    case {block.thread}: {{", *_block(block), "      break; }"]
    return "\n".join([*lines, "    }", "  }", "}"])


def values_of(block: ThreadPtx) -> list[Input]:
    return [entry for entry in block.inputs if entry.kind is InputKind.VALUE]


def names_of(block: ThreadPtx) -> list[str]:
    return [f"value_{block.thread}_{number}" for number in range(len(values_of(block)))]


def _block(block: ThreadPtx) -> list[str]:
    names = iter(names_of(block))
    inputs = []
    for entry in block.inputs:
        value = {InputKind.ADDRESS: f"at_{entry.variable}", InputKind.SPECIFICATION: "specification"}.get(entry.kind)
        inputs.append(f'"{entry.constraint}"({value or next(names)})')
    outputs = [f'"={output.constraint}"(out{number})' for number, output in enumerate(block.outputs)]
    return [
        *(f"      {C_TYPES[output.constraint]} out{number};" for number, output in enumerate(block.outputs)),
        "      asm volatile(",
        *(f'        "{line.text}\\n"' for line in block.lines),
        f'        : {", ".join(outputs)} : {", ".join(inputs)} : "memory");',
        *(f"      mine[{number}] = (unsigned)out{number};" for number in range(len(block.outputs))),
    ]


@cache
def listing(source: str, architecture: str) -> str:
    """The disassembled text of a source."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tests.cubin")
        path.write_bytes(compiler_for(architecture).compile(source, architecture))
        return disassemble(path)


def checked(test: Test, architecture: str, **options: object) -> Check:
    """The finding on a test in a plain kernel."""
    source = kernel_source(test, "kernel", **options)  # type: ignore[arg-type]
    (check,) = check_kernels(listing(source, architecture), {"kernel": test})
    return check
