"""The memory of a machine with many threads, and a record of what each thread did to it, in order."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from optcheck.lane_values import Threads, Words
from optcheck.sass import SassInstruction, Touch

BASE = 0x7F12_FFFF_8000  # of global memory; buffers lie on both sides of a multiple of 2**32
FAR = 0x7F80_0000_0000  # regions from here on are far apart
WINDOW = 0x7A55_0000_0000  # of shared memory, for generic addresses
STACK_TOP, STACK_WORDS = 0xFF_F000, 64
EVENT_FACTORS = tuple(np.uint64(one) for one in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9))
TURN = np.uint64(0x2545F4914F6CDD1D)
KINDS = {Touch.LOAD: 1, Touch.STORE: 2, Touch.ATOMIC: 3, Touch.REDUCE: 4}
BARRIER, CALL, SHARED_ATOMIC, SHARED_LOAD, SHARED_STORE = 5, 6, 7, 8, 9
STRENGTHS = {"": 0, "CTA": 1, "SM": 1, "GPU": 2, "SYS": 3}


EVERYBODY = -2  # owns what all launches may read


class MachineFailure(Exception):
    """The code does what no correct code does, or, if not `understood`, what the machine cannot run."""

    def __init__(self, why: str, understood: bool = True) -> None:
        super().__init__(why)
        self.why = why
        self.understood = understood


@dataclass(frozen=True, slots=True)
class Region:
    """A buffer of a launch in global memory: its number in events, where its words are kept, and its address."""

    number: int
    start: int
    words: int
    address: int


@dataclass
class LaunchMemory:
    """Global memory of all launches: each word belongs to one region of one launch, or to nobody."""

    words: Words = field(default_factory=lambda: np.zeros(64, np.uint32))
    regions: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(64, np.uint8))
    starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(64, np.int64))  # of the region of each word
    owners: NDArray[np.int64] = field(default_factory=lambda: np.full(64, -1))
    far: list[tuple[int, int, int]] = field(default_factory=list)  # address, first word and words of regions

    def allocate(self, launch: int, number: int, content: Words, address: int | None = None) -> Region:
        """A new region of a launch; words that belong to nobody follow it. Far ones are at an address of their own."""
        gap = 16 + len(content) % 2  # regions begin at multiples of 8 bytes
        start, size = len(self.words), len(content)
        self.words = np.concatenate([self.words, content.astype(np.uint32), np.zeros(gap, np.uint32)])
        self.regions = np.concatenate([self.regions, np.full(size, number, np.uint8), np.zeros(gap, np.uint8)])
        self.starts = np.concatenate([self.starts, np.full(size + gap, start)])
        self.owners = np.concatenate([self.owners, np.full(size, launch), np.full(gap, -1)])
        if address is not None:
            self.far.append((address, start, size))
        return Region(number, start, size, BASE + 4 * start if address is None else address)

    def find(self, addresses: NDArray[np.uint64], launches: Threads, bytes: int) -> Threads:
        """The words at addresses; raises `MachineFailure` if one is outside the buffers of the launch."""
        places = self._bring_near(addresses) - np.uint64(BASE)
        last = places + np.uint64(bytes - 4)
        if (places % np.uint64(bytes)).any() or (last >= np.uint64(4 * len(self.words))).any() or (last < places).any():
            raise MachineFailure("an access is misaligned or outside all buffers")
        found: Threads = (places >> np.uint64(2)).astype(np.int64)
        owners = self.owners[np.array([found, found + bytes // 4 - 1])]
        if ((owners != launches) & (owners != EVERYBODY)).any():
            raise MachineFailure("an access is outside the buffers of its launch")
        return found

    def _bring_near(self, addresses: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Addresses of far regions as those where their words are kept."""
        if not self.far or not (addresses >= np.uint64(FAR)).any():
            return addresses
        starts, places, sizes = np.array(sorted(self.far), np.uint64).T
        found = np.searchsorted(starts, addresses, "right").astype(np.int64) - 1
        inside = (found >= 0) & (addresses < starts[found] + np.uint64(4) * sizes[found])
        here = addresses - starts[found] + np.uint64(BASE) + np.uint64(4) * places[found]
        near: NDArray[np.uint64] = np.where(
            inside, here, np.where(addresses >= np.uint64(FAR), np.uint64(0), addresses)
        )
        return near


class EventLog:
    """For each thread, one number for all that it did in order: two threads with equal numbers did the same."""

    def __init__(self, threads: int, regions: int) -> None:
        self.all = np.zeros(threads, np.uint64)
        self.by_region = np.zeros((regions, threads), np.uint64)

    def note(
        self, threads: Threads, kind: int, region: NDArray[np.generic], place: NDArray[np.generic], *data: Words
    ) -> None:
        """The threads did something; `region` and `place` say where."""
        event = np.full(len(threads), kind, np.uint64) * EVENT_FACTORS[0]
        event = event + (region.astype(np.uint64) + np.uint64(1)) * EVENT_FACTORS[1]
        event = event ^ (place.astype(np.uint64) + np.uint64(1)) * EVENT_FACTORS[2]
        for one in data:
            event = (event ^ event >> np.uint64(29)) * EVENT_FACTORS[1] + one.astype(np.uint64)
        self.all[threads] = turn(self.all[threads], event)
        rows = region.astype(np.int64)
        self.by_region[rows, threads] = turn(self.by_region[rows, threads], event)


def turn(before: NDArray[np.uint64], event: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The number of a thread after one more event."""
    mixed: NDArray[np.uint64] = (before ^ event) * TURN
    return mixed ^ mixed >> np.uint64(31)


def event_kind(touch: Touch | None, strength: int) -> int:
    """The kind of the event of an access of global memory."""
    return (0 if touch is None else KINDS[touch]) + 16 * strength


def strength_of(instruction: SassInstruction, weak: tuple[str, ...]) -> int:
    """How strong an access of global memory is; `weak` is how weak ones are written besides E and their width.

    Raises `MachineFailure` for modifiers that are not understood.
    """
    modifiers = tuple(one for one in instruction.modifiers if one not in ("64", "128", "ADD", "CAS"))
    if modifiers[:2] == ("E", "STRONG") and len(modifiers) == 3 and modifiers[2] in STRENGTHS:
        return STRENGTHS[modifiers[2]]
    if modifiers == ("E", *weak):
        return 0
    raise MachineFailure(f"{instruction.text} is not understood", False)
