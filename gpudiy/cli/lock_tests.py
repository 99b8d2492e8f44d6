"""`gpudiy lock tests`: the tests that ask whether a lock is right."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from gpudiy.cli.lock_reading import LOCK_HELP, add_reading_arguments, reading_of
from gpudiy.cli.progress import progress, say
from gpudiy.files import write_whole

EPILOG = """\
A test is named LOCK+QUESTION+THREADS+PLACEMENT: the threads stand in one warp, in one cta, each in a CTA of one
cluster, each in a CTA of its own (ctas), or the last in a CTA of its own (mixed). +gs says that the data are in shared
space, +sg that the lock is, +ss both; +retryN that the last thread fails once before it enters, +early that loads
inside do not wait for the branch before them. `library` stands for all locks of the library.

examples:
  gpudiy lock tests he-yu-spinlock -o tests
  gpudiy lock tests my-lock.cu --question stale-value

exit code: 0 done, 2 bad input, 3 the compiler is not there"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("locks", metavar="LOCK", nargs="+", help=LOCK_HELP)
    parser.add_argument("-o", "--output", metavar="DIR", default="-", help="a file each in DIR; - is standard output")
    parser.add_argument("--question", metavar="Q", action="append", help="only tests of this question")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress")
    add_reading_arguments(parser)


def run(arguments: Namespace) -> int:
    from gpudiy.errors import InputError, near_name
    from gpudiy.litmus.printer import print_test
    from gpudiy.locks.generation import cases, lock_test
    from gpudiy.locks.question import Question
    from gpudiy.locks.source import library_names, load_lock

    questions = [question.value for question in Question]
    for name in arguments.question or ():
        if name not in questions:
            hint = near_name(name, questions) or "questions: " + ", ".join(questions)
            raise InputError(f"unknown question {name!r}", hint=hint)
    names = [name for word in arguments.locks for name in (library_names() if word == "library" else [word])]
    locks = [load_lock(name, reading_of(arguments)) for name in names]
    wanted = [case for lock in locks for case in cases(lock)]
    wanted = [case for case in wanted if not arguments.question or case.question in arguments.question]
    watched = progress(wanted, "tests made", arguments.quiet)
    made = [found for case in watched if (found := lock_test(case)) is not None]
    if arguments.output == "-":
        print("\n".join(print_test(found.test) for found in made), end="")
        return 0
    folder = Path(arguments.output)
    for found in made:
        write_whole(folder / f"{found.test.name}.litmus", print_test(found.test))
    say(f"{len(made):,} tests in {folder}")
    return 0
