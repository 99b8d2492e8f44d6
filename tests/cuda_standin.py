"""Runs Python in a process of its own on a machine whose GPUs are stand-ins, and reads what the driver wrote down."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from gpudiy.harness.cuda_library import libraries
from gpudiy.harness.host_build import compile_host
from gpudiy.litmus import Test, read_test

ROOT = Path(__file__).parent.parent
BUILT = Path(os.environ.get("GPUDIY_STANDIN", ROOT / ".venv" / "standin"))
DRIVER = Path(os.environ.get("GPUDIY_STANDIN_DRIVER", BUILT / "driver" / "libcuda.so.1"))
PRELOAD = os.environ.get("GPUDIY_STANDIN_PRELOAD", "")  # the library of a sanitizer
SITES = {"pycuda": BUILT / "site", "bindings": BUILT / "bindings"}  # the Python packages over the driver
KERNELS = BUILT / "kernels"
CACHE = BUILT / "cache"
SHORT = ("--seconds", "0", "--launches", "0")  # of `gpudiy run`: no warm-up, and only the iterations that are asked for
BACKSTOP = 900.0  # seconds after which a process is taken to hang: far more than a loaded machine needs

SB = """GPU_PTX {name}
{{0:.reg .s32 r2; 1:.reg .s32 r2;}}
 P0 | P1 ;
 st.cg.s32 [x],1 | st.cg.s32 [y],1 ;
 ld.cg.s32 r2,[y] | ld.cg.s32 r2,[x] ;
{tree}
x: {space}, y: {space}
exists (0:r2=0 /\\ 1:r2=0)
"""
INTER_CTA = "(device (kernel (cta (warp P0)) (cta (warp P1))))"


def sb_test(tree: str = INTER_CTA, space: str = "global", name: str = "SB") -> Test:
    """Store buffering, placed by a scope tree."""
    return read_test(SB.format(name=name, tree=tree, space=space))


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
    bindings: Sequence[str] = ("pycuda",)  # that are installed

    @property
    def environment(self) -> dict[str, str]:
        sites = (str(SITES[binding]) for binding in self.bindings)
        paths = [*sites, str(ROOT / "tests"), str(ROOT)]
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "LD_LIBRARY_PATH": os.pathsep.join((str(DRIVER.parent), *(compiler_folders() if PRELOAD else ()))),
            "STANDIN_CHIPS": self.chips,
            "STANDIN_FAULTS": self.faults,
            "STANDIN_JOURNAL": str(self.directory / "journal"),
            "STANDIN_KERNELS": str(self.directory / "kernels"),
            "XDG_CACHE_HOME": str(CACHE),
            **({"LD_PRELOAD": PRELOAD} if PRELOAD else {}),
            **self.more,
        }

    def run(self, *command: str, limit: float = BACKSTOP) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command], env=self.environment, capture_output=True, text=True, timeout=limit, check=False
        )

    def python(self, text: str, limit: float = BACKSTOP) -> str:
        """What a program prints, which must end well."""
        found = self.run("-c", text, limit=limit)
        assert found.returncode == 0, found.stderr
        return found.stdout

    @property
    def journal(self) -> Journal:
        path = self.directory / "journal"
        return Journal(tuple(path.read_text().splitlines()) if path.exists() else ())

    def add_tests(
        self, tests: Sequence[Test], architecture: str = "sm_80", host: Sequence[Test] | None = None
    ) -> list[Test]:
        """Build tests as a device of that architecture will, and them, or those of `host`, for this processor.

        Gives those that optcheck lets pass. Where a cubin of the cache holds other tests too, they are not built.
        """
        from gpudiy.harness.build import build_tests, toolchain_folder
        from gpudiy.harness.built import BuiltTest
        from gpudiy.harness.shape import shape_of
        from gpudiy.harness.source import Dialect, prelude, render_test, run_kernels

        results = dict(build_tests(tests, architecture, CACHE / "gpudiy", jobs=1))
        modules: dict[str, dict[int, Test]] = {}
        passed = []
        for test, here in zip(tests, host or tests, strict=True):
            built = results[test]
            assert isinstance(built, BuiltTest) and built.file is not None, test.name
            modules.setdefault(built.file, {})[built.number] = here
            if not built.reason:
                passed.append(test)
        clusters = sorted({shape_of(test).ctas for test in tests} - {1})
        for name, numbered in modules.items():
            rendered = {number: render_test(test, Dialect.HOST) for number, test in numbered.items()}
            any_test = next(iter(rendered.values()))
            table = [rendered.get(number, any_test).function for number in range(max(rendered) + 1)]
            texts = {test.function: test.text for test in rendered.values()}
            source = "\n".join((prelude(Dialect.HOST), *texts.values(), run_kernels(table, Dialect.HOST, clusters)))
            cubin = (toolchain_folder(CACHE / "gpudiy", architecture) / name).read_bytes()
            self.add_host_build(cubin, source)
        return passed

    def add_host_build(self, cubin: bytes, source: str) -> None:
        """Let the source, built for this processor, be what the cubin does; what is built stays from run to run."""
        KERNELS.mkdir(exist_ok=True)
        key = f"{os.environ.get('CXXFLAGS', '')}\n{source}"
        library = KERNELS / f"{sha256(key.encode()).hexdigest()}.so"
        if not library.exists():
            unfinished = library.with_suffix(f".{os.getpid()}")
            compile_host(source, unfinished)
            unfinished.replace(library)
        (self.directory / "kernels").mkdir(exist_ok=True)
        link = self.directory / "kernels" / f"{image_hash(cubin):016x}.so"
        link.unlink(missing_ok=True)
        link.symlink_to(library)


def make_machines(directory: Path, bindings: Sequence[str]) -> Callable[..., Machine]:
    """What makes a machine with given chips and faults, its journal and its cache in the directory."""
    if not DRIVER.exists():
        raise AssertionError("the stand-in is not built: run `make test-cuda`, or tests/cuda/set_up.py .venv/standin")

    def made(chips: str = "small80", faults: str = "", **more: str) -> Machine:
        return Machine(directory, chips, faults, more, bindings)

    return made


def compiler_folders() -> list[str]:
    """Where NVRTC is: under a sanitizer it does not find the libraries beside it by itself."""
    return sorted({str(Path(library._name).parent) for library in libraries("nvrtc")})


def image_hash(image: bytes) -> int:
    """FNV-1a, by which the driver finds the host build of a cubin."""
    found = 0xCBF29CE484222325
    for byte in image:
        found = (found ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return found
