"""`kit.txt`: what the programs of a kit must know, in lines of words; what they only copy is after ` | `, as JSON.

kit VERSION | settings                        copied into the head of the log
need ITERATIONS LAUNCHES LEAST MOST SILENCE   of each test: LEAST and MOST (0: no limit) are milliseconds; a launch
                                              longer than SILENCE seconds is a hang
warm LAUNCHES WINDOW PERCENT COLD MOST        before each test launches that do not count, until the times of the last
                                              WINDOW differ by at most PERCENT, and at least for COLD if the GPU was
                                              just opened; at most so many LAUNCHES (0: none), or until MOST is over;
                                              COLD and MOST are microseconds
again CODE …                                  errors of the driver after which a test is run again
level N REGISTERS                             of the assembler, and of a thread at most (0: no limit), for PTX
places SEED SLOTS BUFFERS LAUNCH WORDS        where in a row are the seed, the size of the table of outcomes, the
                                              sizes of the buffers, and the struct `Launch` of WORDS words
buffers NAME …                                in the order of the sizes
global NAME                                   of every module: the struct is copied there too; may be missing
counters NAME …                               words of the buffer `counters`
arguments KERNELS ARGUMENT …                  of `run` or of the helpers `reset` and `reduce`, see `Argument`
image NUMBER KIND FILE … | maker              see `ImageKind`; 80 is sm_80
table                                         begins a table of rows: rooms, the best first, and draws
room PLACE:VALUE … | plan
draw PLACE:VALUE …
cell ROOM DRAW PLACE:VALUE …
test TABLE KERNELS OBSERVED CLUSTER KERNEL PLACE:VALUE … | what a record says of the test
binary IMAGE NUMBER PLACE:VALUE …             of this test: its number in the image, its constants
end
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from gpudiy.devices.run_length import COLD_SECONDS, MOST_LAUNCHES, MOST_SECONDS, TOLERANCE, WINDOW
from gpudiy.devices.runner import WARM_UP_SHARE
from gpudiy.harness.host_side import BUFFERS, CONSTANT_MEMORY, COUNTERS, LAUNCH_BYTES
from gpudiy.harness.incantation_text import incantation_options
from gpudiy.harness.source import kernel_name
from gpudiy.kits.driver_codes import RUN_AGAIN
from gpudiy.kits.launch_rows import GEOMETRY, LAUNCH_AT, LaunchesOfTest, Patch, Row, RowTable, word_of
from gpudiy.litmus.content import content_hash

VERSION = 2


class Argument(StrEnum):
    """What a kernel takes besides the address of a buffer, which is named by the buffer."""

    KERNEL = "kernel:4"  # the number of the kernel in the scope tree; 0 for the helpers
    TEST = "test:4"  # the number of the test in the image
    NOTHING = "nothing:8"  # no address for the specification: optcheck reads its code, a launch does not run it


class ImageKind(StrEnum):
    """What an image is, and so which chips load it."""

    CUBIN = "cubin"  # this architecture, and later ones with the same major number
    FAMILY = "family"  # the same chips, but made for features that only they have, as sm_100f
    EXACT = "exact"  # a cubin for this architecture alone, as sm_90a
    PTX = "ptx"  # this architecture and all later ones; the driver compiles it, and optcheck has not seen the result


def kind_of_cubin(architecture: str) -> ImageKind:
    """What a cubin for the architecture is: that of sm_90a is exact, that of sm_100f for a family."""
    suffixes = {"a": ImageKind.EXACT, "f": ImageKind.FAMILY}
    return suffixes.get(architecture[-1], ImageKind.CUBIN)


@dataclass(frozen=True, slots=True)
class Image:
    """What a GPU loads: one cubin, or the texts of PTX that the driver links."""

    kind: ImageKind
    number: int  # 80 for sm_80
    files: tuple[str, ...]
    maker: str  # the tools that built it


@dataclass(frozen=True, slots=True)
class Binary:
    """Where the code of a test is."""

    image: int
    number: int
    constants: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KitTest:
    """A test of a kit, the number of its table of rows, and its binaries."""

    planned: LaunchesOfTest
    table: int
    binaries: tuple[Binary, ...]


@dataclass(frozen=True, slots=True)
class KitTable:
    """A table of rows, and the plan of each of its rooms."""

    rows: RowTable
    plans: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNeeds:
    """How long a test runs: until all of these are done, or its limit; a launch longer than `silence` has hung.

    A test that runs for some seconds at least is preceded by a warm-up, by the rule of gpudiy's own runs.
    """

    iterations: int
    launches: int
    seconds: float
    limit: float | None
    silence: float

    @property
    def warm_up(self) -> tuple[int, int, int, int, int]:
        """The numbers of the line `warm`."""
        most = warm_up_limit(self.limit)
        launches = MOST_LAUNCHES if self.seconds else 0
        return launches, WINDOW, round(100 * TOLERANCE), round(1e6 * COLD_SECONDS), round(1e6 * most)


def warm_up_limit(limit: float | None) -> float:
    """The seconds of a warm-up, at most; `limit` is that of the test."""
    return MOST_SECONDS if limit is None else min(MOST_SECONDS, limit / WARM_UP_SHARE)


def print_kit(
    settings: Mapping[str, Any],
    needs: RunNeeds,
    assembler: tuple[int, int],
    images: Sequence[Image],
    tables: Sequence[KitTable],
    tests: Sequence[KitTest],
) -> str:
    """The text of `kit.txt`; `assembler` is its level, and the registers of a thread at most."""
    buffers = " ".join(buffer.name for buffer in BUFFERS)
    places = (word_of("seed"), word_of("table_slots"), len(GEOMETRY), LAUNCH_AT, LAUNCH_BYTES // 4)
    times = round(1000 * needs.seconds), round(1000 * (needs.limit or 0)), round(needs.silence)
    lines = [
        f"kit {VERSION} | {_json(settings)}",
        f"need {needs.iterations} {needs.launches} {' '.join(map(str, times))}",
        f"warm {' '.join(map(str, needs.warm_up))}",
        f"again {' '.join(map(str, sorted(RUN_AGAIN)))}",
        f"level {' '.join(map(str, assembler))}",
        f"places {' '.join(map(str, places))}",
        f"buffers {buffers}",
        f"global {CONSTANT_MEMORY}",
        f"counters {' '.join(counter.name for counter in COUNTERS)}",
        f"arguments run {buffers} {Argument.KERNEL} {Argument.TEST} {Argument.NOTHING}",
        f"arguments helpers {buffers} {Argument.KERNEL}",
        *(f"image {image.number} {image.kind} {' '.join(image.files)} | {image.maker}" for image in images),
    ]
    for table in tables:
        lines += _print_table(table)
    for test in tests:
        lines += _print_test(test)
    return "\n".join([*lines, "end", ""])


def describe_plan(planned: LaunchesOfTest, choice: int) -> Mapping[str, Any]:
    """The plan of a launch as a log keeps it."""
    return asdict(planned.plan(choice))


def _print_table(table: KitTable) -> Iterator[str]:
    yield "table"
    for patch, plan in zip(table.rows.rooms, table.plans, strict=True):
        yield f"room {_print_patch(patch)} | {_json(plan)}"
    for patch in table.rows.draws:
        yield f"draw {_print_patch(patch)}".rstrip()
    for (room, draw), patch in table.rows.cells.items():
        yield f"cell {room} {draw} {_print_patch(patch)}"


def _print_test(test: KitTest) -> Iterator[str]:
    shape = test.planned.shape
    about = {
        "test": test.planned.test.name,
        "hash": content_hash(test.planned.test),
        "incantation": dict(incantation_options(test.planned.incantation)),
    }
    row = test.planned.row(0, 0)
    numbers = _print_patch({place: value for place, value in enumerate(row) if value})
    kernel = kernel_name(shape.ctas)
    yield f"test {test.table} {shape.kernels} {len(shape.observed)} {shape.ctas} {kernel} {numbers} | {_json(about)}"
    for binary in test.binaries:
        with_constants = test.planned.row(0, 0, binary.constants)
        yield f"binary {binary.image} {binary.number} {_print_patch(_difference(row, with_constants))}".rstrip()


def _difference(before: Row, after: Row) -> Patch:
    return {place: new for place, (old, new) in enumerate(zip(before, after, strict=True)) if old != new}


def _print_patch(patch: Patch) -> str:
    return " ".join(f"{place}:{value}" for place, value in patch.items())


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))
