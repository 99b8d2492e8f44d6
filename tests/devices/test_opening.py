"""Devices by name."""

from __future__ import annotations

import pytest
from fake_devices import fake_test

from gpudiy.devices.opening import UnknownDevice, check_kind, format_device_names, kinds, list_devices, open_device
from gpudiy.devices.runner import run_tests
from gpudiy.devices.settings import RunSettings
from gpudiy.logs.decision import Sighting, decide_record


def test_every_listed_device_opens_under_its_name() -> None:
    listings = [listing for listing in list_devices() if listing.there]
    assert {listing.name for listing in listings} >= {"sim:sc", "sim:fermi", "sim:kepler", "sim:maxwell", "sim:volta"}
    for listing in listings:
        check_kind(listing.name)
        chip = open_device(listing.name).chip
        assert chip.device == listing.name
        assert chip.simulated is listing.name.startswith("sim:")


@pytest.mark.parametrize(
    "name", ["", "gpu", "sim", "sim:", "sim:turing9", "opencl:no such", "cuda:0:1", ":0", "simulated"]
)
def test_unknown_names_say_what_is_there(name: str) -> None:
    with pytest.raises(UnknownDevice) as caught:
        open_device(name)
    message = str(caught.value)
    assert "did you mean" in message or "there are" in message or "profiles are" in message or "to get it" in message


def test_near_names() -> None:
    with pytest.raises(UnknownDevice, match="there is no device") as caught:
        check_kind("opncl:0")
    assert caught.value.hint == "did you mean 'opencl'?"
    assert "sim:kepler" in format_device_names()
    assert "sim" in kinds()


def test_a_simulated_run_is_the_same_for_the_same_seed_and_says_that_it_is_simulated() -> None:
    tests = [fake_test("SB"), fake_test("SB.1")]
    one, two = (run_tests(tests, "sim:kepler", RunSettings(100_000, seed=3)) for _ in range(2))
    assert [record.histogram for record in one] == [record.histogram for record in two]
    assert all(record.simulated and record.device == "sim:kepler" for record in one)
    assert all(decide_record(record).sighting is Sighting.OBSERVED for record in one)
    (sequential,) = run_tests(tests[:1], "sim:sc", RunSettings(100_000, seed=3))
    assert decide_record(sequential).sighting is Sighting.NOT_OBSERVED
