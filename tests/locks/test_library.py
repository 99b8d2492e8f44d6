"""What models say of the known locks, as published and as mended."""

from __future__ import annotations

import pytest

from gpudiy.locks.generation import build_lock_test
from gpudiy.locks.library import list_library
from gpudiy.locks.placement import ThreadPlacement
from gpudiy.locks.question import Question
from gpudiy.models.library import load_model
from gpudiy.models.verdict import Answer, decide
from locks.known import ORDERS, findings, known, needs_compiler, plain_cases, wrong

pytestmark = needs_compiler
ENTRIES = {entry.name: entry for entry in list_library()}
MODELS = ("ptx-6.0", "ptx-asplos15")
FENCED = [name for name in ENTRIES if "fixed" in name or name == "ticket"]
ORDERED = ["test-and-set", "test-and-test-and-set", "compare-and-swap"]
UNFENCED = [
    name for name, entry in ENTRIES.items() if entry.wrong and not name.endswith("cta") and name != "block-fence"
]
BEYOND_CG = [  # ptx-asplos15 does not speak of their volatile or relaxed accesses
    "ticket", "ticket-unfenced", "test-and-set-relaxed", "test-and-test-and-set-relaxed", "compare-and-swap-relaxed",
]  # fmt: skip


def with_models(names: list[str]) -> list[tuple[str, str]]:
    """Each lock with each model that speaks of it."""
    return [(name, model) for name in names for model in MODELS if model == "ptx-6.0" or name not in BEYOND_CG]


def test_every_wrong_lock_has_a_source_and_a_mended_twin() -> None:
    assert all(entry.source and entry.what for entry in ENTRIES.values())
    for entry in ENTRIES.values():
        if entry.wrong:
            assert entry.mended is not None and not ENTRIES[entry.mended].wrong


@pytest.mark.parametrize(("name", "model"), with_models(UNFENCED))
def test_nothing_orders_what_is_inside_a_lock_without_fences(name: str, model: str) -> None:
    assert wrong(name, model) >= ORDERS


@pytest.mark.parametrize(("name", "model"), with_models(FENCED))
def test_fences_at_both_ends_make_it_right(name: str, model: str) -> None:
    assert {finding.verdict.answer for finding in findings(name, model)} == {Answer.FORBIDDEN}


@pytest.mark.parametrize("name", ORDERED)
def test_acquire_and_release_of_the_gpu_are_right(name: str) -> None:
    assert {finding.verdict.answer for finding in findings(name, "ptx-6.0")} == {Answer.FORBIDDEN}


@pytest.mark.parametrize("name", BEYOND_CG)
def test_accesses_of_which_a_model_does_not_speak_are_not_fine(name: str) -> None:
    answers = {finding.verdict.answer for finding in findings(name, "ptx-asplos15")}
    assert Answer.NOT_SUPPORTED in answers and Answer.ALLOWED not in answers


@pytest.mark.parametrize("name", ORDERED)
def test_what_a_model_gives_no_meaning_is_not_fine(name: str) -> None:
    assert {finding.verdict.answer for finding in findings(name, "ptx-asplos15")} == {Answer.NOT_SUPPORTED}


@pytest.mark.parametrize(
    "name", ["block-fence", "test-and-set-cta", "test-and-test-and-set-cta", "compare-and-swap-cta"]
)
def test_a_scope_that_is_too_narrow_is_caught_across_ctas_only(name: str) -> None:
    places = {f.case.setting.placement for f in findings(name, "ptx-6.0") if f.verdict.allowed}
    assert places == {ThreadPlacement.CTAS, ThreadPlacement.CLUSTER, ThreadPlacement.MIXED}
    assert wrong(name, "ptx-6.0") >= ORDERS


def test_a_plain_release_breaks_the_atomic_that_takes_the_lock() -> None:
    assert Question.BROKEN_RMW in wrong("he-yu-spinlock", "ptx-6.0")
    assert Question.BROKEN_RMW not in wrong("he-yu-spinlock", "ptx-asplos15")  # its atomics are atomic beside anything
    assert Question.BROKEN_RMW not in wrong("cuda-by-example", "ptx-6.0")


@pytest.mark.parametrize("name", ENTRIES)
def test_sequential_consistency_forbids_everything_in_question(name: str) -> None:
    """Only weak memory breaks these locks: a question that sc allows would be a wrong question."""
    sc = load_model("sc")
    for case in plain_cases(known(name)):
        made = build_lock_test(case)
        assert made is not None
        assert not decide(made.test, sc).allowed, made.test.name
