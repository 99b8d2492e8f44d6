"""The tools of CUDA that build and check binaries, and the architectures they serve."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence

from gpudiy.devices.doctor.diagnosis import Diagnosis, Health
from gpudiy.errors import MissingTool, ToolFailure
from gpudiy.harness.build_options import BuildOptions
from gpudiy.harness.cuda_library import INSTALL, INSTALL_OLDER
from gpudiy.harness.module import assembler_for
from gpudiy.harness.nvjitlink import linkers
from gpudiy.harness.nvrtc import compilers
from optcheck.disassembler import find_tool

VERSION = re.compile(r"release (\d+\.\d+)")
TIME_LIMIT = 30.0  # seconds


def check_tools(architectures: Sequence[str], newest: int | None) -> list[Diagnosis]:
    """Every tool, and whether all of them together serve each GPU. `newest` is the CUDA of the driver, as 13."""
    of_gpus = (_check_architecture(f"cuda:{number}", name, newest) for number, name in enumerate(architectures))
    return [*_check_libraries(), *_check_programs(), *of_gpus]


def _check_libraries() -> Iterator[Diagnosis]:
    there = compilers()
    for compiler in there:
        oldest, latest = min(compiler.architectures), max(compiler.architectures)
        yield Diagnosis("NVRTC", Health.OK, f"{compiler.version} compiles for sm_{oldest} to sm_{latest}")
    if not there:
        yield Diagnosis("NVRTC", Health.MISSING, "the compiler is not installed", INSTALL, "cuda")
    for linker in linkers():
        yield Diagnosis("nvJitLink", Health.OK, linker.version)
    if not linkers():
        yield Diagnosis("nvJitLink", Health.MISSING, "the linker is not installed", INSTALL, "cuda")


def _check_programs() -> Iterator[Diagnosis]:
    for name in ("nvdisasm", "cuobjdump"):
        try:
            tool = find_tool(name)
        except MissingTool as problem:
            yield Diagnosis(name, Health.MISSING, str(problem), INSTALL, "cuda")
        else:
            yield Diagnosis(name, Health.OK, f"{_release(str(tool))}, {tool}")
    ptxas = shutil.which("ptxas")
    text = f"{_release(ptxas)}, {ptxas}" if ptxas else "not installed, and not needed: nvJitLink has it inside"
    yield Diagnosis("ptxas", Health.OK, text)


def _check_architecture(device: str, architecture: str, newest: int | None) -> Diagnosis:
    """Whether a test for the architecture can be compiled, linked and disassembled for this driver."""
    what = f"{device} tools"
    try:
        version = assembler_for(architecture, BuildOptions(newest=newest)).version
        tool = find_tool("nvdisasm", architecture)
    except (MissingTool, ToolFailure) as problem:
        return Diagnosis(what, Health.MISSING, str(problem), f"{INSTALL}, or for older GPUs {INSTALL_OLDER}", device)
    return Diagnosis(what, Health.OK, f"{version} builds for {architecture}, and {tool.name} reads it")


def _release(tool: str) -> str:
    try:
        said = subprocess.run(
            [tool, "--version"], capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run ({error})"
    found = VERSION.search(said.stdout)
    return f"release {found[1]}" if found else "of unknown release"
