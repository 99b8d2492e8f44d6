"""`RunSettings`: what is asked of a run, whatever the device; and the seeds that follow from it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from gpudiy.devices.stop_rule import NEVER, StopRule
from gpudiy.harness.incantation_text import IncantationBook

SEED_BITS = 63


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Iterations of each test, and how they are run."""

    iterations: int = 100_000
    seed: int = 0
    incantations: IncantationBook = field(default_factory=IncantationBook)
    until: StopRule = NEVER
    limit: float | None = None  # seconds a test may take

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise ValueError(f"a run has at least 1 iteration, not {self.iterations:,}")
        if self.limit is not None and self.limit <= 0:
            raise ValueError(f"a time limit is above 0 seconds, not {self.limit:g}")


def derived_seed(seed: int, content_hash: str, chunk: int) -> int:
    """The seed of one chunk of a test: it depends on what the test means, not on its name, its place or the device."""
    digest = hashlib.sha256(f"{seed}:{content_hash}:{chunk}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)
