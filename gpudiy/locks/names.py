"""Which functions of a source take a lock and which give it back, by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gpudiy.errors import InputError, near_name
from gpudiy.locks.lock_program import source_error

RELEASE = re.compile(r"unlock|release|leave|exit_cs|give|free_lock", re.IGNORECASE)
ACQUIRE = re.compile(r"lock|acquire|enter|take", re.IGNORECASE)

Pair = tuple[str | None, str | None]  # the functions a person named: to take the lock, and to give it back


def choose_pair(
    functions: Sequence[str], names: Pair, path: str, source: str, lines: Mapping[str, int]
) -> tuple[str, str]:
    """The function that takes the lock and the one that gives it back; raises where that is not clear."""
    releases = [name for name in functions if RELEASE.search(_last(name))]
    acquires = [name for name in functions if ACQUIRE.search(_last(name)) and name not in releases]
    acquire = _choose("takes the lock", "--lock", names[0], functions, acquires, path, source, lines)
    release = _choose("gives the lock back", "--unlock", names[1], functions, releases, path, source, lines)
    return acquire, release


def _choose(
    what: str,
    option: str,
    name: str | None,
    functions: Sequence[str],
    candidates: Sequence[str],
    path: str,
    source: str,
    lines: Mapping[str, int],
) -> str:
    if name is not None:
        named = [function for function in functions if name in (function, _last(function))]
        if len(named) == 1:
            return named[0]
        if not named:
            hint = near_name(name, list(functions)) or "functions: " + (", ".join(functions) or "none")
            raise InputError(f"there is no device function {name}", path=path, hint=hint)
        candidates = named
    if not candidates:
        hint = f"mark the critical section with `// critical section`, or name the function: {option} NAME"
        if functions:
            hint += f" (there are {', '.join(functions)})"
        raise InputError(f"no lock found: no device function {what}", path=path, hint=hint)
    if len(candidates) > 1:
        hint = f"choose with {option} {candidates[0]} or {option} {candidates[1]}"
        line = lines.get(candidates[1], 0)
        text = source.split("\n")[line - 1] if line else ""
        column = max(0, text.find(_last(candidates[1]))) + 1
        raise source_error(
            path, source, f"several functions {_plural(what)}: {', '.join(candidates)}", line, column, hint
        )
    return candidates[0]


def _plural(what: str) -> str:
    return what.replace("takes", "take").replace("gives", "give")


def _last(name: str) -> str:
    """The name without the class it belongs to."""
    return name.rpartition("::")[2]
