"""The frame of a test for optcheck: where its function finds locations and constants, and stores results."""

from __future__ import annotations

import struct

from gpudiy.harness.cta_barriers import start_barrier, start_warps
from gpudiy.harness.function_source import result_rows
from gpudiy.harness.host_side import LAUNCH_BYTES, LAUNCH_FIELDS
from gpudiy.harness.inline_ptx import BEGIN, END, Unrealisable
from gpudiy.harness.module import PtxTest
from gpudiy.harness.source import PREFIX, NotRunnable
from gpudiy.litmus.condition import FinalRegister
from gpudiy.litmus.instruction import Barrier
from gpudiy.litmus.test import Test
from optcheck.frame import Frame, StoredResult


def find_frame(function: str, test: Test) -> Frame | None:
    """The frame of a function of this name, if the harness wrote it for the test."""
    if not function.startswith(PREFIX):
        return None
    try:
        return frame_of(PtxTest.of(test, "sm_90"))  # all architectures have the same frame
    except (NotRunnable, Unrealisable):
        return None


def frame_of(code: PtxTest) -> Frame:
    """The frame of the function that runs a test."""
    test = code.run_form
    observed = [item for item in test.observed if isinstance(item, FinalRegister)]
    rows = result_rows(test, code.shape)
    times = (BEGIN, END) if code.shape.timed else ()
    results = tuple(
        tuple(
            StoredResult(name, row)
            for name, (row, _) in zip(
                (*times, *(one.name for one in observed if one.thread == thread)), rows[thread], strict=True
            )
        )
        for thread in range(len(test.threads))
    )
    return Frame(
        offsets=OFFSETS,
        launch_bytes=LAUNCH_BYTES,
        constants=code.constants,
        variables=code.shape.variables,
        shared=code.shape.shared,
        results=results,
        rows=code.shape.rows,
        word_bytes=code.shape.word_bytes,
        launch_pointer=False,
        clock=code.shape.clock.special_register if code.shape.clock is not None else "",
        sleeps=code.shape.interleaves,
        test=test,
        start_barriers=_start_barriers(code.test) if code.shape.barriers else (),
    )


def _start_barriers(test: Test) -> tuple[Barrier | None, ...]:
    warps = (start_warps(test, thread) for thread in range(len(test.threads)))
    return tuple(start_barrier(count) if count else None for count in warps)


def _offsets() -> tuple[tuple[str, int], ...]:
    found, offset = [], 0
    for field in LAUNCH_FIELDS:
        found.append((field.name, offset))
        offset += struct.calcsize(f"<{field.format}")
    return tuple(found)


OFFSETS = _offsets()
