"""NVRTC, the compiler of CUDA C++ as a library: source to PTX or cubin inside this process, without a GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from gpudiy.errors import MissingTool, ToolFailure
from gpudiy.harness.cuda_library import INSTALL, INSTALL_OLDER, libraries

FIRST_OF_CUDA_12 = 50  # the oldest architecture that CUDA 12 compiles for


class Product(StrEnum):
    """What the compiler writes."""

    PTX = "ptx"
    CUBIN = "cubin"


class CompileError(ToolFailure):
    """The compiler rejected a source; `log` has its messages."""

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.log = log


@dataclass(frozen=True, slots=True)
class Compiler:
    """One NVRTC library: its version and the architectures it compiles for, as 80 for sm_80."""

    library: ctypes.CDLL
    version: str
    architectures: tuple[int, ...]

    @property
    def major(self) -> int:
        """The major version of its CUDA, as 13."""
        return int(self.version.split()[-1].split(".")[0])

    def compile(
        self,
        source: str,
        architecture: str,
        product: Product = Product.CUBIN,
        options: Sequence[str] = (),
        name: str = "source.cu",
    ) -> bytes:
        """The PTX or the cubin of a CUDA C++ source for an architecture such as `sm_80`; raises `CompileError`."""
        kind = "sm" if product is Product.CUBIN else "compute"
        words = [f"--gpu-architecture={kind}_{architecture.removeprefix('sm_')}", *options]
        program = ctypes.c_void_p()
        self._check(
            self.library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), name.encode(), 0, None, None)
        )
        try:
            encoded = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
            if self.library.nvrtcCompileProgram(program, len(words), encoded):
                raise CompileError(self._text(program, "ProgramLog").decode(errors="replace").rstrip("\0\n "))
            return self._text(program, "CUBIN" if product is Product.CUBIN else "PTX")
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))

    def _text(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._check(getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(max(1, size.value))
        self._check(getattr(self.library, f"nvrtcGet{what}")(program, buffer))
        data = buffer.raw[: size.value]
        return data if what == "CUBIN" else data.rstrip(b"\0")

    def _check(self, code: int) -> None:
        if code:
            raise CompileError(f"NVRTC: {ctypes.string_at(self.library.nvrtcGetErrorString(code)).decode()}")


def compiler_for(architecture: str, newest: int | None = None) -> Compiler:
    """The first compiler found that knows the architecture, such as `sm_80`; raises `MissingTool`.

    With `newest`, its major version is not newer than that: the cubins of CUDA 13 do not load on a driver of CUDA 12.
    """
    found = compilers()
    if not found:
        raise MissingTool(f"NVRTC, the compiler of CUDA, is not installed: {INSTALL}")
    number = architecture.removeprefix("sm_").rstrip("af")
    knowing = [one for one in found if number.isdecimal() and int(number) in one.architectures]
    for compiler in knowing:
        if newest is None or compiler.major <= newest:
            return compiler
    if knowing:
        versions = " and ".join(dict.fromkeys(compiler.version for compiler in knowing))
        message = f"the driver loads what CUDA {newest} makes, but for {architecture} only {versions} is installed"
        raise MissingTool(f"{message}: update the driver, or {INSTALL_OLDER}")
    known = sorted({known for compiler in found for known in compiler.architectures})
    older = ""
    if number.isdecimal() and FIRST_OF_CUDA_12 <= int(number) < known[0]:
        older = f"; for older ones: {INSTALL_OLDER}"
    listed = ", ".join(f"sm_{number}" for number in known)
    raise MissingTool(f"no installed compiler supports {architecture}, only {listed}{older}")


@cache
def compilers() -> tuple[Compiler, ...]:
    """Every NVRTC on this machine, those of a toolkit first."""
    found = {library._handle: library for library in libraries("nvrtc")}  # a library may be found twice
    return tuple(map(_open_compiler, found.values()))


def _open_compiler(library: ctypes.CDLL) -> Compiler:
    library.nvrtcGetErrorString.restype = ctypes.c_void_p
    major, minor, count = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    numbers = (ctypes.c_int * count.value)()
    library.nvrtcGetSupportedArchs(numbers)
    return Compiler(library, f"NVRTC {major.value}.{minor.value}", tuple(numbers))
