"""Options of all verbs for locks: how to read the source, and which models judge the lock."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudiy.locks.source import Reading

LOCK_HELP = "a lock of the library (see `gpudiy lock list`), or a file: .cu .cuh .h .cpp .ptx .lock"


def add_reading_arguments(parser: ArgumentParser) -> None:
    """Add the options for `reading_of`."""
    reading = parser.add_argument_group("how to read a source")
    reading.add_argument("--lock", metavar="NAME", dest="acquire", help="the function that acquires the lock")
    reading.add_argument("--unlock", metavar="NAME", dest="release", help="the function that releases the lock")
    reading.add_argument("--init", metavar="NAME=VALUE", action="append", default=[], type=_initial,
                         help="value of a variable while the lock is free (default: 0, 1 or -1, as works)")  # fmt: skip
    reading.add_argument("--placement", metavar="P", default=None,
                         help="how far apart the threads of the lock can be: warp, cta, cluster, gpu or sys "
                         "(default: cta for a lock in shared memory, else gpu)")  # fmt: skip
    reading.add_argument("--arch", metavar="SM", default=None, help="architecture to compile for (default: sm_75)")
    reading.add_argument("-I", metavar="DIR", dest="includes", action="append", default=[], help="folder of headers")


def add_model_argument(parser: ArgumentParser) -> None:
    """Add the option for `model_names`."""
    parser.add_argument(
        "--models", "-m", metavar="M1,M2", default="ptx-6.0", help="library models or .cat files (default: %(default)s)"
    )


def reading_of(arguments: Namespace) -> Reading:
    """How the options say that a source is read."""
    from gpudiy.locks.placement import find_placement
    from gpudiy.locks.read_cuda import ARCHITECTURE
    from gpudiy.locks.source import Reading

    return Reading(
        (arguments.acquire, arguments.release),
        arguments.arch or ARCHITECTURE,
        tuple(arguments.includes),
        tuple(arguments.init),
        None if arguments.placement is None else find_placement(arguments.placement),
    )


def model_names(arguments: Namespace) -> tuple[str, ...]:
    """The models of `--models`; raise `InputError` for one that cannot be loaded."""
    from gpudiy.models.library import list_model_names, load_model

    names = tuple(list_model_names(arguments.models))
    for name in names:
        load_model(name)
    return names


def _initial(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), int(value, 0)
    except ValueError:
        raise ArgumentTypeError(f"expected NAME=VALUE, such as mutex=1, not {text!r}") from None
