"""nvJitLink, the assembler and linker of CUDA as a library: PTX and relocatable cubins to a cubin, in this process."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from gpudiy.errors import MissingTool
from gpudiy.harness.cuda_library import INSTALL, libraries
from gpudiy.harness.nvrtc import CompileError

CUBIN, PTX = 1, 2  # kinds of input
ELF = b"\x7fELF"


@dataclass(frozen=True, slots=True)
class CubinLinker:
    """One nvJitLink library and its version."""

    library: ctypes.CDLL
    numbers: tuple[int, int]

    @property
    def version(self) -> str:
        return f"nvJitLink {self.numbers[0]}.{self.numbers[1]}"

    def link(self, inputs: Sequence[bytes], architecture: str, level: int = 1, registers: int = 0) -> bytes:
        """The cubin of PTX texts and relocatable cubins; raises `CompileError` with the log of the assembler.

        A thread gets at most so many `registers`, if given.
        """
        handle = ctypes.c_void_p()
        words = [f"-arch={architecture}", f"-Xptxas=-O{level}"]
        words += [f"-maxrregcount={registers}"] if registers else []
        options = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
        if self._call("Create", ctypes.byref(handle), ctypes.c_uint32(len(options)), options):
            raise CompileError(f"{self.version} does not know {architecture}")
        try:
            for number, data in enumerate(inputs):
                kind = CUBIN if data.startswith(ELF) else PTX
                size = ctypes.c_size_t(len(data))
                if self._call("AddData", handle, kind, data, size, f"input{number}".encode()):
                    raise CompileError(self._log(handle))
            if self._call("Complete", handle):
                raise CompileError(self._log(handle))
            return self._bytes(handle, "LinkedCubin")
        finally:
            self._call("Destroy", ctypes.byref(handle))

    def _log(self, handle: ctypes.c_void_p) -> str:
        return self._bytes(handle, "ErrorLog").rstrip(b"\0\n ").decode(errors="replace")

    def _bytes(self, handle: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"Get{what}Size", handle, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(max(1, size.value))
        self._call(f"Get{what}", handle, buffer)
        return buffer.raw[: size.value]

    def _call(self, name: str, *arguments: object) -> int:
        return int(_function(self.library, name, self.numbers)(*arguments))


def linker_for(version: str) -> CubinLinker:
    """The oldest linker that understands what the compiler of that version (`NVRTC 13.4`) writes."""
    major, minor = (int(part) for part in version.split()[-1].split("."))
    fitting = [linker for linker in linkers() if linker.numbers[0] == major and linker.numbers[1] >= minor]
    if not fitting:
        raise MissingTool(f"nvJitLink {major}.{minor} or later, the assembler of CUDA, is not installed: {INSTALL}")
    return min(fitting, key=lambda linker: linker.numbers)


@cache
def linkers() -> tuple[CubinLinker, ...]:
    """Every nvJitLink on this machine, those of a toolkit first."""
    found = {library._handle: library for library in libraries("nvJitLink")}
    return tuple(CubinLinker(library, numbers) for library in found.values() if (numbers := _version(library)))


def _version(library: ctypes.CDLL) -> tuple[int, int] | None:
    major, minor = ctypes.c_uint(), ctypes.c_uint()
    if not hasattr(library, "nvJitLinkVersion"):
        return None
    library.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


def _function(library: ctypes.CDLL, name: str, numbers: tuple[int, int]) -> ctypes._CFuncPtr:  # type: ignore[name-defined]
    """A function by its name; in some versions the name ends with the version."""
    plain = f"nvJitLink{name}"
    return getattr(library, plain if hasattr(library, plain) else f"__{plain}_{numbers[0]}_{numbers[1]}")
