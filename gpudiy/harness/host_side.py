"""What the host passes to the kernels and gets back: the same for CUDA, OpenCL and the host build."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpudiy.harness.shape import CONSTANTS, OBSERVED, PLACES, THREADS, VARIABLES, ZEROS, Shape
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.condition import AddressOf, Value

ADDRESS_TAG = 0x61646472 << 32
NOBODY = 0xFFFFFFFF
STRESS_LINES = 64  # most lines that a launch stresses
CONSTANT_MEMORY, PRIMES_BYTES = "constant_memory", 32  # of a CUDA module: it begins with the struct `Launch`
NEARBY_BYTES = 2 * 64 * 4  # shared memory of `reduce`


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the struct `Launch`: 32 or, if `wide`, 64 bits each, an array if `count` is not 0."""

    name: str
    what: str
    count: int = 0
    wide: bool = False

    @property
    def declaration(self) -> str:
        return f"{'u64' if self.wide else 'u32'} {self.name}{f'[{self.count}]' if self.count else ''};"

    @property
    def format(self) -> str:
        return f"{self.count or 1}{'Q' if self.wide else 'I'}"


LAUNCH_FIELDS = (
    Field("zeros", "always 0: offsets that the compiler does not know, so that two addresses may differ", ZEROS, True),
    Field("initial_value", "the initial value of each global variable", VARIABLES, True),
    Field("shared_initial", "the initial value of each shared variable", VARIABLES, True),
    Field(
        "constants",
        "the constants that threads store: unknown to the compiler, so that it cannot fold them",
        CONSTANTS,
        True,
    ),
    Field("initial_address", "1 + the variable whose address it holds instead", VARIABLES),
    Field("masks", "instance i finds this variable in the block of instance i ^ mask", VARIABLES),
    Field("shared_row", "1 + the row of the results for a shared variable, or 0", VARIABLES),
    Field("shared_home", "the CTA whose threads use a shared variable", VARIABLES),
    Field("sources", "for each observed value: 1 + its row of the results, or 0x100 + its variable", OBSERVED),
    Field("thread_at", "the thread of the test for each place of the scope tree", PLACES),
    Field("stress_line_at", "where each of the stressed lines is in the scratchpad, in words", STRESS_LINES),
    Field("first_row", "the first row of the results of each thread", THREADS),
    Field(
        "earlier", "1 + the thread before it in its warp, whose beginning is compared with that of each thread", THREADS
    ),
    Field("delays", "nanoseconds that each thread sleeps before it begins, if threads share a warp", THREADS),
    Field("seed", "of all random numbers of the launch"),
    Field("rounds", "how often threads are assigned to instances"),
    Field("batch", "instances a thread runs in a round"),
    Field("instance_groups", "instances that run side by side"),
    Field("instances", "rounds * batch * instance_groups"),
    Field("round_step", "from an instance of a group to the one of its next round"),
    Field("group_step", "from an instance of a group to that of the next group in the same round"),
    Field("instance_step", "from an instance of a group to the next one in the same round"),
    Field("era_mask", "CTAs keep their places while these bits of the round stay the same"),
    Field("threads", "threads of the test, all of which must meet"),
    Field("devices", "devices they are on"),
    Field("testing_groups", "CTAs of a kernel that run instances; the others stress"),
    Field("finished_threads", "threads of testing CTAs of all kernels"),
    Field("cluster_groups", "CTAs of a cluster"),
    Field("warp_size", "threads that count as a warp"),
    Field("places_clusters", "clusters that an instance needs in a kernel"),
    Field("places_warps", "warps that it needs in a CTA"),
    Field("places_lanes", "lanes that it needs in a warp"),
    Field("cta_groups", "sets of clusters that run instances side by side"),
    Field("warp_groups", "sets of warps in a CTA"),
    Field("lane_groups", "sets of lanes in a warp"),
    Field("wide", "whether locations and results have 64 bits, not 32"),
    Field("addresses", "whether an observed value may be an address"),
    Field("variables", "global variables"),
    Field("pitch", "bytes of the global variables of an instance"),
    Field("location_bytes", "from one location to the next"),
    Field("shared_variables", "shared variables"),
    Field("shared_stride", "words of 64 bits from one shared location to the next"),
    Field("observed", "values of an outcome"),
    Field("rows", "values of an outcome that are in the results, not in locations"),
    Field("timed", "whether the results of a thread begin with when it began, and when it ended"),
    Field("table_slots", "outcomes the table holds, a power of two"),
    Field("shuffle_percent", "rounds with shuffled threads"),
    Field("warm_percent", "rounds in which threads read lines of their instances first"),
    Field("barrier_percent", "rounds in which threads wait for each other"),
    Field("spin_limit", "looks at the others before a thread gives up"),
    Field("stress_percent", "rounds with stress"),
    Field("stress_iterations", "accesses of a stressing thread in a round"),
    Field("stress_pattern", "0 st-st, 1 st-ld, 2 ld-st, 3 ld-ld"),
    Field("stress_lines", "lines of the scratchpad that are stressed"),
    Field("stress_line_size", "words from one line to the next, where lines are not drawn"),
    Field("stress_lane_stride", "words from the place of one lane to that of the next"),
    Field("shared_stress_percent", "rounds in which shared memory is stressed instead of the scratchpad"),
    Field("shared_stress_at", "where the stressed words of shared memory begin, in words of 32 bits"),
    Field("pre_stress_percent", "rounds in which testing threads stress first"),
    Field("pre_stress_iterations", "accesses they make then"),
    Field("pre_stress_pattern", "as stress_pattern"),
)


@dataclass(frozen=True, slots=True)
class Buffer:
    """A parameter of every kernel that points to memory, or a counter in such memory."""

    name: str
    type: str
    what: str


BUFFERS = (
    Buffer("launch", "const Launch", "the parameters of the launch"),
    Buffer("locations", "u8", "the global variables of all instances"),
    Buffer("results", "u8", "the observed registers and shared variables of all instances"),
    Buffer("meetings", "u32", "a word for every meeting of an instance group"),
    Buffer("scratchpad", "u32", "what the stress accesses"),
    Buffer("counters", "u32", "the counters below"),
    Buffer("table", "u32", "the histogram: owners, counts, values"),
)

COUNTERS = (
    Buffer("meetings", "u32", "meetings that came about"),
    Buffer("timeouts", "u32", "meetings that a thread gave up"),
    Buffer("overlaps", "u32", "timed instances in which all threads ran at the same time"),
    Buffer("stress_low", "u32", "accesses made by stress, lower half"),
    Buffer("stress_high", "u32", "upper half"),
    Buffer("finished", "u32", "testing threads that are done"),
    Buffer("overflow", "u32", "instances whose outcome found no slot in the table"),
    Buffer("warmed_low", "u32", "reads that warmed L1 before the test, lower half"),
    Buffer("warmed_high", "u32", "upper half"),
    Buffer("timed", "u32", "instances whose clock told whether all threads ran at the same time"),
    Buffer("inversions", "u32", "timed instances in which a thread began before an earlier one of its warp"),
    Buffer("skew_low", "u32", "ticks from the first beginning to the last one in timed instances, lower half"),
    Buffer("skew_high", "u32", "upper half"),
)


def pack_launch(values: Mapping[str, int | Sequence[int]]) -> bytes:
    """The struct `Launch` as bytes; arrays may be shorter than their fields."""
    unknown = set(values) - {field.name for field in LAUNCH_FIELDS}
    if unknown:
        raise ValueError(f"a launch has no {', '.join(sorted(unknown))}")
    parts = []
    for field in LAUNCH_FIELDS:
        value = values.get(field.name, 0)
        mask = (1 << 64) - 1 if field.wide else (1 << 32) - 1
        numbers = [number & mask for number in ([value] if isinstance(value, int) else value)]
        numbers += [0] * ((field.count or 1) - len(numbers))
        parts.append(struct.pack(f"<{field.format}", *numbers))
    return b"".join(parts).ljust(LAUNCH_BYTES, b"\0")


LAUNCH_BYTES = -(-sum(struct.calcsize(f"<{field.format}") for field in LAUNCH_FIELDS) // 8) * 8


@dataclass(frozen=True, slots=True)
class Counted:
    """The outcomes and counters of a launch; the outcomes of `overflow` instances did not fit into the table."""

    outcomes: dict[tuple[Value, ...], int]
    meetings: int
    timeouts: int
    overlaps: int
    stress_accesses: int
    finished_threads: int
    overflow: int
    warmed: int
    discarded: int = 0  # instances without an outcome, since a loop of theirs was cut
    timed: int = 0
    inversions: int = 0
    skew: int = 0


def table_bytes(shape: Shape, slots: int) -> int:
    """The size of a histogram of so many outcomes: an owner, a count and the values of each."""
    return slots * (8 + 8 * len(shape.observed))


def decode(shape: Shape, slots: int, table: bytes, counters: bytes) -> Counted:
    """The histogram and the counters of a launch, from the bytes of two buffers."""
    counts = dict(zip((c.name for c in COUNTERS), struct.unpack_from(f"<{len(COUNTERS)}I", counters), strict=True))
    owners = struct.unpack_from(f"<{slots}I", table)
    numbers = struct.unpack_from(f"<{slots}I", table, 4 * slots)
    width = len(shape.observed)
    outcomes: dict[tuple[Value, ...], int] = {}
    discarded = 0
    for slot, owner in enumerate(owners):
        if owner:
            raw = struct.unpack_from(f"<{width}Q", table, 8 * slots + 8 * width * slot)
            outcome = tuple(_value(shape, row.type, value) for row, value in zip(shape.observed, raw, strict=True))
            outcome, flags = outcome[: width - shape.cut_flags], outcome[width - shape.cut_flags :]
            if any(flags):
                discarded += numbers[slot]
            else:
                outcomes[outcome] = outcomes.get(outcome, 0) + numbers[slot]
    return Counted(
        outcomes=outcomes,
        meetings=counts["meetings"],
        timeouts=counts["timeouts"],
        overlaps=counts["overlaps"],
        stress_accesses=counts["stress_low"] | counts["stress_high"] << 32,
        finished_threads=counts["finished"],
        overflow=counts["overflow"],
        warmed=counts["warmed_low"] | counts["warmed_high"] << 32,
        discarded=discarded,
        timed=counts["timed"],
        inversions=counts["inversions"],
        skew=counts["skew_low"] | counts["skew_high"] << 32,
    )


def _value(shape: Shape, type: ScalarType, raw: int) -> Value:
    if shape.addresses and raw >> 32 == ADDRESS_TAG >> 32 and type.bits == 64:
        return AddressOf(shape.variables[raw & 0xFFFFFFFF])
    raw &= (1 << type.bits) - 1
    signed = type[0] in "sb"  # a value is shown unsigned if its type is
    return raw - (1 << type.bits) if signed and raw >> (type.bits - 1) else raw
