"""Events: what an execution of a test consists of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpudiy.litmus.condition import Value
from gpudiy.litmus.instruction import Instruction
from gpudiy.litmus.print_gpu_ptx import value_text
from gpudiy.litmus.traits import drawn_words

Pairs = tuple[tuple[int, int], ...]


class EventKind(StrEnum):
    """What an event does; the value is the name of its set in models."""

    READ = "R"
    WRITE = "W"
    FENCE = "F"
    PROXY_FENCE = "PF"
    BARRIER = "B"


@dataclass(frozen=True, slots=True)
class Event:
    """One dynamic access, fence or barrier of a thread; a write without an instruction is an initial one.

    `variable` is the name the access used, `location` the memory behind it (the two differ for aliases). For a barrier,
    `meeting` says which barriers it can meet: its instance, its identifier, and how often the thread was there before.
    """

    kind: EventKind
    thread: int
    instruction: Instruction | None
    variable: str = ""
    location: str = ""
    value: Value = 0
    meeting: tuple[int, int, int] = (0, 0, 0)
    count: int | None = None

    @property
    def initial(self) -> bool:
        return self.instruction is None


def label_of(event: Event) -> str:
    """What an event does, in a few characters: `W.cg x=1`, `R.acquire.gpu y=0`, `F.sc.gpu`, `B.sync 1`."""
    words = "" if event.instruction is None else drawn_words(event.instruction)
    match event.kind:
        case EventKind.FENCE | EventKind.PROXY_FENCE:
            return f"F{words}"
        case EventKind.BARRIER:
            count = "" if event.count is None else f",{event.count}"
            return f"B{words} {event.meeting[1]}{count}"
        case EventKind.READ | EventKind.WRITE:
            place = "" if event.variable == event.location else f" (at {event.location})"
            return f"{event.kind}{words} {event.variable}={value_text(event.value, address='&')}{place}"


@dataclass(frozen=True, slots=True)
class Trace:
    """One run of a thread: its events in program order; dependencies and rmw pairs as positions among them.

    The events have no values yet.
    """

    events: tuple[Event, ...]
    address: Pairs
    data: Pairs
    control: Pairs
    rmw: Pairs
