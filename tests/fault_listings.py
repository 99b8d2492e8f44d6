"""Listings of real tests with their frames, to put faults into.

As a script it checks functions of these listings, each in a process that checked nothing before: it reads a list of
[listing, text] as JSON, and prints one line for each.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

from gpudiy.litmus import Test, read_test
from optcheck.check import check_kernels
from optcheck.finding import Check
from optcheck.frame import Frame, StoredResult
from optcheck.listing import SassError

FOLDER = Path(__file__).parent / "data" / "sass" / "faults"
NAMES = sorted(path.stem for path in FOLDER.glob("*.sass"))


def frame_of(name: str) -> Frame:
    given = json.loads((FOLDER / "frames.json").read_text())[name]
    results = tuple(tuple(StoredResult(**one) for one in thread) for thread in given["results"])
    lists = {key: tuple(given[key]) for key in ("constants", "variables", "shared")}
    return Frame(**{**given, **lists, "results": results, "offsets": tuple(map(tuple, given["offsets"]))})


def read_case(listing: str) -> Test:
    return read_test((FOLDER / f"{listing.partition('-')[0]}.litmus").read_text())


def check(listing: str, text: str) -> Check:
    test, frame = read_case(listing), frame_of(listing.partition("-")[0])
    function = re.search(r"^\.text\.(\w+):", text, re.MULTILINE)
    assert function is not None
    (found,) = check_kernels(text, {function[1]: test}, frames=lambda name, test: frame)
    return found


def edited(listing: str, edits: dict[str, list[str]]) -> str:
    text = (FOLDER / f"{listing}.sass").read_text()
    for address, codes in edits.items():
        new = "\n".join(f"        /*{address}*/                   {code} ;" for code in codes)
        text, count = re.subn(rf"^\s*/\*{address}\*/.*$", lambda _, new=new: new, text, flags=re.MULTILINE)  # type: ignore[misc]
        assert count == 1, address
    return text


def describe(listing: str, text: str) -> str:
    """All that optcheck says about a function, in one line."""
    try:
        found = check(listing, text)
    except SassError as error:  # a fault may leave a listing that cannot be read
        return repr(error)
    return repr((found.finding, found.deviations, found.clusters))


def main() -> None:
    for listing, text in json.loads(sys.stdin.read()):
        child = os.fork()
        if not child:
            print(json.dumps(describe(listing, text)), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
