"""Checks the kernels of a harness: their machine code must do what harness_templates/ means.

Random launches are run twice: as machine code by `optcheck.lane_machine`, which knows what each instruction does, and
as Python by `gpudiy.harness.kernel_meaning`, which knows nothing of machine code. Both must agree on what every thread
does in order, and on what is in memory at the end. And the launches must have reached every instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from gpudiy.harness.kernel_expectation import KernelFault, LaunchExpectation
from gpudiy.harness.kernel_launches import (
    LaunchCase,
    make_busy_reduces,
    make_meeting_reduces,
    make_meetings,
    make_reduces,
    make_resets,
    make_runs,
    make_stress,
)
from gpudiy.harness.kernel_machine import CaseMemory, KernelMachine, halves_of
from gpudiy.harness.kernel_meaning import (
    COUNTER_WORDS,
    LOCATIONS,
    MEETINGS,
    RESULTS,
    SCRATCHPAD,
    Event,
    location_offset,
)
from optcheck.lane_machine import LaneMachine
from optcheck.lane_memory import EventLog, MachineFailure
from optcheck.listing import SassFunction
from optcheck.lost_results import find_lost_result
from optcheck.machine_abi import MachineAbi, abi_of
from optcheck.warp_joins import find_missing_join

KERNELS = ("reset", "reduce", "run")
CLUSTER_KERNEL = "run_cluster_"
RUNS, CLUSTER_RUNS = 40, 20
FIRST_SEED, MOST_SEEDS = 2, 4  # 2: at once, all code of today is reached
VOTES = (("VOTE", "ANY"), ("YIELD",), ("VOTE", "ANY"), ("LOP3", "LUT"), ("BRA", "U"), ("BRA",))
MOST_VOTES = 9  # instructions of a loop in which threads vote
PARTS = {SCRATCHPAD: "stress", MEETINGS: "meeting", COUNTER_WORDS: "stress", LOCATIONS: "warm reads"}


def check_kernels_of(
    functions: Sequence[SassFunction], architecture: str, tables: Mapping[int, bytes], *, compared: bool = False
) -> str:
    """What is wrong with the kernels of a module; empty if nothing was found.

    `functions` are all functions but those of tests, `tables` the banks of constant memory that the module fills.
    `compared` means that the code is known to be what the compiler wrote.
    """
    abi = abi_of(architecture)
    if abi is None:
        return f"kernels: code for {architecture} is not understood"
    named = {function.name for function in functions}
    missing = [name for name in KERNELS if name not in named]
    if missing:
        return f"kernels: the binary has no kernel {missing[0]}"
    odd = "" if compared else find_odd_code(functions, abi)
    return odd or try_kernels(functions, abi, tables, sorted(name for name in named if name.startswith(KERNELS)))


def find_odd_code(functions: Sequence[SassFunction], abi: MachineAbi) -> str:
    """What no compiler writes, whatever kernels do: modifiers that no opcode has, results that nobody reads, threads
    that separate for ever."""
    if unknown := _find_unknown(functions):
        return f"kernels: {unknown}"
    lost, apart = find_lost_result(functions, abi), find_missing_join(functions)
    if not lost and not apart:
        return ""
    what = "nobody reads the result of this instruction" if lost else "threads separate here and do not meet"
    return f"kernels: {what} ({lost or apart})"


def _find_unknown(functions: Sequence[SassFunction]) -> str:
    """An instruction with modifiers that its opcode does not have, also where no launch runs it."""
    for function in functions:
        for index, instruction in enumerate(function.instructions):
            if not instruction.is_known:
                return f"{instruction.opcode} is not understood ({function.name}: {function.show_instruction(index)})"
    return ""


def try_kernels(
    functions: Sequence[SassFunction],
    abi: MachineAbi,
    tables: Mapping[int, bytes],
    kernels: Sequence[str],
    first_seed: int = FIRST_SEED,
) -> str:
    """Run launches of some kernels until they reached every instruction; what is wrong, or nothing."""
    covered = np.zeros(1, bool)
    uncovered = ""
    machine = KernelMachine(functions, abi, tables, Random(first_seed))
    try:
        for seed in range(first_seed, first_seed + MOST_SEEDS):
            for cases, fair in _make_cases(Random(seed), kernels):
                machine.restart(Random(seed))
                covered = covered | _check_cases(machine, cases, fair)
            uncovered = _find_uncovered(machine, covered)
            if not uncovered:
                break
    except KernelFault as fault:
        return str(fault)
    except MachineFailure as failure:
        return f"kernels: {failure.why}"
    return uncovered


def _make_cases(dice: Random, kernels: Sequence[str]) -> Iterator[tuple[list[LaunchCase], bool]]:
    """Launches that run together, and whether their threads take turns."""
    busy = make_busy_reduces(dice)
    if "reset" in kernels:
        yield make_resets(dice), False
    if "reduce" in kernels:
        yield make_reduces(dice) + make_meeting_reduces(dice) + busy, False
        yield busy[-1:], True
    if "run" in kernels:
        yield make_stress(dice) + make_runs(dice, "run", 1, RUNS), False
        yield make_meetings(dice), True
    for kernel in kernels:
        if kernel.startswith(CLUSTER_KERNEL):
            cluster = int(kernel.removeprefix(CLUSTER_KERNEL))
            yield make_runs(dice, kernel, cluster, CLUSTER_RUNS), False


def _check_cases(machine: KernelMachine, cases: Sequence[LaunchCase], fair: bool) -> NDArray[np.bool_]:
    """Run the launches and compare them; which instructions ran. Raises `KernelFault` and `MachineFailure`."""
    placed = machine.place(cases)
    for number, case in enumerate(cases):
        if case.kernel == "reduce":
            put_addresses(machine, number, case)
    expected = [LaunchExpectation(machine, number, case, placed[number]) for number, case in enumerate(cases)]
    run = machine.run(cases, fair)
    _compare_events(run, cases, placed, expected)
    for one in expected:
        one.compare_memory()
    return run.coverage.ran | run.coverage.skipped


def put_addresses(machine: KernelMachine, number: int, case: LaunchCase) -> None:
    """Many results and locations hold addresses of locations, or what differs from one in its upper word only."""
    launch = case.launch
    if not (launch.addresses and launch.wide and launch.variables):
        return
    dice = Random(number)
    words, address = machine.memory.words, machine.placed[number].regions[LOCATIONS].address
    results = machine.placed[number].regions[RESULTS]
    usual = [_choose_address(dice, launch.variables) for _ in range(launch.rows + launch.variables)]
    for instance in range(launch.instances):
        places = [results.start + 2 * (instance * launch.rows + row) for row in range(launch.rows)]
        places += (
            machine.location_word(number, location_offset(launch, instance, one)) for one in range(launch.variables)
        )
        for place, same in zip(places, usual, strict=True):
            chosen = _choose_address(dice, launch.variables) if case.alone or dice.random() < 0.05 else same
            if chosen is not None:
                value = address + location_offset(launch, instance, chosen[0])
                words[place : place + 2] = halves_of(value + chosen[1])


def _choose_address(dice: Random, variables: int) -> tuple[int, int] | None:
    """A variable, and how far from its address a value is; or a value that is no address."""
    if dice.random() < 0.6:
        return None
    return dice.randrange(variables), dice.choice((0, 0, 0, 1 << 32, 8))


def _compare_events(
    run: LaneMachine, cases: Sequence[LaunchCase], placed: Sequence[CaseMemory], expected: Sequence[LaunchExpectation]
) -> None:
    """Raises `KernelFault` if a thread does something else, or in another order."""
    log = EventLog(len(run.events.all), run.regions)
    by_thread = [
        events for one, memory in zip(expected, placed, strict=True) for events in one.events or [[]] * memory.count
    ]
    _note_all(log, by_thread)
    compared = np.repeat([one.events is not None for one in expected], [memory.count for memory in placed])
    for region, part in PARTS.items():
        if (compared & (log.by_region[region] != run.events.by_region[region])).any():
            kind = {
                "stress": "the accesses of stress differ",
                "meeting": "threads meet in another way",
                "warm reads": "other lines are read, or in another order",
            }[part]
            raise KernelFault(f"{part}: {kind}")
    wrong = np.flatnonzero(compared & (log.all != run.events.all))
    if len(wrong):
        kernel = cases[int(run.lanes.launch[wrong[0]])].kernel
        raise KernelFault(f"{kernel}: calls, barriers or atomics differ, or their order")


def _note_all(log: EventLog, by_thread: Sequence[Sequence[Event]]) -> None:
    """Note the events of all threads, step by step."""
    left = [number for number, events in enumerate(by_thread) if events]
    step = 0
    while left:
        groups: dict[tuple[int, int], list[int]] = {}
        for number in left:
            event = by_thread[number][step]
            groups.setdefault((event[0], len(event)), []).append(number)
        for (kind, _), threads in groups.items():
            columns = np.array([by_thread[number][step] for number in threads], np.uint64).T
            log.note(np.array(threads), kind, columns[1], columns[2], *columns[3:])
        step += 1
        left = [number for number in left if len(by_thread[number]) > step]


def _find_uncovered(machine: KernelMachine, covered: NDArray[np.bool_]) -> str:
    """An instruction that no launch reached; empty if there is none."""
    for at, reached in enumerate(covered):
        if not reached and not machine.code.instructions[at].never and not _is_padding(machine, at):
            return f"kernels: no launch reached this instruction ({machine.code.places[at]})"
    return ""


def _is_padding(machine: KernelMachine, at: int) -> bool:
    """NOP, and jumps to themselves, that fill the end of a function; and loops in which threads of sm_75 only vote.

    They vote where a loop goes back, and again if others joined them between two votes: both may never happen.
    """
    code = machine.code
    opcode = code.instructions[at].opcode
    if opcode == "NOP" or (opcode == "BRA" and code.targets.get(at) == at):
        return True
    for start in range(max(0, at - MOST_VOTES), at + 1):
        loop = [place for place in range(start, start + MOST_VOTES) if _may_run(machine, place)][: len(VOTES)]
        form = tuple(
            (_name_vote(code.instructions[place].opcode), *code.instructions[place].modifiers) for place in loop
        )
        if form == VOTES and code.targets.get(loop[-1]) == start and at <= loop[-1]:
            return code.instructions[loop[-1]].guard is None
    return False


def _may_run(machine: KernelMachine, place: int) -> bool:
    return place < len(machine.code.instructions) and not machine.code.instructions[place].never


def _name_vote(opcode: str) -> str:
    """VOTEU and VOTE count as one: sm_70 has only the latter."""
    return "VOTE" if opcode == "VOTEU" else opcode
