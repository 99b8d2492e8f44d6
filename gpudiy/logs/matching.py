"""Which records are about the same test: by the hash of its meaning, by its text, else by its name.

Reading a test costs a thousand times what comparing two names costs, so that a hash is computed only where names and
texts leave a doubt.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache

from gpudiy.logs.columns import Columns

OWN_TOOL = "gpudiy"
FIRST_LINE = re.compile(r"\A\s*\S+[ \t]+\S+[ \t]*\n")
Signature = tuple[str, str]  # what kind of evidence, and the evidence
HASH, FOREIGN, TEXT = "hash", "foreign hash", "text"


@dataclass(frozen=True, slots=True)
class Matching:
    """`tests[i]` is the number of the test of record i, `names` how tests are called here."""

    tests: list[int]
    names: list[str]
    clashes: tuple[str, ...] = ()


def match_tests(columns: Columns) -> Matching:
    """Number the tests of all records. A name that is used for different tests is a clash: these are kept apart."""
    kinds: dict[tuple[str, str, str, str], list[int]] = {}
    for place, kind in enumerate(zip(*(columns[name] for name in ("test", "hash", "tool", "text")), strict=True)):
        if kind in kinds:
            kinds[kind].append(place)
        else:
            kinds[kind] = [place]
    by_name: dict[str, dict[Signature, list[int]]] = {}
    for (name, hash, tool, text), places in kinds.items():
        by_name.setdefault(name, {}).setdefault(_signature(hash, tool, text), []).extend(places)
    return _number_tests(by_name, columns)


def _number_tests(by_name: dict[str, dict[Signature, list[int]]], columns: Columns) -> Matching:
    tests = [-1] * len(columns)
    names: list[str] = []
    clashes: list[str] = []
    same: dict[Signature, int] = {}
    for name, groups in by_name.items():
        parts = list(groups.items()) if len(groups) == 1 else _parts(groups, columns)
        if len(parts) > 1:
            clashes.append(_clash(name, parts, columns))
        for signature, places in parts:
            known = same.get(signature)
            if known is None:
                known = len(names)
                names.append(name if len(parts) == 1 else f"{name}#{_short(signature)}")
                if signature[1] and signature[0] != FOREIGN:
                    same[signature] = known
            for place in places:
                tests[place] = known
    return Matching(tests, names, tuple(clashes))


def _signature(hash: str, tool: str, text: str) -> Signature:
    if hash:
        return (HASH if tool.startswith(OWN_TOOL) else FOREIGN), hash
    return (TEXT, normal_text(text)) if text else (TEXT, "")


@lru_cache(maxsize=1 << 16)
def normal_text(text: str) -> str:
    """The text without its name and its layout."""
    return " ".join(FIRST_LINE.sub("", text, count=1).split())


def _parts(groups: dict[Signature, list[int]], columns: Columns) -> list[tuple[Signature, list[int]]]:
    """The records of one name, by test. A record without a hash and without a text belongs to its name."""
    described: dict[Signature, list[int]] = defaultdict(list)
    silent: list[int] = []
    for signature, places in groups.items():
        if not signature[1]:
            silent += places
            continue
        kind, _ = signature
        content = _content(columns["text"][places[0]]) if kind != HASH and columns["text"][places[0]] else ""
        described[(HASH, content) if content else signature] += places
    by_kind: dict[str, int] = defaultdict(int)
    for kind, _ in described:
        by_kind[kind] += 1
    if all(number == 1 for number in by_kind.values()):  # one test in each kind of words: nothing speaks against one
        first = next(iter(described), (TEXT, ""))
        return [(first, sorted([*silent, *(place for places in described.values() for place in places)]))]
    parts = list(described.items())
    return [*parts, ((TEXT, ""), silent)] if silent else parts


@lru_cache(maxsize=1 << 14)
def _content(text: str) -> str:
    """The hash of the meaning of a test, or an empty text if the test cannot be read."""
    from gpudiy.litmus import LitmusError, content_hash, read_test

    try:
        return content_hash(read_test(text))
    except LitmusError:
        return ""


def _short(signature: Signature) -> str:
    from gpudiy.litmus.content import digest

    kind, evidence = signature
    return "unknown" if not evidence else (evidence if kind != TEXT else digest(evidence))[:6]


def _clash(name: str, parts: list[tuple[Signature, list[int]]], columns: Columns) -> str:
    places = [f"{columns['file'][found[0]] or 'a log'}:{columns['line'][found[0]]}" for _, found in parts]
    return f"{name} names {len(parts)} different tests: {', '.join(places)}; they are kept apart"
