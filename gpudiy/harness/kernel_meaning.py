"""What harness_templates/ means, as plain Python: what every thread of a kernel does, for given parameters.

optcheck runs the machine code of the kernels and compares it with this; see `gpudiy.harness.kernel_check`. Each
function here has the name of the one in the templates, or nearly so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpudiy.harness.host_side import COUNTERS, NOBODY
from optcheck.lane_memory import BARRIER, CALL, SHARED_LOAD, SHARED_STORE, STRENGTHS, event_kind
from optcheck.sass import Touch

WORD = 0xFFFFFFFF
PRIMES = (3, 7, 13, 31, 61, 127, 251, 509)
LAUNCH, LOCATIONS, RESULTS, MEETINGS, SCRATCHPAD, COUNTER_WORDS, TABLE, FUNCTIONS = range(1, 9)  # regions of memory
COUNT = {counter.name: number for number, counter in enumerate(COUNTERS)}
STRESS = 0x07F3B000
CAME, DONE, GAVE_UP, START_UP = 1, 1 << 8, 1 << 16, 64
VOLATILE, CACHED = STRENGTHS["SYS"], STRENGTHS["CTA"]

Fields = Mapping[str, int | Sequence[int]]
Event = tuple[int, ...]  # kind, region, place, data


@dataclass(frozen=True, slots=True)
class KernelThread:
    """A thread of a launch: its CTA, its number there, and how many there are of both."""

    group: int
    groups: int
    number: int
    size: int


@dataclass(slots=True)
class Position:
    """As `Position` in placement.h."""

    test_thread: int
    instance_group: int
    group_in_cta: int
    home: int


@dataclass(slots=True)
class KernelThreadRun:
    """What a thread does: its events in order, what it adds to counters, and its calls of the test."""

    events: list[Event] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    calls: list[tuple[int, Position]] = field(default_factory=list)  # round, position
    homes: list[Position] = field(default_factory=list)  # its position in each round

    def count(self, name: str, number: int) -> None:
        """Add to a counter."""
        self.counts[name] = self.counts.get(name, 0) + number


class Launch:
    """The fields of the struct `Launch` as attributes."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields

    def __getattr__(self, name: str) -> int:
        value = self.fields.get(name, 0)
        assert isinstance(value, int), name
        return value

    def element(self, name: str, number: int) -> int:
        """An element of an array; what is not given is 0."""
        values = self.fields.get(name, ())
        assert not isinstance(values, int)
        return values[number] if number < len(values) else 0


def random_number(seed: int, round: int, purpose: int) -> int:
    """A word that depends on the seed, the round and the purpose."""
    mixed = ((seed ^ round * 0x9E3779B9 & WORD) + purpose * 0x85EBCA6B) & WORD
    mixed = (mixed ^ mixed >> 16) * 0x7FEB352D & WORD
    mixed = (mixed ^ mixed >> 15) * 0x846CA68B & WORD
    return mixed ^ mixed >> 16


def happens(percent: int, seed: int, round: int, purpose: int) -> bool:
    """Whether something happens in a round, in so many percent of them."""
    return percent != 0 and random_number(seed, round, purpose) % 100 < percent


def shuffle(unit: int, count: int, number: int) -> int:
    """Where a permutation of the numbers below `count` moves a number."""
    if count < 2:
        return unit
    prime = PRIMES[number & 7]
    if count % prime == 0:
        prime = 1
    return ((unit * prime & WORD) + (number >> 8) % count & WORD) % count


def group_position(launch: Launch, thread: KernelThread) -> int:
    """The number of a CTA after the clusters of CTAs are shuffled."""
    size = launch.cluster_groups
    cluster = thread.group // size
    if launch.shuffle_percent != 0:
        cluster = shuffle(cluster, thread.groups // size, random_number(launch.seed, 0, 1))
    return cluster * size + thread.group % size


def find_position(launch: Launch, thread: KernelThread, kernel_number: int, round: int) -> Position:
    """Which thread of the test a thread runs in a round."""
    seed, size = launch.seed, launch.cluster_groups
    group = group_position(launch, thread)
    cluster, cta = divmod(group, size)
    warp, lane = divmod(thread.number, launch.warp_size)
    era = round & launch.era_mask
    if happens(launch.shuffle_percent, seed, era, 2):
        cluster = shuffle(cluster, launch.places_clusters * launch.cta_groups, random_number(seed, era, 3))
        cta = shuffle(cta, size, random_number(seed, era, 4))
    if happens(launch.shuffle_percent, seed, round, 2):
        warp = shuffle(warp, thread.size // launch.warp_size, random_number(seed, round, 5))
        lane = shuffle(lane, launch.warp_size, random_number(seed, round, 6))
    home = (kernel_number * launch.places_clusters + cluster // launch.cta_groups) * size + cta
    group_in_cta = warp % launch.warp_groups * launch.lane_groups + lane % launch.lane_groups
    instance_group = cluster % launch.cta_groups * launch.warp_groups * launch.lane_groups + group_in_cta
    warp, lane = warp // launch.warp_groups, lane // launch.lane_groups
    test_thread = NOBODY
    if warp < launch.places_warps and lane < launch.places_lanes:
        place = (home * launch.places_warps + warp) * launch.places_lanes + lane
        test_thread = launch.element("thread_at", place)
    return Position(test_thread, instance_group, group_in_cta, home)


def stress(run: KernelThreadRun, place: int, pattern: int, accesses: int) -> int:
    """Accesses to one word, in pairs; how many there are."""
    store: Event = (event_kind(Touch.STORE, VOLATILE), SCRATCHPAD, place, STRESS + pattern)
    load: Event = (event_kind(Touch.LOAD, VOLATILE), SCRATCHPAD, place)
    pair = {0: [store, store], 1: [store, load], 2: [load, store]}.get(pattern, [load, load])
    pairs = (accesses + 1 & WORD) // 2
    run.events += pair * pairs
    return 2 * pairs


def stress_place(launch: Launch, thread: KernelThread, round: int) -> int:
    """The word of the scratchpad that a thread accesses in a round."""
    warp = (thread.group * thread.size + thread.number) // launch.warp_size
    line = (warp + random_number(launch.seed, round, 7) & WORD) % launch.stress_lines
    lane = thread.number % launch.warp_size
    return launch.element("stress_line_at", line) + lane * launch.stress_lane_stride


def stress_shared(launch: Launch, thread: KernelThread, run: KernelThreadRun, accesses: int) -> int:
    """Accesses to one word of shared memory, in pairs; how many there are."""
    place = launch.shared_stress_at + thread.number % launch.warp_size * launch.stress_lane_stride
    pairs = (accesses + 1 & WORD) // 2
    for number in range(pairs):
        run.events += [(SHARED_STORE, 0, place, number), (SHARED_LOAD, 0, place)]
    return 2 * pairs


def stress_in_round(
    launch: Launch, thread: KernelThread, run: KernelThreadRun, round: int, pattern: int, accesses: int
) -> int:
    """Stress of shared memory or of the scratchpad; how many accesses it makes."""
    if happens(launch.shared_stress_percent, launch.seed, round, 20):
        return stress_shared(launch, thread, run, accesses)
    return stress(run, stress_place(launch, thread, round), pattern, accesses)


def only_stress(launch: Launch, thread: KernelThread, run: KernelThreadRun, finished: bool) -> None:
    """What a stressing CTA does."""
    for round in range(launch.rounds):
        run.events.append((event_kind(Touch.LOAD, VOLATILE), COUNTER_WORDS, COUNT["finished"]))
        if finished:
            break
        if happens(launch.stress_percent, launch.seed, round, 8):
            pattern, accesses = launch.stress_pattern, launch.stress_iterations
            run.count("stress", stress_in_round(launch, thread, run, round, pattern, accesses))


def stress_before(launch: Launch, thread: KernelThread, run: KernelThreadRun, round: int) -> int:
    """Stress before a round; how many accesses it makes."""
    if not happens(launch.pre_stress_percent, launch.seed, round, 9):
        return 0
    return stress_in_round(launch, thread, run, round, launch.pre_stress_pattern, launch.pre_stress_iterations)


def first_instance(launch: Launch, round: int, instance_group: int) -> int:
    """The first instance of an instance group in a round."""
    return round * launch.round_step + instance_group * launch.group_step & WORD


def instances_of(launch: Launch, round: int, instance_group: int) -> range:
    """The instances of an instance group in a round."""
    first = first_instance(launch, round, instance_group)
    return range(first, first + launch.batch * launch.instance_step, launch.instance_step)


def location_offset(launch: Launch, instance: int, variable: int) -> int:
    """Where a variable of an instance is, from the first location, in bytes."""
    block = (instance ^ launch.element("masks", variable)) * launch.pitch
    return block + (variable * launch.location_bytes & WORD)


def warm_lines(launch: Launch, run: KernelThreadRun, position: Position, round: int) -> int:
    """Reads of locations before the threads meet; how many there are."""
    if not happens(launch.warm_percent, launch.seed, round, 11):
        return 0
    instances = instances_of(launch, round, position.instance_group)
    chosen = random_number(launch.seed, instances.start, 12 + position.test_thread & WORD)
    reads: list[Event] = [
        (event_kind(Touch.LOAD, CACHED), LOCATIONS, location_offset(launch, instance, variable) // 4)
        for instance in instances
        for variable in range(launch.variables)
        if chosen >> variable & 1
    ]
    run.events += reads
    return len(reads)


def announce(launch: Launch, word: int, what: int) -> Event:
    """The event by which a thread tells the others something."""
    return event_kind(Touch.ATOMIC, STRENGTHS["SYS" if launch.devices > 1 else "GPU"]), MEETINGS, word, what


def meet(launch: Launch, run: KernelThreadRun, word: int, before: int, round: int) -> int:
    """What the meeting holds afterwards, if nobody else changes it."""
    seen = before + CAME & WORD
    run.events.append(announce(launch, word, CAME))
    if not happens(launch.barrier_percent, launch.seed, round, 10) or seen & 0xFF >= launch.threads:
        return seen
    limit = START_UP * launch.spin_limit if round == 0 else launch.spin_limit
    run.events += [(event_kind(Touch.LOAD, VOLATILE), MEETINGS, word)] * limit
    run.events.append(announce(launch, word, GAVE_UP))
    return seen + GAVE_UP & WORD


def leave_meeting(launch: Launch, run: KernelThreadRun, word: int, before: int, round: int) -> int:
    """What the meeting holds after the thread left it."""
    run.events.append(announce(launch, word, DONE))
    done = before >> 8 & 0xFF
    if done + 1 == launch.threads and happens(launch.barrier_percent, launch.seed, round, 10):
        run.count("meetings", int(before >> 16 == 0))
        run.count("timeouts", int(before >> 16 != 0))
    return before + DONE & WORD


def run_thread(
    launch: Launch, thread: KernelThread, kernel_number: int, call: Sequence[int], meetings: list[int], finished: bool
) -> KernelThreadRun:
    """The kernel `run`, for a thread that nobody else meets; `call` is what is passed to every test besides numbers.

    `call` is the number of the test and, each in two words: shared, locations, results, specification.
    """
    run = KernelThreadRun()
    if group_position(launch, thread) >= launch.testing_groups:
        only_stress(launch, thread, run, finished)
        return run
    for round in range(launch.rounds):
        position = find_position(launch, thread, kernel_number, round)
        run.homes.append(position)
        if launch.shared_variables:
            run.events.append((BARRIER, 0, 0))
        run.count("stress", stress_before(launch, thread, run, round))
        if position.test_thread != NOBODY:
            word = round * launch.instance_groups + position.instance_group
            run.count("warmed", warm_lines(launch, run, position, round))
            meetings[word] = meet(launch, run, word, meetings[word], round)
            run.events.append(call_event(launch, position, round, call))
            run.calls.append((round, position))
            meetings[word] = leave_meeting(launch, run, word, meetings[word], round)
        if launch.shared_variables:
            run.events += [(BARRIER, 0, 0)] * 2
    run.count("finished", 1)
    return run


def call_event(launch: Launch, position: Position, round: int, call: Sequence[int]) -> Event:
    """The event of a call of the test."""
    first = first_instance(launch, round, position.instance_group)
    end = first + launch.batch * launch.instance_step & WORD
    test, addresses, specification = call[0], call[1:7], call[7:9]
    numbers = (position.test_thread, first, end, position.group_in_cta)
    return (CALL, 0, test, *addresses, *numbers, *specification)
