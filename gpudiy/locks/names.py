"""Find the acquire and the release function of a source by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gpudiy.errors import InputError, near_name
from gpudiy.locks.lock_program import source_error

RELEASE = re.compile(r"unlock|release|leave|exit_cs|give|free_lock", re.IGNORECASE)
ACQUIRE = re.compile(r"lock|acquire|enter|take", re.IGNORECASE)

Pair = tuple[str | None, str | None]  # the acquire and the release function that the user named


def choose_pair(
    functions: Sequence[str], names: Pair, path: str, source: str, lines: Mapping[str, int]
) -> tuple[str, str]:
    """The acquire and the release function; raise `InputError` where they are not clear."""
    releases = [name for name in functions if RELEASE.search(_last(name))]
    acquires = [name for name in functions if ACQUIRE.search(_last(name)) and name not in releases]
    acquire = _choose("acquires the lock", "--lock", names[0], functions, acquires, path, source, lines)
    release = _choose("releases the lock", "--unlock", names[1], functions, releases, path, source, lines)
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
            raise InputError(f"no device function {name}", path=path, hint=hint)
        candidates = named
    if not candidates:
        hint = f"mark the critical section with `// critical section`, or name the function: {option} NAME"
        if functions:
            hint += f" (found: {', '.join(functions)})"
        raise InputError(f"no lock found: no device function {what}", path=path, hint=hint)
    if len(candidates) > 1:
        hint = f"choose with {option} {candidates[0]} or {option} {candidates[1]}"
        line = lines.get(candidates[1], 0)
        text = source.split("\n")[line - 1] if line else ""
        column = max(0, text.find(_last(candidates[1]))) + 1
        problem = f"several functions {what.replace('s the lock', ' the lock')}: {', '.join(candidates)}"
        raise source_error(path, source, problem, line, column, hint)
    return candidates[0]


def _last(name: str) -> str:
    """The name without the class it belongs to."""
    return name.rpartition("::")[2]
