"""Finds the libraries of the CUDA toolkit: first a toolkit on the machine, then the wheels of this Python."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

INSTALL = "pip install 'gpudiy[cuda-tools]'"
INSTALL_OLDER = "pip install 'gpudiy[cuda12]'"  # for sm_50 to sm_72, and for drivers of CUDA 12
VERSION = re.compile(r"\.so\.(\d+(?:\.\d+)*)\Z")


def libraries(name: str) -> Iterator[ctypes.CDLL]:
    """Every `lib{name}.so` that loads: from a toolkit on the machine, from the wheels, from the path of the loader."""
    seen: set[Path] = set()
    for folder in (*_toolkit_folders(), *_wheel_folders()):
        for path in sorted(folder.glob(f"lib{name}.so.*"), key=_newest_first):
            if path.resolve() not in seen:
                seen.add(path.resolve())
                try:
                    yield ctypes.CDLL(str(path))
                except OSError:  # for another machine, or without a library it needs
                    continue
    for version in ("13", "12"):
        try:
            yield ctypes.CDLL(f"lib{name}.so.{version}")
        except OSError:
            continue


def _toolkit_folders() -> Iterator[Path]:
    homes = [os.environ.get(variable) for variable in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")]
    compiler = shutil.which("nvcc")
    roots = [Path(home) for home in homes if home]
    if compiler:
        roots.append(Path(compiler).resolve().parent.parent)
    roots.append(Path("/usr/local/cuda"))
    for root in roots:
        for folder in ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"):
            if (root / folder).is_dir():
                yield root / folder


def _wheel_folders() -> Iterator[Path]:
    for entry in dict.fromkeys((sysconfig.get_paths()["purelib"], *filter(None, sys.path))):
        for folder in ("cu13", "cuda_nvrtc", "nvjitlink"):
            if (Path(entry) / "nvidia" / folder / "lib").is_dir():
                yield Path(entry) / "nvidia" / folder / "lib"


def _newest_first(path: Path) -> tuple[int, ...]:
    found = VERSION.search(path.name)
    return tuple(-int(part) for part in found[1].split(".")) if found else (0,)
