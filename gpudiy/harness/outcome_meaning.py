"""What the kernels `reset` and `reduce` of harness_templates/ mean, as `gpudiy.harness.kernel_meaning` is of `run`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from gpudiy.harness.host_side import ADDRESS_TAG
from gpudiy.harness.kernel_meaning import COUNT, COUNTER_WORDS, TABLE, WORD, Event, Launch, location_offset
from optcheck.lane_memory import BARRIER, SHARED_ATOMIC, STRENGTHS, event_kind
from optcheck.sass import Touch

NEARBY = 64
GPU = STRENGTHS["GPU"]
Outcome = tuple[int, ...]
Load = Callable[[int, bool], int]  # from a place in bytes, and whether it has 64 bits


@dataclass(frozen=True, slots=True)
class OutcomeMemory:
    """Locations and results of a launch, and the address of the locations."""

    launch: Launch
    locations: Load
    results: Load
    address: int


def initial_value(launch: Launch, address: int, instance: int, variable: int) -> int:
    """What a variable of an instance holds before the test."""
    target = launch.element("initial_address", variable)
    if target == 0:
        return launch.element("initial_value", variable)
    return address + location_offset(launch, instance, target - 1)


def observe(memory: OutcomeMemory, instance: int) -> Outcome:
    """The values of an instance, as `observed` in reduction.h gives them."""
    launch, wide = memory.launch, bool(memory.launch.wide)
    values = []
    for number in range(launch.observed):
        source = launch.element("sources", number)
        if source < 0x100:
            value = memory.results((instance * launch.rows + source - 1) * (8 if wide else 4), wide)
        else:
            value = memory.locations(location_offset(launch, instance, source - 0x100), wide)
        if launch.addresses:
            for variable in range(launch.variables):
                if value == memory.address + location_offset(launch, instance, variable):
                    value = ADDRESS_TAG | variable
        values.append(value)
    return tuple(values)


def count_times(memory: OutcomeMemory, instances: Iterable[int]) -> dict[str, int]:
    """What `count_times` of reduction.h adds to the counters for these instances."""
    launch, wide = memory.launch, bool(memory.launch.wide)
    counts = dict.fromkeys(("timed", "overlaps", "inversions", "skew"), 0)

    def time_of(instance: int, thread: int, which: int) -> int:
        row = launch.element("first_row", thread) + which
        return memory.results((instance * launch.rows + row) * (8 if wide else 4), False)

    for instance in instances if launch.timed else ():
        origin = time_of(instance, 0, 0)
        threads = range(max(1, launch.threads))
        begins = [_sign(time_of(instance, thread, 0) - origin) for thread in threads]
        ends = [_sign(time_of(instance, thread, 1) - origin) for thread in threads]
        if max(begins) == min(ends):
            continue
        counts["timed"] += 1
        counts["overlaps"] += max(begins) < min(ends)
        counts["inversions"] += any(begins[thread] < begins[one] for thread, one in _pairs(launch, threads))
        counts["skew"] += max(begins) - min(begins) & WORD
    return counts


def _pairs(launch: Launch, threads: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Each thread with the earlier one that it is compared with."""
    found = ((thread, launch.element("earlier", thread)) for thread in threads if thread)
    return ((thread, earlier - 1) for thread, earlier in found if earlier)


def _sign(difference: int) -> int:
    """A word as a number with a sign."""
    return (difference + (1 << 31) & WORD) - (1 << 31)


def hash_of(outcome: Outcome) -> int:
    """A hash of the values of an outcome."""
    found = 0
    for value in outcome:
        found = (found ^ value & WORD ^ value >> 32) * 0x9E3779B1 & WORD
        found ^= found >> 15
    return found


@dataclass(slots=True)
class OutcomeTable:
    """The table of a launch while one thread counts alone: owners, counts, values; and what found no slot."""

    owners: list[int]
    counts: list[int]
    values: list[Outcome | None]
    overflow: int = 0


def count_outcome(
    memory: OutcomeMemory, tables: OutcomeTable, outcomes: list[Outcome], instance: int, number: int
) -> list[Event]:
    """Count an outcome; the events of the thread."""
    slots = len(tables.owners)
    slot = hash_of(outcomes[instance]) & (slots - 1)
    events: list[Event] = []
    for _ in range(slots):
        events.append((event_kind(Touch.ATOMIC, GPU), TABLE, slot, 0, instance + 1))
        owner = tables.owners[slot]
        if owner == 0:
            tables.owners[slot] = instance + 1
            tables.values[slot] = outcomes[instance]
        if owner == 0 or outcomes[owner - 1] == outcomes[instance]:
            tables.counts[slot] = tables.counts[slot] + number & WORD
            events.append((event_kind(Touch.ATOMIC, GPU), TABLE, slots + slot, number))
            return events
        slot = (slot + 1) & (slots - 1)
    tables.overflow += number
    events.append((event_kind(Touch.ATOMIC, GPU), COUNTER_WORDS, COUNT["overflow"], number))
    return events


def reduce_alone(memory: OutcomeMemory, tables: OutcomeTable, outcomes: list[Outcome]) -> list[Event]:
    """The kernel `reduce` with one thread: its events, and `tables` as it leaves them."""
    owners, counts = [0] * NEARBY, [0] * NEARBY
    events: list[Event] = [(BARRIER, 0, 0)]
    for instance, outcome in enumerate(outcomes):
        slot = hash_of(outcome) % NEARBY
        for _ in range(NEARBY):
            owner = owners[slot]
            if owner == 0:
                events.append((SHARED_ATOMIC, 0, slot, 0, instance + 1))
                owners[slot] = instance + 1
            if owner == 0 or outcomes[owner - 1] == outcome:
                events.append((SHARED_ATOMIC, 0, NEARBY + slot, 1))
                counts[slot] += 1
                break
            slot = (slot + 1) % NEARBY
        else:
            events += count_outcome(memory, tables, outcomes, instance, 1)
    events.append((BARRIER, 0, 0))
    for owner, count in zip(owners, counts, strict=True):
        if owner:
            events += count_outcome(memory, tables, outcomes, owner - 1, count)
    return events


def find_wrong_count(tables: OutcomeTable, outcomes: list[Outcome]) -> str:
    """What is wrong with a table that many threads filled; empty if nothing is.

    Which instance owns a slot, and which outcomes find none in a full table, depends on who comes first.
    """
    expected = Counter(outcomes)
    slots = len(tables.owners)
    seen: set[Outcome] = set()
    for slot, owner in enumerate(tables.owners):
        if owner == 0:
            if tables.counts[slot]:
                return "an outcome is counted in a slot without an owner"
            continue
        if owner > len(outcomes) or outcomes[owner - 1] in seen:
            return "an outcome has two slots of the table"
        outcome = outcomes[owner - 1]
        seen.add(outcome)
        if tables.counts[slot] != expected[outcome] or tables.values[slot] != outcome:
            return "an outcome is counted wrongly"
        first = hash_of(outcome) & (slots - 1)
        if not all(tables.owners[(first + step) % slots] for step in range((slot - first) % slots)):
            return "an outcome is in a slot where nobody looks for it"
    missing = sum(count for outcome, count in expected.items() if outcome not in seen)
    if missing and not all(tables.owners):
        return "an outcome is not counted"
    return "" if tables.overflow == missing else "outcomes that found no slot are counted wrongly"
