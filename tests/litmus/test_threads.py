"""Tests are read by several threads at once."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from concurrent.futures import ThreadPoolExecutor
from gpudiy.diy.families import FAMILIES
from gpudiy.diy.generator import Generator
from gpudiy.litmus import content_hash, read_test

sys.setswitchinterval(1e-6)
made = list(Generator(FAMILIES["rmw"].recipe()).blueprints())[:60]
with ThreadPoolExecutor(4) as pool:
    found = list(pool.map(lambda blueprint: content_hash(read_test(blueprint.text())), made * 2))
assert found == [blueprint.content_hash() for blueprint in made] * 2
"""


def test_threads_do_not_disturb_each_other() -> None:
    """In new processes, for a reader that has read something already is past the dangerous moment."""
    for _ in range(3):
        subprocess.run([sys.executable, "-c", CODE], check=True, timeout=120)
