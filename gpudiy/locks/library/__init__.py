"""The library of locks; a wrong lock names its fault and its fixed version."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpudiy.locks.source import library_file, library_names

COMMENT = re.compile(r"^\s*(?://|#)\s?(.*)$")
MENDED = re.compile(r"mended: ([\w-]+)")


@dataclass(frozen=True, slots=True)
class LibraryLock:
    """A lock of the library; `wrong` says what is wrong with it, `mended` names its fixed version."""

    name: str
    file: str
    what: str
    source: str
    wrong: str = ""
    mended: str | None = None


def list_library() -> list[LibraryLock]:
    """All locks of the library, by name."""
    names = library_names()
    return [_read_entry(name, names) for name in names]


def _read_entry(name: str, names: list[str]) -> LibraryLock:
    file = library_file(name)
    lines = file.read_text(encoding="utf-8").split("\n")
    comments = [match[1] for line in lines if (match := COMMENT.match(line))]
    described = next((line.partition(" ")[2].strip('"') for line in lines if line.startswith("source ")), "")
    what = described or (comments[0].rstrip(".") if comments else "")
    source = described or " ".join(_paragraph(comments, "Source:"))
    wrong = " ".join(_paragraph(comments, "Wrong:"))
    mended = MENDED.search(wrong)
    twin = mended[1] if mended else f"{name}-fixed" if f"{name}-fixed" in names else None
    return LibraryLock(name, file.name, what, source, wrong, twin if wrong else None)


def _paragraph(comments: list[str], word: str) -> list[str]:
    """The text after a word at the start of a comment line, with its continuation lines."""
    for number, line in enumerate(comments):
        if line.startswith(word):
            following = [line.removeprefix(word).strip()]
            for more in comments[number + 1 :]:
                if not more.startswith("  "):
                    break
                following.append(more.strip())
            return following
    return []
