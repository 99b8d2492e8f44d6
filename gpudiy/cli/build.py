"""`gpudiy build`: tests to checked binaries."""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiy.cli import PATH_HELP
from gpudiy.cli.argument_types import positive
from gpudiy.cli.progress import progress, say
from gpudiy.errors import UsageError
from gpudiy.files import expect_writable, write_whole

if TYPE_CHECKING:
    from gpudiy.harness.build import Outcome
    from gpudiy.harness.built import Built
    from gpudiy.harness.source import PlaySource
    from gpudiy.litmus.reader import Piece

FINE, REFUSED, BAD_INPUT, FAILED = 0, 1, 2, 3
ARCHITECTURE = re.compile(r"sm_\d{2,3}[af]?\Z", re.ASCII)
EPILOG = """\
DIR gets one cubin a batch of tests and index.jsonl, a line a test: where it is, what optcheck found. A test that
optcheck does not find unchanged is refused: its line names no file. What was compiled before is taken from the cache in
$XDG_CACHE_HOME/gpudiy.

examples:
  gpudiy build tests/ --arch sm_80,sm_90 -o built
  gpudiy build sb.litmus --emit source
  gpudiy build sb.litmus --emit source --dialect opencl

exit code: 0 every test was built and is unchanged, 1 some were refused or cannot be run, 2 bad usage or bad input, 3 a
tool is missing or failed"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", help=PATH_HELP)
    parser.add_argument("--arch", metavar="SM", type=_architectures, help="architectures, such as sm_80,sm_90")
    parser.add_argument("-o", "--output", metavar="DIR", help="where cubins and index go (source: standard output)")
    parser.add_argument(
        "--emit",
        choices=("source", "ptx", "cubin"),
        help="what to make: the source of the harness, its PTX, or cubins (default: cubin; source for other dialects)",
    )
    parser.add_argument(
        "--dialect",
        choices=("cuda", "opencl", "host"),
        default="cuda",
        help="the language of the harness (default: cuda)",
    )
    parser.add_argument("-j", "--jobs", metavar="N", type=positive, default=2, help="worker processes (default: 2)")
    parser.add_argument("--keep-optimised", action="store_true", help="hand on tests that optcheck found changed")
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="print no progress and no summary")
    loudness.add_argument("-v", "--verbose", action="store_true", help="print tools, cache and every verdict too")


def _architectures(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    wrong = next((name for name in names if not ARCHITECTURE.match(name)), None)
    if wrong is not None or not names:
        raise ArgumentTypeError(f"an architecture such as sm_80 is wanted, not {wrong or text!r}")
    return list(dict.fromkeys(names))


def run(arguments: Namespace) -> int:
    emit = arguments.emit or ("cubin" if arguments.dialect == "cuda" else "source")
    complaint = _complaint(arguments, emit)
    if complaint is not None:
        raise UsageError(complaint)
    if arguments.output not in (None, "-"):
        expect_writable(arguments.output, folder=True)
    pieces, code = _pieces(arguments.paths)
    if not pieces:
        return code or BAD_INPUT
    made = {"source": _emit_source, "ptx": _emit_ptx, "cubin": _build}[emit](pieces, arguments)
    return max(code, made)


def _complaint(arguments: Namespace, emit: str) -> str | None:
    if emit != "source" and arguments.dialect != "cuda":
        return f"only --dialect cuda has {emit}; for {arguments.dialect} use --emit source"
    if emit != "source" and arguments.arch is None:
        return "--arch is missing: name the architectures to build for, such as --arch sm_80"
    if emit == "cubin" and arguments.output is None:
        return "-o is missing: name the directory for the cubins"
    if emit == "ptx" and len(arguments.arch) > 1:
        return "--emit ptx takes one architecture"
    return None


def _pieces(paths: Sequence[str]) -> tuple[list[Piece], int]:
    """The texts of the tests, and the exit code that unreadable files ask for."""
    from gpudiy.litmus.errors import LitmusError
    from gpudiy.litmus.sources import find_sources, load_pieces

    found: list[Piece] = []
    code = FINE
    for source in list(find_sources(paths)):
        try:
            found += load_pieces(source)
        except LitmusError as error:
            say(error)
            code = BAD_INPUT
    return found, code


def _build(pieces: Sequence[Piece], arguments: Namespace) -> int:
    from gpudiy.harness.build import build, toolchain_folder
    from gpudiy.harness.built import handed_on, write_index
    from gpudiy.harness.cache import default_folder
    from gpudiy.harness.module import assembler_for

    folder = Path(arguments.output)
    store = _cache(default_folder())
    for architecture in arguments.arch:
        kept_in = toolchain_folder(store, architecture)  # a missing tool is told before any work is done
        if arguments.verbose:
            say(f"{architecture}: {assembler_for(architecture).version}; cache {kept_in}")
    folder.mkdir(parents=True, exist_ok=True)
    handed: list[Built] = []
    code = FINE
    for architecture in arguments.arch:
        outcomes = build(pieces, architecture, store, arguments.jobs)
        for outcome in progress(outcomes, f"tests for {architecture}", arguments.quiet):
            code = max(code, _told(outcome))
            if outcome.entry is not None:
                handed.append(handed_on(outcome.entry, arguments.keep_optimised))
                if arguments.verbose:
                    say(f"{architecture}: {outcome.entry.test}: {outcome.entry.verdict or outcome.entry.obstacle}")
        cubins = toolchain_folder(store, architecture)
        for name in sorted({built.file for built in handed if built.file and built.arch == architecture}):
            if not (folder / name).exists():
                write_whole(folder / name, (cubins / name).read_bytes())
    write_index(folder, handed)
    refused = [built for built in handed if built.file is None]
    for built in refused:
        say(f"{built.test}: not built for {built.arch}: {built.reason}")
    if not arguments.quiet:
        kept = len(handed) - len(refused)
        print(f"{kept:,} of {len(handed):,} test{'s' * (len(handed) != 1)} in {folder}")
    return max(code, REFUSED if refused else FINE)


def _cache(folder: Path) -> Path:
    """The folder of what was compiled before, if it can be written; else `MissingTool` says what to do."""
    from gpudiy.errors import MissingTool

    reason = ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
    if reason or not os.access(folder, os.W_OK):
        said = reason or "Permission denied"
        raise MissingTool(f"the cache {folder} cannot be written: {said}; XDG_CACHE_HOME names another place")
    return folder


def _told(outcome: Outcome) -> int:
    if not outcome.problem:
        return FINE
    say(outcome.problem)
    return BAD_INPUT if outcome.bad_input else FAILED


def _emit_source(pieces: Sequence[Piece], arguments: Namespace) -> int:
    from gpudiy.harness.source import Dialect, NotRunnable, module_source, play_source
    from gpudiy.litmus.errors import LitmusError

    plays: dict[str, PlaySource] = {}
    code = FINE
    for piece in progress(pieces, "tests", arguments.quiet):
        test = piece.read()
        if isinstance(test, LitmusError):
            say(test)
            code = BAD_INPUT
            continue
        try:
            play = play_source(test, Dialect(arguments.dialect))
            plays.setdefault(play.play, play)
        except NotRunnable as problem:
            say(f"{test.name}: not runnable: {problem}")
            code = max(code, REFUSED)
    if plays:
        suffix = {"cuda": "cu", "opencl": "cl", "host": "cpp"}[arguments.dialect]
        _write(module_source(list(plays.values()), Dialect(arguments.dialect)), arguments.output, f"tests.{suffix}")
    return code


def _emit_ptx(pieces: Sequence[Piece], arguments: Namespace) -> int:
    from gpudiy.harness.module import PlayPtx, assembler_for
    from gpudiy.harness.source import NotRunnable
    from gpudiy.litmus.content import content_hash
    from gpudiy.litmus.errors import LitmusError

    plays: dict[str, PlayPtx] = {}
    code = FINE
    for piece in progress(pieces, "tests", arguments.quiet):
        test = piece.read()
        if isinstance(test, LitmusError):
            say(test)
            code = BAD_INPUT
            continue
        try:
            plays.setdefault(content_hash(test), PlayPtx.of(test))
        except NotRunnable as problem:
            say(f"{test.name}: not runnable: {problem}")
            code = max(code, REFUSED)
    if plays:
        _write(assembler_for(arguments.arch[0]).ptx(list(plays.values())), arguments.output, "tests.ptx")
    return code


def _write(text: str, output: str | None, name: str) -> None:
    """To standard output, or whole into the directory."""
    if output is None or output == "-":
        sys.stdout.write(text)
        return
    write_whole(Path(output) / name, text)
