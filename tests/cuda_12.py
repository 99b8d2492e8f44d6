"""The tools of CUDA 12, which compile for sm_50 to sm_72: tests that need them are skipped without them."""

from __future__ import annotations

import pytest

from gpudiy.errors import MissingTool
from gpudiy.harness.nvrtc import compiler_for
from optcheck.disassembler import find_tool


def expect_cuda_12(architecture: str) -> None:
    """Skip the test, and say what to install, if the compiler or the disassembler does not know the architecture."""
    try:
        compiler_for(architecture)
        find_tool("nvdisasm", architecture)
    except MissingTool as missing:
        pytest.skip(str(missing))
