"""Launches as rows of numbers, planned for GPUs of every size: the programs of a kit choose a row and plan nothing.

A row has the grid of a launch, the sizes of its buffers, then the struct `Launch` in words of 32 bits. A `RowTable` has
one row for each choice of a *room*, the CTAs that a GPU runs at the same time, and a *draw*, a seed. Most numbers of a
row are those of the test, so a table keeps what depends on the room, on the draw, and on both.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from gpudiy.devices.cuda_device import MOST_GROUPS, MOST_KERNELS, MOST_MEMORY, USUAL_GROUP
from gpudiy.devices.cuda_occupancy import WARP_SIZE
from gpudiy.harness.host_side import BUFFERS, LAUNCH_FIELDS
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_data import buffer_bytes, helper_shared_bytes, launch_bytes
from gpudiy.harness.launch_plan import DeviceLimits, Impossible, LaunchPlan, plan_launch
from gpudiy.harness.module import CLUSTERS
from gpudiy.harness.shape import Shape, shape_of
from gpudiy.litmus.test import Test

GEOMETRY = ("groups", "group_size", "shared_bytes", "helper_groups", "helper_size", "helper_shared_bytes")
LAUNCH_AT = len(GEOMETRY) + len(BUFFERS)  # where the struct begins in a row
DRAWS = 32  # launches whose parameters are drawn when the kit is made; after them only their seeds differ
STEPS = 16  # rooms from one power of two to the next
SMALL_ROOM = 32  # below this many CTAs, smaller CTAs are planned too

Row = tuple[int, ...]
Patch = dict[int, int]  # numbers by their place in a row


@dataclass(frozen=True, slots=True)
class RowTable:
    """`rooms[r]`, then `draws[d]`, then `cells[r, d]` written over the row of a test give its row for r and d."""

    rooms: tuple[Patch, ...]  # the best first
    draws: tuple[Patch, ...]
    cells: dict[tuple[int, int], Patch]

    def row(self, test_row: Sequence[int], room: int, draw: int) -> Row:
        """The launch of a test; `test_row` is any of its rows."""
        numbers = list(test_row)
        for patch in (self.rooms[room], self.draws[draw], self.cells.get((room, draw), {})):
            for place, value in patch.items():
                numbers[place] = value
        return tuple(numbers)


@dataclass(frozen=True, slots=True)
class LaunchesOfTest:
    """A test whose launches are planned: `choices` are the limits of a row table, the best first."""

    test: Test
    incantation: Incantation
    seed: int
    iterations: int  # of a launch, about
    shape: Shape
    choices: tuple[DeviceLimits, ...]

    def plan(self, choice: int) -> LaunchPlan:
        """The launch of a choice, as gpudiy itself would plan it there."""
        return plan_launch(self.shape, self.incantation, self.choices[choice], self.iterations)

    def row(self, choice: int, draw: int, constants: Sequence[int] = ()) -> Row:
        """The numbers of this launch."""
        plan = self.plan(choice)
        sizes = buffer_bytes(self.shape, plan, self.incantation)
        seed = launch_seed(self.seed, draw)
        data = launch_bytes(self.test, self.shape, plan, self.incantation, seed, constants)
        geometry = {name: getattr(plan, name) for name in GEOMETRY[:-1]} | {GEOMETRY[-1]: helper_shared_bytes()}
        return (
            *(geometry[name] for name in GEOMETRY),
            *(sizes[buffer.name] for buffer in BUFFERS),
            *struct.unpack(f"<{len(data) // 4}I", data),
        )


def plan_test(test: Test, incantation: Incantation, seed: int, iterations: int) -> LaunchesOfTest:
    """Plan a test for every room; raises `Impossible` if it fits none."""
    shape = shape_of(test)
    choices: list[DeviceLimits] = []
    reason = Impossible("")
    for limits in _list_limits(shape, incantation):
        try:
            plan_launch(shape, incantation, limits, iterations)
            choices.append(limits)
        except Impossible as found:
            reason = found if not choices and limits.groups == MOST_GROUPS else reason
    if not choices:
        raise reason
    return LaunchesOfTest(test, incantation, seed, iterations, shape, tuple(choices))


def make_table(planned: LaunchesOfTest) -> RowTable:
    """All launches of a test: what depends on the room alone, on the draw alone, on both."""
    count = len(planned.choices)
    rows: NDArray[np.int64] = np.array(
        [[planned.row(choice, draw) for draw in range(DRAWS)] for choice in range(count)], dtype=np.int64
    )
    by_room = (rows != rows[:1]).any(axis=(0, 1))
    by_draw = (rows != rows[:, :1]).any(axis=(0, 1))
    rooms = tuple(_patch(rows[choice, 0], by_room & ~by_draw) for choice in range(count))
    draws = tuple(_patch(rows[0, draw], by_draw & ~by_room) for draw in range(DRAWS))
    both = by_room & by_draw
    cells = {(choice, draw): _patch(rows[choice, draw], both) for choice in range(count) for draw in range(DRAWS)}
    return RowTable(rooms, draws, cells if both.any() else {})


def agrees(planned: LaunchesOfTest, table: RowTable) -> bool:
    """Whether a table made from another test gives the launches of this one: tried at both ends of rooms and draws."""
    if len(table.rooms) != len(planned.choices):
        return False
    test_row = planned.row(0, 0)
    ends = {0, len(planned.choices) // 2, len(planned.choices) - 1}
    return all(
        planned.row(choice, draw) == table.row(test_row, choice, draw) for choice in ends for draw in (0, 1, DRAWS - 1)
    )


def launch_seed(seed: int, draw: int) -> int:
    """The seed of a draw, from that of the kit."""
    return int.from_bytes(sha256(f"kit:{seed}:{draw}".encode()).digest()[:4], "big")


def word_of(field: str) -> int:
    """The place of the first word of a field of `Launch` in a row."""
    offset = 0
    for entry in LAUNCH_FIELDS:
        if entry.name == field:
            return LAUNCH_AT + offset // 4
        offset += struct.calcsize(f"<{entry.format}")
    raise KeyError(field)


def list_rooms() -> Iterator[int]:
    """The numbers of CTAs that launches are planned for, largest first: no two neighbours differ by more than 1/16."""
    room = MOST_GROUPS
    while room > 0:
        yield room
        room -= max(1, (1 << ((room - 1).bit_length() - 1)) // STEPS) if room > 1 else 1


def _list_limits(shape: Shape, incantation: Incantation) -> Iterator[DeviceLimits]:
    """The limits of all GPUs, those to choose first: large CTAs before small ones, many CTAs before few."""
    smallest = shape.warps * WARP_SIZE
    size = max(smallest, incantation.group_size or USUAL_GROUP)
    full = True
    while size >= smallest:
        for room in list_rooms():
            if full or room <= SMALL_ROOM:
                yield DeviceLimits(
                    room, size, cluster_groups=max(CLUSTERS), kernels=MOST_KERNELS, memory_bytes=MOST_MEMORY
                )
        full = size > USUAL_GROUP
        size //= 2


def _patch(row: NDArray[np.int64], chosen: NDArray[np.bool_]) -> Patch:
    return {int(place): int(row[place]) for place in np.flatnonzero(chosen)}
