"""Runs the host harness and the stand-in driver under AddressSanitizer and ThreadSanitizer.

    python tests/cuda/sanitize.py DIRECTORY [address] [thread]

DIRECTORY is that of set_up.py. For each sanitizer the stand-in and every host build are compiled with it, and the tests
that execute them are run. First a program with a known fault must be reported, so that a sanitizer that does not work
cannot pass. Reports go to files, since many tests end their processes by force; one report is a failure.

Python and PyCUDA are not instrumented: the sanitizer sees the memory and the locks they use, not their own accesses.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import set_up

ROOT = Path(__file__).parents[2]
NO_RANDOM_ADDRESSES = 0x0040000  # ADDR_NO_RANDOMIZE: ThreadSanitizer cannot place its shadow in every layout
SIGNALS_ARE_TESTED = ":handle_segv=0:handle_abort=0"  # the tests of the stand-in end processes by signals
# glibc frees the thread-local memory of a thread that has ended without a lock that ThreadSanitizer can see.
SUPPRESSIONS = "race:_dl_deallocate_tls\n"
IN_PROCESS = "import os, sys, pytest; del os.environ['LD_PRELOAD']; sys.exit(pytest.main(sys.argv[1:]))"


@dataclass(frozen=True, slots=True)
class Sanitizer:
    """One sanitizer: its compiler flag, its library, its settings, and a program that it must report."""

    name: str
    library: str
    variable: str
    settings: str
    faulty: str
    report: str
    deselected: str = ""  # tests that put the very fault in that the sanitizer looks for

    @property
    def flags(self) -> tuple[str, ...]:
        return (f"-fsanitize={self.name}", "-g", "-fno-omit-frame-pointer")


SANITIZERS = (
    Sanitizer(
        name="address",
        library="libasan.so",
        variable="ASAN_OPTIONS",
        settings="detect_leaks=0",  # CPython keeps memory to its end
        faulty="#include <stdlib.h>\nint run(void) { volatile int *p = malloc(4); free((void *)p); return *p; }\n",
        report="heap-use-after-free",
    ),
    Sanitizer(
        name="thread",
        library="libtsan.so",
        variable="TSAN_OPTIONS",
        settings="exitcode=0:die_after_fork=0:suppressions={suppressions}",
        faulty="#include <pthread.h>\nstatic int n;\nstatic void *add(void *p) { n++; return p; }\n"
        "int run(void) { pthread_t one, two; pthread_create(&one, 0, add, 0); pthread_create(&two, 0, add, 0);\n"
        "    pthread_join(one, 0); pthread_join(two, 0); return n; }\n",
        report="data race",
        deselected="not faults_are_noticed and not mistake_of_the_device",
    ),
)


def main() -> int:
    directory = Path(sys.argv[1]).resolve()
    chosen = [sanitizer for sanitizer in SANITIZERS if sanitizer.name in (sys.argv[2:] or (sanitizer.name,))]
    ctypes.CDLL(None).personality(NO_RANDOM_ADDRESSES)  # where this is not allowed, most layouts still work
    headers = set_up.prepare(directory)
    return max([check(sanitizer, directory, headers) for sanitizer in chosen])


def check(sanitizer: Sanitizer, directory: Path, headers: Path) -> int:
    """Run all tests under a sanitizer; 1 if a test fails or anything is reported."""
    preload = find_libraries(sanitizer)
    with tempfile.TemporaryDirectory() as folder:
        reports, suppressions = Path(folder, "reports"), Path(folder, "suppressions")
        reports.mkdir()
        suppressions.write_text(SUPPRESSIONS)
        settings = sanitizer.settings.format(suppressions=suppressions)
        environment = os.environ | {
            sanitizer.variable: f"{settings}:log_path={reports / 'report'}",
            "CXXFLAGS": " ".join(sanitizer.flags),
            "GPUDIY_STANDIN": str(directory),
            "GPUDIY_STANDIN_PRELOAD": preload,
        }
        expect_report(sanitizer, reports, environment | {"LD_PRELOAD": preload})
        driver = set_up.build_driver(directory, headers, f"driver-{sanitizer.name}", sanitizer.flags)
        set_up.say(f"tests under the {sanitizer.name} sanitizer")
        python = [sys.executable, "-c", IN_PROCESS, "-n0", "-k", sanitizer.deselected]
        host = subprocess.run(
            [*python, "tests/harness/test_host_run.py"], cwd=ROOT, env=environment | {"LD_PRELOAD": preload}
        )
        cuda = subprocess.run(
            [sys.executable, "-m", "pytest", "-m", "cuda", "-k", sanitizer.deselected, "tests/cuda"],
            cwd=ROOT,
            env=environment
            | {
                "GPUDIY_STANDIN_DRIVER": str(driver),
                sanitizer.variable: environment[sanitizer.variable] + SIGNALS_ARE_TESTED,
            },
        )
        found = sorted(reports.iterdir())
        for report in found:
            print(report.read_text(errors="replace"))
        set_up.say(f"{sanitizer.name} sanitizer: {len(found)} processes with reports")
        return int(bool(host.returncode or cuda.returncode or found))


def find_libraries(sanitizer: Sanitizer) -> str:
    """What a process must load first, since Python itself is not built with the sanitizer.

    Its library looks for the functions that throw exceptions as soon as it is loaded, so those come with it.
    """
    if shutil.which("gcc") is None:
        sys.exit("sanitize: gcc is not there; install gcc and g++")
    paths = []
    for library in (sanitizer.library, "libstdc++.so.6"):
        asked = ["gcc", f"-print-file-name={library}"]
        path = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
        if not path.is_absolute():
            sys.exit(f"sanitize: this gcc has no {library}; install g++ with its {sanitizer.name} sanitizer")
        paths.append(str(path.resolve()))
    return " ".join(paths)


def expect_report(sanitizer: Sanitizer, reports: Path, environment: dict[str, str]) -> None:
    """Run the faulty program as the harness is run: from a library inside Python. No report is an error."""
    library = reports.parent / "faulty.so"
    flags = [*sanitizer.flags, "-O0", "-shared", "-fPIC", "-pthread", "-x", "c", "-"]
    subprocess.run(["gcc", *flags, "-o", str(library)], input=sanitizer.faulty, text=True, check=True)
    program = f"import ctypes; ctypes.CDLL({str(library)!r}).run()"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    library.unlink()
    found = "".join(report.read_text(errors="replace") for report in reports.iterdir())
    if sanitizer.report not in found:
        sys.exit(f"sanitize: the {sanitizer.name} sanitizer does not report a known fault\n{done.stderr}{found}")
    for report in reports.iterdir():
        report.unlink()


if __name__ == "__main__":
    sys.exit(main())
