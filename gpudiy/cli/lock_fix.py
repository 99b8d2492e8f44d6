"""`gpudiy lock fix`: the weakest changes that mend a lock."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from functools import partial
from typing import TYPE_CHECKING

from gpudiy.cli.argument_types import positive
from gpudiy.cli.lock_reading import LOCK_HELP, add_model_argument, add_reading_arguments, models_of, reading_of
from gpudiy.cli.progress import progress, say

if TYPE_CHECKING:
    from gpudiy.locks.lock import Lock
    from gpudiy.locks.repair import LockRepair, Repairer
    from gpudiy.locks.source import Reading

EPILOG = """\
A repair is a smallest set of fences, stronger orders, wider scopes and atomics in the place of plain accesses after
which all models forbid every outcome in question; nothing weaker does. The cheapest comes first: cta before gpu before
sys, acq_rel before sc. The mended source is read, compiled and checked again before it is shown. A model that knows no
orders of accesses is given fences and atomics only.

examples:
  gpudiy lock fix he-yu-spinlock --models ptx-asplos15
  gpudiy lock fix my-lock.cu --lock take --unlock give

exit code: 0 nothing is wrong, 1 something is, 2 bad input, 3 the compiler is not there"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("lock", metavar="LOCK", help=LOCK_HELP)
    add_model_argument(parser)
    parser.add_argument("--most", type=positive, default=3, metavar="N", help="repairs to show (default: 3)")
    parser.add_argument("--json", action="store_true", help="a JSON line for each repair")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress")
    add_reading_arguments(parser)


def run(arguments: Namespace) -> int:
    from gpudiy.errors import InputError
    from gpudiy.locks.repair import Repairer
    from gpudiy.locks.source import load_lock

    models = models_of(arguments)
    reading = reading_of(arguments)
    lock = load_lock(arguments.lock, reading)
    repairer = Repairer(lock, models, watch=partial(progress, what="repairs looked at", quiet=arguments.quiet))
    unsupported = repairer.unsupported()
    if unsupported is not None:
        raise InputError(f"{lock.name}: {unsupported}", path=lock.program.path)
    repairs = repairer.repairs(arguments.most)
    if not repairs:
        say(f"{lock.name}: wrong, and no fences, orders, scopes or atomics of its own mend it")
        return 1
    if not repairs[0].changes:
        if not arguments.json:
            print(f"{lock.name}: nothing is wrong by {_names(arguments)}")
        return 0
    for number, repair in enumerate(repairs, 1):
        _show(arguments, repairer, repair, number, reading)
    return 1


def _names(arguments: Namespace) -> str:
    return ", ".join(arguments.models.replace(",", " ").split())


def _show(arguments: Namespace, repairer: Repairer, repair: LockRepair, number: int, reading: Reading) -> None:
    from gpudiy.locks.patch import CannotRewrite, patch_source, write_difference

    program = repairer.lock.program
    try:
        new = patch_source(program, repair.changes)
        difference_text = write_difference(program.source, new, program.path)
        checked = _checks(repairer, new, reading)
    except CannotRewrite:
        difference_text, checked = "", False
    changes = [change.text(program) for change in repair.changes]
    if arguments.json:
        print(json.dumps({"lock": repairer.lock.name, "repair": number, "cost": repair.cost, "changes": changes,
                          "diff": difference_text, "checked": checked}))  # fmt: skip
        return
    print(f"repair {number} of {repairer.lock.name}, cost {repair.cost}:")
    print("\n".join(f"  {change}" for change in changes))
    print(f"\n{difference_text}" if difference_text else "\n(the source has no place for it: change it by hand)")
    if checked:
        print(f"checked again: every outcome in question is forbidden by {_names(arguments)}\n")
    else:
        print("the mended source could not be checked again: look at what the compiler makes of it\n")


def _checks(repairer: Repairer, source: str, reading: Reading) -> bool:
    """Whether the mended source, read and compiled again, passes."""
    from gpudiy.errors import InputError
    from gpudiy.locks.source import read_lock

    try:
        mended: Lock = read_lock(source, repairer.lock.program.path, reading)
    except InputError:
        return False
    return repairer.holds(mended)
