"""What the tests of the front door share."""

from __future__ import annotations

import pytest
from conftest import ROOT

from gpudiy import cli

EXAMPLES = ROOT / "docs" / "examples"
MP, SB = EXAMPLES / "mp-cas.litmus", EXAMPLES / "sb.litmus"


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    """What a verb prints on standard output."""
    cli.main([str(argument) for argument in arguments])
    return capsys.readouterr().out.splitlines()
