"""The launches of a kit are those that gpudiy plans itself; the programs of a kit only choose among them."""

from __future__ import annotations

import random
import struct
from functools import cache
from itertools import pairwise

import pytest
from kit_samples import SEED, ExportedKit, kit_tests

from gpudiy.devices.cuda_device import MOST_GROUPS
from gpudiy.harness.host_side import BUFFERS, LAUNCH_BYTES
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_data import buffer_bytes, helper_shared_bytes, launch_bytes
from gpudiy.harness.launch_plan import Impossible
from gpudiy.kits.launch_rows import (
    DRAWS,
    GEOMETRY,
    LAUNCH_AT,
    LaunchesOfTest,
    Row,
    RowTable,
    agrees,
    launch_seed,
    list_rooms,
    make_table,
    plan_test,
    word_of,
)

INCANTATIONS = (
    Incantation(),
    Incantation(group_size=256, meet_every=4),
    Incantation(memory_stress=False, location_stride=3),
    Incantation(randomisation=False, instances=1 << 20),
    Incantation(bank_conflicts=True),
)


@cache
def planned(number: int, iterations: int = 5000) -> tuple[LaunchesOfTest, RowTable]:
    launches = plan_test(kit_tests()[number], INCANTATIONS[number], SEED, iterations)
    return launches, make_table(launches)


def row_of_gpudiy(launches: LaunchesOfTest, choice: int, draw: int) -> Row:
    """What gpudiy itself would launch on a GPU of these limits, as numbers."""
    plan = launches.plan(choice)
    seed = launch_seed(SEED, draw)
    data = launch_bytes(launches.test, launches.shape, plan, launches.incantation, seed)
    sizes = buffer_bytes(launches.shape, plan, launches.incantation)
    geometry = (plan.groups, plan.group_size, plan.shared_bytes, plan.helper_groups, plan.helper_size)
    words = struct.unpack(f"<{len(data) // 4}I", data)
    return (*geometry, helper_shared_bytes(), *(sizes[buffer.name] for buffer in BUFFERS), *words)


@pytest.mark.parametrize("number", range(5))
def test_a_table_gives_what_gpudiy_launches(number: int) -> None:
    launches, table = planned(number)
    dice = random.Random(number)
    test_row = launches.row(0, 0)
    for _ in range(60):
        room, draw = dice.randrange(len(table.rooms)), dice.randrange(DRAWS)
        assert table.row(test_row, room, draw) == row_of_gpudiy(launches, room, draw)


def test_where_memory_is_the_limit_rows_depend_on_room_and_draw() -> None:
    """Launches so large that memory bounds them: the table is right there too."""
    launches, table = planned(3, 1 << 26)
    for room in (0, 1, len(table.rooms) - 1):
        for draw in (0, 5, DRAWS - 1):
            assert table.row(launches.row(0, 0), room, draw) == row_of_gpudiy(launches, room, draw)


def test_draws_differ() -> None:
    launches, table = planned(0)
    seeds = {table.row(launches.row(0, 0), 0, draw)[word_of("seed")] for draw in range(DRAWS)}
    assert len(seeds) == DRAWS
    other = plan_test(launches.test, launches.incantation, SEED + 1, 5000)
    assert other.row(0, 0) != launches.row(0, 0)


def test_a_table_of_another_shape_does_not_agree() -> None:
    first, _ = planned(0)
    other, table = planned(1)
    assert agrees(other, table)
    assert not agrees(first, table)
    changed = plan_test(other.test, INCANTATIONS[0], SEED, 5000)
    assert not agrees(changed, table)


def test_rooms_are_close_to_each_other() -> None:
    """A GPU that runs n CTAs at the same time uses more than 15 of 16 of them."""
    rooms = list(list_rooms())
    assert rooms[0] == MOST_GROUPS
    assert rooms[-1] == 1
    for larger, smaller in pairwise(rooms):
        assert larger - 1 == smaller or (larger - 1 - smaller) * 16 < larger


@pytest.mark.parametrize("number", range(5))
def test_the_best_rows_come_first(number: int) -> None:
    """The first row that fits is the one with the largest CTAs, and of those with the most."""
    launches, _ = planned(number)
    shapes = [(limits.group_size, limits.groups) for limits in launches.choices]
    assert shapes == sorted(shapes, reverse=True)
    for choice, limits in enumerate(launches.choices):
        plan = launches.plan(choice)
        assert plan.groups * launches.shape.kernels <= limits.groups
        assert plan.group_size <= limits.group_size


def test_a_test_on_two_gpus_is_left_out() -> None:
    with pytest.raises(Impossible, match="its threads are on 2 devices"):
        plan_test(kit_tests()[5], Incantation(), SEED, 1000)


def test_places_of_fields() -> None:
    assert word_of("seed") > LAUNCH_AT
    assert len(GEOMETRY) + len(BUFFERS) == LAUNCH_AT
    launches, _ = planned(0)
    row = launches.row(0, 0)
    assert len(row) == LAUNCH_AT + LAUNCH_BYTES // 4
    assert row[word_of("instances")] == launches.plan(0).instances


def test_both_programs_launch_what_gpudiy_launches(kit: ExportedKit) -> None:
    """Every number of a launch, of every test: gpudiy, the program in C, and the one in Python."""
    dice = random.Random(1)
    names = [test.name for test in kit_tests() if test.name not in ("SBd", "LB+xor")]
    for number, name in enumerate(names):
        test = next(test for test in kit_tests() if test.name == name)
        launches = plan_test(test, Incantation(), SEED, -(-1000 // 32))
        room, draw = dice.randrange(len(launches.choices)), dice.randrange(DRAWS)
        expected = " ".join(map(str, launches.row(room, draw, (1, 1)))) + "\n"
        words = ("--row", *map(str, (number, 0, room, draw)))
        assert kit.c(*words).stdout == expected
        assert kit.python(*words).stdout == expected
