"""Builds what the CUDA tests need without a GPU: PyCUDA and cuda-bindings as published, and a stand-in for libcuda.

    python tests/cuda/set_up.py DIRECTORY

DIRECTORY gets `site` (PyCUDA, built from source), `bindings` (NVIDIA's cuda-bindings, a wheel), `driver/libcuda.so.1`
(the stand-in, built from `driver/*.c`) and, where the machine has no cuda.h, `headers`. What is there and still right
is kept, so a second call takes no time.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SOURCES = Path(__file__).parent / "driver"
HEADER_WHEELS = ("nvidia-cuda-runtime", "nvidia-cuda-profiler-api")
PYCUDA = "pycuda>=2024.1"
BINDINGS = "cuda-bindings>=13"
C_FLAGS = (
    "-std=gnu11",
    "-O2",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-pthread",
)


def main() -> None:
    directory = Path(sys.argv[1]).resolve()
    build_driver(directory, prepare(directory))


def prepare(directory: Path) -> Path:
    """Everything but the stand-in; gives the directory of the headers."""
    directory.mkdir(parents=True, exist_ok=True)
    headers = find_headers() or install_headers(directory / "headers")
    build_pycuda(directory, headers)
    install_bindings(directory / "bindings")
    return headers


def find_headers() -> Path | None:
    """The include directory of a toolkit on the machine."""
    roots = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")] + ["/usr/local/cuda"]
    candidates = [Path(root) / "include" for root in roots if root]
    candidates += sorted(Path(sys.prefix).glob("lib/python*/site-packages/nvidia/*/include"))
    for candidate in candidates:
        if (candidate / "cuda.h").exists() and (candidate / "cudaProfiler.h").exists():
            return candidate
    return None


def install_headers(target: Path) -> Path:
    if not list(target.glob("nvidia/*/include/cuda.h")):
        say("headers of the driver, from " + " and ".join(HEADER_WHEELS))
        run([*installer(), "--target", str(target), "--no-deps", *HEADER_WHEELS], {})
    return next(target.glob("nvidia/*/include/cuda.h")).parent


def install_bindings(target: Path) -> None:
    if not (target / "cuda" / "bindings").exists():
        say("cuda-bindings")
        run([*installer(), "--target", str(target), BINDINGS], {})


def build_pycuda(directory: Path, headers: Path) -> None:
    site, mark = directory / "site", directory / "pycuda-built"
    version = re.search(r"#define CUDA_VERSION (\d+)", (headers / "cuda.h").read_text())
    wanted = f"{PYCUDA}, Python {sys.version_info[:2]}, CUDA {version[1] if version else headers}\n"
    if mark.exists() and mark.read_text() == wanted:
        return
    say(f"PyCUDA, built from source against {headers} (takes a minute or two)")
    shutil.rmtree(site, ignore_errors=True)
    with tempfile.TemporaryDirectory() as home:
        build_names(Path(home), headers)
        settings = {
            "CUDA_ENABLE_CURAND": False,
            "CUDA_INC_DIR": [str(headers)],
            "CUDADRV_LIB_DIR": [home],
            "CXXFLAGS": ["-O1", "-w"],
        }
        text = "".join(f"{name} = {value!r}\n" for name, value in settings.items())
        (Path(home) / ".aksetup-defaults.py").write_text(text)
        # A home of its own, since PyCUDA reads its build settings there; no cache, so that nobody else gets this build.
        configuration = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
        environment = {"HOME": home, "XDG_CONFIG_HOME": configuration}
        uncached = "--no-cache" if Path(installer()[0]).name == "uv" else "--no-cache-dir"
        run([*installer(), uncached, "--no-binary", "pycuda", "--target", str(site), PYCUDA], environment)
    mark.write_text(wanted)


def build_names(directory: Path, headers: Path) -> None:
    """A libcuda.so of names alone: PyCUDA is linked to the names; what they do is found when it is run."""
    text = "".join((headers / name).read_text(errors="replace") for name in ("cuda.h", "cudaProfiler.h"))
    source = directory / "names.c"
    source.write_text(unsupported(set(re.findall(r"\bcu[A-Z]\w*\b", text))))
    run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(directory / "libcuda.so"), str(source)], {})


def build_driver(directory: Path, headers: Path, folder: str = "driver", more_flags: Sequence[str] = ()) -> Path:
    """The stand-in as `libcuda.so.1` in a folder of the directory, built with more flags where there are some."""
    library = directory / folder / "libcuda.so.1"
    sources = [*sorted(SOURCES.glob("*.[ch]")), Path(__file__), directory / "pycuda-built"]
    if library.exists() and library.stat().st_mtime >= max(source.stat().st_mtime for source in sources):
        return library
    say(" ".join(("the stand-in for libcuda", *more_flags)))
    library.parent.mkdir(exist_ok=True)
    unfinished = library.with_suffix(".new")
    flags = [*C_FLAGS, *more_flags, f"-I{headers}", "-Wl,-soname,libcuda.so.1", "-o", str(unfinished)]
    code = [str(source) for source in sources if source.suffix == ".c"]
    run(["gcc", *flags, *code, "-ldl"], {})
    missing = library.parent / "unsupported.c"
    missing.write_text(
        unsupported(cuda_symbols(site_driver(directory), "-u") - cuda_symbols(unfinished, "--defined-only"))
    )
    run(["gcc", *flags, *code, str(missing), "-ldl"], {})
    unfinished.replace(library)
    return library


def site_driver(directory: Path) -> Path:
    return next((directory / "site" / "pycuda").glob("_driver*.so"))


def cuda_symbols(library: Path, which: str) -> set[str]:
    listing = subprocess.run(["nm", "-D", which, str(library)], capture_output=True, text=True, check=True).stdout
    return {words[-1] for words in map(str.split, listing.splitlines()) if words[-1].startswith("cu")}


def unsupported(names: set[str]) -> str:
    """C for the functions that PyCUDA names and the stand-in does not have: CUDA_ERROR_NOT_SUPPORTED, all of them."""
    declaration = '__attribute__((visibility("default"))) int {0}(void);\nint {0}(void) {{ return 801; }}\n'
    return "".join(declaration.format(name) for name in sorted(names))


def installer() -> list[str]:
    uv = shutil.which("uv")
    if uv:
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    return [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def run(command: list[str], environment: dict[str, str]) -> None:
    found = subprocess.run(command, env=os.environ | environment)
    if found.returncode:
        sys.exit(f"set_up: failed ({found.returncode}): {' '.join(command)}")


def say(what: str) -> None:
    print(f"set_up: {what}", flush=True)


if __name__ == "__main__":
    main()
