"""What the host passes to a harness in WGSL and gets back: the fields and counters of `host_side` that it needs.

WGSL has no numbers of 64 bits, so every field has 32.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpudiy.harness.host_side import LAUNCH_FIELDS, Buffer, Counted, Field
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_data import buffer_bytes, launch_values
from gpudiy.harness.launch_plan import LaunchPlan
from gpudiy.harness.shape import Shape
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.condition import Value
from gpudiy.litmus.test import Test

NAMES = frozenset((
    "zeros", "initial_value", "shared_initial", "masks", "shared_row", "shared_home", "sources", "thread_at", "seed",
    "rounds", "batch", "instance_groups", "instances", "round_step", "group_step", "instance_step", "era_mask",
    "threads", "testing_groups", "finished_threads", "warp_size", "places_clusters", "places_warps", "cta_groups",
    "warp_groups", "lane_groups", "variables", "pitch", "location_bytes", "shared_variables", "shared_stride",
    "observed", "rows", "table_slots", "shuffle_percent", "barrier_percent", "spin_limit", "stress_percent",
    "stress_iterations", "stress_pattern", "stress_lines", "stress_line_at", "stress_lane_stride",
    "pre_stress_percent", "pre_stress_iterations", "pre_stress_pattern",
))  # fmt: skip
FIELDS = (
    *(field for field in LAUNCH_FIELDS if field.name in NAMES),
    Field("loop_limit", "passes of a loop of the test after which it is cut"),
    Field("pass_limit", "passes of all loops that wait, in a thread of the launch"),
)
LOOP_PATIENCE = 16  # a loop of a test may make so many times the passes of a thread that waits in a meeting
ANY_PASSES = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class StorageBuffer:
    """A buffer in storage memory; `kept` says that compilers must keep every access to it."""

    name: str
    mode: str
    type: str
    what: str
    kept: bool = False


ATOMICS = "array<atomic<u32>>"
STORAGE_BUFFERS = (
    StorageBuffer("launch", "read", "Launch", "the parameters of the launch"),
    StorageBuffer("locations", "read_write", ATOMICS, "the global variables of all instances", kept=True),
    StorageBuffer("results", "read_write", "array<u32>", "the observed registers and shared variables"),
    StorageBuffer("meetings", "read_write", ATOMICS, "a word for every meeting of an instance group", kept=True),
    StorageBuffer("scratchpad", "read_write", ATOMICS, "what the stress accesses", kept=True),
    StorageBuffer("counters", "read_write", ATOMICS, "the counters below", kept=True),
    StorageBuffer("table", "read_write", ATOMICS, "the histogram: owners, counts, values"),
    StorageBuffer("cuts", "read_write", ATOMICS, "for each instance whether a loop of it was cut, if it has any"),
)
WGSL_COUNTERS = (
    Buffer("meetings", "u32", "meetings that came about"),
    Buffer("timeouts", "u32", "meetings that a thread gave up"),
    Buffer("overlaps", "u32", "runs of `batch` instances in which all threads were seen running at the same time"),
    Buffer("stress_low", "u32", "accesses made by stress, lower half"),
    Buffer("stress_high", "u32", "upper half"),
    Buffer("finished", "u32", "testing threads that are done"),
    Buffer("overflow", "u32", "instances whose outcome found no slot in the table"),
    Buffer("discarded", "u32", "instances in which a loop was cut"),
    Buffer("initialised", "u32", "instances whose locations were set to their initial values"),
    Buffer("ran", "u32", "instances that were run, once for each thread of the test"),
)


def wgsl_launch_bytes(
    test: Test, shape: Shape, plan: LaunchPlan, incantation: Incantation, seed: int, pass_limit: int = ANY_PASSES
) -> bytes:
    """The struct `Launch` of a launch of the plan; the same seed gives the same bytes.

    The loops of a thread that wait make at most `pass_limit` passes together.
    """
    limits = {"loop_limit": LOOP_PATIENCE * plan.spin_limit, "pass_limit": pass_limit}
    values = {**launch_values(test, shape, plan, incantation, seed), **limits}
    return b"".join(_pack_field(field, values) for field in FIELDS)


def _pack_field(field: Field, values: Mapping[str, int | Sequence[int]]) -> bytes:
    value = values.get(field.name, 0)
    numbers = [value] if isinstance(value, int) else list(value)
    numbers += [0] * ((field.count or 1) - len(numbers))
    return struct.pack(f"<{len(numbers)}I", *(number & 0xFFFFFFFF for number in numbers))


LAUNCH_WORDS = sum(field.count or 1 for field in FIELDS)


def wgsl_buffer_bytes(shape: Shape, plan: LaunchPlan, incantation: Incantation, loops: bool) -> dict[str, int]:
    """The size of each buffer, by name; `loops` says whether a loop of the test may be cut."""
    sizes = buffer_bytes(shape, plan, incantation)
    return {
        "launch": 4 * LAUNCH_WORDS,
        "cuts": 4 * plan.instances if loops else 4,
        "table": 4 * plan.table_slots * (2 + len(shape.observed)),
        "counters": 4 * len(WGSL_COUNTERS),
        **{name: sizes[name] for name in ("locations", "results", "meetings", "scratchpad")},
    }


def find_missing_work(shape: Shape, plan: LaunchPlan, counters: bytes) -> str:
    """What the kernels of a launch should have done and did not, for a message; empty if they did all of it."""
    counts = _read_counters(counters)
    if counts["initialised"] != plan.instances:
        return f"{counts['initialised']:,} of {plan.instances:,} instances were initialised"
    if counts["ran"] != shape.threads * plan.instances:
        return f"threads ran {counts['ran']:,} instances instead of {shape.threads * plan.instances:,}"
    return ""


def _read_counters(counters: bytes) -> dict[str, int]:
    numbers = struct.unpack_from(f"<{len(WGSL_COUNTERS)}I", counters)
    return dict(zip((counter.name for counter in WGSL_COUNTERS), numbers, strict=True))


def decode_wgsl(shape: Shape, slots: int, table: bytes, counters: bytes) -> Counted:
    """The histogram and the counters of a launch, from the bytes of two buffers."""
    counts = _read_counters(counters)
    words = struct.unpack_from(f"<{slots * (2 + len(shape.observed))}I", table)
    width = len(shape.observed)
    outcomes: dict[tuple[Value, ...], int] = {}
    for slot, owner in enumerate(words[:slots]):
        if owner:
            found = words[2 * slots + width * slot :][:width]
            outcome = tuple(_read_value(row.type, bits) for row, bits in zip(shape.observed, found, strict=True))
            outcomes[outcome] = outcomes.get(outcome, 0) + words[slots + slot]
    return Counted(
        outcomes=outcomes,
        meetings=counts["meetings"],
        timeouts=counts["timeouts"],
        overlaps=counts["overlaps"],
        stress_accesses=counts["stress_low"] | counts["stress_high"] << 32,
        finished_threads=counts["finished"],
        overflow=counts["overflow"],
        warmed=0,
        discarded=counts["discarded"],
    )


def _read_value(type: ScalarType, bits: int) -> int:
    """A value is shown unsigned if its type is."""
    return bits - (1 << 32) if type[0] in "sb" and bits >> 31 else bits
