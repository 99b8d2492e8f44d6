"""The tests of a campaign: written once as files, then read through an index."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gpudiy.campaign.plan import CampaignPlan
from gpudiy.diy.families import find_family
from gpudiy.diy.generator import Generator
from gpudiy.diy.writer import INDEX, SUFFIX, write_directory
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.draft import SourcedTest
from gpudiy.litmus.errors import LitmusError
from gpudiy.litmus.printer import print_any_test
from gpudiy.litmus.reader import read_test
from gpudiy.litmus.sources import find_sources, load_each_with_places, load_tests
from gpudiy.litmus.test import Test

TESTS = "tests"
GIVEN = "given"  # the folder for copies of test files


@dataclass(frozen=True, slots=True)
class PlannedTest:
    """A test of the campaign: its name, the hash of its meaning, and its file."""

    name: str
    hash: str
    path: Path

    def load(self) -> Test:
        return read_test(self.path.read_text(encoding="utf-8"), str(self.path))

    def load_with_places(self) -> SourcedTest:
        """The test with its source, to report a problem with its place."""
        found = next(load_each_with_places(str(self.path)))
        if isinstance(found, LitmusError):
            raise found
        return found


def collect_tests(plan: CampaignPlan) -> list[PlannedTest]:
    """The tests of the plan, each once, in a stable order; missing files are written."""
    found: dict[str, PlannedTest] = {}
    for folder in _prepare_folders(plan):
        for test in _read_index(folder):
            found.setdefault(test.hash, test)
    tests = list(found.values())
    if 0 < plan.tests.sample < len(tests):
        seed = plan.run.seeds[0] if plan.run.seeds else 0
        chosen = sorted(tests, key=lambda test: _rank(test.hash, seed))[: plan.tests.sample]
        kept = {test.hash for test in chosen}
        tests = [test for test in tests if test.hash in kept]
    return tests


def check_families(plan: CampaignPlan) -> None:
    """Raise `InputError` for a family that does not exist."""
    for family in plan.tests.families:
        find_family(family)


def _prepare_folders(plan: CampaignPlan) -> Iterator[Path]:
    check_families(plan)
    root = plan.directory / TESTS
    for family in plan.tests.families:
        folder = root / family
        if not (folder / INDEX).exists():
            for _ in write_directory(Generator(find_family(family).recipe()).blueprints(), folder):
                pass
        yield folder
    if plan.tests.paths:
        yield _copy_tests(plan, root / GIVEN)


def _copy_tests(plan: CampaignPlan, folder: Path) -> Path:
    """Copy the test files of the plan, each time anew, because they may have changed."""
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    lines = []
    for name, test in _name_files(_load_tests(plan)):
        (part / f"{name}{SUFFIX}").write_text(print_any_test(test), encoding="utf-8")
        lines.append(json.dumps({"name": name, "content_hash": content_hash(test)}))
    (part / INDEX).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    return folder


def _load_tests(plan: CampaignPlan) -> Iterator[Test]:
    for source in find_sources([str(plan.path(path)) for path in plan.tests.paths]):
        yield from load_tests(source)


def _name_files(tests: Iterable[Test]) -> Iterator[tuple[str, Test]]:
    """Each test once, with a unique file name: different tests of the same name get their hash as a suffix."""
    names: dict[str, str] = {}
    hashes = set()
    for test in tests:
        digest = content_hash(test)
        if digest in hashes:
            continue
        hashes.add(digest)
        name = test.name.replace("/", "_")
        if names.setdefault(name, digest) != digest:
            name = f"{name}-{digest[:8]}"
        yield name, test


def _read_index(folder: Path) -> Iterator[PlannedTest]:
    with (folder / INDEX).open(encoding="utf-8") as index:
        for line in index:
            entry = json.loads(line)
            yield PlannedTest(entry["name"], entry["content_hash"], folder / f"{entry['name']}{SUFFIX}")


def _rank(digest: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed} {digest}".encode()).digest()
