"""`RunSettings`: the parameters of a run on any device; and the seeds that follow from them."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field

from gpudiy.arguments import check_seconds, check_whole_number
from gpudiy.devices.stop_rule import NEVER, StopRule, parse_stop_rule
from gpudiy.errors import UsageError
from gpudiy.harness.incantation_text import IncantationBook, read_incantation
from gpudiy.logs.memory_place import MemoryPlace, parse_memory_place

ITERATIONS = 100_000  # of each test, by default
LAUNCHES = 32  # the least, by default, where a device runs launches
SEED_BITS = 63


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Iterations of each test, and how they are run."""

    iterations: int = ITERATIONS
    seed: int = 0
    incantations: IncantationBook = field(default_factory=IncantationBook)
    until: StopRule = NEVER
    limit: float | None = None  # seconds a test may take
    memory: MemoryPlace = MemoryPlace.DEVICE
    launches: int = LAUNCHES  # the least, where a device runs launches
    seconds: float | None = None  # the least that a test runs; None: a second on a GPU, nothing elsewhere

    def __post_init__(self) -> None:
        for name, number in (("iterations", self.iterations), ("seed", self.seed), ("launches", self.launches)):
            check_whole_number(number, name)
        if self.iterations < 1:
            raise UsageError(f"a run has at least 1 iteration, not {self.iterations:,}")
        if self.launches < 0:
            raise UsageError(f"a run has at least 0 launches, not {self.launches:,}")
        check_seconds(self.limit)
        if self.seconds != 0:
            check_seconds(self.seconds, "seconds")


def make_settings(
    *,
    iterations: int = ITERATIONS,
    seed: int | None = None,
    incantation: str = "default",
    until: str | None = None,
    limit: float | None = None,
    memory: str = "device",
    launches: int = LAUNCHES,
    seconds: float | None = None,
) -> RunSettings:
    """Settings from texts, as on the command line; without a seed a new one is drawn."""
    return RunSettings(
        iterations=iterations,
        seed=secrets.randbits(32) if seed is None else seed,
        incantations=read_incantation(incantation),
        until=NEVER if until is None else parse_stop_rule(until),
        limit=limit,
        memory=parse_memory_place(memory),
        launches=launches,
        seconds=seconds,
    )


def derived_seed(seed: int, content_hash: str, chunk: int) -> int:
    """The seed of a chunk; it depends on the meaning of the test, not on its name, its order or the device."""
    digest = hashlib.sha256(f"{seed}:{content_hash}:{chunk}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)
