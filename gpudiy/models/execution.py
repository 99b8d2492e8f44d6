"""Executions: one way a test can run, with all that a model makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gpudiy.litmus.condition import Value
from gpudiy.litmus.outcome import Outcome, outcome_text
from gpudiy.models.event import Event, Trace
from gpudiy.models.model import Model
from gpudiy.models.skeleton import EventSkeleton


class Chosen(NamedTuple):
    """What makes an execution of a skeleton: the values of its events, and the relations that were chosen."""

    values: tuple[Value, ...]
    relations: dict[int, int]  # by slot: rf, co, syncbar and orders, as far as the model looks at them
    rf: int
    co: int


class Execution:
    """An execution of a test and its outcome. Events and relations are put together when they are first looked at."""

    __slots__ = ("_chosen", "_events", "_skeleton", "_slots", "model", "outcome")

    def __init__(
        self,
        model: Model,
        outcome: Outcome,
        skeleton: EventSkeleton | Callable[[], tuple[EventSkeleton, Chosen]],
        chosen: Chosen | None = None,
    ) -> None:
        self.model = model
        self.outcome = outcome
        self._skeleton = skeleton
        self._chosen = chosen
        self._events: tuple[Event, ...] | None = None
        self._slots: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        test = self.skeleton.test
        return f"<Execution of {test.name}: {len(self.events)} events, {outcome_text(test, self.outcome).rstrip(';')}>"

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        from gpudiy.models.execution_picture import draw_execution  # it needs the class itself

        return draw_execution(self)

    @property
    def skeleton(self) -> EventSkeleton:
        return self._parts()[0]

    @property
    def rf(self) -> int:
        return self._parts()[1].rf

    @property
    def co(self) -> int:
        return self._parts()[1].co

    @property
    def events(self) -> tuple[Event, ...]:
        """The events with their values."""
        if self._events is None:
            skeleton, chosen = self._parts()
            self._events = skeleton.with_values(chosen.values)
        return self._events

    @property
    def slots(self) -> tuple[int, ...]:
        """The sets and relations of the model, by slot."""
        if self._slots is None:
            skeleton, chosen = self._parts()
            slots = [0] * self.model.slots
            for name, slot in self.model.inputs.items():
                slots[slot] = skeleton.static(name)
            for slot, relation in chosen.relations.items():
                slots[slot] = relation
            self.model.evaluate(skeleton.algebra, slots)
            self._slots = tuple(slots)
        return self._slots

    def rename_threads(self, threads: tuple[int, ...], traces: tuple[Trace, ...], outcome: Outcome) -> Execution:
        """The same execution with other threads in the same parts: thread number n does what `threads[n]` does here.

        `traces` are the runs of the threads as they are then.
        """

        def make() -> tuple[EventSkeleton, Chosen]:
            skeleton, chosen = self._parts()
            return _rename(skeleton, chosen, threads, traces)

        return Execution(self.model, outcome, make)

    def _parts(self) -> tuple[EventSkeleton, Chosen]:
        if not isinstance(self._skeleton, EventSkeleton):
            self._skeleton, self._chosen = self._skeleton()
        assert self._chosen is not None
        return self._skeleton, self._chosen

    def __reduce__(self) -> tuple[type[Execution], tuple[Model, Outcome, EventSkeleton, Chosen]]:
        return Execution, (self.model, self.outcome, *self._parts())


def _rename(
    skeleton: EventSkeleton, chosen: Chosen, threads: tuple[int, ...], traces: tuple[Trace, ...]
) -> tuple[EventSkeleton, Chosen]:
    other = EventSkeleton(skeleton.test, traces)
    old = list(range(len(skeleton.locations)))  # for each event of the other skeleton the event here
    for thread in threads:
        start = skeleton.starts[thread]
        old += range(start, start + len(skeleton.traces[thread].events))
    new = {event: index for index, event in enumerate(old)}

    def rename(relation: int) -> int:
        return other.algebra.relation((new[one], new[two]) for one, two in skeleton.algebra.pairs(relation))

    relations = {slot: rename(relation) for slot, relation in chosen.relations.items()}
    values = tuple(chosen.values[event] for event in old)
    return other, Chosen(values, relations, rename(chosen.rf), rename(chosen.co))
