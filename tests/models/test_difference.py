"""Two models compared on the smallest generated tests."""

from __future__ import annotations

from itertools import islice

import pytest

from gpudiy.diy.smallest import smallest_tests
from gpudiy.errors import InputError
from gpudiy.litmus.shape import shape_hash
from gpudiy.models.difference import compare_models


def test_sc_and_tso_differ_on_store_buffering_alone() -> None:
    tests = list(smallest_tests(["classic"], 4))
    compared = list(compare_models(tests, "sc", "tso"))
    assert [one.test for one in compared] == tests
    differing = [one for one in compared if one.differs]
    assert {one.test.name.partition("+")[0] for one in differing} == {"SB", "R"}
    assert all([verdict.model.name for verdict in one.verdicts] == ["tso", "sc"] for one in differing)
    assert not any(one.undecided for one in compared)


def test_the_order_of_the_models_does_not_matter() -> None:
    tests = list(smallest_tests(["classic"], 4))
    one, other = (list(compare_models(tests, *models)) for models in (("sc", "tso"), ("tso", "sc")))
    assert [each.differs for each in one] == [each.differs for each in other]


def test_a_test_outside_a_model_is_undecided() -> None:
    tests = list(islice(smallest_tests(["modern"], 4), 3))
    assert len(tests) == 3
    assert all(one.undecided and not one.differs for one in compare_models(tests, "sc", "ptx-asplos15"))


def test_each_shape_comes_once_and_small_ones_first() -> None:
    tests = list(smallest_tests(["coherence", "classic", "coherence"], 4))
    assert len({shape_hash(test) for test in tests}) == len(tests)
    assert tests[0].name.startswith("Co")
    with pytest.raises(InputError, match="there is no family 'klassik'"):
        smallest_tests(["klassik"], 4)
