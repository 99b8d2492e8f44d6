"""The disassemblers of CUDA, installed on the machine or in wheels; each is called once per module."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from gpudiy.errors import MissingTool, ToolFailure
from optcheck.binary import is_cubin, read_architecture
from optcheck.constant_bank import write_constants

WHEEL_FOLDERS = (
    "nvidia/cu13/bin",
    "nvidia/cuda_nvdisasm/bin",
    "nvidia/cuda_cuobjdump/bin",
    "triton/backends/nvidia/bin",
)
INSTALL = "pip install 'gpudiy[cuda-tools]'"
FIRST_OF_CUDA_13 = 75  # the first architecture that CUDA 13 knows
INSTALL_OLDER = "pip install 'gpudiy[cuda12]'"
OLD_ARCHITECTURES = f"CUDA 13 disassembles sm_75 and later; for sm_50 to sm_72: {INSTALL_OLDER}; for sm_35 use CUDA 11"
TIME_LIMIT = 600  # seconds


@cache
def find_tool(name: str, architecture: str = "") -> Path:
    """Find nvdisasm or cuobjdump on PATH, in CUDA_HOME or CUDA_PATH, or in an installed wheel.

    With an architecture such as `sm_60`, find one that reads it: the tools of CUDA 13 read sm_75 and later.
    """
    found = list(dict.fromkeys(_find_tools(name)))
    if not found:
        raise MissingTool(f"{name} is not installed: {INSTALL}")
    old = architecture and int(architecture.strip("sm_af")) < FIRST_OF_CUDA_13
    fitting = [tool for tool in found if not old or _major_version(tool) < 13]
    if not fitting:
        raise MissingTool(f"no installed {name} reads {architecture}: {INSTALL_OLDER}")
    return fitting[0]


def _find_tools(name: str) -> Iterator[Path]:
    on_path = shutil.which(name)
    if on_path:
        yield Path(on_path)
    places = [Path(os.environ[variable], "bin") for variable in ("CUDA_HOME", "CUDA_PATH") if variable in os.environ]
    places += [Path(folder, inside) for folder in sys.path if folder for inside in WHEEL_FOLDERS]
    for place in (*places, Path("/usr/local/cuda/bin")):
        if os.access(place / name, os.X_OK):
            yield place / name


def _major_version(tool: Path) -> int:
    found = re.search(r"release (\d+)", _run([str(tool), "--version"], f"{tool} does not run"))
    return int(found[1]) if found else 0


def disassemble(cubin: Path) -> str:
    """The listing of one cubin, by nvdisasm: with labels, and with the targets of jumps through tables."""
    content = cubin.read_bytes()
    tool = find_tool("nvdisasm", read_architecture(content))
    return write_constants(_run([str(tool), "-c", str(cubin)], f"nvdisasm cannot read {cubin.name}"), content)


def cubins_of(path: Path) -> Iterator[Path]:
    """The cubin itself, or those inside an executable, object or fatbin."""
    if is_cubin(path.read_bytes()):
        yield path
        return
    tool = find_tool("cuobjdump")
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NVDISASM_PATH": str(find_tool("nvdisasm"))}
        _run(
            [str(tool), "-xelf", "all", str(path.resolve())], f"cuobjdump cannot read {path.name}", folder, environment
        )
        found = sorted(Path(folder).glob("*.cubin"))
        if not found:
            raise ToolFailure(f"{path.name} contains no SASS")
        yield from found


def _run(command: list[str], problem: str, folder: str | None = None, environment: dict[str, str] | None = None) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIME_LIMIT, cwd=folder, env=environment, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolFailure(f"{problem}: {error}") from None
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())[:300]
        old = f" ({OLD_ARCHITECTURES})" if any(word in said.lower() for word in ("sm", "arch", "not supported")) else ""
        raise ToolFailure(f"{problem}: {said or f'exit code {done.returncode}'}{old}")
    return done.stdout
