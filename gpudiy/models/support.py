"""What a model gives no meaning: better no verdict than a wrong one."""

from __future__ import annotations

from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.models.model import Model, Slots
from gpudiy.models.problems import Undecidable
from gpudiy.models.skeleton import EventSkeleton


def check_supported(model: Model, skeleton: EventSkeleton, slots: Slots) -> None:
    """Raise `Undecidable` if the skeleton has an event that the model says it does not support.

    A model says so with `flag ~empty S as unsupported-…`; one that never mentions rmw supports no atomics. `slots` are
    filled with what depends on the events alone.
    """
    if "rmw" not in model.inputs and skeleton.static("RMW"):
        raise _describe_unsupported(model, skeleton, skeleton.static("RMW"))
    for flag in model.unsupported:
        if slots[flag.slot]:
            raise _describe_unsupported(model, skeleton, slots[flag.slot])


def _describe_unsupported(model: Model, skeleton: EventSkeleton, events: int) -> Undecidable:
    event = skeleton.events[next(skeleton.algebra.members(events))]
    text = "an initial write" if event.instruction is None else f"`{instruction_text(event.instruction)}`"
    return Undecidable(f"the model {model.name} gives no meaning to {text} of P{event.thread}")
