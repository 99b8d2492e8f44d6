"""`compile_module`: a batch of tests to one cubin, the fastest way: skeletons, then one call of the assembler.

What is the same in every module — the kernels `reset`, `run` and `reduce` — is compiled once for an architecture and
linked to the plays of the batch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from gpudiy.harness.cache import write_bytes
from gpudiy.harness.nvjitlink import Linker, linker_for
from gpudiy.harness.nvrtc import CompileError, Compiler, Product, compiler_for
from gpudiy.harness.ptx_role import PtxRole
from gpudiy.harness.shape import Shape, obstacle_of_shape, shape_of
from gpudiy.harness.skeleton import OPTIONS, Signature, Skeleton, compile_skeletons, ptx_header, signature
from gpudiy.harness.source import Dialect, NotRunnable, constants_of, play_name, prelude, ptx_blocks, run_kernel
from gpudiy.litmus.printer import print_test
from gpudiy.litmus.test import Test

KERNELS = "kernels.o"
ERROR_LINE = re.compile(r"\bline (\d+)\s*; (?:error|fatal)\s*:\s*(.*)")


@dataclass(frozen=True, slots=True)
class PlayPtx:
    """A test on its way to a module."""

    test: Test
    shape: Shape
    name: str
    blocks: tuple[PtxRole, ...]
    constants: tuple[int, ...]
    signature: Signature

    @staticmethod
    def of(test: Test) -> PlayPtx:
        """Raises `NotRunnable`."""
        shape = shape_of(test)
        found = obstacle_of_shape(test, shape)
        if found is not None:
            raise NotRunnable(found)
        blocks = tuple(ptx_blocks(test))
        return PlayPtx(test, shape, play_name(test), blocks, constants_of(blocks), signature(test, shape, blocks))


class Rejected(Exception):
    """The assembler rejects one test: its message, and the instruction it means, if it is one of the test's."""

    def __init__(self, play: PlayPtx, message: str, thread: int | None = None, index: int | None = None) -> None:
        super().__init__(message)
        self.play = play
        self.message = message
        self.thread = thread
        self.index = index


class Assembler:
    """Compiler, linker and what they have already made, for one architecture."""

    def __init__(self, architecture: str) -> None:
        self.architecture = architecture
        self.folder: Path | None = None  # where the compiled kernels are kept
        self.compiler: Compiler = compiler_for(architecture)
        self.linker: Linker = linker_for(self.compiler.version)
        self.skeletons: dict[Signature, Skeleton] = {}
        self._header = ""
        self._kernels = b""

    @property
    def version(self) -> str:
        return f"{self.compiler.version}, {self.linker.version}"

    def compile(self, plays: Sequence[PlayPtx]) -> bytes:
        """The cubin of a module with these tests in this order; raises `Rejected` for the first that is at fault."""
        ptx = self.ptx(plays)
        try:
            return self.linker.link([ptx.encode(), self.kernels], self.architecture)
        except CompileError as error:
            raise self._rejected(plays, ptx, error.log) from None

    def ptx(self, plays: Sequence[PlayPtx]) -> str:
        """The PTX of the plays, their texts and their table."""
        missing = {play.signature: play for play in plays if play.signature not in self.skeletons}
        self.skeletons |= compile_skeletons(
            ((found, play.test, play.shape, play.blocks) for found, play in missing.items()),
            self.compiler,
            self.architecture,
        )
        parts = [self.header]
        for number, play in enumerate(plays):
            parts.append(self.skeletons[play.signature].filled(play.name, number, play.blocks))
            parts.append(_text_array(play))
        table = ", ".join(play.name for play in plays)
        parts.append(f".visible .global .align 8 .u64 plays[{len(plays)}] = {{{table}}};\n")
        return "".join(parts)

    @property
    def header(self) -> str:
        self._header = self._header or ptx_header(self.compiler, self.architecture)
        return self._header

    @property
    def kernels(self) -> bytes:
        """`reset`, `run` and `reduce`, to be linked with a table of plays."""
        if not self._kernels:
            kept = None if self.folder is None else self.folder / KERNELS
            self._kernels = _whole(kept) or self._compiled_kernels()
            if kept is not None and not kept.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                write_bytes(kept, self._kernels + sha256(self._kernels).digest())
        return self._kernels

    def _compiled_kernels(self) -> bytes:
        source = prelude(Dialect.CUDA) + "\n" + run_kernel([], Dialect.CUDA)
        return self.compiler.compile(source, self.architecture, Product.CUBIN, OPTIONS, "kernels.cu")

    def _rejected(self, plays: Sequence[PlayPtx], ptx: str, log: str) -> Exception:
        """Whose fault an error is: the line of the PTX tells the test, the thread and the instruction."""
        found = ERROR_LINE.search(log)
        if found is None:
            return CompileError(log)
        line = self.header.count("\n") + 1
        for number, play in enumerate(plays):
            text = self.skeletons[play.signature].filled(play.name, number, play.blocks)
            if int(found[1]) < line + text.count("\n"):
                thread, index = self._instruction(play, text, int(found[1]) - line)
                return Rejected(play, found[2].strip(), thread, index)
            line += text.count("\n") + 1
        return CompileError(log)

    def _instruction(self, play: PlayPtx, text: str, line: int) -> tuple[int | None, int | None]:
        """The thread and the index of the instruction that a line of a play is."""
        skeleton = self.skeletons[play.signature]
        start = skeleton.texts[0].count("\n")
        for (thread, _), after in zip(skeleton.gaps, skeleton.texts[1:], strict=True):
            lines = play.blocks[thread].lines
            if start <= line < start + len(lines):
                return thread, lines[line - start].instruction
            start += len(lines) + after.count("\n")
        return None, None


def _whole(path: Path | None) -> bytes:
    """What a file holds before its hash, if they agree."""
    if path is None or not path.is_file():
        return b""
    data = path.read_bytes()
    if sha256(data[:-32]).digest() == data[-32:]:
        return data[:-32]
    path.unlink(missing_ok=True)
    return b""


@cache
def assembler_for(architecture: str) -> Assembler:
    """Raises `ToolMissing`."""
    return Assembler(architecture)


def _text_array(play: PlayPtx) -> str:
    """The test itself as data, eight bytes a number, so that a binary tells what it is."""
    data = print_test(play.test).encode() + b"\0"
    words = [data[at : at + 8].ljust(8, b"\0") for at in range(0, len(data), 8)]
    numbers = ",".join(str(int.from_bytes(word, "little")) for word in words)
    return f".visible .global .align 8 .b64 {play.name}_text[{len(words)}] = {{{numbers}}};\n"
