"""The command line: `gpudiy VERB …`, one module per verb, imported only when its verb is used."""

from __future__ import annotations

import io
import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

from gpudiy.cli.help_text import HelpText
from gpudiy.errors import ExitCode, GpudiyError
from gpudiy.version import __version__

VERBS = {  # in the order of the pipeline
    "show": "draw tests: their threads, scope tree and condition",
    "check": "read tests and report every one that is not valid",
    "convert": "print tests in another format",
    "generate": "make tests from relaxation edges: a cycle, a set of edges, a family",
    "model": "decide tests under memory models, and explain why",
    "build": "compile tests into harnesses for GPUs, and check that the compiler kept the tests",
    "export": "make a kit of tests for a machine with a GPU and without gpudiy",
    "optcheck": "check in SASS that the compiler kept the tests",
    "devices": "list the devices of this machine, and what is missing",
    "doctor": "check what a run on this machine needs, and say what to do about what is wrong",
    "run": "run tests on devices and write a log",
    "tune": "find the incantations that show the most weak outcomes on a device",
    "compare": "compare the logs of chips: which chip is weaker",
    "conform": "compare logs with a memory model: observed but forbidden, allowed but never observed",
    "table": "print logs as a table of tests and chips",
    "report": "make a web page from logs: heat map, tables, tests, executions",
    "lock": "check locks by models and on devices, and fix them",
    "campaign": "run many tests on many devices, and continue after any interruption",
    "completion": "print the completion script for a shell",
}
SUBVERBS = {
    ("model", "list"): "say what models cover, where they come from, what they do not cover",
    ("model", "diff"): "find the smallest tests on which two models differ",
    ("model", "minimal"): "find the weakest fences, orders and scopes that forbid an outcome",
    ("lock", "list"): "list the locks of the library",
    ("lock", "tests"): "write the tests that check a lock",
    ("lock", "check"): "check by models and on devices whether a lock is right",
    ("lock", "fix"): "find the weakest changes that fix a lock, as diffs of its source",
    ("campaign", "init"): "write a commented plan",
    ("campaign", "plan"): "estimate the work of a plan and its time",
    ("campaign", "run"): "do all work of a plan that is not finished",
    ("campaign", "status"): "show the progress of a campaign",
    ("campaign", "resume"): "continue an interrupted campaign",
}

PATH_HELP = "a file, a directory (its *.litmus at any depth), @LIST (a file of such paths), or - for standard input"
TRACEBACK = "GPUDIY_TRACEBACK"
LONGEST_FAULT = 300  # characters


def main(arguments: list[str] | None = None) -> int:
    """Run one verb and return its exit code: 0 fine, 1 the answer is no, 2 bad input, 3 a device or tool failed."""
    words = sys.argv[1:] if arguments is None else arguments
    known = 2 if tuple(words[:2]) in SUBVERBS else 1 if words and words[0] in VERBS else 0
    return run_command(lambda: _run(words), " ".join(["gpudiy", *words[:known]]))


def run_command(work: Callable[[], int], command: str, error_code: int | None = None) -> int:
    """Do the work of a command and return its exit code: the one place where errors become messages.

    An interrupt, or a closed pipe after standard output, is not a fault. Notes of an error follow its message.
    `error_code` replaces the exit code of an error for a command with its own published codes.
    """
    _open_streams()
    try:
        code = work()
        sys.stdout.flush()
        return code
    except GpudiyError as error:
        _print_error(error.report(command), error)
        return error.exit_code if error_code is None else error_code
    except KeyboardInterrupt as interrupt:
        print("; ".join(["gpudiy: interrupted", *_notes(interrupt)]), file=sys.stderr)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        discard_output()  # nobody reads our output any more
        return ExitCode.FINE
    except OSError as error:
        if error.filename is None:
            discard_output()  # standard output cannot be written
        _print_error(f"gpudiy: error: {error.filename or 'output'}: {error.strerror}", error)
        return ExitCode.FAILED
    except Exception as error:
        return _report_fault(error)


def _print_error(message: str, error: BaseException) -> None:
    from gpudiy.cli.progress import say

    say("\n".join([message, *_notes(error)]))


def _notes(error: BaseException) -> list[str]:
    return getattr(error, "__notes__", [])


def _report_fault(error: Exception) -> int:
    """Report an unexpected error, a fault of gpudiy or of the installation, in one line; raise it if asked to."""
    if os.environ.get(TRACEBACK):
        raise error
    if isinstance(error, ModuleNotFoundError):
        what = f"the Python package {error.name!r} is missing; install it: pip install 'gpudiy[all]'"
    else:
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        what = f"this is a bug in gpudiy: {problem[:LONGEST_FAULT]}\n  {TRACEBACK}=1 in the environment shows where"
    print(f"gpudiy: error: {what}", file=sys.stderr)
    return ExitCode.FAILED


def _run(words: list[str]) -> int:
    if words and words[0] in VERBS:
        return run_verb(words[0], words[1:])
    if words and not words[0].startswith("-"):
        return report_unknown_word("gpudiy", "verb", words[0], list(VERBS))
    parser = _parser()
    parser.parse_args(words)
    parser.print_help(sys.stderr)
    return ExitCode.BAD_INPUT


def report_unknown_word(command: str, kind: str, word: str, known: list[str]) -> int:
    """Print that a verb does not exist and which one has a similar name; the exit code."""
    from gpudiy.errors import near_name

    hint = near_name(word, known) or f"`{command} --help` lists them"
    print(f"{command}: error: there is no {kind} {word!r}\n  {hint}", file=sys.stderr)
    return ExitCode.BAD_INPUT


def _open_streams() -> None:
    """Replace closed streams by ones that discard everything; a character that cannot be encoded becomes `?`."""
    sys.stdout = DiscardedOutput() if sys.stdout is None else sys.stdout
    sys.stderr = DiscardedOutput() if sys.stderr is None else sys.stderr
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def discard_output() -> None:
    """Discard the rest of standard output; otherwise Python complains when it ends."""
    try:
        with Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), sys.stdout.fileno())
    except OSError:
        sys.stdout = DiscardedOutput()


class DiscardedOutput(io.TextIOBase):
    """A stream that keeps nothing."""

    def write(self, text: str) -> int:
        return len(text)


def run_verb(verb: str, arguments: list[str]) -> int:
    """Parse the arguments of a verb, run it and return its exit code."""
    name, what = verb, VERBS[verb]
    subverbs = [word for owner, word in SUBVERBS if owner == verb]
    if arguments and arguments[0] in subverbs:
        name, what = f"{verb} {arguments[0]}", SUBVERBS[verb, arguments[0]]
        arguments = arguments[1:]
    elif verb in ("lock", "campaign") and arguments and not arguments[0].startswith("-"):
        return report_unknown_word(f"gpudiy {verb}", "verb", arguments[0], subverbs)
    result: int = verb_module(name).run(verb_parser(name, what).parse_args(arguments))
    return result


def verb_module(name: str) -> ModuleType:
    """The module of a verb, or of a verb and its subverb."""
    return import_module(f"gpudiy.cli.{name.replace(' ', '_')}")


def verb_parser(name: str, what: str) -> ArgumentParser:
    """The parser of a verb, or of a verb and its subverb."""
    module = verb_module(name)
    parser = ArgumentParser(
        prog=f"gpudiy {name}",
        description=what[0].upper() + what[1:] + ".",
        epilog=module.EPILOG,
        formatter_class=HelpText,
    )
    module.add_arguments(parser)
    return parser


def _parser() -> ArgumentParser:
    verbs = "\n".join(f"  {verb:<12}{what}" for verb, what in VERBS.items())
    parser = ArgumentParser(
        prog="gpudiy",
        description="Find out what the memory models of GPUs really are.",
        epilog=f"verbs:\n{verbs}\n\n`gpudiy VERB --help` describes one of them.",
        formatter_class=HelpText,
    )
    parser.add_argument("--version", action="version", version=f"gpudiy {__version__}")
    parser.add_argument("verb", metavar="VERB", nargs="?", choices=VERBS, help="what to do, see below")
    return parser
