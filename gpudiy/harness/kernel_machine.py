"""Runs launches of the kernels of a harness on `optcheck.lane_machine`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from gpudiy.harness.host_side import pack_launch
from gpudiy.harness.kernel_launches import TESTS, LaunchCase
from gpudiy.harness.kernel_meaning import (
    COUNTER_WORDS,
    FUNCTIONS,
    LAUNCH,
    LOCATIONS,
    MEETINGS,
    RESULTS,
    SCRATCHPAD,
    TABLE,
    WORD,
)
from optcheck.lane_access import DESCRIPTOR
from optcheck.lane_control import return_from
from optcheck.lane_machine import ROWS, LaneMachine, Lanes
from optcheck.lane_memory import CALL, EVERYBODY, FAR, STACK_TOP, WINDOW, LaunchMemory, Region
from optcheck.lane_operations import make_operations
from optcheck.lane_values import Threads, Words
from optcheck.listing import SassFunction
from optcheck.machine_abi import MachineAbi
from optcheck.machine_code import NATIVE, MachineCode
from optcheck.path_proof import KEPT

BUFFERS = (LAUNCH, LOCATIONS, RESULTS, MEETINGS, SCRATCHPAD, COUNTER_WORDS, TABLE)  # in the order of the parameters
NONE = 1 << 30  # behind all words of shared memory
TABLE_SYMBOL = "test_functions"
SCRATCH = [row for name, row in ROWS.items() if name[0] == "R" and name not in KEPT and name not in ("R20", "R21")]
SCRATCH += [row for name, row in ROWS.items() if name[:2] == "UR" and int(name[2:]) < 32]
SCRATCH_PREDICATES = [row for name, row in ROWS.items() if name[0] == "P"]
ARGUMENTS = [ROWS[f"R{number}"] for number in range(4, 16)]


@dataclass(slots=True)
class CaseMemory:
    """Where the buffers of a launch are, and its threads among all."""

    regions: dict[int, Region]
    first: int
    count: int
    first_cta: int


class KernelMachine:
    """The code of a module, ready to run launches."""

    def __init__(
        self, functions: Sequence[SassFunction], abi: MachineAbi, tables: Mapping[int, bytes], dice: Random
    ) -> None:
        self.abi = abi
        table = self.restart(dice)
        # Callers first: so those that are furthest behind wait at a call until the others have come.
        self.code = MachineCode(functions[::-1], {TABLE_SYMBOL: table.address})
        self.operations = make_operations(self.code, abi.weak)
        self.tables = {bank: np.frombuffer(data[: len(data) // 4 * 4], np.uint32) for bank, data in tables.items()}

    def restart(self, dice: Random) -> Region:
        """Empty memory but for the table of functions, which always has the same address."""
        self.dice = dice
        self.memory = LaunchMemory()
        self.blocks: dict[int, list[Region]] = {}  # of far locations, by the number of their launch
        entries = [half for number in range(TESTS) for half in (_test_address(number) & WORD, NATIVE >> 32)]
        return self.memory.allocate(EVERYBODY, FUNCTIONS, np.array(entries, np.uint32))

    def place(self, cases: Sequence[LaunchCase]) -> list[CaseMemory]:
        """Allocate the buffers of launches."""
        self.placed_cases = cases
        self.placed, threads, ctas = [], 0, 0
        for number, case in enumerate(cases):
            launch = np.frombuffer(pack_launch(case.launch.fields), np.uint32)
            content = {
                LAUNCH: launch,
                LOCATIONS: np.array(case.locations, np.uint32),
                RESULTS: np.array(case.results, np.uint32),
                MEETINGS: np.array(case.meetings, np.uint32),
                SCRATCHPAD: np.zeros(case.scratchpad, np.uint32),
                COUNTER_WORDS: np.array(case.counters, np.uint32),
                TABLE: np.array(case.table, np.uint32),
            }
            regions = {region: self._allocate(number, case, region, words) for region, words in content.items()}
            self.placed.append(CaseMemory(regions, threads, case.groups * case.size, ctas))
            threads += case.groups * case.size
            ctas += case.groups
        return self.placed

    def _allocate(self, number: int, case: LaunchCase, region: int, words: Words) -> Region:
        """A buffer; the blocks of far locations are side by side only here."""
        if region != LOCATIONS or not case.block_words:
            return self.memory.allocate(number, region, words)
        first = FAR + (number << 36)
        blocks = [
            self.memory.allocate(
                number, region, words[start : start + case.block_words], first + block * case.launch.pitch
            )
            for block, start in enumerate(range(0, len(words), case.block_words))
        ]
        self.blocks[number] = blocks
        return blocks[0]

    def run(self, cases: Sequence[LaunchCase], fair: bool) -> LaneMachine:
        """Run the launches that were placed; raises `MachineFailure`."""
        self.cases = cases
        machine = LaneMachine(
            code=self.code,
            operations=self.operations,
            lanes=self._lanes(),
            memory=self.memory,
            constants=self._constants(),
            tables=self.tables,
            shared_words=max(128, *(_shared_words(case) + case.shared_stress for case in cases)),
            shared_base=self.abi.shared_base,
            regions=len(BUFFERS) + 2,
            summed=(COUNTER_WORDS,),
            watched=() if cases[0].kernel in ("reset", "reduce") else (LOCATIONS,),
            stressed_words=np.array([_shared_words(case) if case.shared_stress else NONE for case in cases]),
            several=np.array([case.launch.devices > 1 for case in cases]),
            dice=self.dice,
            native=self._call_test,
            fair=fair,
        )
        machine.run()
        return machine

    def _lanes(self) -> Lanes:
        def spread(values: Sequence[int]) -> Threads:
            counts = [case.groups * case.size for case in self.cases]
            return np.repeat(np.array(values, np.int64), counts)

        size, cluster = spread([case.size for case in self.cases]), spread([case.cluster for case in self.cases])
        number = np.arange(len(size)) - spread([one.first for one in self.placed])
        group, thread = number // size, number % size
        cta = group + spread([one.first_cta for one in self.placed])
        special = {
            "SR_TID.X": thread,
            "SR_CTAID.X": group,
            "SR_LANEID": thread % 32,
            "SR_CgaCtaId": group % cluster,
            "SR_SWINHI": np.full(len(size), WINDOW >> 32),
        }
        return Lanes(
            launch=spread(range(len(self.cases))),
            cta=cta,
            warp=cta * 64 + thread // 32,
            lane=thread % 32,
            special={name: words.astype(np.uint32) for name, words in special.items()},
            start=spread([self.code.starts[case.kernel] for case in self.cases]),
        )

    def _constants(self) -> dict[int, Words]:
        abi = self.abi
        columns: dict[int, list[int]] = {}
        for case, placed in zip(self.cases, self.placed, strict=True):
            words = {abi.group_size: case.size, abi.group_count: case.groups, abi.stack: STACK_TOP - 32}
            if abi.descriptor is not None:
                words |= {abi.descriptor: DESCRIPTOR & WORD, abi.descriptor + 4: DESCRIPTOR >> 32}
            if abi.window is not None:
                words |= {abi.window: WINDOW & WORD, abi.window + 4: WINDOW >> 32}
            passed = [half for region in BUFFERS for half in halves_of(placed.regions[region].address)]
            passed += [case.kernel_number, case.test, *halves_of(case.specification)]
            words |= {abi.parameters + 4 * number: word for number, word in enumerate(passed)}
            for offset, word in words.items():
                columns.setdefault(offset, []).append(word)
        return {offset: np.array(column, np.uint32) for offset, column in columns.items()}

    def _call_test(self, machine: LaneMachine, threads: Threads, addresses: Words) -> None:
        """A test: its arguments are noted, it changes shared variables, and leaves scratch registers in disorder."""
        arguments = [machine.registers[row, threads] for row in ARGUMENTS]
        nowhere = np.zeros(len(threads), np.int64)
        machine.events.note(threads, CALL, nowhere, addresses // np.uint32(16), *arguments)
        for place, thread in enumerate(threads.tolist()):
            case = self.cases[int(machine.lanes.launch[thread])]
            if case.launch.shared_variables:
                first, end, group, test_thread = (int(arguments[number][place]) for number in (7, 8, 9, 6))
                change_shared(machine.shared[int(machine.lanes.cta[thread])], case, test_thread, first, end, group)
        for row in SCRATCH:
            machine.registers[row, threads] = machine.noise.integers(0, 1 << 32, len(threads), dtype=np.uint32)
        for row in SCRATCH_PREDICATES:
            machine.registers[row, threads] = machine.noise.integers(0, 2, len(threads), dtype=np.uint32)
        return_from(machine, threads)

    def words_of(self, number: int, region: int) -> list[int]:
        """What a buffer of a launch holds."""
        if region == LOCATIONS and number in self.blocks:
            return [word for one in self.blocks[number] for word in self._words(one)]
        return self._words(self.placed[number].regions[region])

    def location_word(self, number: int, offset: int) -> int:
        """Which word of memory is at an offset, in bytes, of the locations of a launch."""
        case, place = self.placed_cases[number], self.placed_cases[number].word_at(offset)
        if number not in self.blocks:
            return self.placed[number].regions[LOCATIONS].start + place
        return self.blocks[number][place // case.block_words].start + place % case.block_words

    def _words(self, found: Region) -> list[int]:
        words: list[int] = self.memory.words[found.start : found.start + found.words].tolist()
        return words


def change_shared(shared: Words, case: LaunchCase, test_thread: int, first: int, end: int, group: int) -> None:
    """What the tests of this harness do to shared variables: each instance changes its own, by what it found."""
    launch = case.launch
    groups, count = launch.warp_groups * launch.lane_groups, launch.shared_variables
    for number, instance in enumerate(range(first, min(end, first + 1000), max(1, launch.instance_step))):
        for variable in range(count):
            place = 2 * ((group + number * groups) * count + variable) * launch.shared_stride
            if place + 1 < len(shared):
                change = (instance * 0x9E3779B1 + variable * 0x85EBCA6B + test_thread) & WORD
                shared[place] ^= np.uint32(change)
                shared[place + 1] ^= np.uint32(~change & WORD)


def _shared_words(case: LaunchCase) -> int:
    launch = case.launch
    return 2 * launch.shared_stride * launch.shared_variables * launch.warp_groups * launch.lane_groups * launch.batch


def _test_address(number: int) -> int:
    return NATIVE + 16 * number


def halves_of(value: int) -> tuple[int, int]:
    """The lower and the upper word of 64 bits."""
    return value & WORD, value >> 32
