"""Tests to source in CUDA C++, OpenCL C, WGSL, or C++ for the host: harness_templates/ with the code of the tests.

A module has the kernels `reset` and `reduce` and the code of any number of tests. In CUDA and on the host one more
kernel, `run`, calls the function of a test through the table `test_functions`, so that only the code of the test itself
must be compiled; OpenCL and WGSL have no such tables, so there every test has its own kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from hashlib import sha256

from gpudiy.harness import c11_obstacles
from gpudiy.harness.function_source import (
    c11_threads,
    constant_types,
    function_source,
    ptx_threads,
    result_rows,
    used_variables,
)
from gpudiy.harness.inline_ptx import ThreadPtx, Timing, Unrealisable
from gpudiy.harness.loop_bounds import bound_loops
from gpudiy.harness.shape import CONSTANTS, Shape, obstacle_of_shape, shape_of
from gpudiy.harness.spelling import Spelling
from gpudiy.harness.templates import render, tidy
from gpudiy.harness.thread_c11 import thread_c11
from gpudiy.harness.thread_ptx import threads_ptx
from gpudiy.harness.wgsl_obstacles import wgsl_obstacle
from gpudiy.harness.wgsl_source import wgsl_function, wgsl_prelude
from gpudiy.litmus.condition_text import term_text
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.printer import print_test
from gpudiy.litmus.test import Test

PREFIX = "test_"  # of the functions that run tests


class Dialect(StrEnum):
    """The language of a harness."""

    CUDA = "cuda"
    OPENCL = "opencl"
    HOST = "host"
    WGSL = "wgsl"


OWN_KERNELS = (Dialect.OPENCL, Dialect.WGSL)  # in these every test has its own kernel
OBSTACLES: dict[Dialect, Callable[[Test, Shape], str | None]] = {
    # Others are found when the blocks are written.
    Dialect.CUDA: lambda test, shape: c11_obstacles.obstacle_of_host_threads(test),
    Dialect.OPENCL: lambda test, shape: c11_obstacles.obstacle(test),
    Dialect.HOST: lambda test, shape: c11_obstacles.obstacle_on_host(test),
    Dialect.WGSL: wgsl_obstacle,
}


class NotRunnable(Exception):
    """No harness of this dialect keeps the meaning of the test; the message says why, `thread` and `index` where."""

    def __init__(self, message: str, thread: int | None = None, index: int | None = None) -> None:
        super().__init__(message)
        self.thread = thread
        self.index = index


@dataclass(frozen=True, slots=True)
class RenderedTest:
    """The code of one test: its `function`, and the `kernel` to launch for it. `constants` go into the launch.

    `blocks` is the inline PTX of each thread, in CUDA.
    """

    test: Test
    shape: Shape
    function: str
    kernel: str
    text: str
    constants: tuple[int, ...] = ()
    blocks: tuple[ThreadPtx, ...] = ()


def obstacle(test: Test, dialect: Dialect) -> str | None:
    """Why a harness of this dialect cannot keep the meaning of the test; None if it can."""
    try:
        render_test(test, dialect)
    except NotRunnable as problem:
        return str(problem)
    return None


def render_test(test: Test, dialect: Dialect) -> RenderedTest:
    """The code of a test; raises `NotRunnable`."""
    shape = shape_of(test, timed=dialect in (Dialect.CUDA, Dialect.HOST), bounded=dialect is not Dialect.WGSL)
    found = obstacle_of_shape(test, shape) or OBSTACLES[dialect](test, shape)
    if found is not None:
        raise NotRunnable(found)
    match dialect:
        case Dialect.CUDA:
            return _cuda_source(test, shape)
        case Dialect.OPENCL | Dialect.HOST:
            return _c11_source(test, shape, dialect)
        case Dialect.WGSL:
            return _wgsl_source(test, shape)


def module_source(tests: Sequence[RenderedTest], dialect: Dialect) -> str:
    """The source of a module: what tests share, the code of the tests, and the kernels."""
    texts = [prelude(dialect), *(test.text for test in tests)]
    if dialect not in OWN_KERNELS:
        clusters = sorted({test.shape.ctas for test in tests} - {1})
        texts.append(run_kernels([test.function for test in tests], dialect, clusters))
    return "\n".join(texts)


@cache
def prelude(dialect: Dialect) -> str:
    """What all tests of a module share, with the kernels `reset` and `reduce`."""
    if dialect is Dialect.WGSL:
        return wgsl_prelude()
    texts = [render("module.j2", dialect=str(dialect))]
    if dialect is Dialect.HOST:
        texts += ["", *(render("entry.j2", kernel=kernel, numbered=False) for kernel in ("reset", "reduce"))]
    return tidy("\n".join(texts))


@cache
def prelude_of_functions() -> str:
    """The beginning of a CUDA module that has only functions of tests, and no kernels."""
    return tidy(render("test_functions_module.j2"))


def run_kernels(functions: Sequence[str], dialect: Dialect, clusters: Iterable[int] = ()) -> str:
    """The table of the functions of tests, empty if another module has it, and the kernels that run one of them.

    The size of a cluster is a property of a kernel: `clusters` are the sizes, besides 1, that get a kernel.
    """
    texts = [render("table.j2", functions=functions)]
    for cluster in (1, *clusters):
        name = kernel_name(cluster)
        texts.append(
            render(
                "run.j2",
                what="the test of that number" + (f", in clusters of {cluster} CTAs" if cluster > 1 else ""),
                kernel=name,
                cluster=cluster,
                function="test_function",
                shared="asked",
                numbered=True,
            )
        )
        if dialect is Dialect.HOST:
            texts.append(render("entry.j2", kernel=name, numbered=True))
    return "\n".join(texts)


def kernel_name(cluster: int) -> str:
    """The name of the kernel that runs tests in clusters of so many CTAs."""
    return "run" if cluster == 1 else f"run_cluster_{cluster}"


def function_name(test: Test) -> str:
    """A name that tests share only if their meaning and the order of their variables and results are the same.

    A condition written in another order means the same, but its outcomes are listed in another order.
    """
    registers = [f"{found.thread}:{found.name} {found.type}" for found in test.registers]
    order = ",".join((*test.memory_map.names, *map(term_text, test.observed), *registers))
    return f"{PREFIX}{content_hash(test)}_{sha256(order.encode()).hexdigest()[:8]}"


def constants_of(blocks: Sequence[ThreadPtx]) -> tuple[int, ...]:
    """The constants that the launch passes to the threads, in their order; raises `NotRunnable` for too many."""
    constants = tuple(value for block in blocks for value in block.values)
    if len(constants) > CONSTANTS:
        raise NotRunnable(f"it stores {len(constants)} constants, a harness takes at most {CONSTANTS}")
    return constants


def ptx_blocks(test: Test, shape: Shape, spelling: Spelling = Spelling.RELAXED) -> tuple[ThreadPtx, ...]:
    """The inline PTX of each thread, with accesses spelled for an architecture; raises `NotRunnable`."""
    timing = Timing(shape.clock, shape.interleaves and spelling is not Spelling.VOLATILE)
    try:
        return threads_ptx(test, spelling, timing)
    except Unrealisable as problem:
        raise NotRunnable(f"P{problem.thread}: {problem}", problem.thread, problem.index) from None


def _cuda_source(test: Test, shape: Shape) -> RenderedTest:
    run_form = bound_loops(test)
    blocks = ptx_blocks(run_form, shape)
    constants = constants_of(blocks)
    name = function_name(test)
    text = function_source(
        name,
        _title(test),
        shape,
        ptx_threads(shape, result_rows(run_form, shape), blocks),
        used=used_variables(blocks),
        constant_types=constant_types(blocks),
        litmus=_quoted_lines(test),
    )
    return RenderedTest(test, shape, name, "run", text, constants, blocks)


def _c11_source(test: Test, shape: Shape, dialect: Dialect) -> RenderedTest:
    run_form = bound_loops(test)
    threads = [thread_c11(run_form, thread, shape.timed) for thread in range(len(test.threads))]
    used = {name: 1 for thread in threads for name in thread.variables}
    name = function_name(test)
    rows = result_rows(run_form, shape)
    text = function_source(name, _title(test), shape, c11_threads(shape, rows, threads), used=used)
    if dialect is Dialect.HOST:
        return RenderedTest(test, shape, name, "run", text)
    kernel = f"run_{name.removeprefix(PREFIX)}"
    text += "\n" + render(
        "run.j2",
        what=_title(test),
        kernel=kernel,
        cluster=1,
        function=name,
        shared="yes" if shape.shared else "no",
        numbered=False,
    )
    return RenderedTest(test, shape, name, kernel, text)


def _wgsl_source(test: Test, shape: Shape) -> RenderedTest:
    name = function_name(test)
    kernel = f"run_{name.removeprefix(PREFIX)}"
    text = wgsl_function(test, shape, function=name, kernel=kernel, title=_title(test))
    return RenderedTest(test, shape, name, kernel, text)


def _title(test: Test) -> str:
    return "".join(character if character.isprintable() and character != "\\" else "?" for character in test.name)


def _quoted_lines(test: Test) -> list[str]:
    """The lines of the test, escaped for a string of C."""
    return print_test(test).replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?").rstrip("\n").split("\n")
