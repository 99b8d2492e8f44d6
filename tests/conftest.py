"""What all tests share: the corpus, if it is there, and the settings of hypothesis."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data"
CACHE = ROOT / ".pytest_cache" / "xdg"  # its entries are named by the code that made them, so old ones do no harm

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


def pytest_configure() -> None:
    """All processes of the tests share one cache: what is known of the kernels around tests costs ten seconds."""
    os.environ["XDG_CACHE_HOME"] = str(CACHE)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache of builds, but for what is known of the kernels around tests."""
    cache = tmp_path / "cache" / "gpudiy"
    copy_known_kernels(CACHE / "gpudiy", cache)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache.parent))
    yield cache
    copy_known_kernels(cache, CACHE / "gpudiy")


@pytest.fixture
def kernels_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels around tests are not run in this process: other tests do that, these look at the functions."""
    monkeypatch.setattr("gpudiy.harness.checking.check_around", lambda *_: "")


def copy_known_kernels(source: Path, target: Path) -> None:
    for file in (source / "kernels").glob("*.json"):
        copy = target / file.relative_to(source)
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            whole = copy.with_suffix(f".{os.getpid()}")
            shutil.copy(file, whole)
            whole.replace(copy)
