"""`gpudiy lock tests`: write the tests that check a lock."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from gpudiy.cli.lock_reading import LOCK_HELP, add_reading_arguments, reading_of
from gpudiy.cli.progress import progress, say
from gpudiy.errors import format_count
from gpudiy.files import write_whole

EPILOG = """\
The name of a test is LOCK+QUESTION+THREADS+PLACEMENT. Placements: all threads in one warp (warp) or one CTA (cta),
every thread in a different CTA (ctas) or CTA of one cluster (cluster), only the last thread in a different CTA (mixed).
+gs: the data is in shared space; +sg: the lock is; +ss: both are. +retryN: the last thread fails once before it
enters. +wayN…: the ways that the threads take, 0 for the direct one; others are, for example, to give up. +early: loads
inside do not wait for the branch before them. `library` means all locks of the library.

examples:
  gpudiy lock tests he-yu-spinlock -o tests
  gpudiy lock tests my-lock.cu --question stale-value

exit code: 0 done, 2 bad input, 3 the compiler is missing"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("locks", metavar="LOCK", nargs="+", help=LOCK_HELP)
    parser.add_argument(
        "-o", "--output", metavar="DIR", default="-", help="one file per test in DIR; -: standard output"
    )
    parser.add_argument("--question", metavar="Q", action="append", help="only tests of this question")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress")
    add_reading_arguments(parser)


def run(arguments: Namespace) -> int:
    from gpudiy.litmus.printer import print_test
    from gpudiy.locks.generation import build_lock_tests
    from gpudiy.locks.judge import format_assumptions, list_assumptions
    from gpudiy.locks.question import Question, find_question
    from gpudiy.locks.source import load_locks

    questions = list(map(find_question, arguments.question or Question))
    locks = load_locks(arguments.locks, reading_of(arguments))
    tests = build_lock_tests(locks, questions, lambda cases: progress(cases, "tests built", arguments.quiet))
    if arguments.output == "-":
        print("\n".join(print_test(found.test) for found in tests), end="")
        return 0
    folder = Path(arguments.output)
    for found in tests:
        write_whole(folder / f"{found.test.name}.litmus", print_test(found.test))
    say(f"{format_count(len(tests), 'test')} in {folder}")
    for lock in locks:
        say(f"{lock.name}: {format_assumptions(list_assumptions(lock, ()))}")
    return 0
