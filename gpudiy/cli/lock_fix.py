"""`gpudiy lock fix`: the weakest changes that fix a lock."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from functools import partial
from typing import TYPE_CHECKING

from gpudiy.cli.argument_types import positive
from gpudiy.cli.lock_reading import LOCK_HELP, add_model_argument, add_reading_arguments, model_names, reading_of
from gpudiy.cli.progress import progress, say
from gpudiy.errors import ExitCode

if TYPE_CHECKING:
    from gpudiy.locks.fix import LockFix

EPILOG = """\
A repair is a smallest set of new fences, stronger orders, wider scopes, and atomics in place of plain accesses after
which all models forbid every outcome in question. The cheapest repair comes first: cta before gpu before sys, acq_rel
before sc. The changed source is read, compiled and checked again. For a model without orders of accesses, repairs use
only fences and atomics.

examples:
  gpudiy lock fix he-yu-spinlock --models ptx-asplos15
  gpudiy lock fix my-lock.cu --lock take --unlock give

exit code: 0 the lock is right, 1 it is wrong, 2 bad input, 3 not known, or the compiler is missing"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("lock", metavar="LOCK", help=LOCK_HELP)
    add_model_argument(parser)
    parser.add_argument("--most", type=positive, default=3, metavar="N", help="repairs to show (default: 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON line per repair and per assumption")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress")
    add_reading_arguments(parser)


def run(arguments: Namespace) -> int:
    from gpudiy.locks.fix import fix_lock
    from gpudiy.locks.judge import format_assumptions

    fix = fix_lock(
        arguments.lock, model_names(arguments), most=arguments.most, reading=reading_of(arguments),
        watch=partial(progress, what="repairs tried", quiet=arguments.quiet),
    )  # fmt: skip
    if arguments.json:
        print_rows(fix)
    elif fix.right:
        print(f"{fix.lock.name}: nothing is wrong by {', '.join(fix.models)}")
    elif fix.unknown:
        print(f"{fix.lock.name}: no answer by {', '.join(fix.models)}: {fix.unknown}")
    else:
        print_repairs(fix)
    if fix.assumptions and not arguments.json:
        print(format_assumptions(fix.assumptions))
    if fix.unknown:
        return ExitCode.FAILED
    if not fix.right and not fix.repairs:
        say(f"{fix.lock.name}: {fix.lock.fault or 'it is wrong'}, and no fences, orders, scopes or atomics fix it")
    return ExitCode.FINE if fix.right else ExitCode.NO


def print_rows(fix: LockFix) -> None:
    """Print one line of JSON per repair, and per assumption that the answer rests on."""
    from gpudiy.locks.judge import assumption_rows

    for number, repair in enumerate(fix.repairs, 1):
        print(json.dumps({"lock": fix.lock.name, "repair": number, "cost": repair.cost, "changes": repair.changes,
                          "diff": repair.difference, "checked": repair.checked}))  # fmt: skip
    for row in assumption_rows(fix.lock, fix.assumptions):
        print(json.dumps(row))


def print_repairs(fix: LockFix) -> None:
    """Print each repair in words and as a diff of the source."""
    for number, repair in enumerate(fix.repairs, 1):
        print(f"repair {number} of {fix.lock.name}, cost {repair.cost}:")
        print("\n".join(f"  {change}" for change in repair.changes))
        print(f"\n{repair.difference or '(it cannot be written in this source automatically: change it by hand)'}")
        if repair.checked:
            print(f"checked again: every outcome in question is forbidden by {', '.join(fix.models)}\n")
        else:
            print("the changed source could not be checked again: check the compiled code by hand\n")
