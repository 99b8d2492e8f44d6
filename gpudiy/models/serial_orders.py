"""The outcomes of threads that run one after another, in each order: what a run shows whose threads never meet."""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

from gpudiy.litmus.condition import FinalRegister, Observable, Value
from gpudiy.litmus.memory_types import show_value, shown_memory
from gpudiy.litmus.outcome import FinalState
from gpudiy.litmus.test import Test
from gpudiy.models.problems import Undecidable
from gpudiy.models.progress.machine import MachineState, ThreadMachine

MOST_THREADS = 5  # of which all orders are tried: 120
MOST_STEPS = 2000  # of a thread, after which it waits for another one


class SerialOrder(NamedTuple):
    """An order of threads, and the final state in which the test ends if they run one after another in this order."""

    threads: tuple[int, ...]
    outcome: FinalState


def list_serial_orders(test: Test) -> list[SerialOrder]:
    """All orders in which threads can run one after another.

    Orders are left out in which a thread waits for a later one: in a loop, or at a barrier. There are none for a test
    that the machine gives no meaning, or that has too many threads to try all orders.
    """
    if len(test.threads) > MOST_THREADS:
        return []
    machine = ThreadMachine(test, remember_started=False)
    orders = []
    try:
        for order in permutations(range(len(test.threads))):
            state: MachineState | None = machine.initial
            for thread in order:
                state = None if state is None else _run_thread(machine, state, thread)
            if state is not None:
                orders.append(SerialOrder(order, {term: _final_value(test, state, term) for term in test.observed}))
    except Undecidable:
        return []
    return orders


def _run_thread(machine: ThreadMachine, state: MachineState, thread: int) -> MachineState | None:
    """The state behind the last instruction of a thread; None if it does not come there alone."""
    for _ in range(MOST_STEPS):
        if machine.is_at_end(state, thread):
            return state
        after = machine.step(state, thread)
        if after is None:
            return None
        state = after
    return None


def _final_value(test: Test, state: MachineState, term: Observable) -> Value:
    if isinstance(term, FinalRegister):
        declared = test.registers_of(term.thread)
        slot = next(place for place, register in enumerate(declared) if register.name == term.name)
        return show_value(state.threads[term.thread].registers[slot], declared[slot].type)
    location = test.memory_map.location_of(term.name)
    places = list(dict.fromkeys(test.memory_map.locations().values()))
    return shown_memory(test, location, state.memory[places.index(location)])
