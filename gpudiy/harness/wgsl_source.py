"""The code of tests in WGSL, from harness_templates/wgsl/: modules for every device that `wgpu` knows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from gpudiy.harness.shape import Shape
from gpudiy.harness.templates import render, tidy
from gpudiy.harness.thread_c11 import variable_name
from gpudiy.harness.thread_wgsl import thread_wgsl
from gpudiy.harness.wgsl_launch import FIELDS, STORAGE_BUFFERS, WGSL_COUNTERS
from gpudiy.litmus.condition import FinalRegister
from gpudiy.litmus.test import Test


@cache
def wgsl_prelude(volatile: bool = False) -> str:
    """What all tests of a module share; `volatile` asks for the attribute that makes compilers keep every access."""
    return tidy(
        render("wgsl/module.j2", fields=FIELDS, storage=STORAGE_BUFFERS, signs=WGSL_COUNTERS, volatile=volatile)
    )


def wgsl_function(test: Test, shape: Shape, *, function: str, kernel: str, title: str) -> str:
    """The function that runs instances of a test, and its kernel."""
    threads = [thread_wgsl(test, thread) for thread in range(len(test.threads))]
    used = {name for thread in threads for name in thread.variables}
    return render(
        "wgsl/test.j2",
        title=title,
        function=function,
        kernel=kernel,
        variables=_number_variables(shape.variables, used),
        shared=_number_variables(shape.shared, used),
        shared_count=len(shape.shared),
        zeros=sorted({zero for thread in threads for zero in thread.zeros}),
        threads=[
            (thread, list(zip(_result_rows(test, shape, thread.thread), thread.results, strict=True)))
            for thread in threads
        ],
    )


def may_be_cut(test: Test) -> bool:
    """Whether a thread of the test has a loop, which the harness cuts after many passes."""
    return any(thread_wgsl(test, thread).loops for thread in range(len(test.threads)))


def instance_passes(test: Test) -> int:
    """The most passes that a thread of the test makes in other loops, in one instance."""
    return max(thread_wgsl(test, thread).passes for thread in range(len(test.threads)))


def _result_rows(test: Test, shape: Shape, thread: int) -> list[int]:
    """The rows of the results for the observed registers of a thread, in the order of `test.observed`."""
    return [
        value.row
        for item, value in zip(test.observed, shape.observed, strict=True)
        if isinstance(item, FinalRegister) and item.thread == thread and value.row is not None
    ]


def _number_variables(variables: Sequence[str], used: set[str]) -> list[dict[str, object]]:
    return [{"name": variable_name(name), "number": number} for number, name in enumerate(variables) if name in used]
