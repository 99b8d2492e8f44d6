"""PTX of functions without compiling each: tests whose code differs only inside their inline PTX share a skeleton.

The compiler copies inline PTX as it is, and knows only its operands. So one function is compiled for each *signature*
(variables, operands and results of the threads), with a mark in place of every block; the PTX of a test is this
skeleton with its blocks in place of the marks. It is the same, line by line, as the compiler writes for the whole
source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gpudiy.harness.function_source import constant_types, function_source, ptx_threads, result_rows, used_variables
from gpudiy.harness.host_side import CONSTANT_MEMORY, LAUNCH_BYTES, PRIMES_BYTES
from gpudiy.harness.inline_ptx import Input, Output, PtxLine, ThreadPtx
from gpudiy.harness.nvrtc import Compiler, Product
from gpudiy.harness.shape import Shape
from gpudiy.harness.source import prelude_of_functions
from gpudiy.litmus.test import Test

MARK = "GPUDIY_THREAD"
NAME = "test_skeleton"
FUNCTION = re.compile(r"^\.visible \.func (test_\d+)\s*\(.*?^\}\n", re.MULTILINE | re.DOTALL)
MARKED = re.compile(rf"^\s*{MARK} (\d+)([^\n]*)\n", re.MULTILINE)
OPERAND = re.compile(r"%(\d+|=)")
OPTIONS = ("-rdc=true",)


@dataclass(frozen=True, slots=True)
class Signature:
    """Everything that the compiler knows about a test."""

    variables: int
    shared: int
    rows: tuple[tuple[tuple[int, str], ...], ...]  # for each thread the rows and types of its results
    first_rows: tuple[int, ...]
    row_count: int
    wide: bool
    operands: tuple[tuple[tuple[Output, ...], tuple[Input, ...]], ...]


@dataclass(frozen=True, slots=True)
class PtxSkeleton:
    """PTX of a function with gaps: `texts` around them; for each gap its thread and the registers of its operands."""

    texts: tuple[str, ...]
    gaps: tuple[tuple[int, tuple[str, ...]], ...]

    def fill(self, name: str, number: int, blocks: Sequence[ThreadPtx]) -> str:
        """The PTX of a test, the `number`-th of its module."""
        parts = [self.texts[0].replace(NAME, name)]
        for (thread, registers), text in zip(self.gaps, self.texts[1:], strict=True):

            def operand(found: re.Match[str], registers: tuple[str, ...] = registers, thread: int = thread) -> str:
                return f"{number}_{thread}" if found[1] == "=" else registers[int(found[1])]

            lines = "\n".join(line.text for line in blocks[thread].lines)
            parts += (OPERAND.sub(operand, lines).replace("%%", "%"), "\n", text.replace(NAME, name))
        return "".join(parts)


def signature(test: Test, shape: Shape, blocks: Sequence[ThreadPtx]) -> Signature:
    """The signature of a test: its variables are numbered, so that their names do not matter."""
    numbers = {name: f"v{number}" for number, name in enumerate(shape.variables)}
    numbers |= {name: f"s{number}" for number, name in enumerate(shape.shared)}
    operands = []
    for block in blocks:
        inputs = tuple(Input(e.kind, e.constraint, numbers.get(e.variable, ""), e.copy) for e in block.inputs)
        operands.append((tuple(Output("", o.constraint, o.type) for o in block.outputs), inputs))
    rows = tuple(tuple((row, str(type)) for row, type in found) for found in result_rows(test, shape))
    return Signature(
        variables=len(shape.variables),
        shared=len(shape.shared),
        rows=rows,
        first_rows=shape.first_rows,
        row_count=shape.rows,
        wide=shape.wide,
        operands=tuple(operands),
    )


def compile_skeletons(
    examples: Iterable[tuple[Signature, Test, Shape, Sequence[ThreadPtx]]], compiler: Compiler, architecture: str
) -> dict[Signature, PtxSkeleton]:
    """One skeleton per signature, from any test that has it; all of them in one call of the compiler."""
    chosen = {found: (test, shape, blocks) for found, test, shape, blocks in examples}
    if not chosen:
        return {}
    texts = [prelude_of_functions()]
    texts += (
        _marked_source(f"test_{number}", found, *example) for number, (found, example) in enumerate(chosen.items())
    )
    ptx = compiler.compile("\n".join(texts), architecture, Product.PTX, OPTIONS).decode()
    functions = {found[1]: found[0] for found in FUNCTION.finditer(ptx)}
    return {found: _skeleton(functions[f"test_{number}"], f"test_{number}") for number, found in enumerate(chosen)}


def ptx_header(compiler: Compiler, architecture: str) -> str:
    """The version and target lines that the compiler writes, and the declaration of what all functions read."""
    ptx = compiler.compile("", architecture, Product.PTX, OPTIONS).decode()
    lines = [line for line in ptx.split("\n") if line.startswith((".version", ".target", ".address_size"))]
    return "\n".join((*lines, f".extern .const .align 8 .b8 {CONSTANT_MEMORY}[{LAUNCH_BYTES + PRIMES_BYTES}];", ""))


def _marked_source(name: str, found: Signature, test: Test, shape: Shape, blocks: Sequence[ThreadPtx]) -> str:
    """The function of a test with numbered variables and marks in place of its blocks."""
    shape = replace(
        shape,
        variables=tuple(f"v{number}" for number in range(found.variables)),
        shared=tuple(f"s{number}" for number in range(found.shared)),
    )
    marked = []
    for block, (outputs, inputs) in zip(blocks, found.operands, strict=True):
        operands = "".join(f" %{number}" for number in range(len(outputs) + len(inputs)))
        mark = PtxLine(f"{MARK} {block.thread}{operands}")
        marked.append(replace(block, outputs=outputs, inputs=inputs, lines=(mark,)))
    return function_source(
        name,
        "a skeleton",
        shape,
        ptx_threads(shape, result_rows(test, shape), marked),
        used=used_variables(marked),
        constant_types=constant_types(marked),
    )


def _skeleton(text: str, name: str) -> PtxSkeleton:
    texts, gaps, end = [], [], 0
    text = text.replace(name, NAME)
    for found in MARKED.finditer(text):
        texts.append(text[end : found.start()])
        gaps.append((int(found[1]), tuple(found[2].split())))
        end = found.end()
    return PtxSkeleton((*texts, text[end:]), tuple(gaps))
