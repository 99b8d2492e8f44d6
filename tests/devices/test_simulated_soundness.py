"""The simulated device is sound: the model of its profile allows every outcome it gives; faults in it are caught."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from conftest import DATA
from hypothesis import given, settings
from hypothesis import strategies as st
from models.small_tests import Vocabulary, small_tests
from models.suite import load_suite
from models.test_generated import generated

from devices.simulated_runs import PROFILES, Soundness, check, counts, device, model_of, within
from gpudiy.devices.simulation import many_views, moment, single_memory, views
from gpudiy.devices.simulation.event import SimulatedEvent, SimulatedEventKind
from gpudiy.devices.simulation.program import SimulatedProgram
from gpudiy.devices.simulation.registers import NotKnownYet
from gpudiy.litmus import Test, read_test
from gpudiy.litmus.access import Scope
from gpudiy.models.verdict import Undecided, outcomes

OLD, NEW = "kepler", "volta"
WITH_LINES = ("fermi", "kepler")
SMALL = ("classic", "rmw", "dependencies", "coherence")
LARGE = ("modern", "scoped", "thesis")
STEPS = {"classic": 3, "rmw": 41, "dependencies": 23, "coherence": 17, "modern": 331}
KNOWN_TO_NO_OLD_CHIP = ("modern",)


@cache
def sample(family: str) -> list[Test]:
    return list(generated(family, 2 % STEPS[family], STEPS[family]))


def own_suite() -> list[Test]:
    return [case.test for case in load_suite().values()]


def sound(found: Soundness, least: int) -> None:
    """All judged tests are sound, and enough of them could be judged."""
    assert not found.unsound
    assert found.judged >= least, found.skipped


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("family", STEPS)
def test_generated_tests_are_sound(profile: str, family: str) -> None:
    tests = sample(family) if profile in (OLD, NEW) else sample(family)[::6]
    found = check(profile, tests, iterations=5_000, limit=60.0)
    if family in KNOWN_TO_NO_OLD_CHIP and profile not in (NEW, "sc"):
        assert found.judged == 0 and len(found.skipped) == len(tests)
        return
    sound(found, least=len(tests) * 9 // 10)


@pytest.mark.heavy
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("family", SMALL)
@pytest.mark.parametrize("share", range(2))
def test_all_tests_of_the_small_families_are_sound(profile: str, family: str, share: int) -> None:
    tests = list(generated(family, share, 2))
    iterations = 100_000 if profile in (OLD, NEW) else 20_000
    sound(check(profile, tests, iterations=iterations), least=len(tests) * 9 // 10)


@pytest.mark.heavy
@pytest.mark.parametrize("profile", [OLD, NEW])
@pytest.mark.parametrize("family", LARGE)
@pytest.mark.parametrize("share", range(2))
def test_many_tests_of_the_large_families_are_sound(profile: str, family: str, share: int) -> None:
    if family in KNOWN_TO_NO_OLD_CHIP and profile == OLD:
        pytest.skip("acquire and release are unknown to the model of this chip")
    step = {"modern": 16, "scoped": 160, "thesis": 240}[family]
    tests = list(generated(family, share, step))
    sound(check(profile, tests, iterations=50_000), least=len(tests) * 8 // 10)


@pytest.mark.parametrize("profile", PROFILES)
def test_our_own_suite_and_the_figures_are_sound(profile: str) -> None:
    files: list[Path] = sorted((DATA / "litmus" / "figures").glob("*.litmus"))
    tests = own_suite() + [read_test(file.read_text(), str(file)) for file in files]
    found = check(profile, tests, iterations=20_000)
    sound(found, least=25 if profile in ("fermi", OLD, "maxwell") else 70)


def random_test_is_sound(profile: str, test: Test) -> None:
    if device(profile).obstacle(test) is not None:
        return
    try:
        allowed = set(outcomes(test, model_of(profile), limit=5.0))
    except Undecided:
        return
    if not allowed:
        return  # no run ends
    observed = counts(profile, test, 2_000)
    assert within(test, observed, allowed), set(observed) - allowed


@settings(max_examples=50)
@given(small_tests(Vocabulary(barriers=True)))
def test_random_tests_are_sound_on_old_chips(test: Test) -> None:
    random_test_is_sound(OLD, test)


@settings(max_examples=50)
@given(st.sampled_from(WITH_LINES), small_tests(Vocabulary(barriers=True, caches=True)))
def test_random_tests_with_lines_are_sound(profile: str, test: Test) -> None:
    random_test_is_sound(profile, test)


@settings(max_examples=50)
@given(small_tests(Vocabulary(orders=True, barriers=True)))
def test_random_tests_are_sound_on_volta(test: Test) -> None:
    random_test_is_sound(NEW, test)


@settings(max_examples=40)
@given(small_tests(Vocabulary(orders=True, barriers=True, one_cta=True, counts=True)))
def test_random_tests_of_one_cta_are_sound(test: Test) -> None:
    random_test_is_sound(NEW, test)
    random_test_is_sound("sc", test)


@pytest.mark.heavy
@settings(max_examples=3_000)
@given(small_tests(Vocabulary(barriers=True, length=4, threads=(2, 4))))
def test_many_random_tests_are_sound_on_old_chips(test: Test) -> None:
    random_test_is_sound(OLD, test)


@pytest.mark.heavy
@settings(max_examples=3_000)
@given(st.sampled_from(WITH_LINES), small_tests(Vocabulary(barriers=True, caches=True, length=4, threads=(2, 4))))
def test_many_random_tests_with_lines_are_sound(profile: str, test: Test) -> None:
    random_test_is_sound(profile, test)


@pytest.mark.heavy
@settings(max_examples=3_000)
@given(small_tests(Vocabulary(orders=True, barriers=True, length=4, threads=(2, 4))))
def test_many_random_tests_are_sound_on_volta(test: Test) -> None:
    random_test_is_sound(NEW, test)


# faults: what is replaced, by what, and on which chip the soundness tests must notice


def nothing(*_: object) -> None:
    return None


def no_pairs(*_: object) -> Iterator[tuple[SimulatedEvent, SimulatedEvent]]:
    return iter(())


def narrowed(program: SimulatedProgram) -> Iterator[tuple[SimulatedEvent, SimulatedEvent]]:
    """Only fences of scope sys count."""
    return (pair for pair in single_memory._pairs(program) if single_memory.fence_between(program, *pair) is Scope.SYS)


def reads_swap(table: single_memory.Timetable, reads_in_order: bool) -> None:
    """Accesses of one location keep their order only if both write."""
    for one, other in single_memory._pairs(table.program):
        if one.may_meet(other) and one.writes and other.writes:
            table.order(table.issue(one), table.issue(other))
            table.order(table.time_performed(one), table.time_performed(other))


def writes_swap(table: single_memory.Timetable, reads_in_order: bool) -> None:
    """Two stores to one location leave the store buffer in any order."""
    for one, other in single_memory._pairs(table.program):
        if one.may_meet(other) and (one.writes or other.writes):
            table.order(table.issue(one), table.issue(other))


OLD_FAULTS: dict[str, tuple[object, str, object]] = {
    "fences wait for nothing": (single_memory, "order_fences", nothing),
    "fences of cta and gl count for nothing": (single_memory, "fenced_pairs", narrowed),
    "narrow fences never count": (single_memory, "_potential_order", lambda p, *_: [0] * len(p.events)),
    "reads overtake writes of their location": (single_memory, "order_locations", reads_swap),
    "writes overtake writes of their location": (single_memory, "order_locations", writes_swap),
    "barriers wait for nobody": (moment, "barriers_met_by", lambda *_: []),
}
NEW_FAULTS: dict[str, tuple[object, str, object]] = {
    "synchronisation keeps nothing in order": (many_views, "order_synchronisation", nothing),
    "releases keep nothing in order": (many_views, "_order_release", nothing),
    "acquires keep nothing in order": (many_views, "_order_acquire", nothing),
    "reads of one location are never in order": (many_views, "order_same_location", nothing),
    "fence.sc makes nothing known": (views.ManyViews, "_fence", nothing),
    "nothing is ever made known": (views.ManyViews, "_make_known", nothing),
    "scopes are ignored when none is asked for": (many_views, "has_partner", lambda *_: False),
    "strong writes are not ranked": (views.ManyViews, "_older_now", lambda self, number: self.older[number]),
    "what was read or made known is not passed on": (
        views.ManyViews,
        "_list_known",
        lambda self, event: self.written & self.preceding[event.number],
    ),
}


NARROW = """GPU_PTX MP+membar.ctas-and-one-more

P0            : P1            : P2
st.cg [x],1   : ld.cg r0,[y]  : st.cg [x],2
membar.cta    : membar.cta    :
st.cg [y],1   : ld.cg r1,[x]  :

(device (kernel (cta (warp P0) (warp P1)) (cta (warp P2))))

x: global, y: global

1:r0=1 /\\ 1:r1=0
"""


@cache
def old_witnesses() -> list[Test]:
    tests = [test for family in ("classic", "coherence", "dependencies") for test in generated(family, 1, 9)]
    return [read_test(NARROW), *own_suite()[::-1], *tests]


@cache
def new_witnesses() -> list[Test]:
    return [*generated("classic", 0, 5), *own_suite(), *sample("modern")]


@pytest.mark.parametrize("fault", OLD_FAULTS)
def test_faults_of_old_chips_are_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, name, instead = OLD_FAULTS[fault]
    monkeypatch.setattr(place, name, instead)
    if place is moment:
        monkeypatch.setattr(single_memory, "barriers_met_by", instead)
    assert is_caught(OLD, old_witnesses)


@pytest.mark.parametrize("fault", NEW_FAULTS)
def test_faults_of_volta_are_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, name, instead = NEW_FAULTS[fault]
    monkeypatch.setattr(place, name, instead)
    assert is_caught(NEW, new_witnesses)


@pytest.mark.parametrize("profile", [OLD, NEW])
def test_no_value_is_used_before_it_is_read(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that ignored dependencies would not guess: it would stop."""
    place = single_memory if profile == OLD else many_views
    monkeypatch.setattr(place, "order_dependencies", nothing)
    with pytest.raises(NotKnownYet):
        check(profile, generated("dependencies", 1, 9), iterations=5_000)


def is_caught(profile: str, witnesses: Callable[[], list[Test]]) -> bool:
    """Whether some test shows an outcome that the model forbids."""
    return any(check(profile, [test], iterations=10_000, limit=60.0).unsound for test in witnesses())


@pytest.mark.heavy
def test_witnesses_find_no_fault_where_there_is_none() -> None:
    assert not is_caught(OLD, old_witnesses)
    assert not is_caught(NEW, new_witnesses)


def test_sequential_consistency_is_shown_completely() -> None:
    for test in generated("classic"):
        allowed = set(outcomes(test, model_of("sc")))
        seen = set(counts("sc", test, 10_000))
        assert seen <= allowed, test.name
        assert seen == allowed or set(counts("sc", test, 1_000_000)) == allowed, test.name


def test_kinds_of_events_are_told_apart() -> None:
    """A guard for the faults above: they need programs in which all kinds of events occur."""
    kinds = {event.kind for test in (*old_witnesses(), *new_witnesses()) for event in _events(test)}
    assert kinds == set(SimulatedEventKind)


def _events(test: Test) -> list[SimulatedEvent]:
    return [] if device(NEW).obstacle(test) is not None else SimulatedProgram(test).events
