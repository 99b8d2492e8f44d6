"""The picture of an execution: its events in a column for each thread, its relations as arrows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.litmus.scope_tree import ScopeTree
from gpudiy.models.algebra import Algebra
from gpudiy.models.event import Event, label_of
from gpudiy.models.execution import Execution
from gpudiy.models.explanation import Explanation, basic_relations
from gpudiy.models.skeleton import EventSkeleton
from gpudiy.pictures.picture import Arrow, Node, Picture
from gpudiy.pictures.svg import to_svg


def draw_execution(execution: Execution, title: str = "") -> str:
    """An execution as an SVG document that needs nothing else; the title is the name of the test if none is given."""
    title = title or execution.skeleton.test.name
    return to_svg(picture_of(execution.skeleton, execution.rf, execution.co, {}, title, events=execution.events))


def draw_explanation(explanation: Explanation) -> str:
    """The execution of an explanation as SVG; what a check objects to is highlighted."""
    return to_svg(picture_of_explanation(explanation))


def picture_of_explanation(explanation: Explanation) -> Picture:
    """The execution of an explanation; the events that a check objects to are highlighted."""
    verdict, execution = explanation.verdict, explanation.execution
    assert execution is not None
    named = {
        name: execution.slots[operand.slot]
        for name, operand in verdict.model.named.items()
        if name in ("sync", "sc", "syncbar") and not operand.is_set
    }
    basic = basic_relations(execution)
    for step in explanation.steps:
        if step.relation not in basic:
            pair = execution.skeleton.algebra.pair(step.source, step.target)
            named[step.relation] = named.get(step.relation, 0) | pair
    if verdict.allowed:
        title = f"{verdict.test.name}: allowed by {verdict.model.name}"
    else:
        title = f"{verdict.test.name}: forbidden by {verdict.model.name} ({', '.join(explanation.checks)})"
    highlight = [step.source for step in explanation.steps]
    return picture_of(
        execution.skeleton, execution.rf, execution.co, named, title, highlight=highlight, events=execution.events
    )


def picture_of(
    skeleton: EventSkeleton,
    rf: int,
    co: int,
    extra: Mapping[str, int],
    title: str,
    highlight: Sequence[int] = (),
    *,
    events: Sequence[Event] | None = None,
    steps: Sequence[str] = (),
    note: str = "",
) -> Picture:
    """The picture of an execution of `skeleton`; relations are ints of its algebra.

    `events` are the events with the values of this execution, which a skeleton does not know. `highlight` is a cycle
    of events, each related to the next and the last to the first; `steps`, if given, names the relation of each step.
    A step that no arrow shows gets one.
    """
    shown = skeleton.events if events is None else events
    if len(shown) != len(skeleton.events):
        raise ValueError(f"{len(shown)} events given for an execution of {len(skeleton.events)}")
    if steps and len(steps) != len(highlight):
        raise ValueError(f"{len(steps)} steps given for a cycle of {len(highlight)} events")
    whole = _relations(skeleton, rf, co, extra)
    drawn = _reduce(skeleton, whole)
    cycle = _cycle(skeleton.algebra, whole, highlight, steps)
    pairs = {(name, *pair): None for name, relation in drawn.items() for pair in skeleton.algebra.pairs(relation)}
    pairs.update(dict.fromkeys(cycle))
    arrows = tuple(Arrow(*pair, highlighted=pair in cycle) for pair in pairs)
    columns = tuple(thread_header(skeleton.test.scope_tree, thread) for thread in range(len(skeleton.test.threads)))
    return Picture(title, columns, tuple(_nodes(shown, highlight)), arrows, note)


def _relations(skeleton: EventSkeleton, rf: int, co: int, extra: Mapping[str, int]) -> dict[str, int]:
    """All pairs of all relations, what says most about a pair first."""
    a = skeleton.algebra
    co = a.closure(co)
    fr = a.compose(a.inverse(rf), co) & ~a.identity
    known = {"rf": rf, "co": co, "fr": fr}
    known.update((name, skeleton.static(name)) for name in ("rmw", "addr", "data", "ctrl"))
    order = skeleton.static("po")
    return {**known, **{name: pairs for name, pairs in extra.items() if name not in (*known, "po")}, "po": order}


def _reduce(skeleton: EventSkeleton, relations: Mapping[str, int]) -> dict[str, int]:
    """What is drawn: no pair that follows from others."""
    a = skeleton.algebra
    order = relations["po"]
    drawn = {name: without_shortcuts(a, relation, order) for name, relation in relations.items()}
    drawn["co"], drawn["po"] = without_shortcuts(a, relations["co"]), without_shortcuts(a, order)
    # An atomic's read is always before its own write: rmw says so already.
    drawn["fr"] = a.compose(a.inverse(relations["rf"]), drawn["co"]) & ~a.identity & ~relations["rmw"]
    for name in ("rf", "rmw", "addr", "data"):
        drawn[name] = relations[name]
    # A branch decides about all that follows it: the first of these says so.
    decided = a.compose(relations["ctrl"], order)
    drawn["ctrl"] = relations["ctrl"] if decided & ~relations["ctrl"] else relations["ctrl"] & ~decided
    return drawn


def without_shortcuts(a: Algebra, relation: int, order: int = 0) -> int:
    """As few pairs as the rest of a relation follows from; for a strict order its transitive reduction.

    A pair follows from others by transitivity if the relation is transitive, and by a step of `order` (program order)
    before or after it if the relation includes all that such steps make.
    """
    transitive, before, after = (
        not longer & ~relation
        for longer in (a.compose(relation, relation), a.compose(order, relation), a.compose(relation, order))
    )

    def following(pairs: int) -> int:
        if before:
            pairs |= a.compose(order, pairs)
        if after:
            pairs |= a.compose(pairs, order)
        return a.closure(pairs) if transitive else pairs

    # Among the events of a cycle more than one choice is possible: keep what joins threads.
    inside = relation & (order | a.inverse(order))
    loops = relation & a.identity
    for part in (loops, inside, relation & ~inside & ~loops):
        for pair in a.pairs(part):
            rest = relation & ~a.pair(*pair)
            if following(rest) & a.pair(*pair):
                relation = rest
    return relation


def _cycle(
    a: Algebra, relations: Mapping[str, int], highlight: Sequence[int], steps: Sequence[str]
) -> set[tuple[str, int, int]]:
    """The cycle as arrows: each step with its given name, or the first relation that has it."""
    found = set()
    for index, source in enumerate(highlight):
        target = highlight[(index + 1) % len(highlight)]
        pair = a.pair(source, target)
        name = steps[index] if steps else next((name for name, pairs in relations.items() if pairs & pair), "cycle")
        found.add((name, source, target))
    return found


def _nodes(events: Iterable[Event], highlight: Sequence[int]) -> Iterator[Node]:
    rows: dict[int | None, int] = {}
    letters = 0
    for number, event in enumerate(events):
        column = None if event.initial else event.thread
        row = rows[column] = rows.get(column, -1) + 1
        name, text = "", ""
        if event.instruction is not None:
            name, text = letter_of(letters), instruction_text(event.instruction)
            letters += 1
        label = f"{name}: {label_of(event)}" if name else label_of(event)
        yield Node(number, column, row, name, label, text, number in highlight)


def letter_of(number: int) -> str:
    """a to z, then aa, ab, …"""
    before, last = divmod(number, 26)
    return (letter_of(before - 1) if before else "") + chr(ord("a") + last)


def thread_header(tree: ScopeTree, thread: int) -> str:
    """The thread and its groups; kernels, devices and warps are named only if there are several to distinguish."""
    if tree.is_on_host(thread):
        return f"P{thread}  (host)"
    on_gpus = [other for other in range(len(tree.placements)) if not tree.is_on_host(other)]
    tree = tree.reorder_threads(on_gpus)  # numbers without those of the host
    placement, others = tree.placements[on_gpus.index(thread)], tree.placements
    groups = [f"cta {placement.cta}"]
    if len({other.warp for other in others}) < len(others):
        groups.insert(0, f"warp {placement.warp}")
    if tree.has_clusters:
        groups.append(f"cluster {placement.cluster}")
    groups += [
        f"{word} {number}"
        for word, number, most in (
            ("kernel", placement.kernel, max(other.kernel for other in others)),
            ("device", placement.device, max(other.device for other in others)),
        )
        if most
    ]
    return f"P{thread}  ({', '.join(groups)})"
