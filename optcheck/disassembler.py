"""The disassemblers of CUDA, installed on the machine or in wheels; each is called once per module."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from gpudiy.errors import MissingTool, ToolFailure
from optcheck.binary import is_cubin

WHEEL_FOLDERS = (
    "nvidia/cu13/bin",
    "nvidia/cuda_nvdisasm/bin",
    "nvidia/cuda_cuobjdump/bin",
    "triton/backends/nvidia/bin",
)
INSTALL = "pip install 'gpudiy[cuda-tools]'"
OLD_ARCHITECTURES = (
    "CUDA 13 disassembles sm_75 and later; for sm_50 to sm_70 install CUDA 12 (or `pip install triton==3.3.1`, "
    "whose nvdisasm supports them), for sm_35 CUDA 11"
)
TIME_LIMIT = 600  # seconds


@cache
def find_tool(name: str) -> Path:
    """Find nvdisasm or cuobjdump on PATH, in CUDA_HOME or CUDA_PATH, or in an installed wheel."""
    on_path = shutil.which(name)
    if on_path:
        return Path(on_path)
    places = [Path(os.environ[variable], "bin") for variable in ("CUDA_HOME", "CUDA_PATH") if variable in os.environ]
    places += [Path(folder, inside) for folder in sys.path if folder for inside in WHEEL_FOLDERS]
    for place in (*places, Path("/usr/local/cuda/bin")):
        if os.access(place / name, os.X_OK):
            return place / name
    raise MissingTool(f"{name} is not installed: {INSTALL}")


def disassemble(cubin: Path) -> str:
    """The listing of one cubin, by nvdisasm: with labels, and with the targets of jumps through tables."""
    tool = find_tool("nvdisasm")
    return _run([str(tool), "-c", str(cubin)], f"nvdisasm cannot read {cubin.name}")


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
