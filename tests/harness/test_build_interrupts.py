"""A build that is interrupted or ended keeps what is finished, and leaves nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpudiy.errors import MissingTool
from gpudiy.harness import build as building
from gpudiy.harness.cache import BuildCache
from gpudiy.harness.module import assembler_for

try:
    assembler_for("sm_80")
except MissingTool:
    pytest.skip("NVRTC and nvJitLink are not there: pip install 'gpudiy[cuda-tools]'", allow_module_level=True)


@pytest.fixture(autouse=True)
def opened_anew(own_cache: Path) -> None:
    building._open_cache.cache_clear()


# A process that is started in the background ignores interrupts, and so do its children.
INTERRUPTIBLE = """import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from gpudiy.cli import main
sys.exit(main(sys.argv[1:]))
"""


def many_tests(folder: Path) -> str:
    """A file of many tests, so that building them takes long."""
    stream = folder / "many.litmus"
    with stream.open("w") as file:
        command = [sys.executable, "-m", "gpudiy", "generate", "--family", "rmw", "-q"]
        subprocess.run(command, stdout=file, check=True)
    return str(stream)


def test_a_build_that_is_ended_leaves_no_worker(tmp_path: Path, own_cache: Path) -> None:
    words = ["build", many_tests(tmp_path), "--arch", "sm_80", "-o", str(tmp_path / "built"), "-q"]
    process = subprocess.Popen(
        [sys.executable, "-m", "gpudiy", *words], env={**os.environ, "GPUDIY_BATCH": "10"}, start_new_session=True
    )
    deadline = time.monotonic() + 600
    while not list(own_cache.rglob("*.cubin")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.terminate()
    assert process.wait(60) == -signal.SIGTERM
    deadline = time.monotonic() + 60
    with pytest.raises(ProcessLookupError):  # as soon as the group of processes is empty
        while time.monotonic() < deadline:
            os.killpg(process.pid, 0)
            time.sleep(0.05)


def test_an_interrupt_keeps_what_is_finished(tmp_path: Path, own_cache: Path) -> None:
    """The last batch is far away, however slow we are; what the cache holds after Ctrl-C is whole and is used again."""
    stream = many_tests(tmp_path)
    environment = {**os.environ, "GPUDIY_BATCH": "10"}
    command = [
        sys.executable,
        "-c",
        INTERRUPTIBLE,
        "build",
        stream,
        "--arch",
        "sm_80",
        "-o",
        str(tmp_path / "built"),
    ]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 600
    while not list(own_cache.rglob("*.cubin")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=600)
    assert process.returncode == 130 and error.endswith("gpudiy: interrupted\n")
    assert not (tmp_path / "built" / "index.jsonl").exists()
    (folder,) = {cubin.parent for cubin in own_cache.rglob("*.cubin")}
    assert not list(folder.glob(".*"))  # nothing half written
    kept = BuildCache(folder)
    assert kept.tests and all(kept.find(litmus) is not None for litmus in kept.tests)
