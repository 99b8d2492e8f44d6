"""`Assembler`: many tests to one cubin, the fastest way: skeletons, then one call of the assembler.

The kernels `reset`, `run` and `reduce` are the same in every module. They are compiled once per architecture and linked
to the functions of the tests.
"""

from __future__ import annotations

import re
import struct
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path

from gpudiy.files import write_whole
from gpudiy.harness.build_options import DEFAULT_OPTIONS, BuildOptions
from gpudiy.harness.inline_ptx import ThreadPtx
from gpudiy.harness.loop_bounds import bound_loops
from gpudiy.harness.nvjitlink import CubinLinker, linker_for
from gpudiy.harness.nvrtc import CompileError, Compiler, Product, compiler_for
from gpudiy.harness.shape import Shape, is_timed, obstacle_of_shape, shape_of
from gpudiy.harness.skeleton import OPTIONS, PtxSkeleton, Signature, compile_skeletons, ptx_header, signature
from gpudiy.harness.source import PREFIX, Dialect, NotRunnable, constants_of, prelude, ptx_blocks, run_kernels
from gpudiy.harness.spelling import spelling_for
from gpudiy.litmus.printer import print_test
from gpudiy.litmus.test import Test
from optcheck.binary import TESTS

CLUSTER_ARCHITECTURE = 90  # sm_90 and later have clusters
CLUSTERS = (2, 3, 4)  # CTAs per cluster for which there is a kernel
# Registers of a thread, at most: 36 warps fit on an SM. With 48, the code of `reduce` for sm_100 has results that
# nobody reads; with 40, code of some tests uses the stack between their accesses. optcheck refuses both. Code that is
# not optimised at all has no limit: it would keep everything on the stack.
REGISTERS = 56
KERNELS = "kernels.o"
ERROR_LINE = re.compile(r"\bline (\d+)\s*; (?:error|fatal)\s*:\s*(.*)")


@dataclass(frozen=True, slots=True)
class PtxTest:
    """The code of a test in PTX; tests with the same code share a `function`."""

    test: Test
    shape: Shape
    function: str
    blocks: tuple[ThreadPtx, ...]
    constants: tuple[int, ...]
    signature: Signature

    @property
    def run_form(self) -> Test:
        """The test as it runs, with bounds on its loops."""
        return bound_loops(self.test)

    @staticmethod
    def of(test: Test, architecture: str) -> PtxTest:
        """The code of a test for an architecture; raises `NotRunnable`."""
        shape = shape_of(test, timed=is_timed(architecture))
        found = obstacle_of_shape(test, shape)
        if found is not None:
            raise NotRunnable(found)
        run_form = bound_loops(test)
        blocks = ptx_blocks(run_form, shape, spelling_for(architecture))
        seen = signature(run_form, shape, blocks)
        return PtxTest(test, shape, _function_name(seen, blocks), blocks, constants_of(blocks), seen)


def _function_name(signature: Signature, blocks: Sequence[ThreadPtx]) -> str:
    """A hash of everything that the code of a test depends on."""
    digest = sha256(_signature_text(signature).encode())
    for block in blocks:
        digest.update(b"\0")
        digest.update("\n".join([line.text for line in block.lines]).encode())
    return f"{PREFIX}{digest.hexdigest()[:32]}"


@lru_cache(1 << 12)
def _signature_text(signature: Signature) -> str:
    return repr(signature)


@dataclass(frozen=True, slots=True)
class Rejected:
    """An error of the assembler in a function, and where it is, if it is in an instruction of the test."""

    message: str
    thread: int | None = None
    index: int | None = None


class RejectedTests(Exception):
    """The assembler rejects the functions named here; the others may be wrong too."""

    def __init__(self, rejected: dict[str, Rejected]) -> None:
        super().__init__("\n".join(one.message for one in rejected.values()))
        self.rejected = rejected


class Assembler:
    """Compiler, linker, and the code that all modules share, for one architecture."""

    def __init__(self, architecture: str, options: BuildOptions = DEFAULT_OPTIONS) -> None:
        self.architecture = architecture
        self.level = options.optimise
        self.folder: Path | None = None  # where the compiled kernels are kept
        self.compiler: Compiler = compiler_for(architecture, options.newest)
        self.linker: CubinLinker = linker_for(self.compiler.version)
        self.skeletons: dict[Signature, PtxSkeleton] = {}
        self._header = ""
        self._kernels = b""

    @property
    def version(self) -> str:
        return f"{self.compiler.version}, {self.linker.version} -O{self.level}"

    def compile(self, codes: Sequence[PtxTest]) -> bytes:
        """The cubin of a module with these tests in this order; raises `RejectedTests`."""
        ptx = self.ptx(codes)
        try:
            return self.linker.link([ptx.encode(), self.kernels], self.architecture, self.level, self.registers)
        except CompileError as error:
            raise self._find_rejected(codes, error.log) from None

    def ptx(self, codes: Sequence[PtxTest]) -> str:
        """The PTX of a module: each function once, even if tests share it; the texts of the tests; the table."""
        missing = {code.signature: code for code in codes if code.signature not in self.skeletons}
        self.skeletons |= compile_skeletons(
            ((found, code.run_form, code.shape, code.blocks) for found, code in missing.items()),
            self.compiler,
            self.architecture,
        )
        table = ", ".join(code.function for code in codes)
        return "".join(
            (
                self.header,
                *(text for _, text in self._functions(codes)),
                _texts(codes),
                f".visible .global .align 8 .u64 test_functions[{len(codes)}] = {{{table}}};\n",
            )
        )

    def _functions(self, codes: Sequence[PtxTest]) -> Iterator[tuple[PtxTest, str]]:
        for number, code in enumerate({code.function: code for code in codes}.values()):
            yield code, self.skeletons[code.signature].fill(code.function, number, code.blocks)

    @property
    def header(self) -> str:
        self._header = self._header or ptx_header(self.compiler, self.architecture)
        return self._header

    @property
    def kernels(self) -> bytes:
        """`reset`, `run` and `reduce`, to be linked with a table of functions."""
        if not self._kernels:
            kept = None if self.folder is None else self.folder / KERNELS
            self._kernels = _read_whole(kept) or self.compile_kernels()
            if kept is not None and not kept.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                write_whole(kept, self._kernels + sha256(self._kernels).digest())
        return self._kernels

    @property
    def registers(self) -> int:
        """The registers of a thread, at most; 0: no limit."""
        return REGISTERS if self.level else 0

    def kernels_ptx(self) -> bytes:
        """The same kernels in PTX, for chips that come after this architecture."""
        return self.compile_kernels(Product.PTX).rstrip(b"\0")

    def compile_kernels(self, product: Product = Product.CUBIN) -> bytes:
        """The kernels, compiled anew from the templates."""
        clusters = CLUSTERS if int(self.architecture.strip("sm_af")) >= CLUSTER_ARCHITECTURE else ()
        source = prelude(Dialect.CUDA) + "\n" + run_kernels([], Dialect.CUDA, clusters)
        options = (*OPTIONS, *([f"--maxrregcount={self.registers}"] if self.registers else []))
        return self.compiler.compile(source, self.architecture, product, options, "kernels.cu")

    def _find_rejected(self, codes: Sequence[PtxTest], log: str) -> Exception:
        """The functions, threads and instructions of the lines of PTX in which the log has errors."""
        messages: dict[int, str] = {}
        for found in ERROR_LINE.finditer(log):
            messages.setdefault(int(found[1]), found[2].strip())
        rejected: dict[str, Rejected] = {}
        start = self.header.count("\n") + 1
        wrong = deque(sorted(messages))
        for code, text in self._functions(codes):
            end = start + text.count("\n")
            while wrong and wrong[0] < end:
                line = wrong.popleft()
                if line >= start and code.function not in rejected:
                    rejected[code.function] = Rejected(messages[line], *self._instruction(code, line - start))
            start = end
        return RejectedTests(rejected) if rejected else CompileError(log)

    def _instruction(self, code: PtxTest, line: int) -> tuple[int | None, int | None]:
        """The thread and the index of the instruction in a line of a function."""
        skeleton = self.skeletons[code.signature]
        start = skeleton.texts[0].count("\n")
        for (thread, _), after in zip(skeleton.gaps, skeleton.texts[1:], strict=True):
            lines = code.blocks[thread].lines
            if start <= line < start + len(lines):
                return thread, lines[line - start].instruction
            start += len(lines) + after.count("\n")
        return None, None


def _read_whole(path: Path | None) -> bytes:
    """The content of a file that ends with its hash; empty, and the file removed, if they do not agree."""
    if path is None or not path.is_file():
        return b""
    data = path.read_bytes()
    if sha256(data[:-32]).digest() == data[-32:]:
        return data[:-32]
    path.unlink(missing_ok=True)
    return b""


@cache
def assembler_for(architecture: str, options: BuildOptions = DEFAULT_OPTIONS) -> Assembler:
    """The assembler for an architecture, made once; raises `MissingTool`."""
    return Assembler(architecture, options)


def _texts(codes: Sequence[PtxTest]) -> str:
    """The texts of the tests as data, eight bytes per number, so that a binary contains its tests.

    It is one array for all tests: the assembler is much faster with it than with one array per test.
    """
    data = b"".join(f"{code.function}\n{print_test(code.test)}\0".encode() for code in codes)
    words = struct.unpack(f"<{-(-len(data) // 8)}Q", data.ljust(-(-len(data) // 8) * 8, b"\0"))
    return f".visible .global .align 8 .b64 {TESTS}[{len(words)}] = {{{','.join(map(str, words))}}};\n"
