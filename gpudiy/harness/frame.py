"""The frame of a test for optcheck: where its function finds locations and constants, and stores results."""

from __future__ import annotations

import struct

from gpudiy.harness.function_source import result_rows
from gpudiy.harness.host_side import LAUNCH_BYTES, LAUNCH_FIELDS
from gpudiy.harness.inline_ptx import Unrealisable
from gpudiy.harness.module import PtxTest
from gpudiy.harness.source import PREFIX, NotRunnable
from gpudiy.litmus.condition import FinalRegister
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
    observed = [item for item in code.test.observed if isinstance(item, FinalRegister)]
    rows = result_rows(code.test, code.shape)
    results = tuple(
        tuple(
            StoredResult(item.name, row)
            for item, (row, _) in zip([one for one in observed if one.thread == thread], rows[thread], strict=True)
        )
        for thread in range(len(code.test.threads))
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
    )


def _offsets() -> tuple[tuple[str, int], ...]:
    found, offset = [], 0
    for field in LAUNCH_FIELDS:
        found.append((field.name, offset))
        offset += struct.calcsize(f"<{field.format}")
    return tuple(found)


OFFSETS = _offsets()
