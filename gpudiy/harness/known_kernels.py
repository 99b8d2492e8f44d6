"""What is known of the kernels around tests: they are the same in all modules of a toolchain, and to run them is slow.

An answer is kept by the code of the kernels, in this process and in the cache. Processes that need the same answer at
the same time wait for the first of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gpudiy.errors import UnwritableOutput
from gpudiy.files import write_whole
from gpudiy.harness.builder_version import builder_version
from gpudiy.harness.cache import default_folder

FOLDER = "kernels"  # of the cache


def recall_kernels(key: str, check: Callable[[], str]) -> str:
    """What is wrong with the kernels whose code has this key, or nothing; they are checked if that is not known."""
    if key not in _KNOWN:
        _KNOWN[key] = _recall_from_cache(key, check)
    return _KNOWN[key]


_KNOWN: dict[str, str] = {}


def _recall_from_cache(key: str, check: Callable[[], str]) -> str:
    kept = default_folder() / FOLDER / f"{key[:32]}-{builder_version()}.json"
    with _wait_for_others(kept.with_suffix(".lock")):
        known = _read_answer(kept)
        if known is None:
            known = check()
            with suppress(UnwritableOutput):  # then the next process checks again
                write_whole(kept, json.dumps({"wrong": known}))
        return known


def _read_answer(kept: Path) -> str | None:
    try:
        return str(json.loads(kept.read_text(encoding="utf-8"))["wrong"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextmanager
def _wait_for_others(lock: Path) -> Iterator[None]:
    """Hold a lock where there are locks and the cache can be written."""
    try:
        import fcntl

        lock.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("w")
    except (ImportError, OSError):
        yield
        return
    with file:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
