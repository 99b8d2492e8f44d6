"""The version of what writes and checks the code of tests: when it changes, nothing that was kept is used."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path


@cache
def builder_version() -> str:
    """A hash of the source of the packages that write and check code."""
    import gpudiy.litmus
    import optcheck

    digest = sha256()
    for package in (Path(optcheck.__file__).parent, Path(gpudiy.litmus.__file__).parent, Path(__file__).parent):
        for path in sorted(package.glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
