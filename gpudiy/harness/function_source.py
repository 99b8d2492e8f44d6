"""The function that runs a test: its threads, where they find their locations, and where their results go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from gpudiy.harness.inline_ptx import InputKind, ThreadPtx
from gpudiy.harness.shape import TIMES, ZEROS, Shape
from gpudiy.harness.templates import render
from gpudiy.harness.thread_c11 import ThreadC11, variable_name
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.condition import FinalRegister
from gpudiy.litmus.test import Test

OPERAND_TYPES = {"r": "u32", "l": "u64", "h": "u16"}  # of C, by the constraint of inline PTX

ResultRows = list[list[tuple[int, ScalarType]]]


@dataclass(frozen=True, slots=True)
class AsmOperand:
    """An operand of an `asm` statement: `value` is an expression of C, of that type."""

    constraint: str
    type: str
    value: str


@dataclass(frozen=True, slots=True)
class AsmStatement:
    """The operands of an `asm` statement."""

    outputs: tuple[AsmOperand, ...]
    inputs: tuple[AsmOperand, ...]


@dataclass(frozen=True, slots=True)
class ThreadResult:
    """A value that a thread leaves in a row of the results: a time, or what a register holds at the end."""

    type: str
    value: str


@dataclass(frozen=True, slots=True)
class ThreadSource:
    """What one thread of the test does in an instance: `lines` are statements of C or, with `asm`, inline PTX.

    Its results are kept until the threads of a warp are together again, and stored in rows from `first_row` on.
    """

    number: int
    lines: tuple[str, ...]
    first_row: int
    results: tuple[ThreadResult, ...]
    asm: AsmStatement | None = None


@dataclass(frozen=True, slots=True)
class _NumberedVariable:
    name: str  # as C spells it
    number: int
    zeros: tuple[int, ...]  # what is added to its address for each copy, as a number of the zeros of the launch


def function_source(
    name: str,
    title: str,
    shape: Shape,
    threads: Sequence[ThreadSource],
    *,
    used: Mapping[str, int],
    constant_types: Sequence[str] = (),
    litmus: Sequence[str] = (),
) -> str:
    """The source of the function; `used` are the variables whose addresses the threads need, and how many copies.

    `litmus` are the lines of the test, which the module then contains as data.
    """
    zeros = count()
    together = shape.timed or not any(thread.asm for thread in threads)
    return render(
        "test_function.j2",
        title=title,
        litmus=litmus,
        function=name,
        variables=_number_variables(shape.variables, used, zeros),
        shared=_number_variables(shape.shared, used, zeros),
        shared_count=len(shape.shared),
        constant_types=constant_types,
        rows=shape.rows,
        word="u64" if shape.wide else "u32",
        threads=threads,
        fewest=min(len(thread.results) for thread in threads),
        most=max(len(thread.results) for thread in threads) if together else 0,
    )


def ptx_threads(shape: Shape, rows: ResultRows, blocks: Sequence[ThreadPtx]) -> list[ThreadSource]:
    """Threads as inline PTX. Their constants come from the launch, in the order of the threads."""
    threads, constants = [], 0
    for block in blocks:
        inputs = []
        for entry in block.inputs:
            if entry.kind is InputKind.VALUE:
                value = f"constant_{constants}"
                constants += 1
            elif entry.kind is InputKind.DELAY:
                value = f"CONSTANT_LAUNCH->delays[{block.thread}]"
            else:
                value = _address(entry.variable, entry.copy) if entry.variable else "specification"
            inputs.append(AsmOperand(entry.constraint, OPERAND_TYPES[entry.constraint], value))
        outputs = tuple(
            AsmOperand(output.constraint, OPERAND_TYPES[output.constraint], f"result_{number}")
            for number, output in enumerate(block.outputs)
        )
        results = _list_results(rows[block.thread], [output.value for output in outputs])
        lines = tuple(line.text for line in block.lines)
        statement = AsmStatement(outputs, tuple(inputs))
        threads.append(ThreadSource(block.thread, lines, shape.first_rows[block.thread], results, statement))
    return threads


def c11_threads(shape: Shape, rows: ResultRows, threads: Iterable[ThreadC11]) -> list[ThreadSource]:
    """Threads as C11 atomics."""
    return [
        ThreadSource(
            thread.thread,
            thread.lines,
            shape.first_rows[thread.thread],
            _list_results(rows[thread.thread], thread.results),
        )
        for thread in threads
    ]


def result_rows(test: Test, shape: Shape) -> ResultRows:
    """For each thread the rows of its results: its times, then its registers in the order of `test.observed`."""
    times = TIMES if shape.timed else 0
    rows: ResultRows = [[(first + row, ScalarType.U32) for row in range(times)] for first in shape.first_rows]
    for item, value in zip(test.observed, shape.observed, strict=True):
        if isinstance(item, FinalRegister) and value.row is not None:
            rows[item.thread].append((value.row, value.type))
    return rows


def constant_types(blocks: Iterable[ThreadPtx]) -> list[str]:
    """The C types of the constants that inline PTX takes."""
    return [
        OPERAND_TYPES[entry.constraint] for block in blocks for entry in block.inputs if entry.kind is InputKind.VALUE
    ]


def used_variables(blocks: Iterable[ThreadPtx]) -> dict[str, int]:
    """The variables whose addresses inline PTX takes, and how many copies of each address."""
    used: dict[str, int] = {}
    for entry in (entry for block in blocks for entry in block.inputs if entry.variable):
        used[entry.variable] = max(used.get(entry.variable, 0), 1 + entry.copy)
    return used


def _number_variables(
    variables: Sequence[str], used: Mapping[str, int], zeros: Iterator[int]
) -> list[_NumberedVariable]:
    return [
        _NumberedVariable(variable_name(name), number, tuple(next(zeros) % ZEROS for _ in range(used[name] - 1)))
        for number, name in enumerate(variables)
        if name in used
    ]


def _address(variable: str, copy: int) -> str:
    return f"at_{variable_name(variable)}{f'_{copy}' if copy else ''}"


def _list_results(rows: Sequence[tuple[int, ScalarType]], values: Sequence[str]) -> tuple[ThreadResult, ...]:
    return tuple(
        ThreadResult("u32" if type is ScalarType.PRED else f"u{type.bits}", value)
        for (_, type), value in zip(rows, values, strict=True)
    )
