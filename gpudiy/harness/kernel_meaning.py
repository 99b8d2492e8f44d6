"""What harness_templates/ means, as plain Python: what every thread of a kernel does, for given parameters.

optcheck runs the machine code of the kernels and compares it with this; see `gpudiy.harness.kernel_check`. Each
function here has the name of the one in the templates, or nearly so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gpudiy.harness.host_side import COUNTERS, NOBODY
from optcheck.lane_memory import BARRIER, CALL, STRENGTHS, event_kind
from optcheck.sass import Touch

WORD = 0xFFFFFFFF
PRIMES = (3, 7, 13, 31, 61, 127, 251, 509)
LAUNCH, LOCATIONS, RESULTS, MEETINGS, SCRATCHPAD, COUNTER_WORDS, TABLE, FUNCTIONS = range(1, 9)  # regions of memory
COUNT = {counter.name: number for number, counter in enumerate(COUNTERS)}
STRESS = 0x07F3B000
CAME, DONE, GAVE_UP, START_UP = 1, 1 << 8, 1 << 16, 64
VOLATILE = STRENGTHS["SYS"]

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
    if happens(launch.shuffle_percent, seed, round, 2):
        cluster = shuffle(cluster, launch.places_clusters * launch.cta_groups, random_number(seed, round, 3))
        cta = shuffle(cta, size, random_number(seed, round, 4))
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
    return line * launch.stress_line_size + lane * launch.stress_lane_stride


def only_stress(launch: Launch, thread: KernelThread, run: KernelThreadRun, finished: bool) -> None:
    """What a stressing CTA does."""
    for round in range(launch.rounds):
        run.events.append((event_kind(Touch.LOAD, VOLATILE), COUNTER_WORDS, COUNT["finished"]))
        if finished:
            break
        if happens(launch.stress_percent, launch.seed, round, 8):
            place = stress_place(launch, thread, round)
            run.count("stress", stress(run, place, launch.stress_pattern, launch.stress_iterations))


def stress_before(launch: Launch, thread: KernelThread, run: KernelThreadRun, round: int) -> int:
    """Stress before a round; how many accesses it makes."""
    if not happens(launch.pre_stress_percent, launch.seed, round, 9):
        return 0
    place = stress_place(launch, thread, round)
    return stress(run, place, launch.pre_stress_pattern, launch.pre_stress_iterations)


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
    run.count("overlaps", int(done == 0 and before & 0xFF == launch.threads))
    if done + 1 == launch.threads and happens(launch.barrier_percent, launch.seed, round, 10):
        run.count("meetings", int(before >> 16 == 0))
        run.count("timeouts", int(before >> 16 != 0))
    return before + DONE & WORD


def run_thread(
    launch: Launch, thread: KernelThread, kernel_number: int, call: Sequence[int], meetings: list[int], finished: bool
) -> KernelThreadRun:
    """The kernel `run`, for a thread that nobody else meets; `call` is what is passed to every test besides numbers.

    `call` is the number of the test and, each in two words: launch, locations, results, specification, shared.
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
    at_once = launch.batch * launch.instance_groups
    first, end = round * at_once + position.instance_group, (round + 1) * at_once
    test, addresses, specification, shared = call[0], call[1:7], call[7:9], call[9:]
    numbers = (position.test_thread, first, end, position.group_in_cta)
    return (CALL, 0, test, *addresses, *numbers, *specification, *shared)


def instances_of(launch: Launch, position: Position, round: int) -> Iterator[tuple[int, int]]:
    """The instances that a position runs in a round, each with its slot in shared memory."""
    at_once = launch.batch * launch.instance_groups
    groups = launch.warp_groups * launch.lane_groups
    first = round * at_once + position.instance_group
    for number, instance in enumerate(range(first, (round + 1) * at_once, launch.instance_groups)):
        yield instance, position.group_in_cta + number * groups
