"""The names of the package."""

from __future__ import annotations

import pytest

from gpudiy import litmus


def test_every_name_is_there() -> None:
    assert set(litmus.__all__) == {name for names in litmus._MODULES.values() for name in names}
    for name in litmus.__all__:
        assert getattr(litmus, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        litmus.nothing  # noqa: B018
