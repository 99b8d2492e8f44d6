"""`check_lock` and `fix_lock`: the answers as values."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudiy.errors import InputError
from gpudiy.locks.fix import fix_lock
from gpudiy.locks.question import Question
from gpudiy.locks.report import Judgement, check_lock
from locks.known import needs_compiler

WRONG, RIGHT = "he-yu-spinlock-ptx", "he-yu-spinlock-ptx-fixed"


def test_a_wrong_lock() -> None:
    report = check_lock(WRONG, models=["ptx-asplos15"])
    assert report.judgement is Judgement.WRONG
    assert repr(report).startswith(f"<{WRONG}: wrong by ptx-asplos15 (stale-value, ")
    assert f"{WRONG} is wrong by ptx-asplos15: stale-value" in str(report)
    witness = report.find_witness("ptx-asplos15", Question.STALE_VALUE)
    assert witness is not None and witness.made.case.threads == 2
    assert report.find_witness("ptx-asplos15", Question.MUTUAL_EXCLUSION) is None


def test_a_right_lock() -> None:
    report = check_lock(RIGHT, models=["ptx-asplos15"])
    assert report.judgement is Judgement.RIGHT and repr(report) == f"<{RIGHT}: right by ptx-asplos15>"
    assert list(report.find_witnesses()) == []


@needs_compiler
def test_no_meaning_is_unknown() -> None:
    report = check_lock("test-and-set", models=["ptx-asplos15"])
    assert report.judgement is Judgement.UNKNOWN
    assert "gives no meaning to" in report.reason("ptx-asplos15")
    with pytest.raises(InputError, match="gives no meaning to"):
        fix_lock("test-and-set", models=["ptx-asplos15"])


def test_what_a_device_shows_is_wrong() -> None:
    shown = check_lock(WRONG, models=["sc"], device="sim:kepler", iterations=2000)
    assert shown.judgement_by("sc") is Judgement.RIGHT and shown.judgement is Judgement.WRONG


def test_a_lock_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.lock"
    file.write_text("lock mine\nvariables m\nacquire:\na: atom.exch r0, [m], 1\n setp.ne p, r0, 0\n @p bra a\n"
                    "release:\n st [m], 0\n")  # fmt: skip
    assert check_lock(file, models=["ptx-asplos15"]).judgement is Judgement.WRONG
    fix = fix_lock(file, models=["ptx-asplos15"], most=1)
    (repair,) = fix.repairs
    assert not fix.right and repair.checked and "+membar.gl\n" in repair.difference
    assert repr(fix) == "<mine: wrong, 1 repair by ptx-asplos15>"
