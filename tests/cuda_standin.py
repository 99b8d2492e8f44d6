"""Runs Python in a process of its own on a machine whose GPUs are stand-ins, and reads what the driver wrote down."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUILT = Path(os.environ.get("GPUDIY_STANDIN", ROOT / ".venv" / "standin"))
DRIVER = BUILT / "driver" / "libcuda.so.1"
SITE = BUILT / "site"
HOST_FLAGS = ("-O1", "-g", "-shared", "-fPIC", "-pthread")


@dataclass(frozen=True, slots=True)
class Journal:
    """What the driver wrote down of every process."""

    lines: tuple[str, ...]

    @property
    def violations(self) -> list[str]:
        return [line.partition("violation: ")[2] for line in self.lines if "violation: " in line]

    def entries(self, kind: str) -> list[dict[str, str]]:
        """The entries of a kind, such as `launch`, with their fields; what follows `arguments=` is one field."""
        found = []
        for line in self.lines:
            _, _, entry = line.partition(" ")
            if entry.split(" ")[0] == kind:
                rest, _, arguments = entry.partition(" arguments=")
                fields = dict(word.split("=", 1) for word in rest.split()[1:] if "=" in word)
                found.append(fields | ({"arguments": arguments.strip()} if arguments else {}))
        return found


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine with these chips (see driver/chips.c), on which these faults happen (see driver/faults.c)."""

    directory: Path
    chips: str = "small80"
    faults: str = ""
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        paths = [str(SITE), str(ROOT / "tests"), str(ROOT)]
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "LD_LIBRARY_PATH": str(DRIVER.parent),
            "STANDIN_CHIPS": self.chips,
            "STANDIN_FAULTS": self.faults,
            "STANDIN_JOURNAL": str(self.directory / "journal"),
            "STANDIN_KERNELS": str(self.directory / "kernels"),
            "GPUDIY_CACHE": str(self.directory / "cache"),
            **self.more,
        }

    def run(self, *command: str, limit: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command], env=self.environment, capture_output=True, text=True, timeout=limit, check=False
        )

    def python(self, text: str, limit: float = 120) -> str:
        """What a program prints, which must end well."""
        found = self.run("-c", text, limit=limit)
        assert found.returncode == 0, found.stderr
        return found.stdout

    @property
    def journal(self) -> Journal:
        path = self.directory / "journal"
        return Journal(tuple(path.read_text().splitlines()) if path.exists() else ())

    def add_host_build(self, cubin: bytes, source: str) -> None:
        """Build the source for this processor, as what the cubin does."""
        kernels = self.directory / "kernels"
        kernels.mkdir(exist_ok=True)
        library = kernels / f"{image_hash(cubin):016x}.so"
        command = ["g++", "-std=c++17", *HOST_FLAGS, "-o", str(library), "-x", "c++", "-"]
        subprocess.run(command, input=source, text=True, check=True)


def image_hash(image: bytes) -> int:
    """FNV-1a, by which the driver finds the host build of a cubin."""
    found = 0xCBF29CE484222325
    for byte in image:
        found = (found ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return found
