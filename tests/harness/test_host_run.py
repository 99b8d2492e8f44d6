"""The harness itself, executed: a host build with threads of this machine, and faults put into it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import DATA
from harness_host import HostModule

from gpudiy.harness.host_build import compile_host
from gpudiy.harness.host_side import Counted
from gpudiy.harness.incantation import Incantation, StressPattern
from gpudiy.harness.source import Dialect, RenderedTest, module_source, render_test
from gpudiy.litmus import read_test
from gpudiy.litmus.condition import AddressOf

HARNESS_DATA = DATA / "harness"
NAMES = ("alone", "apart", "each_its_own", "exchanged", "added", "shared", "kernels", "pointers", "barrier")


@pytest.fixture(scope="session")
def rendered() -> list[RenderedTest]:
    """Tests whose threads cannot disturb each other, or do so in ways of which each gives one outcome."""
    return [render_test(read_test((HARNESS_DATA / f"{name}.litmus").read_text()), Dialect.HOST) for name in NAMES]


@pytest.fixture(scope="session")
def module(rendered: list[RenderedTest], tmp_path_factory: pytest.TempPathFactory) -> HostModule:
    return built(rendered, tmp_path_factory.mktemp("host"))


def built(
    rendered: list[RenderedTest], folder: Path, change: Callable[[str], str] = lambda source: source
) -> HostModule:
    source = module_source(rendered, Dialect.HOST)
    changed = change(source)
    compile_host(changed, folder / "tests.so")
    return HostModule(folder / "tests.so", rendered)


EXPECTED: dict[str, set[tuple[object, ...]]] = {
    "alone": {(5, 5)},
    "apart": {(3, 4)},
    "each_its_own": {(10, 11, 10, 11)},
    "exchanged": {(0, 1, 2), (2, 0, 1)},
    "added": {(7, 9), (8, 9)},
    "shared": {(20, 21, 22), (21, 20, 22)},
    "kernels": {(0, 1, 2), (1, 0, 2)},
    "barrier": {(6, 5, 0)},
    "pointers": {(AddressOf("x"), AddressOf("y"), 0, -1, 65535)},
}
STRESSED = Incantation(
    group_size=8, meet_every=2, instances=400, stress_iterations=20, pre_stress_percent=100, pre_stress_iterations=4
)
QUIET = Incantation(group_size=8, memory_stress=False, synchronisation=False, randomisation=False, instances=300)


def fault_of(name: str, module: HostModule, number: int, incantation: Incantation) -> str | None:
    """What is wrong with a run, if anything is."""
    counted, plan = module.run(number, incantation)
    if sum(counted.outcomes.values()) != plan.instances:
        return f"{sum(counted.outcomes.values())} outcomes of {plan.instances} instances"
    if not set(counted.outcomes) <= EXPECTED[name]:
        return f"impossible outcomes {set(counted.outcomes) - EXPECTED[name]}"
    kernels = module.tests[number].shape.kernels
    if counted.finished_threads != plan.testing_groups * plan.group_size * kernels:
        return "not every thread finished"
    batches = plan.rounds * plan.instance_groups
    if incantation.synchronisation and counted.meetings + counted.timeouts != batches:
        return f"{counted.meetings} meetings and {counted.timeouts} timeouts of {batches}"
    if not incantation.synchronisation and counted.meetings + counted.timeouts:
        return "meetings although nobody synchronises"
    timed = plan.instances if module.tests[number].shape.timed else 0
    if counted.timed != timed or counted.overlaps > timed or counted.inversions > timed:
        return f"{counted.timed} timed, {counted.overlaps} overlaps, {counted.inversions} inversions"
    return stress_fault(counted, incantation)


def stress_fault(counted: Counted, incantation: Incantation) -> str | None:
    if incantation.memory_stress:
        testing = counted.finished_threads
        return None if counted.stress_accesses >= 4 * testing else f"{counted.stress_accesses} stress accesses"
    return f"{counted.stress_accesses} stress accesses without stress" if counted.stress_accesses else None


SHARED = replace(STRESSED, shared_stress_percent=100)


@pytest.mark.parametrize("incantation", [STRESSED, SHARED, QUIET], ids=["stressed", "shared memory stressed", "quiet"])
def test_every_outcome_is_counted_and_possible(module: HostModule, incantation: Incantation) -> None:
    for number, one in enumerate(module.tests):
        assert fault_of(one.test.name, module, number, incantation) is None, one.test.name


def test_both_orders_are_seen(module: HostModule) -> None:
    seen: set[tuple[object, ...]] = set()
    for seed in range(20):
        counted, _ = module.run(3, STRESSED, seed)
        seen |= set(counted.outcomes)
        if seen == EXPECTED["exchanged"]:
            return
    raise AssertionError(seen)


@pytest.mark.parametrize("shared", [0, 100])
@pytest.mark.parametrize("pattern", list(StressPattern))
def test_stress_is_counted(module: HostModule, pattern: StressPattern, shared: int) -> None:
    incantation = Incantation(
        group_size=4, instances=1, pre_stress_percent=100, pre_stress_iterations=6, pre_stress_pattern=pattern,
        stress_percent=0, shared_stress_percent=shared,
    )  # fmt: skip
    counted, plan = module.run(0, incantation)
    assert counted.stress_accesses == 6 * plan.testing_groups * plan.group_size * plan.rounds


def test_a_meeting_that_cannot_be_is_given_up(module: HostModule) -> None:
    """With nobody in one of the two kernels the other one goes on alone, and says so."""
    one = module.tests[6]
    assert one.test.name == "kernels"
    counted, plan = module.run(6, Incantation(group_size=4, instances=8, spin_limit=3, memory_stress=False), kernels=1)
    assert sum(counted.outcomes.values()) == plan.instances
    assert counted.meetings == 0


def test_more_outcomes_than_slots_are_told(tmp_path: Path) -> None:
    """Every instance its own outcome: the table is full, nothing is lost silently."""
    one = render_test(read_test((HARNESS_DATA / "alone.litmus").read_text()), Dialect.HOST)

    def own_outcomes(source: str) -> str:
        return source.replace("kept_2 = (u32)r0;", "kept_2 = instance;")

    module = built([one], tmp_path, own_outcomes)
    incantation = Incantation(group_size=8, instances=200, memory_stress=False)
    counted, plan = module.run(0, incantation, table_slots=64)
    assert len(counted.outcomes) == 64 and counted.overflow == plan.instances - 64
    counted, plan = module.run(0, incantation, table_slots=512)
    assert len(counted.outcomes) == plan.instances and counted.overflow == 0
    assert set(counted.outcomes.values()) == {1}
    (tmp_path / "careless").mkdir()
    careless = built([one], tmp_path / "careless", lambda source: own_outcomes(source).replace(COMPARED, "if (1) {"))
    counted, plan = careless.run(0, incantation, table_slots=512)
    assert len(counted.outcomes) < plan.instances  # the test above would have noticed


COMPARED = "if (owner == 0 || same_outcome(launch, locations, results, owner - 1, instance)) {"
FAULTS = {
    "swapped threads": ("switch (test_thread) {", "switch (1 - test_thread) {"),
    "two threads of the test on one": (
        "position.test_thread = launch->thread_at[",
        "position.test_thread = 0 * launch->thread_at[",
    ),
    "locations not reset": (
        "put(locations + location_offset(launch, instance, v)",
        "if (instance % 7) put(locations + location_offset(launch, instance, v)",
    ),
    "locations of two instances": (
        "(instance ^ launch->masks[variable]) *",
        "((instance | 1) ^ launch->masks[variable]) *",
    ),
    "shared variables not made anew": (
        "        begin_shared(launch, shared);",
        "        if (round == 0) begin_shared(launch, shared);",
    ),
    "an instance never counted": ("add_to_shared(counts + slot, 1);", "add_to_shared(counts + slot, instance != 0);"),
    "stress hoisted away": ("const u32 pairs = (accesses + 1) / 2;", "const u32 pairs = 0 * accesses;"),
    "meetings not counted": ("counts->complete += before >> 16 == 0;", ""),
    "a round too few": (
        "round < launch->rounds; round++) {\n        const Position",
        "round + 1 < launch->rounds; round++) {\n        const Position",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_noticed(fault: str, rendered: list[RenderedTest], tmp_path: Path) -> None:
    old, new = (text.replace("\\n", "\n") for text in FAULTS[fault])

    def change(source: str) -> str:
        assert old in source
        return source.replace(old, new)

    module = built(rendered, tmp_path, change)
    found = [
        fault_of(one.test.name, module, number, incantation)
        for number, one in enumerate(rendered)
        for incantation in (STRESSED, QUIET)
    ]
    assert any(found)


def test_the_host_compiler_may_be_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from gpudiy.errors import MissingTool

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(MissingTool, match="install gcc or clang"):
        compile_host("", tmp_path / "x.so")
