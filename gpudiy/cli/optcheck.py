"""`gpudiy optcheck`, and `optcheck` as in the literature: check in SASS that the compiler kept a test."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiy.cli.help_text import HelpText
from gpudiy.version import __version__

if TYPE_CHECKING:
    from optcheck.finding import Check

MAPPINGS = ("auto", "sm_35", "sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
BINARIES = (b"\x7fELF", b"\x50\xed\x55\xba", b"MZ", b"!<arch>")  # ELF, fat binary, PE, archive
EPILOG = """\
A binary of `gpudiy build` contains its tests. A listing (of cuobjdump -sass, nvdisasm or nvdisasm -json) does not:
without --test, only the literals are checked, not fences and dependencies, so it is at best unverifiable.

examples:
  gpudiy optcheck built/1f0c.cubin
  gpudiy optcheck --text sb.sass --test sb.litmus

exit code: 0 all unchanged, 1 a test was changed or cannot be verified, 2 bad input, 3 a disassembler failed"""
OLD_EPILOG = """\
example:
  optcheck sb.cubin

exit code: 0 unchanged, 1 error, 2 optimised

`gpudiy optcheck` does the same with more options."""


def add_arguments(parser: ArgumentParser) -> None:
    _add_inputs(parser)
    parser.add_argument("--all", action="store_true", help="list the unchanged tests too")
    parser.add_argument("--json", action="store_true", help="print one JSON line per test")


def _add_inputs(parser: ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("binary", metavar="BINARY", nargs="?", help="a cubin, or an executable with cubins in it")
    what.add_argument("--text", metavar="SASS", help="a listing instead of a binary")
    parser.add_argument("--test", metavar="FILE", help="the test of the listing")
    parser.add_argument(
        "--mapping",
        metavar="ARCH",
        choices=MAPPINGS,
        default="auto",
        help="the architecture of the SASS: auto or sm_35 to sm_120 (default: auto)",
    )


def run(arguments: Namespace) -> int:
    from optcheck.finding import Finding
    from optcheck.report import as_json, demand_test, deviation_lines

    checks = [demand_test(check) for check in _check_input(arguments)]
    for check in checks:
        if arguments.json:
            print(json.dumps(as_json(check)))
            continue
        if check.finding is not Finding.UNCHANGED:
            print("\n".join(deviation_lines(check)))
        elif arguments.all:
            print(f"{check.test or check.kernel or 'listing'}: {check.finding}")
    if not arguments.json:
        print(_summary(checks))
    return 0 if all(check.finding is Finding.UNCHANGED for check in checks) else 1


def main(arguments: list[str] | None = None) -> int:
    """`optcheck BINARY`, with its own exit codes: 0 unchanged, 1 error, 2 optimised."""
    from gpudiy.cli import run_command

    parser = ArgumentParser(
        prog="optcheck",
        description="Check that the compiler left a litmus test alone.",
        epilog=OLD_EPILOG,
        formatter_class=HelpText,
    )
    _add_inputs(parser)
    parser.add_argument("--version", action="version", version=f"optcheck (gpudiy {__version__})")
    parser.exit_on_error = True
    try:
        given = parser.parse_args(arguments)
    except SystemExit as exit:
        return 1 if exit.code else 0
    code = run_command(lambda: _run_original(given), "optcheck", error_code=1)
    return code if code in (0, 2) else 1


def _run_original(arguments: Namespace) -> int:
    from optcheck.finding import Finding
    from optcheck.report import original_text

    checks = _check_input(arguments)
    print("\n".join(original_text(checks)))
    return 0 if all(check.finding is Finding.UNCHANGED for check in checks) else 2


def _check_input(arguments: Namespace) -> list[Check]:
    """Check the binary or listing that the command line names."""
    from gpudiy.errors import InputError
    from gpudiy.harness.checking import check_binary_kernels
    from gpudiy.harness.frame import find_frame
    from optcheck.report import check_binary, check_listing, read_test_file

    architecture = "" if arguments.mapping == "auto" else arguments.mapping
    name = arguments.text or arguments.binary
    try:
        test = read_test_file(Path(arguments.test)) if arguments.test else None
        if arguments.text:
            checks = list(check_listing(Path(name), test, architecture, find_frame))
        else:
            _expect_binary(Path(name))
            checks = list(check_binary(Path(name), architecture, find_frame, check_binary_kernels))
    except OSError as error:
        raise InputError(str(error.strerror), path=str(error.filename or name)) from None
    if not checks:
        raise InputError("no specification found: it has no literal 0x07f3a… and no test", path=name)
    return checks


def _expect_binary(path: Path) -> None:
    """Raise `InputError` for a file that is not a binary."""
    from gpudiy.errors import InputError

    with path.open("rb") as file:
        if not file.read(8).startswith(BINARIES):
            raise InputError("this is not a binary", path=str(path), hint="for a listing, use --text")


def _summary(checks: list[Check]) -> str:
    findings = Counter(str(check.finding) for check in checks)
    counted = ", ".join(f"{count:,} {finding}" for finding, count in findings.most_common())
    return f"{len(checks):,} function{'s' * (len(checks) != 1)} checked: {counted}"
