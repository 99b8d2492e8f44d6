"""`gpudiy convert`: print tests in another format."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiy.cli import PATH_HELP
from gpudiy.cli.progress import progress, say
from gpudiy.errors import ExitCode

if TYPE_CHECKING:
    from gpudiy.litmus.test import Test

FORMATS = ("canonical", "herd", "dat3m")
EPILOG = """\
formats:
  canonical  the format of gpu-diy; it expresses every test, except a memory map that instructions contradict
  herd       the format of the original gpu-litmus and the 2015 herd
  dat3m      the PTX format of Dat3M

A test that a format cannot express is an error; it never becomes a different test. --modern first replaces old
spellings by their meaning from sm_70 on: no cache operators, volatile becomes relaxed.sys, membar becomes fence.sc.

examples:
  gpudiy convert sb.litmus --to herd
  gpudiy convert tests/ --modern -o modern

exit code: 0 all tests are converted, 2 some are not"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", help=PATH_HELP)
    parser.add_argument("--to", choices=FORMATS, default="canonical", help="the format to print (default: %(default)s)")
    parser.add_argument("--modern", action="store_true", help="replace old spellings by those of sm_70 and later")
    parser.add_argument("-o", "--output", metavar="DIR", default="-", help="write one file per source into DIR")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress")


def run(arguments: Namespace) -> int:
    from gpudiy.litmus.errors import LitmusError
    from gpudiy.litmus.print_dat3m import CannotExpress
    from gpudiy.litmus.sources import find_sources, load_tests

    sources = list(find_sources(arguments.paths))
    writer = _to_stream if arguments.output == "-" else _ToDirectory(Path(arguments.output), sources)
    bad = 0
    quiet = arguments.quiet or (arguments.output == "-" and not sys.stderr.isatty())
    for source in progress(sources, "files converted", quiet):
        try:
            texts = [_print_as(test, arguments) for test in load_tests(source)]
            writer(source, texts)
        except LitmusError as error:
            bad += 1
            say(error)
        except CannotExpress as cannot:
            bad += 1
            say(f"{source}: error: the {arguments.to} format cannot express {cannot}")
    return ExitCode.BAD_INPUT if bad else ExitCode.FINE


def _print_as(test: Test, arguments: Namespace) -> str:
    from gpudiy.litmus.printer import Format, modernise_test, print_test

    return print_test(modernise_test(test) if arguments.modern else test, Format(arguments.to))


def _to_stream(_source: str, texts: list[str]) -> None:
    for text in texts:
        print(text)


class _ToDirectory:
    """Writes one file per source, at the same place relative to the common folder of all sources."""

    def __init__(self, directory: Path, sources: list[str]) -> None:
        self.directory = directory
        files = [source for source in sources if source != "-"]
        self.sources = {Path(file).resolve() for file in files}
        self.common = os.path.commonpath([Path(file).resolve().parent for file in files]) if files else "."

    def __call__(self, source: str, texts: list[str]) -> None:
        from gpudiy.files import write_whole
        from gpudiy.litmus.errors import LitmusError

        name = "stdin.litmus" if source == "-" else Path(source).resolve().relative_to(self.common)
        target = self.directory / name
        if target.resolve() in self.sources:
            raise LitmusError("this would overwrite one of the sources: choose another DIR", path=source)
        write_whole(target, "\n".join(texts))
