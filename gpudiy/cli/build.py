"""`gpudiy build`: tests to checked binaries."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gpudiy.aligned_text import align_columns
from gpudiy.cli import PATH_HELP
from gpudiy.cli.argument_types import positive
from gpudiy.cli.progress import progress, say
from gpudiy.cli.run import load_with_places
from gpudiy.errors import ExitCode, UsageError, format_count
from gpudiy.files import expect_writable, write_whole
from gpudiy.harness.build_options import DEFAULT_OPTIONS, LEVELS, BuildOptions

if TYPE_CHECKING:
    from gpudiy.harness.build import BuildFailure, BuildResult
    from gpudiy.harness.build_folder import FolderEntry
    from gpudiy.harness.built import BuiltTest
    from gpudiy.litmus.draft import SourcedTest
    from gpudiy.litmus.test import Test

Rendered = TypeVar("Rendered")
EPILOG = """\
DIR gets one cubin per batch of tests and index.jsonl, one line per test: where it is, what optcheck found. A test that
optcheck does not find unchanged is refused: its line names no file. `gpudiy run DIR` runs these cubins as they are.
Tests that were compiled before are taken from the cache in $XDG_CACHE_HOME/gpudiy.

examples:
  gpudiy build tests/ --arch sm_80,sm_90 -o built
  gpudiy build sb.litmus --emit source
  gpudiy build sb.litmus --emit source --dialect opencl

exit code: 0 every test was built and is unchanged, 1 some were refused or cannot be run, 2 bad usage or bad input, 3 a
tool is missing or failed"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", help=PATH_HELP)
    parser.add_argument("--arch", metavar="SM", type=parse_architectures, help="architectures, such as sm_80,sm_90")
    parser.add_argument("-o", "--output", metavar="DIR", help="where cubins and index go (source: standard output)")
    parser.add_argument(
        "--emit",
        choices=("source", "ptx", "cubin"),
        help="what to make: the source of the harness, its PTX, or cubins (default: cubin; source for other dialects)",
    )
    parser.add_argument(
        "--dialect",
        choices=("cuda", "opencl", "wgsl", "host"),
        default="cuda",
        help="the language of the harness (default: cuda)",
    )
    parser.add_argument("-j", "--jobs", metavar="N", type=positive, default=2, help="worker processes (default: 2)")
    parser.add_argument(
        "--optimise",
        metavar="N",
        type=int,
        choices=LEVELS,
        default=DEFAULT_OPTIONS.optimise,
        help="level of the assembler for the code of the tests: 0, 1 or 3 (default: 1)",
    )
    parser.add_argument("--json", action="store_true", help="print the index too: one line per test and architecture")
    parser.add_argument("--keep-optimised", action="store_true", help="also keep tests that optcheck found changed")
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="print no progress and no summary")
    loudness.add_argument("-v", "--verbose", action="store_true", help="print tools, cache and every finding too")


def parse_architectures(text: str) -> list[str]:
    """The architectures of an option `--arch`."""
    from gpudiy.harness.build_folder import list_architectures

    try:
        return list_architectures(text)
    except UsageError as error:
        raise ArgumentTypeError(str(error)) from None


def run(arguments: Namespace) -> int:
    emit = arguments.emit or ("cubin" if arguments.dialect == "cuda" else "source")
    problem = _find_usage_error(arguments, emit)
    if problem is not None:
        raise UsageError(problem)
    if arguments.output not in (None, "-"):
        expect_writable(arguments.output, folder=True)
    found, bad = load_with_places(arguments.paths)
    if not found:
        return ExitCode.BAD_INPUT
    tests = {one.test: one for one in found}
    built = {"source": _emit_source, "ptx": _emit_ptx, "cubin": _build}[emit](tests, arguments)
    return max(ExitCode.BAD_INPUT if bad else ExitCode.FINE, built)


def _find_usage_error(arguments: Namespace, emit: str) -> str | None:
    if emit != "source" and arguments.dialect != "cuda":
        return f"only --dialect cuda has {emit}; for {arguments.dialect} use --emit source"
    if emit != "source" and arguments.arch is None:
        return "--arch is missing: name the architectures to build for, such as --arch sm_80"
    if emit == "cubin" and arguments.output is None:
        return "-o is missing: name the directory for the cubins"
    if emit == "ptx" and len(arguments.arch) > 1:
        return "--emit ptx takes one architecture"
    return None


def _build(tests: dict[Test, SourcedTest], arguments: Namespace) -> ExitCode:
    from gpudiy.harness.build_folder import build_folder

    folder, options = Path(arguments.output), BuildOptions(arguments.optimise)
    printer = BuildPrinter(tests.__getitem__, arguments.quiet, arguments.verbose, options)
    entries = build_folder(
        tests, arguments.arch, folder, arguments.jobs, arguments.keep_optimised, options, printer.watch
    )
    return printer.finish(entries, folder, arguments.json)


class BuildPrinter:
    """Prints the progress of a build and its result; `find_source` gives the source of a test that failed."""

    def __init__(
        self,
        find_source: Callable[[Test], SourcedTest],
        quiet: bool,
        verbose: bool = False,
        options: BuildOptions = DEFAULT_OPTIONS,
    ) -> None:
        self.find_source, self.quiet, self.verbose, self.options = find_source, quiet, verbose, options
        self.code = ExitCode.FINE

    def watch(self, architecture: str, results: Iterator[BuildResult]) -> Iterator[BuildResult]:
        """Follow the results for an architecture."""
        from gpudiy.harness.build import BuildFailure

        if self.verbose:
            _print_tools(architecture, self.options)
        for test, built in progress(results, f"tests for {architecture}", self.quiet):
            if isinstance(built, BuildFailure):
                self.code = max(self.code, _print_failure(self.find_source(test), built))
            elif self.verbose:
                say(f"{architecture}: {built.test}: {built.optcheck or built.reason}")
            yield test, built

    def finish(self, entries: Sequence[FolderEntry], folder: Path, json: bool = False) -> ExitCode:
        """Print what was refused and how many tests were built; return the exit code."""
        from gpudiy.harness.built import BuiltTest, print_built

        built_tests = [entry.built for entry in entries if isinstance(entry.built, BuiltTest)]
        refused = [built for built in built_tests if built.file is None]
        code = self.print_refusals(entries)
        if json:
            sys.stdout.write(print_built(built_tests))
        elif not self.quiet:
            architectures = len({entry.arch for entry in entries})
            print(_summarise(len(built_tests) - len(refused), len(entries), architectures, folder))
        return code

    def print_refusals(self, entries: Sequence[FolderEntry]) -> ExitCode:
        """Print what was refused; return the exit code."""
        from gpudiy.harness.built import BuiltTest

        refused = [entry.built for entry in entries if isinstance(entry.built, BuiltTest) and entry.built.file is None]
        for built in refused:
            _print_refusal(built)
        return max(self.code, ExitCode.NO if refused else ExitCode.FINE)


def _summarise(built: int, asked: int, architectures: int, folder: Path) -> str:
    """How many binaries there are: every test for every architecture, also those that could not be built."""
    if architectures == 1:
        return f"{built:,} of {format_count(asked, 'test')} in {folder}"
    tests = format_count(asked // architectures, "test")
    return f"{built:,} of {asked:,} in {folder}: {tests} for {architectures} architectures"


def _print_refusal(built: BuiltTest) -> None:
    """Why a test was refused; below, what the test has beside what the binary has."""
    why = built.optcheck_text.partition("\n")[0]
    say(f"{built.test}: not built for {built.arch}: {built.reason}{f': {why}' if why else ''}")
    if built.ptx or built.sass:
        rows = list(zip_longest(("PTX", *built.ptx), ("SASS", *built.sass), fillvalue=""))
        say(align_columns(rows, indent="    "))


def _print_tools(architecture: str, options: BuildOptions) -> None:
    from gpudiy.harness.build import toolchain_folder
    from gpudiy.harness.build_folder import writable_cache
    from gpudiy.harness.module import assembler_for

    kept_in = toolchain_folder(writable_cache(), architecture, options)
    say(f"{architecture}: {assembler_for(architecture, options).version}; cache {kept_in}")


def _print_failure(source: SourcedTest, failure: BuildFailure) -> ExitCode:
    """Print why a test was not built; returns the exit code."""
    if failure.rejected:
        say(source.error_at(failure.message, failure.thread, failure.index))
        return ExitCode.BAD_INPUT
    say(f"{source.source.path}: error: {failure.message}")
    return ExitCode.FAILED


def _emit_source(tests: dict[Test, SourcedTest], arguments: Namespace) -> ExitCode:
    from gpudiy.harness.source import Dialect, function_name, module_source, render_test

    dialect = Dialect(arguments.dialect)
    rendered, code = _render(tests, function_name, lambda test: render_test(test, dialect), arguments.quiet)
    if rendered:
        suffix = {"cuda": "cu", "opencl": "cl", "wgsl": "wgsl", "host": "cpp"}[arguments.dialect]
        _write(module_source(rendered, dialect), arguments.output, f"tests.{suffix}")
    return code


def _emit_ptx(tests: dict[Test, SourcedTest], arguments: Namespace) -> ExitCode:
    from gpudiy.harness.module import PtxTest, assembler_for
    from gpudiy.litmus.content import content_hash

    arch = arguments.arch[0]
    rendered, code = _render(tests, content_hash, lambda test: PtxTest.of(test, arch), arguments.quiet)
    if rendered:
        _write(assembler_for(arch).ptx(rendered), arguments.output, "tests.ptx")
    return code


def _render(
    tests: Iterable[Test], key: Callable[[Test], str], render: Callable[[Test], Rendered], quiet: bool
) -> tuple[list[Rendered], ExitCode]:
    """The code of each test that can be run, once per key, and the exit code for the others."""
    from gpudiy.harness.source import NotRunnable

    rendered: dict[str, Rendered] = {}
    code = ExitCode.FINE
    for test in progress(list(tests), "tests", quiet):
        try:
            if (found := key(test)) not in rendered:
                rendered[found] = render(test)
        except NotRunnable as problem:
            say(f"{test.name}: not runnable: {problem}")
            code = ExitCode.NO
    return list(rendered.values()), code


def _write(text: str, output: str | None, name: str) -> None:
    """Write to standard output, or to a file in the directory."""
    if output is None or output == "-":
        sys.stdout.write(text)
        return
    write_whole(Path(output) / name, text)
