"""`CampaignPlan`: what a campaign does, as typed and documented fields read from a TOML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from gpudiy.campaign.plan_text import PlanText
from gpudiy.errors import near_name
from gpudiy.logs.memory_place import MemoryPlace

LARGEST = 1 << 40


def _key(
    default: Any, what: str, low: int | None = None, high: int = LARGEST, choices: Sequence[str] | None = None
) -> Any:
    metadata = {"what": what, "low": low, "high": high, "choices": choices}
    if isinstance(default, tuple):
        return field(default=default, metadata=metadata | {"many": type(default[0]) if default else str})
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Tests:
    """Which tests: families, files, or both."""

    __test__ = False  # keeps pytest from collecting the class

    families: tuple[str, ...] = _key((), "families to generate: classic, rmw, dependencies, …")
    paths: tuple[str, ...] = _key((), "test files or directories, relative to the plan")
    sample: int = _key(0, "a random sample of this size, chosen by the first seed; 0: all tests", 0)


@dataclass(frozen=True, slots=True)
class Models:
    """Which models decide the tests."""

    names: tuple[str, ...] = _key(("ptx-6.0",), "library models or .cat files; [] for none")
    limit: int = _key(10, "seconds for one verdict", 1)


@dataclass(frozen=True, slots=True)
class Build:
    """For which architectures the tests are compiled and checked, besides those of the devices."""

    architectures: tuple[str, ...] = _key((), "such as sm_80, sm_90; [] for none")


@dataclass(frozen=True, slots=True)
class Run:
    """How tests are run."""

    devices: tuple[str, ...] = _key((), "such as cuda:0, opencl, vulkan, sim:kepler")
    iterations: int = _key(100_000, "iterations of each test, for each incantation and seed", 1)
    incantations: tuple[str, ...] = _key(("default",), "names or files of settings")
    seeds: tuple[int, ...] = _key((1,), "one run for each seed")
    limit: int = _key(30, "seconds after which a run counts as hanging", 1)
    memory: str = _key("device", "where locations lie on GPUs: device, managed or host", choices=tuple(MemoryPlace))
    rounds: int = _key(1, "later rounds run only tests whose answer is not certain yet", 1, 1000)
    sightings: int = _key(3, "sightings of the weak outcome that make the answer certain", 1)


@dataclass(frozen=True, slots=True)
class CampaignPlan:
    """A whole campaign; it writes everything into `directory`."""

    name: str
    directory: Path
    tests: Tests = Tests()
    models: Models = Models()
    build: Build = Build()
    run: Run = Run()
    report: bool = True
    base: Path = Path()  # the directory of the plan file

    def path(self, name: str) -> Path:
        """A path in the plan; a relative one starts in the directory of the plan file."""
        return self.base / name


SECTIONS: dict[str, type[Tests] | type[Models] | type[Build] | type[Run]] = {
    "tests": Tests,
    "models": Models,
    "build": Build,
    "run": Run,
}
TOP = ("name", "directory", "report")


def read_plan(path: Path) -> CampaignPlan:
    """Read a plan file; raise `InputError` at the place of a mistake."""
    return parse_plan(PlanText.read(path), path)


def parse_plan(text: PlanText, path: Path) -> CampaignPlan:
    """The plan in the text of the file `path`; raise `InputError` at the place of a mistake."""
    for key in text.values:
        if key not in SECTIONS and key not in TOP:
            raise text.error(key, f"a plan has no key {key!r}", near_name(key, (*SECTIONS, *TOP)))
    sections = {name: _section(text, name, kind) for name, kind in SECTIONS.items()}
    name = _check_type(text, "name", text.values.get("name", path.stem), str)
    directory = _check_type(text, "directory", text.values.get("directory", f"{path.stem}.campaign"), str)
    report = _check_type(text, "report", text.values.get("report", True), bool)
    plan = CampaignPlan(name, path.parent / directory, report=report, base=path.parent, **sections)
    if not plan.tests.families and not plan.tests.paths:
        raise text.error("tests", "the plan names no tests", "give families = […] or paths = […] in [tests]")
    if not plan.run.devices and not plan.models.names and not plan.build.architectures:
        raise text.error("run", "the plan has nothing to do", "give devices = […] in [run]")
    return plan


def _section(text: PlanText, name: str, kind: type[Any]) -> Any:
    values = text.values.get(name, {})
    if not isinstance(values, dict):
        raise text.error(name, f"{name} is a section: write [{name}]")
    known = {entry.name: entry for entry in fields(kind)}
    for key in values:
        if key not in known:
            raise text.error(f"{name}.{key}", f"[{name}] has no key {key!r}", near_name(key, tuple(known)))
    return kind(**{key: _value(text, f"{name}.{key}", value, known[key]) for key, value in values.items()})


def _value(text: PlanText, key: str, value: object, entry: Field[Any]) -> object:
    many = entry.metadata.get("many")
    if many is None:
        assert entry.default is not MISSING
        return _check_range(text, key, _check_type(text, key, value, type(entry.default)), entry)
    if not isinstance(value, list):
        raise text.error(key, f"{key} must be a list: [{value!r}]")
    items = tuple(_check_type(text, key, item, many) for item in value)
    if len(set(items)) != len(items):
        twice = next(item for item in items if items.count(item) > 1)
        raise text.error(key, f"{twice!r} is named twice")
    return items


def _check_type(text: PlanText, key: str, value: object, kind: type) -> Any:
    words = {str: "a text in quotes", int: "a whole number", bool: "true or false"}
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise text.error(key, f"{value!r} is not {words[kind]}")
    return value


def _check_range(text: PlanText, key: str, value: Any, entry: Field[Any]) -> Any:
    low, high, choices = (entry.metadata[name] for name in ("low", "high", "choices"))
    if choices is not None and value not in choices:
        raise text.error(key, f"{value!r} is none of {', '.join(choices)}", near_name(value, choices))
    if low is not None and not low <= value <= high:
        raise text.error(key, f"{value} is out of range: from {low:,} to {high:,}")
    return value


def plan_template(name: str, families: Sequence[str], devices: Sequence[str]) -> str:
    """A commented plan to start from: every key with its meaning and its default or given value."""
    given: dict[str, object] = {"tests.families": list(families), "run.devices": list(devices)}
    lines = [
        f"# A plan for `gpudiy campaign run`; all results go to {name}.campaign/ beside this file.",
        f'name = "{name}"',
        "report = true  # write report.html at the end",
    ]
    for section, kind in SECTIONS.items():
        lines += ["", f"# {(kind.__doc__ or '').splitlines()[0]}", f"[{section}]"]
        for entry in fields(kind):
            value = given.get(f"{section}.{entry.name}", entry.default)
            lines.append(f"{entry.name} = {_toml(value)}  # {entry.metadata['what']}")
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else f"{value}"
