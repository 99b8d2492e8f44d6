"""Shell completion: the scripts are accepted by their shells and offer what the verbs take."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gpudiy.cli import SUBVERBS, VERBS, main

ASK = """source {script}
COMP_WORDS=({words})
COMP_CWORD={place}
_gpudiy
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def offered(script: Path, *words: str) -> list[str]:
    quoted = " ".join(f"'{word}'" for word in words)
    asked = ASK.format(script=script, words=quoted, place=len(words) - 1)
    found = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert found.stderr == ""
    return found.stdout.split()


@pytest.fixture
def bash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", "bash"]) == 0
    (tmp_path / "gpudiy.bash").write_text(capsys.readouterr().out)
    return tmp_path / "gpudiy.bash"


def test_bash_offers_verbs_subverbs_options_and_their_words(bash: Path) -> None:
    assert offered(bash, "gpudiy", "") == [*VERBS, "--help", "--version"]
    assert offered(bash, "gpudiy", "model", "mini") == ["minimal"]
    assert offered(bash, "gpudiy", "model", "--eng") == ["--engine"]
    assert offered(bash, "gpudiy", "model", "--engine", "") == ["auto", "search", "sat"]
    assert offered(bash, "gpudiy", "model", "minimal", "--mod") == ["--models"]


def test_bash_offers_files(bash: Path, tmp_path: Path) -> None:
    (tmp_path / "sb.litmus").touch()
    assert offered(bash, "gpudiy", "show", f"{tmp_path}/sb") == [f"{tmp_path}/sb.litmus"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_accept_their_script(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert all(verb in text for verb in VERBS)
    assert all(word in text for _, word in SUBVERBS)
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(text)
    subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)
