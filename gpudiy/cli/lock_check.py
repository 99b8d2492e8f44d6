"""`gpudiy lock check`: ask models and devices whether a lock is right."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiy.cli.argument_types import natural, positive
from gpudiy.cli.lock_reading import LOCK_HELP, add_model_argument, add_reading_arguments, models_of, reading_of
from gpudiy.cli.progress import RunProgress, progress, say
from gpudiy.files import expect_writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpudiy.locks.judgement import Finding

EPILOG = """\
Every question is put to 2 and to 3 threads in every placement, with lock and data in global and in shared space:
`allowed 30 of 44` says in how many of these settings the model allows what must not be. A question to which a model
gives no meaning is unsupported, never fine. `library` stands for all locks of the library.

examples:
  gpudiy lock check he-yu-spinlock --models ptx-asplos15
  gpudiy lock check my-lock.cu --models ptx-6.0 --device opencl -s 1000000
  gpudiy lock check library --models ptx-6.0 -j 2

exit code: 0 right, 1 wrong, 2 bad input or a model gives the lock no meaning, 3 undecided or a tool or device failed"""
WRONG, NO_MEANING, FAILED = 1, 2, 3


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("locks", metavar="LOCK", nargs="+", help=LOCK_HELP)
    add_model_argument(parser)
    parser.add_argument("--device", "-d", metavar="D[,D2]", help="run the tests here too: opencl, sim:kepler, cuda:0")
    parser.add_argument("-s", "--iterations", type=positive, default=100_000, metavar="N",
                        help="iterations of each test on a device (default: 100,000)")  # fmt: skip
    parser.add_argument("--seed", type=natural, default=1, metavar="N", help="of the runs on devices (default: 1)")
    parser.add_argument("--witness", metavar="DIR", help="draw an execution for every question a model finds wrong")
    parser.add_argument(
        "--format", choices=("svg", "png", "dot", "json"), default="svg", help="of witnesses (default: svg)"
    )
    parser.add_argument("-j", "--jobs", type=positive, default=1, metavar="N", help="worker processes (default: 1)")
    parser.add_argument("--json", action="store_true", help="a JSON line for each answer")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress")
    add_reading_arguments(parser)


def run(arguments: Namespace) -> int:
    from gpudiy.cli.lock_output import print_answers
    from gpudiy.devices.opening import check_kind
    from gpudiy.locks.experiment import run_lock_tests
    from gpudiy.locks.judgement import Judge
    from gpudiy.locks.source import library_names, load_lock

    names = [name for word in arguments.locks for name in (library_names() if word == "library" else [word])]
    models_of(arguments)
    if arguments.witness:
        expect_writable(arguments.witness, folder=True)
    models = tuple(dict.fromkeys(arguments.models.replace(",", " ").split()))
    devices = (arguments.device or "").replace(",", " ").split()
    for device in devices:
        check_kind(device)
    locks = [load_lock(name, reading_of(arguments)) for name in names]
    findings = Judge(models).judge_all(
        locks, arguments.jobs, lambda keys: progress(keys, "tests decided", arguments.quiet)
    )
    experiment = run_lock_tests(
        locks,
        devices,
        iterations=arguments.iterations,
        seed=arguments.seed,
        watch=lambda tests: RunProgress(tests, arguments.iterations, arguments.quiet),
        report_failure=lambda failure: say(failure.report("gpudiy lock check")),
    )
    print_answers(locks, models, findings, experiment, arguments.json)
    if arguments.witness:
        _draw(Path(arguments.witness), arguments.format, findings, models)
    return exit_code(findings, experiment.seen, experiment.failed)


def exit_code(findings: Sequence[Finding], seen: bool, failed: bool) -> int:
    """Wrong is wrong, whatever else could not be found out."""
    from gpudiy.models.verdict import Answer

    answers = {finding.verdict.answer for finding in findings}
    if Answer.ALLOWED in answers or seen:
        return WRONG
    if answers & {Answer.OUT_OF_TIME, Answer.BOUNDED} or failed:
        return FAILED
    return NO_MEANING if Answer.NOT_SUPPORTED in answers else 0


def _draw(folder: Path, suffix: str, findings: Sequence[Finding], models: tuple[str, ...]) -> None:
    from gpudiy.locks.question import Question
    from gpudiy.locks.witness import picture, simplest, witness
    from gpudiy.models.library import load_model
    from gpudiy.pictures.writing import write_picture

    drawn = 0
    for lock in dict.fromkeys(finding.case.lock.name for finding in findings):
        own = [finding for finding in findings if finding.case.lock.name == lock]
        for model in models:
            for question in Question:
                case = simplest(own, question, model)
                found = None if case is None else witness(case, load_model(model))
                if found is not None:
                    model_name = Path(model).name.removesuffix(".cat")
                    name = f"{lock}+{question}+{model_name}.{suffix}"
                    write_picture(picture(found), folder / name)
                    drawn += 1
    say(f"{drawn:,} witness{'es' * (drawn != 1)} in {folder}" if drawn else "nothing is wrong: no witness to draw")
