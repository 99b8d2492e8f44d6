"""The simulated device is nearly complete: what the model of its profile allows, it shows in a long run."""

from __future__ import annotations

import pytest
from models.test_generated import generated

from devices.simulated_runs import completeness

STEPS = {"classic": 1, "rmw": 5, "dependencies": 3, "coherence": 1, "modern": 60, "scoped": 300, "thesis": 450}
LEAST = 0.9
STRICTER = {("volta", "coherence"): 0.8}  # no thread lets a store overtake its own load of the same location
MOST = 8_000_000


@pytest.mark.parametrize("profile", ["kepler", "volta"])
def test_classic_tests_are_shown(profile: str) -> None:
    found = completeness(profile, generated("classic", 0, 3), 20_000, MOST)
    assert found.allowed > 30
    assert found.share >= LEAST, found.never


@pytest.mark.heavy
@pytest.mark.parametrize("profile", ["kepler", "volta"])
@pytest.mark.parametrize("family", STEPS)
def test_most_of_what_is_allowed_is_shown(profile: str, family: str) -> None:
    if (profile, family) == ("kepler", "modern"):
        pytest.skip("acquire and release are unknown to the model of this chip")
    found = completeness(profile, generated(family, 1 % STEPS[family], STEPS[family]), 50_000, MOST)
    print(f"{profile} {family}: {found.share:.1%} of {found.allowed} shown; never: {', '.join(found.never) or 'none'}")
    assert found.allowed > 0
    assert found.share >= STRICTER.get((profile, family), LEAST), found.never
