"""Tests for a small kit, and its programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cuda_standin import DRIVER, sb_test

from gpudiy.kits.kit_text import VERSION
from gpudiy.kits.log_sums import add_sum
from gpudiy.litmus import Test, read_test

TREES = (
    "(device (kernel (cta (warp P0)) (cta (warp P1))))",
    "(device (kernel (cta (warp P0 P1))))",
    "(device (kernel (cta (warp P0))) (kernel (cta (warp P1))))",
    "(device (kernel (cluster (cta (warp P0)) (cta (warp P1)))))",
)
TWO_GPUS = "(system (device (kernel (cta (warp P0)))) (device (kernel (cta (warp P1)))))"

# A dependency that the compiler sees through.
BROKEN = """GPU_PTX LB+xor
{0:.reg .s32 r1; 0:.reg .s32 r2; 1:.reg .s32 r1;}
 P0 | P1 ;
 ld.cg.s32 r1,[x] | ld.cg.s32 r1,[y] ;
 xor.b32 r2,r1,r1 | st.cg.s32 [x],1 ;
 st.cg.s32 [y],r2 | ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
x: global, y: global
exists (0:r1=1 /\\ 1:r1=1)
"""
SEED = 7


def kit_tests() -> list[Test]:
    """Tests in several places, one on two GPUs, one that optcheck refuses."""
    placed = [sb_test(tree, name=f"SB{number}") for number, tree in enumerate(TREES)]
    shared = sb_test(TREES[1].replace("P0 P1", "P0) (warp P1"), space="shared", name="SBs")
    return [*placed, shared, sb_test(TWO_GPUS, name="SBd"), read_test(BROKEN)]


@dataclass(frozen=True, slots=True)
class ExportedKit:
    """A kit in a folder, its C program built."""

    folder: Path

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=self.folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def edit(self, name: str, change: Callable[[str], str]) -> None:
        """Change a file; the sums follow, as if the kit had been exported so."""
        path, sums = self.folder / name, self.folder / "SHA256SUMS"
        old = sha256(path.read_bytes()).hexdigest()
        path.write_text(change(path.read_text()))
        sums.write_text(sums.read_text().replace(old, sha256(path.read_bytes()).hexdigest()))

    def c(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run("./program", *words)

    def python(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-B", "run.py", *words)


GPU = "GPU-11111111-2222-3333-4444-555555555555"


class SampleLog:
    """A log as the programs of a kit would write it, line by line; the sums are made when it is written."""

    def __init__(self, folder: Path, chip: int = 80, kind: str = "cubin", target: int | None = None) -> None:
        self.folder = folder
        lines = [line.partition(" | ") for line in (folder / "kit.txt").read_text().splitlines()]
        self.settings = json.loads(lines[0][2])
        self.tests = [(line[0].split(), json.loads(line[2])) for line in lines if line[0].startswith("test ")]
        self.plans = self._read_plans(lines)
        sums = sha256((folder / "SHA256SUMS").read_bytes()).hexdigest()
        started = "2030-01-02T03:04:05+00:00"
        head = {"kit": VERSION, "sums": sums, "gpu": GPU, "started": started, "settings": self.settings}
        self.started = started
        self.lines = [_compact(head), *(folder / "index.jsonl").read_text().splitlines()]
        self.add_device(chip, kind, chip if target is None else target)

    def add_device(self, chip: int, kind: str, target: int, gpu: str = GPU) -> None:
        entry = {"device": 0, "program": "run.c", "gpu": gpu, "pci": "00000000:65:00.0", "name": "Sample"}
        more = {
            "major": chip // 10,
            "minor": chip % 10,
            "multiprocessors": 4,
            "memory": 1 << 30,
            "free": 1 << 29,
            "driver": 13000,
            "module": "NVRM version: 580.65.06",
            "clock_khz": -1,
        }
        self.add(entry | more | {"watchdog": 0, "target": target, "kind": kind, "started": self.started})

    def add(self, entry: dict[str, object]) -> None:
        self.lines.append(_compact(entry))

    def begin(self, test: int, room: int = 20, file: str = "", digest: str | None = None) -> None:
        """Begin a test with the plan of a room."""
        words, about = self.tests[test]
        self.plan = self.plans[int(words[1])][room]
        self.test, self.kernels, self.observed = test, int(words[2]), int(words[3])
        self.number, self.warm_ups = 0, 0
        known = [json.loads(line) for line in (self.folder / "index.jsonl").read_text().splitlines()]
        first = self.settings["architectures"][0]
        built = next(one for one in known if one["hash"] == about["hash"] and one["arch"] == first)
        self.add({"begin": test, "about": about, "started": self.started})
        entry = {"loaded": test, "plan": self.plan, "file": built["file"], "compiled": file}
        found = Path(built["file"]).stem + 32 * "0" if digest is None else digest
        more = {"sha256": found, "number": built["number"], "registers": 40, "groups_of_sm": 8, "threads_of_sm": 2048}
        self.add(entry | more | {"resident": 32, "cold": True})

    def launch(self, weak: int = 0, *, warm: bool = False, microseconds: int = 1000, **changes: int) -> None:
        """A launch whose counts are right, except for `changes` of counters; `weak` instances see the weak outcome."""
        instances = self.plan["rounds"] * self.plan["batch"]
        instances *= self.plan["cta_groups"] * self.plan["warp_groups"] * self.plan["lane_groups"]
        finished = self.plan["testing_groups"] * self.plan["group_size"] * self.kernels
        right = {
            "meetings": instances,
            "overlaps": instances,
            "stress_low": 5,
            "finished": finished,
            "timed": instances,
        }
        right |= {"inversions": instances // 2, "warmed_low": instances}
        counters = [(right | changes).get(name, 0) for name in self.settings["counters"]]
        outcomes = [[weak, 0, 0], [instances - weak, 1, 1]] if weak else [[instances, 1, 0]]
        number = self.warm_ups if warm else self.number
        entry = {"launch": self.test, "number": number, "warm": warm, "slots": 256, "microseconds": microseconds}
        self.add(entry | {"counters": counters, "outcomes": outcomes})
        self.warm_ups, self.number = (self.warm_ups + 1, self.number) if warm else (self.warm_ups, self.number + 1)

    def end(self, how: str = "finished", **more: object) -> None:
        self.add({"end": self.test, "how": how, "launches": self.warm_ups + self.number, **more})

    def text(self) -> str:
        """The log, every line with its sum."""
        return "".join(f"{line}\n" for line in sum_lines(self.lines))

    def write(self, text: str | None = None) -> str:
        path = self.folder / "log.jsonl"
        path.write_text(self.text() if text is None else text)
        return str(path)

    def write_changed(self, old: str, new: str) -> str:
        """The log with something else in its lines, whose sums are right: as a program would write it."""
        assert any(old in line for line in self.lines)
        return self.write("".join(f"{line}\n" for line in sum_lines([line.replace(old, new) for line in self.lines])))

    @staticmethod
    def _read_plans(lines: list[tuple[str, str, str]]) -> list[list[dict[str, int]]]:
        plans: list[list[dict[str, int]]] = []
        for words, _, copied in lines:
            if words == "table":
                plans.append([])
            elif words.startswith("room "):
                plans[-1].append(json.loads(copied))
        return plans


def build_identified_driver(folder: Path) -> Path:
    """A folder with a libcuda.so.1 whose GPUs have UUIDs, in front of the stand-in: see kits/identified_driver.c."""
    folder.mkdir()
    inner = folder / "libcudb.so.1"  # the stand-in under another name, by which the one in front depends on it
    inner.write_bytes(DRIVER.read_bytes().replace(b"libcuda.so.1\0", b"libcudb.so.1\0"))
    source = Path(__file__).parent / "kits" / "identified_driver.c"
    words = ["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", f'-DINNER="{inner}"', str(source)]
    words += ["-Wl,--no-as-needed", str(inner), "-ldl", "-Wl,-soname,libcuda.so.1", "-o", str(folder / "libcuda.so.1")]
    subprocess.run(words, check=True)
    return folder


def build_preload(folder: Path, name: str, code: str) -> str:
    """A library that is loaded before all others, to let a call of the system fail."""
    library = folder / f"{name}.so"
    source = folder / f"{name}.c"
    source.write_text(f"#define _GNU_SOURCE\n{code}")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", str(source), "-ldl", "-o", str(library)], check=True)
    return str(library)


FORK_FAILS = """
#include <errno.h>
#include <unistd.h>
pid_t fork(void) { errno = EAGAIN; return -1; }
"""
SHORT_READS = """
#include <unistd.h>
#include <sys/syscall.h>
ssize_t read(int file, void *to, size_t size) { return syscall(SYS_read, file, to, size > 1 ? 1 : size); }
"""


def sum_lines(lines: Sequence[str]) -> list[str]:
    """Lines without sums as a log has them; the lines of the index, which the head covers, stay as they are."""
    made, last = [], ""
    for line in lines:
        if line.startswith('{"test": '):
            made.append(line)
        else:
            data, last = add_sum(last, line.removesuffix("}").encode())
            made.append(data.decode())
    return made


def _compact(entry: dict[str, object]) -> str:
    return json.dumps(entry, separators=(",", ":"))
