"""A picture: columns of events and labelled arrows, without positions."""

from __future__ import annotations

import json
from dataclasses import dataclass

FORMAT = "gpudiy-witness"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Node:
    """An event: its column and row, its letter, its label, and its instruction.

    An initial write has no column, no letter and no instruction.
    """

    event: int
    column: int | None
    row: int
    name: str
    label: str
    instruction: str
    highlighted: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    """A pair of a relation, between the events of two nodes."""

    relation: str
    source: int
    target: int
    highlighted: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """One execution; node i shows event i, and `columns` are the headers of the threads."""

    title: str
    columns: tuple[str, ...]
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
    note: str = ""


def to_json(picture: Picture) -> str:
    """The picture as JSON.

    An object with `format` ("gpudiy-witness"), `version` (1), `title`, `note`, and three lists. `columns`: the headers
    of the threads. `events`: each with `event` (its number, counted from 0 in this order), `column` (the thread, or
    null for an initial write), `row` (its position there), `name` (its letter, or ""), `label`, `instruction` (PTX, or
    ""), `highlighted`. `arrows`: each with `relation`, `source` and `target` (numbers of events), `highlighted`.
    """
    return json.dumps(
        {
            "format": FORMAT, "version": VERSION, "title": picture.title, "note": picture.note,
            "columns": list(picture.columns),
            "events": [{key: getattr(node, key) for key in Node.__slots__} for node in picture.nodes],
            "arrows": [{key: getattr(arrow, key) for key in Arrow.__slots__} for arrow in picture.arrows],
        },
        indent=2, ensure_ascii=False,
    ) + "\n"  # fmt: skip


def from_json(text: str) -> Picture:
    """The picture that `to_json` wrote; raises `ValueError` for any other text."""
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("version") != VERSION:
        raise ValueError(f"not a picture: expected an object with format {FORMAT!r} and version {VERSION}")
    try:
        nodes = tuple(Node(**node) for node in data["events"])
        arrows = tuple(Arrow(**arrow) for arrow in data["arrows"])
        picture = Picture(data["title"], tuple(data["columns"]), nodes, arrows, data["note"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a picture: {error}") from error
    numbers = range(len(nodes))
    if [node.event for node in nodes] != list(numbers):
        raise ValueError("not a picture: the events are not numbered 0, 1, …")
    if any(node.column not in (None, *range(len(picture.columns))) for node in nodes):
        raise ValueError("not a picture: an event has a column that does not exist")
    if any(end not in numbers for arrow in arrows for end in (arrow.source, arrow.target)):
        raise ValueError("not a picture: an arrow starts or ends at an event that does not exist")
    return picture
