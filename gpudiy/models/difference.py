"""Tests on which two models differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gpudiy.litmus.test import Test
from gpudiy.models.library import load_model
from gpudiy.models.model import Model
from gpudiy.models.verdict import Verdict, decide


@dataclass(frozen=True, slots=True)
class ModelDifference:
    """What two models say of a test; the verdict that allows its outcome comes first, if one does."""

    test: Test
    verdicts: tuple[Verdict, Verdict]

    @property
    def undecided(self) -> bool:
        return any(verdict.undecided for verdict in self.verdicts)

    @property
    def differs(self) -> bool:
        """Whether one model allows what the other forbids."""
        return self.verdicts[0].allowed and self.verdicts[1].forbidden


def compare_models(
    tests: Iterable[Test], one: Model | str | Path, other: Model | str | Path, limit: float | None = None
) -> Iterator[ModelDifference]:
    """Compare two models on tests: `[d.test for d in compare_models(tests, "sc", "tso") if d.differs]`.

    A test that takes more than `limit` seconds is undecided. An unknown model raises `InputError`.
    """
    models = load_model(one), load_model(other)
    return (_compare(test, models, limit) for test in tests)


def _compare(test: Test, models: tuple[Model, Model], limit: float | None) -> ModelDifference:
    first, second = (decide(test, model, limit=limit) for model in models)
    return ModelDifference(test, (second, first) if second.allowed and not first.allowed else (first, second))
