"""A kit on a machine with a stand-in for NVIDIA's driver, and the tests that it has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from cuda_standin import CACHE, INTER_CTA, Machine, sb_test
from kit_samples import ExportedKit, build_identified_driver

from gpudiy.devices.settings import RunSettings
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.incantation_text import IncantationBook
from gpudiy.kits.export import export_kit
from gpudiy.kits.importing import read_records
from gpudiy.kits.kit_log import read_kit_log
from gpudiy.litmus import Test, print_test, read_test
from gpudiy.logs.record import Ending, Record

Make = Callable[..., Machine]
PROGRAMS = ("program", "run.py")
ITERATIONS, LAUNCHES = 700, 4
CHEAP = IncantationBook("cheap", Incantation(group_size=32, stress_iterations=8))
PLACES = {
    "cta": INTER_CTA,
    "warp": "(device (kernel (cta (warp P0 P1))))",
    "kernel": "(device (kernel (cta (warp P0))) (kernel (cta (warp P1))))",
}


def place(name: str, value: int = 1) -> Test:
    """Store buffering in a place; the value makes another test of it."""
    text = print_test(sb_test(PLACES[name], name=f"SB.{name}{value}"))
    return read_test(text.replace("],1", f"],{value}"))


class KitMachine:
    """A kit on a machine."""

    def __init__(self, here: Machine, tests: Sequence[Test], architectures: Sequence[str], **needs: object) -> None:
        self.here = here
        self.folder = here.directory / "kit"
        before = os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = str(CACHE)
        try:
            for architecture in architectures:
                here.add_tests(tests, architecture)
            chosen: dict[str, Any] = {"iterations": ITERATIONS, **needs}
            settings = RunSettings(seed=5, incantations=CHEAP, **chosen)
            export_kit(tests, architectures, self.folder, settings, jobs=1)
        finally:
            os.environ.pop("XDG_CACHE_HOME")
            if before is not None:
                os.environ["XDG_CACHE_HOME"] = before
        subprocess.run(["make", "-s", "program"], cwd=self.folder, check=True)

    def edit(self, line: str, change: Callable[[list[str]], list[str]]) -> None:
        """Change the words of a line of kit.txt."""

        def change_line(text: str) -> str:
            lines = text.splitlines(keepends=True)
            at = next(number for number, one in enumerate(lines) if one.startswith(f"{line} "))
            lines[at] = " ".join(change(lines[at].split())) + "\n"
            return "".join(lines)

        ExportedKit(self.folder).edit("kit.txt", change_line)

    def shorten_silence(self) -> None:
        """Let a hang be found after two seconds."""
        self.edit("need", lambda words: [*words[:-1], "2"])

    def identify(self, uuids: str, **more: str) -> dict[str, str]:
        """The environment of a machine whose GPUs have UUIDs of these letters."""
        folder = self.here.directory / "identified"
        if not folder.exists():
            build_identified_driver(folder)
        return {"LD_LIBRARY_PATH": str(folder), "IDENTIFIED_UUIDS": uuids, **more}

    def command(self, program: str, *words: str) -> list[str]:
        start = ["./program"] if program == "program" else [sys.executable, "-B", "run.py"]
        return [*start, *words]

    @property
    def environment(self) -> dict[str, str]:
        return {name: value for name, value in self.here.environment.items() if name not in ("PYTHONPATH", "HOME")}

    def run(self, program: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(program, *words),
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )

    def records(self, log: str = "log.jsonl") -> dict[str, Record]:
        found = read_kit_log(str(self.folder / log))
        assert found.problems == ()
        return {record.test: record for record in read_records(found)}


def finishes(record: Record) -> bool:
    return record.ending is Ending.FINISHED and record.iterations >= ITERATIONS
