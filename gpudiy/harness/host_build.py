"""The host build of a module: the same harness, compiled with the C++ compiler of the machine."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

from gpudiy.errors import MissingTool
from gpudiy.harness.nvrtc import CompileError

OPTIONS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-pthread", "-fno-operator-names")


def host_compiler() -> str:
    """The C++ compiler: `CXX`, else the first of c++, g++, clang++; raises `MissingTool`."""
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise MissingTool("a host build needs a C++ compiler: install gcc or clang, or set CXX")


def compile_host(source: str, library: Path) -> None:
    """Compile the source of a module to a shared library, also with the options in the environment variable `CXXFLAGS`.

    It has one entry per kernel: run_reset, run_run, run_reduce.
    """
    more_options = shlex.split(os.environ.get("CXXFLAGS", ""))
    command = [host_compiler(), *OPTIONS, *more_options, "-x", "c++", "-", "-o", str(library)]
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    if done.returncode:
        raise CompileError(done.stderr)
