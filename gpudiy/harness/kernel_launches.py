"""Launches by which the kernels of a harness are tried: random parameters that reach every part of their code."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from random import Random

from gpudiy.harness.host_side import COUNTERS, NOBODY
from gpudiy.harness.kernel_meaning import COUNT, WORD, Launch, location_offset
from gpudiy.harness.kernel_plans import (
    PATTERNS,
    SCRATCHPAD_WORDS,
    Plan,
    number_instances,
    plan_places,
    plan_shared,
    plan_stress,
    plan_warming,
)
from gpudiy.harness.kernel_times import bring_times_together, plan_times
from gpudiy.harness.outcome_meaning import NEARBY, Outcome, hash_of
from gpudiy.harness.shape import VARIABLES

TESTS = 5  # in the table of functions
PAIRS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 20, 24, 28, 29, 33, 48)  # so that each unrolled loop runs, and ends


@dataclass(slots=True)
class LaunchCase:
    """A launch of a kernel: its parameters, its CTAs, and what its buffers hold at the start, in words."""

    kernel: str
    launch: Launch
    groups: int
    size: int
    kernel_number: int = 0
    test: int = 0
    specification: int = 0
    cluster: int = 1
    alone: bool = True  # no two threads access the same meeting, or the same slot of a table
    meetings: list[int] = field(default_factory=list)
    counters: list[int] = field(default_factory=lambda: [0] * len(COUNTERS))
    locations: list[int] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    table: list[int] = field(default_factory=list)
    scratchpad: int = 0  # words
    shared_stress: int = 0  # words of shared memory behind those of the tests
    block_words: int = 0  # of the locations of an instance, if those of the next one are far away
    hasty: bool = False  # threads give up a meeting soon, if others are late

    def word_at(self, offset: int) -> int:
        """Which word of `locations` is at an offset in bytes."""
        if not self.block_words:
            return offset // 4
        block, inside = divmod(offset, self.launch.pitch)
        return block * self.block_words + inside // 4


def make_runs(dice: Random, kernel: str, cluster: int, count: int) -> list[LaunchCase]:
    """Launches of `run`. One thread of each instance group runs a test, so that no thread waits for another."""
    cases = []
    for number in range(count):
        whole = number % 4 == 3  # CTAs of whole warps
        warp_size = 32 if whole else dice.choice((1, 4, 6, 8))
        warps = 1 if whole else dice.randint(1, 3)
        plan = plan_places(dice, cluster, warp_size, warps)
        plan["batch"] = dice.randint(1, 5)
        places = [NOBODY] * len(plan["thread_at"])
        places[dice.randrange(plan["own"], len(places))] = dice.choice((0, 1, 7, 0x7FFFFFFF))
        shared = dice.choice((0, 1, 2, 3, 4)) if number % 4 else 0
        fields = {
            **plan,
            **plan_stress(dice),
            **plan_shared(dice, plan, shared),
            **plan_warming(dice),
            "thread_at": places,
        }
        fields |= {
            "rounds": 0 if number == 0 else dice.randint(1, 3),
            "threads": dice.choice((1, 1, 2, 3)),
            "devices": 1 + number // 4 % 2,
            "finished_threads": dice.choice((0, WORD, WORD)),
            "barrier_percent": dice.choice((0, 60, 100, 100)),
            "spin_limit": dice.choice((0, 1, 2)),
        }
        cases.append(_finish_run(dice, kernel, cluster, fields))
    return cases


def make_meetings(dice: Random) -> list[LaunchCase]:
    """Launches of `run` in which all threads of the test meet, and some in which a few give up."""
    cases = []
    for warps, limit in ((1, 1 << 20), (2, 1 << 20), (2, 2), (1, 4)):
        plan = plan_places(dice, 1, 8, warps)
        own = len(plan["thread_at"]) - plan["own"]
        places = [NOBODY] * plan["own"] + list(range(own))
        fields = {**plan, **plan_stress(dice), **plan_warming(dice), "thread_at": places, "rounds": 2, "threads": own}
        fields |= {"finished_threads": WORD, "barrier_percent": 100, "spin_limit": limit}
        case = _finish_run(dice, "run", 1, fields)
        case.alone, case.hasty, case.meetings = False, limit < 10, [0] * len(case.meetings)
        cases.append(case)
    return cases


def make_stress(dice: Random) -> list[LaunchCase]:
    """Launches of one thread that only stresses, or before a round, for every pattern and many numbers of accesses."""
    cases = []
    for testing_groups, pattern, pairs in product((0, 1), PATTERNS, PAIRS):
        plan = {**plan_places(dice, 1, 1, 1), **plan_stress(dice), "cluster_groups": 1}
        plan |= {"rounds": 1 + testing_groups, "finished_threads": WORD, "testing_groups": testing_groups}
        for name in ("stress", "pre_stress"):
            plan |= {f"{name}_percent": 100, f"{name}_pattern": pattern, "shared_stress_percent": 100 * (pattern == 9)}
            plan[f"{name}_iterations"] = max(0, 2 * pairs - dice.randrange(2))
        case = _finish_run(dice, "run", 1, plan)
        case.groups = 1
        cases.append(case)
    cases[0].launch = Launch({**cases[0].launch.fields, "rounds": 0})
    return cases


def place_shared_stress(case: LaunchCase) -> None:
    """Put the stressed words of shared memory behind those of the tests."""
    launch = case.launch
    slots = launch.shared_variables * launch.warp_groups * launch.lane_groups * launch.batch
    case.launch = Launch({**launch.fields, "shared_stress_at": 2 * launch.shared_stride * slots})
    case.shared_stress = launch.warp_size * launch.stress_lane_stride + 1


def place_locations(dice: Random, case: LaunchCase) -> None:
    """Locations for all instances of a run; if they are few, blocks are sometimes very far apart."""
    launch = case.launch
    instances = launch.rounds * launch.batch * launch.instance_groups
    slots = 8 * -(-instances // 8)
    case.locations = _words(dice, slots * launch.variables * launch.location_bytes // 4)
    if launch.variables and 0 < slots <= 16 and dice.random() < 0.5:
        case.launch = Launch({**launch.fields, "pitch": 0x4000_0000 + 8 * dice.randrange(1 << 28)})
        case.block_words = _block_words(case.launch)


def _finish_run(dice: Random, kernel: str, cluster: int, fields: Plan) -> LaunchCase:
    own = ("own", "kernel_number", "group_size")
    fields |= number_instances(dice, fields)
    launch = Launch({name: value for name, value in fields.items() if name not in own})
    all_groups = launch.testing_groups + launch.cluster_groups * dice.choice((0, 1, 1))
    case = LaunchCase(
        kernel, launch, all_groups, Launch(fields).group_size, Launch(fields).kernel_number, cluster=cluster
    )
    case.test, case.specification = dice.randrange(TESTS), dice.getrandbits(64)
    place_shared_stress(case)
    case.scratchpad = SCRATCHPAD_WORDS + launch.warp_size * launch.stress_lane_stride
    threads = launch.threads or 1
    case.meetings = [_meeting(dice, threads) for _ in range(launch.rounds * launch.instance_groups)]
    case.counters = [dice.choice((0, dice.getrandbits(31))) for _ in COUNTERS]
    case.counters[COUNT["stress_low"]] = dice.choice(
        (WORD, WORD - 0xFF, dice.getrandbits(32))
    )  # so that the carry is counted
    case.counters[COUNT["finished"]] = 0
    case.counters[COUNT["warmed_low"]] = dice.choice((WORD, WORD, dice.getrandbits(32)))
    case.results = _words(dice, 2 * launch.rows * launch.rounds * launch.batch * launch.instance_groups)
    place_locations(dice, case)
    return case


def _meeting(dice: Random, threads: int) -> int:
    """What others left in the word of a meeting."""
    came, done, gave_up = dice.randint(0, threads), dice.choice((0, threads - 1)), dice.choice((0, 0, 1, 2))
    return came | done << 8 | gave_up << 16


def make_resets(dice: Random) -> list[LaunchCase]:
    """Launches of `reset`, with every number of variables."""
    cases = []
    for number in range(8 * (VARIABLES + 1)):
        variables, wide = number // 8, number % 2
        location_bytes, instances = 8 * dice.choice((1, 2, 4)), dice.randint(0, 8)
        slots = 8
        fields: Plan = {
            "variables": variables,
            "wide": wide,
            "instances": instances,
            "location_bytes": location_bytes,
            "pitch": variables * location_bytes,
            "masks": [0, *(dice.randrange(slots) for _ in range(variables - 1))],
            "initial_value": [dice.getrandbits(64) for _ in range(variables)],
            "initial_address": [dice.choice((0, 1 + dice.randrange(variables))) for _ in range(variables)],
            "rounds": dice.randint(0, 4),
            "instance_groups": dice.randint(1, 5),
            "table_slots": 1 << dice.randint(0, 3),
        }
        case = LaunchCase("reset", _spread(dice, fields), dice.randint(1, 2), dice.choice((1, 2, 9)))
        case.block_words = _block_words(case.launch)
        case.meetings = _words(dice, case.launch.rounds * case.launch.instance_groups)
        case.table = _words(dice, 2 * case.launch.table_slots + 8)
        case.counters = _words(dice, len(COUNTERS))
        case.locations = _words(dice, slots * variables * location_bytes // 4)
        cases.append(case)
    return cases


ROWS_OF_RESULTS = 5


def make_reduces(dice: Random) -> list[LaunchCase]:
    """Launches of `reduce` by one thread, with outcomes that differ in one value and compete for one slot."""
    cases = []
    for number in range(80):
        variables, observed = number % 10, number // 10
        wide, addresses = int(dice.random() < 0.8), int(dice.random() < 0.8)
        chosen = _choose_sources(dice, variables, observed)
        location_bytes, instances = 8 * dice.choice((1, 2)), dice.choice((2, 3, 4, 8))
        fields: Plan = {
            "variables": variables,
            "observed": len(chosen),
            "rows": ROWS_OF_RESULTS,
            "wide": wide,
            "addresses": addresses,
            "instances": instances,
            "location_bytes": location_bytes,
            "pitch": variables * location_bytes,
            "masks": [0, *(dice.randrange(8) for _ in range(variables - 1))],
            "sources": chosen,
            "table_slots": dice.choice((1, 1, 2, 2, 16)),
            **plan_times(dice, ROWS_OF_RESULTS),
        }
        case = LaunchCase("reduce", _spread(dice, fields), 1, 1)
        case.block_words = _block_words(case.launch)
        case.results = _words(dice, 2 * ROWS_OF_RESULTS * max(1, instances))
        case.locations = _words(dice, 8 * variables * location_bytes // 4)
        for instance, outcome in enumerate(_outcomes(dice, case.launch, instances)):
            put_outcome(case, instance, outcome)
        case.table = [0] * (2 * case.launch.table_slots * (1 + len(chosen)))
        if dice.random() < 0.5:
            bring_times_together(dice, case.results, 2 if case.launch.wide else 1)
        cases.append(case)
    return cases


def _choose_sources(dice: Random, variables: int, observed: int) -> list[int]:
    """Rows of results and locations in disorder, or in turns."""
    kinds = [[1 + row for row in range(ROWS_OF_RESULTS)], [0x100 + one for one in range(variables)]]
    sources = kinds[0] + kinds[1]
    chosen = dice.sample(sources, min(observed, len(sources)))
    if dice.random() < 0.5:
        turns = [dice.sample(kind, len(kind)) for kind in dice.sample(kinds, 2)]
        chosen = [one for pair in zip(*turns, strict=False) for one in pair][:observed] or chosen
    return chosen


def make_meeting_reduces(dice: Random) -> list[LaunchCase]:
    """Launches of `reduce` by CTAs of one thread: only so, equal outcomes meet in the table of the launch."""
    cases = make_reduces(dice)[10:50]
    for case in cases:
        kinds = _outcomes(dice, case.launch, 3)
        case.groups, case.alone = dice.choice((2, 2, 3)), False
        for instance in range(case.launch.instances):
            put_outcome(case, instance, dice.choice(kinds))
    return cases


def make_busy_reduces(dice: Random) -> list[LaunchCase]:
    """Launches of `reduce` by many threads; in the first, there are more outcomes than the table of a CTA holds."""
    cases = []
    for groups, size, instances, kinds in ((1, 66, NEARBY + 5, NEARBY + 5), (2, 130, 7, 3), (2, 16, 32, 9)):
        fields: Plan = {"observed": 1, "rows": 5, "instances": instances, "sources": [1], "table_slots": 2 * NEARBY}
        fields |= {"timed": 1, "threads": 2, "first_row": [1, 3]}
        case = LaunchCase("reduce", Launch(fields), groups, size, alone=False)
        values = _competing_values(dice, kinds) if kinds < NEARBY else [number * 0x10001 for number in range(kinds)]
        times = [[dice.getrandbits(32) for _ in range(4)] for _ in range(instances)]
        case.results = [word for instance, words in enumerate(times) for word in (values[instance % kinds], *words)]
        case.table = [0] * (8 * NEARBY)
        cases.append(case)
    return cases


def _spread(dice: Random, fields: Plan) -> Launch:
    """A launch whose instances are sometimes so far apart that their distances have more than 32 bits."""
    if fields["variables"] and dice.random() < 0.5:
        fields["pitch"] = 0x4000_0000 + 8 * dice.randrange(1 << 28)
    return Launch(fields)


def _block_words(launch: Launch) -> int:
    own = launch.variables * launch.location_bytes
    return own // 4 if launch.pitch > own else 0


def _competing_values(dice: Random, count: int) -> list[int]:
    """Values that begin at the same slot of the table of a CTA."""
    found = [dice.getrandbits(32)]
    while len(found) < count:
        value = dice.getrandbits(32)
        if hash_of((value,)) % NEARBY == hash_of((found[0],)) % NEARBY:
            found.append(value)
    return found


def _outcomes(dice: Random, launch: Launch, count: int) -> list[Outcome]:
    """Equal outcomes, and others that differ in one value and begin at the same slots."""
    bits = 64 if launch.wide else 32
    found: list[Outcome] = []
    for _ in range(count):
        if not found or not launch.observed:
            found.append(tuple(dice.getrandbits(bits) for _ in range(launch.observed)))
            continue
        outcome = list(dice.choice(found))
        place = dice.randrange(launch.observed)
        if dice.random() < 0.5:  # one bit of one word
            outcome[place] ^= 1 << dice.randrange(bits)
        elif dice.random() < 0.8:
            while tuple(outcome) in found or hash_of(tuple(outcome)) % NEARBY != hash_of(found[0]) % NEARBY:
                outcome[place] = dice.getrandbits(bits)
        found.append(tuple(outcome) if dice.random() < 0.8 else found[0])
    return found


def put_outcome(case: LaunchCase, instance: int, outcome: Outcome) -> None:
    """Write the values of an instance to where `reduce` finds them."""
    launch = case.launch
    width = 2 if launch.wide else 1
    for number, value in enumerate(outcome):
        source = launch.element("sources", number)
        if source < 0x100:
            words, place = case.results, (instance * launch.rows + source - 1) * width
        else:
            words, place = case.locations, case.word_at(location_offset(launch, instance, source - 0x100))
        words[place : place + width] = [value & WORD, value >> 32][:width]


def _words(dice: Random, count: int) -> list[int]:
    return [dice.getrandbits(32) for _ in range(count)]
