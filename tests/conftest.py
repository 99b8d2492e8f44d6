"""What all tests share: the corpus, if it is there, and the settings of hypothesis."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data"

settings.register_profile(
    "gpudiy",
    deadline=None,
    derandomize="CI" in os.environ,  # there the same examples every time; elsewhere always others
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("gpudiy")


def corpus_folder() -> Path | None:
    """The corpus named by GPUDIY_CORPUS, or the one beside the checkout."""
    named = os.environ.get("GPUDIY_CORPUS")
    places = [Path(named)] if named else [ROOT.parent / "shared" / "corpus", ROOT.parent / "corpus"]
    return next((place for place in places if place.is_dir()), None)


@pytest.fixture(scope="session")
def corpus() -> Path:
    folder = corpus_folder()
    if folder is None:
        pytest.skip("the corpus is not there: put it beside the checkout or set GPUDIY_CORPUS")
    return folder


@pytest.fixture(scope="session")
def figures() -> list[Path]:
    return sorted((DATA / "litmus" / "figures").glob("*.litmus"))
