"""`export`: a kit of tests, a folder or a .zip that runs on a machine with a GPU and without gpudiy."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from gpudiy.devices.run_length import GPU_SECONDS
from gpudiy.devices.settings import ITERATIONS, RunSettings, make_settings
from gpudiy.devices.settings import LAUNCHES as LEAST_LAUNCHES
from gpudiy.errors import ExitCode, GpudiyError, InputError, UsageError
from gpudiy.files import expect_writable, write_whole
from gpudiy.harness.build import BuildFailure
from gpudiy.harness.build_folder import BuildWatch, FolderEntry, build_folder, list_architectures
from gpudiy.harness.build_options import DEFAULT_OPTIONS, LEVELS, BuildOptions
from gpudiy.harness.built import INDEX, BuiltTest
from gpudiy.harness.host_side import COUNTERS
from gpudiy.harness.launch_plan import Impossible
from gpudiy.harness.module import CLUSTER_ARCHITECTURE, PtxTest, assembler_for
from gpudiy.harness.shape import is_timed
from gpudiy.harness.templates import templates_hash
from gpudiy.kits import launch_rows
from gpudiy.kits.kit_files import SUMS, list_files, pack_folder, replace_kit
from gpudiy.kits.kit_text import (
    Binary,
    Image,
    ImageKind,
    KitTable,
    KitTest,
    RunNeeds,
    describe_plan,
    kind_of_cubin,
    print_kit,
)
from gpudiy.kits.launch_rows import LaunchesOfTest, agrees, make_table, plan_test
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.loading import TestSource, read_all
from gpudiy.litmus.test import Test
from gpudiy.shipped import find_shipped
from gpudiy.version import __version__

KIT, PROGRAMS = "kit.txt", "kit"
LAUNCHES, SECONDS = LEAST_LAUNCHES, GPU_SECONDS  # of each test, at least, as in gpudiy's own runs
SILENCE = 120.0  # seconds after which a launch has hung
CRASHED = "compiler crashed"  # also if its process could not be started
WORKERS = "; a Python script must call this below `if __name__ == '__main__':`, or with jobs=1"


@dataclass(frozen=True, slots=True)
class Kit:
    """What was exported: the results of the build, and the tests of it that the kit cannot run, with the reason."""

    entries: tuple[FolderEntry, ...]
    left_out: tuple[tuple[Test, str], ...]
    tests: int
    bytes: int


class EmptyKit(GpudiyError):
    """No test can be in the kit, which is not written; `kit` says why."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        failures = [str(entry.built) for entry in kit.entries if isinstance(entry.built, BuildFailure)]
        refusals = [
            f"{entry.test.name}: {entry.built.reason} ({entry.arch})"
            for entry in kit.entries
            if isinstance(entry.built, BuiltTest) and entry.built.reason
        ]
        self.exit_code = ExitCode.FAILED if failures else ExitCode.NO
        left_out = [f"{test.name}: {reason}" for test, reason in kit.left_out]
        reason = next(iter([*failures, *refusals, *left_out]), "no tests were given")
        hint = WORKERS if any(CRASHED in failure for failure in failures) else ""
        super().__init__(f"no test can be in the kit, and none is made: {reason}{hint}")


def export(
    tests: TestSource,
    *,
    arch: str | Iterable[str],
    output: str | Path,
    iterations: int = ITERATIONS,
    seed: int | None = None,
    incantation: str = "default",
    limit: float | None = None,
    cuda: int | None = None,
    jobs: int = 2,
    optimise: int = 1,
) -> Kit:
    """Make a kit for a machine with a GPU and without gpudiy: `gpudiy.export(test, arch="sm_90", output="kit.zip")`.

    `tests` is a test or a path, or several; `arch` is an architecture such as `sm_80`, or several; `output` is a new
    folder, or a file that ends in .zip. `iterations`, `seed`, `incantation` and `limit` are those of `gpudiy.run`, and
    `optimise` and `jobs` those of `gpudiy.build`; `cuda` is the newest major version of CUDA that the driver of that
    machine supports. What comes back from there is read by `gpudiy.import_log`. Raises `EmptyKit` if no test is left.
    """
    if optimise not in LEVELS:
        raise UsageError(f"expected a level of the assembler, {', '.join(map(str, LEVELS))}, not {optimise!r}")
    settings = make_settings(iterations=iterations, seed=seed, incantation=incantation, limit=limit)
    options = BuildOptions(optimise, cuda)
    return export_kit(read_all(tests), list_architectures(arch), Path(output), settings, jobs, options)


def export_kit(
    tests: Iterable[Test],
    architectures: Sequence[str],
    output: Path,
    settings: RunSettings,
    jobs: int = 2,
    options: BuildOptions = DEFAULT_OPTIONS,
    watch: BuildWatch = lambda architecture, results: results,
) -> Kit:
    """Build the tests, plan their launches for every GPU, and write the kit; a .zip if the name ends so."""
    for architecture in architectures:
        if not is_timed(architecture):
            hint = "`gpudiy run` serves older chips"
            raise InputError(f"kits are for sm_70 and later, not for {architecture}", hint=hint)
    chosen = list(dict.fromkeys(tests))
    packed = output.suffix.lower() == ".zip"
    expect_writable(output, folder=not packed)
    if not packed and output.is_dir() and any(output.iterdir()) and not (output / KIT).exists():
        raise UsageError(f"{output} has other files in it: name a new folder for the kit")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / output.stem
        kit = _fill(chosen, architectures, folder, settings, jobs, options, watch)
        if not kit.tests:
            raise EmptyKit(kit)
        if packed:
            write_whole(output, pack_folder(folder))
        else:
            replace_kit(output, folder)
    return kit


def _fill(
    tests: Sequence[Test],
    architectures: Sequence[str],
    folder: Path,
    settings: RunSettings,
    jobs: int,
    options: BuildOptions,
    watch: BuildWatch,
) -> Kit:
    entries = build_folder(tests, architectures, folder, jobs, False, options, watch)
    kit = _Filling(folder, settings, options)
    kit.add_images(entries)
    for test in tests:
        kit.add_test(test)
    kit.write(architectures)
    size = sum(path.stat().st_size for path in folder.iterdir())
    return Kit(tuple(entries), tuple(kit.left_out), len(kit.tests), size)


class _Filling:
    """A kit while it is filled."""

    def __init__(self, folder: Path, settings: RunSettings, options: BuildOptions) -> None:
        self.folder, self.settings, self.options = folder, settings, options
        self.images: list[Image] = []
        self.tables: list[tuple[LaunchesOfTest, KitTable]] = []
        self.tests: list[KitTest] = []
        self.left_out: list[tuple[Test, str]] = []
        self._binaries: dict[Test, list[Binary]] = {}

    def add_images(self, entries: Sequence[FolderEntry]) -> None:
        """The cubins that optcheck found to be their tests, and the PTX of the same tests for later chips."""
        for architecture in dict.fromkeys(entry.arch for entry in entries):
            good = [
                (entry.test, entry.built)
                for entry in entries
                if entry.arch == architecture and isinstance(entry.built, BuiltTest) and entry.built.file
            ]
            for file in sorted({str(built.file) for _, built in good}):
                image = self._add_image(kind_of_cubin(architecture), architecture, file)
                for test, built in good:
                    if built.file == file and _fits_architecture(test, architecture):
                        self._binaries.setdefault(test, []).append(Binary(image, built.number, built.constants))
            if architecture[-1].isdigit() and good:
                self._add_ptx([test for test, _ in good], architecture)

    def _add_image(self, kind: ImageKind, architecture: str, *files: str) -> int:
        maker = assembler_for(architecture, self.options).version
        self.images.append(Image(kind, int(architecture.strip("sm_af")), files, maker))
        return len(self.images) - 1

    def _add_ptx(self, tests: Sequence[Test], architecture: str) -> None:
        assembler = assembler_for(architecture, self.options)
        codes = [PtxTest.of(test, architecture) for test in tests]
        names = f"tests-{architecture}.ptx", f"kernels-{architecture}.ptx"
        for name, text in zip(names, (assembler.ptx(codes).encode(), assembler.kernels_ptx()), strict=True):
            write_whole(self.folder / name, text)
        image = self._add_image(ImageKind.PTX, architecture, *names)
        for number, (test, code) in enumerate(zip(tests, codes, strict=True)):
            if _fits_architecture(test, architecture):
                self._binaries.setdefault(test, []).append(Binary(image, number, code.constants))

    def add_test(self, test: Test) -> None:
        """Plan a test for every room; a test that needs more than one GPU is left out."""
        incantation = self.settings.incantations.of(test.name)
        each = -(-self.settings.iterations // LAUNCHES)
        try:
            planned = plan_test(test, incantation, self.settings.seed, each)
        except Impossible as reason:
            self.left_out.append((test, str(reason)))
            return
        if test in self._binaries:
            self.tests.append(KitTest(planned, self._find_table(planned), tuple(self._binaries[test])))

    def _find_table(self, planned: LaunchesOfTest) -> int:
        for number, (_, table) in enumerate(self.tables):
            if agrees(planned, table.rows):
                return number
        plans = tuple(describe_plan(planned, choice) for choice in range(len(planned.choices)))
        self.tables.append((planned, KitTable(make_table(planned), plans)))
        return len(self.tables) - 1

    def write(self, architectures: Sequence[str]) -> None:
        """Write the programs, what they read, and last the sums that they check."""
        needs = RunNeeds(
            iterations=self.settings.iterations,
            launches=LAUNCHES,
            seconds=SECONDS,
            limit=self.settings.limit,
            silence=SILENCE,
        )
        settings = self._describe(architectures)
        tables = [table for _, table in self.tables]
        registers = assembler_for(architectures[0], self.options).registers
        text = print_kit(settings, needs, (self.options.optimise, registers), self.images, tables, self.tests)
        write_whole(self.folder / KIT, text)
        for path in sorted((find_shipped("harness_templates") / PROGRAMS).iterdir()):
            if path.is_file():
                write_whole(self.folder / path.name, path.read_bytes())
        sums = [f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in list_files(self.folder)]
        write_whole(self.folder / SUMS, "".join(sums))

    def _describe(self, architectures: Sequence[str]) -> dict[str, Any]:
        """What records must say that is the same for all tests."""
        index = (self.folder / INDEX).read_bytes()
        return {
            "tool": f"gpudiy {__version__}",
            "harness": templates_hash(),
            "architectures": list(architectures),
            "iterations": self.settings.iterations,
            "seed": self.settings.seed,
            "incantation": self.settings.incantations.name,
            "draws": launch_rows.DRAWS,
            "counters": [counter.name for counter in COUNTERS],
            "index": sha256(index).hexdigest(),
            "index_lines": index.count(b"\n"),
            "left_out": [[test.name, content_hash(test), reason] for test, reason in self.left_out],
        }


def _fits_architecture(test: Test, architecture: str) -> bool:
    from gpudiy.harness.shape import shape_of

    return shape_of(test).ctas == 1 or int(architecture.strip("sm_af")) >= CLUSTER_ARCHITECTURE
