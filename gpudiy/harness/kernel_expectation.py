"""What a launch of the kernels of a harness must do; see `gpudiy.harness.kernel_check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gpudiy.harness.kernel_launches import LaunchCase
from gpudiy.harness.kernel_machine import CaseMemory, KernelMachine, change_shared, halves_of
from gpudiy.harness.kernel_meaning import (
    COUNT,
    COUNTER_WORDS,
    LOCATIONS,
    MEETINGS,
    RESULTS,
    SCRATCHPAD,
    STRESS,
    TABLE,
    WORD,
    Event,
    KernelThread,
    KernelThreadRun,
    first_instance,
    location_offset,
    run_thread,
)
from gpudiy.harness.outcome_meaning import (
    Load,
    Outcome,
    OutcomeMemory,
    OutcomeTable,
    count_times,
    find_wrong_count,
    initial_value,
    observe,
    reduce_alone,
)
from optcheck.lane_memory import WINDOW


class KernelFault(Exception):
    """The kernels do not do what the templates say; the message begins with the part: stress, meeting, kernel…"""


class LaunchExpectation:
    """What a launch must do: the events of its threads, and what its buffers must hold at the end."""

    def __init__(self, machine: KernelMachine, number: int, case: LaunchCase, placed: CaseMemory) -> None:
        self.machine, self.number, self.case, self.placed = machine, number, case, placed
        self.launch = case.launch
        self.buffers = {region: machine.words_of(number, region) for region in placed.regions}
        self.events: list[list[Event]] | None = None
        if case.kernel == "reset":
            self._reset()
            self.events = [[] for _ in range(placed.count)]
        elif case.kernel == "reduce":
            self._reduce()
        elif case.alone:
            self._run()
        else:
            self._meet()

    def _threads(self) -> list[KernelThread]:
        case = self.case
        return [
            KernelThread(group, case.groups, one, case.size) for group in range(case.groups) for one in range(case.size)
        ]

    def _reset(self) -> None:
        launch, address = self.launch, self.placed.regions[LOCATIONS].address
        for instance in range(launch.instances):
            for variable in range(launch.variables):
                value = initial_value(launch, address, instance, variable)
                self._put(LOCATIONS, location_offset(launch, instance, variable), value)
        for region, count in ((MEETINGS, launch.rounds * launch.instance_groups), (TABLE, 2 * launch.table_slots)):
            self.buffers[region][:count] = [0] * count
        self.buffers[COUNTER_WORDS] = [0] * len(COUNT)

    def _put(self, region: int, at: int, value: int) -> None:
        words = self.buffers[region]
        place = self.case.word_at(at) if region == LOCATIONS else at // 4
        words[place] = value & WORD
        if self.launch.wide:
            words[place + 1] = value >> 32 & WORD

    def _run(self) -> None:
        """The threads of `run`, each of which meets nobody."""
        case, launch = self.case, self.launch
        runs = []
        for thread in self._threads():
            shared = halves_of(WINDOW + self._shared_offset(thread.group))
            addresses = [half for one in (LOCATIONS, RESULTS) for half in halves_of(self.placed.regions[one].address)]
            call = [case.test, *shared, *addresses, *halves_of(case.specification)]
            finished = launch.finished_threads == 0
            runs.append(run_thread(launch, thread, case.kernel_number, call, self.buffers[MEETINGS], finished))
        self.events = [[self._place_event(event) for event in run.events] for run in runs]
        self._count(runs)
        if launch.shared_variables:
            for group in range(case.groups):
                self._share(runs[group * case.size : (group + 1) * case.size])

    def _place_event(self, event: Event) -> Event:
        """An event as the machine sees it: each block of far locations is a buffer of its own."""
        if event[1] != LOCATIONS or not self.case.block_words:
            return event
        return (*event[:2], event[2] % (self.launch.pitch // 4), *event[3:])

    def _shared_offset(self, group: int) -> int:
        base = self.machine.abi.shared_base
        return (group % self.case.cluster << 24) + base if base else 0

    def _count(self, runs: Sequence[KernelThreadRun]) -> None:
        counters = self.buffers[COUNTER_WORDS]
        for name in ("meetings", "timeouts", "finished"):
            counters[COUNT[name]] += sum(run.counts.get(name, 0) for run in runs)
        for name in ("stress", "warmed"):
            low = counters[COUNT[f"{name}_low"]] + sum(run.counts.get(name, 0) for run in runs)
            counters[COUNT[f"{name}_low"]] = low
            counters[COUNT[f"{name}_high"]] += low >> 32
        self.buffers[COUNTER_WORDS] = [word & WORD for word in counters]

    def _share(self, runs: Sequence[KernelThreadRun]) -> None:
        """Shared variables of a CTA: their values at the end of each round are results."""
        launch = self.launch
        variables, groups = launch.shared_variables, launch.warp_groups * launch.lane_groups
        for round, position in enumerate(runs[0].homes):
            shared = np.zeros(2 * launch.shared_stride * variables * groups * launch.batch, np.uint32)
            for place in range(variables * groups * launch.batch):
                value = launch.element("shared_initial", place % variables)
                shared[2 * place * launch.shared_stride :][:2] = halves_of(value)
            for called, own in (call for run in runs for call in run.calls):
                if called == round:
                    first = first_instance(launch, round, own.instance_group)
                    end = first + launch.batch * launch.instance_step
                    change_shared(shared, self.case, own.test_thread, first, end, own.group_in_cta)
            for place in range(variables * groups * launch.batch):
                slot, variable = divmod(place, variables)
                row = launch.element("shared_row", variable)
                if row and launch.element("shared_home", variable) == position.home:
                    group = position.instance_group - position.group_in_cta + slot % groups
                    instance = first_instance(launch, round, group) + slot // groups * launch.instance_step
                    low, high = (int(word) for word in shared[2 * place * launch.shared_stride :][:2])
                    at = (instance * launch.rows + row - 1) * (8 if launch.wide else 4)
                    self._put(RESULTS, at, low | high << 32)

    def _meet(self) -> None:
        """All threads of the test meet in every instance group: nobody gives up."""
        launch = self.launch
        meetings = launch.rounds * launch.instance_groups
        self.buffers[MEETINGS] = [launch.threads | launch.threads << 8] * meetings
        self._count([self._quiet(thread) for thread in self._threads()])
        counters = self.buffers[COUNTER_WORDS]
        counters[COUNT["meetings"]] = (counters[COUNT["meetings"]] + meetings) & WORD

    def _quiet(self, thread: KernelThread) -> KernelThreadRun:
        """What a thread counts, but for meetings."""
        ignored = [self.launch.threads] * (self.launch.rounds * self.launch.instance_groups)  # nobody waits
        run = run_thread(
            self.launch, thread, self.case.kernel_number, [0] * 9, ignored, self.launch.finished_threads == 0
        )
        return KernelThreadRun(counts={name: run.counts.get(name, 0) for name in ("stress", "warmed", "finished")})

    def _reduce(self) -> None:
        launch = self.launch

        def loader(region: int) -> Load:
            words = self.buffers[region]
            find = self.case.word_at if region == LOCATIONS else lambda at: at // 4
            return lambda at, wide: words[find(at)] | (words[find(at) + 1] << 32 if wide else 0)

        memory = OutcomeMemory(launch, loader(LOCATIONS), loader(RESULTS), self.placed.regions[LOCATIONS].address)
        self.outcomes: list[Outcome] = [observe(memory, instance) for instance in range(launch.instances)]
        self._add_times(count_times(memory, range(launch.instances)))
        slots = launch.table_slots
        if not self.case.alone:
            return
        tables = OutcomeTable([0] * slots, [0] * slots, [None] * slots)
        # Threads that count nothing: what is added to a counter is not an event.
        self.events = [[event for event in reduce_alone(memory, tables, self.outcomes) if event[1] != COUNTER_WORDS]]
        table = [*tables.owners, *tables.counts]
        for values in tables.values:
            table += [half for value in values or (0,) * launch.observed for half in halves_of(value)]
        self.buffers[TABLE] = table
        self.buffers[COUNTER_WORDS][COUNT["overflow"]] += tables.overflow

    def _add_times(self, counts: Mapping[str, int]) -> None:
        counters = self.buffers[COUNTER_WORDS]
        for name in ("timed", "overlaps", "inversions"):
            counters[COUNT[name]] = (counters[COUNT[name]] + counts[name]) & WORD
        low, high = COUNT["skew_low"], COUNT["skew_high"]
        skew = (counters[low] | counters[high] << 32) + counts["skew"]
        counters[low], counters[high] = skew & WORD, skew >> 32 & WORD

    def compare_memory(self) -> None:
        """Raises `KernelFault` if a buffer holds what it should not."""
        for region, expected in self.buffers.items():
            found = self.machine.words_of(self.number, region)
            if self.case.hasty and region in (MEETINGS, COUNTER_WORDS):
                continue
            if region == SCRATCHPAD:
                if not {*found} <= {0, *range(STRESS, STRESS + 3)}:
                    raise KernelFault("stress: another value is stored")
            elif region in (TABLE, COUNTER_WORDS) and self.case.kernel == "reduce" and not self.case.alone:
                continue
            elif found != expected:
                raise KernelFault(f"{_name_part(self.case.kernel, region)}")
        if self.case.hasty:
            self._compare_hasty()
        if self.case.kernel == "reduce" and not self.case.alone:
            self._compare_table()

    def _compare_hasty(self) -> None:
        """All threads came and were done; a meeting that anybody gave up is counted as such."""
        launch, counters = self.launch, self.machine.words_of(self.number, COUNTER_WORDS)
        words = self.machine.words_of(self.number, MEETINGS)
        added = {name: counters[COUNT[name]] - self.case.counters[COUNT[name]] & WORD for name in COUNT}
        given_up = sum(word >> 16 > 0 for word in words)
        complete = len(words) - given_up
        if any(word & 0xFFFF != launch.threads | launch.threads << 8 for word in words):
            raise KernelFault("meeting: not all threads came to the meetings")
        if (added["timeouts"], added["meetings"]) != (given_up, complete):
            raise KernelFault("meeting: meetings that threads gave up are counted wrongly")
        if added["finished"] == 0:
            raise KernelFault("meeting: threads that are done are counted wrongly")

    def _compare_table(self) -> None:
        slots, width = self.launch.table_slots, self.launch.observed
        words = self.machine.words_of(self.number, TABLE)
        wide = [low | high << 32 for low, high in zip(words[2 * slots :: 2], words[2 * slots + 1 :: 2], strict=True)]
        values = [tuple(wide[width * slot : width * (slot + 1)]) for slot in range(slots)]
        owners = words[:slots]
        if any(any(values[slot]) for slot in range(slots) if not owners[slot]):
            raise KernelFault("reduce: values are stored in a slot without an owner")
        counters = self.machine.words_of(self.number, COUNTER_WORDS)
        overflow = counters[COUNT["overflow"]]
        wrong = find_wrong_count(OutcomeTable(owners, words[slots : 2 * slots], [*values], overflow), self.outcomes)
        self.buffers[COUNTER_WORDS][COUNT["overflow"]] = overflow
        if wrong or counters != self.buffers[COUNTER_WORDS]:
            raise KernelFault(f"reduce: {wrong or 'a counter differs'}")


def _name_part(kernel: str, region: int) -> str:
    """Which part of the templates is responsible for a buffer that differs."""
    if not kernel.startswith("run"):
        return f"{kernel}: what it leaves in memory differs"
    what = {
        MEETINGS: "meeting: what is left in the words of meetings differs",
        COUNTER_WORDS: "kernels: a counter differs",
        RESULTS: "kernels: the results of shared variables differ",
    }
    return what.get(region, f"{kernel}: a buffer is changed")
