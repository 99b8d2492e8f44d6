"""Pictures in the dot language of graphviz."""

from __future__ import annotations

from gpudiy.pictures.picture import Node, Picture
from gpudiy.pictures.sheet import CYCLE, DASHED, INITIAL, LANE, colours_of


def to_dot(picture: Picture) -> str:
    """The picture for graphviz, with one cluster per thread."""
    lines = [
        "digraph witness {",
        f"  graph [label={_quote(_heading(picture))}, labelloc=t, fontname=monospace, newrank=true, nodesep=0.6];",
        '  node [shape=box, style="rounded,filled", fillcolor=white, fontname=monospace];',
        "  edge [fontname=monospace, fontsize=11];",
    ]
    initial = [node for node in picture.nodes if node.column is None]
    if initial:
        lines += ["  { rank=min;", *(f"    {_dot_node(node)}" for node in initial), "  }"]
    for column, header in enumerate(picture.columns):
        members = [node for node in picture.nodes if node.column == column]
        lines += [f"  subgraph cluster_{column} {{", f"    label={_quote(header)};"]
        lines += ['    style="rounded,filled";', f'    color="{LANE}";']
        lines += [f"    {_dot_node(node)}" for node in members]
        lines += ["  }"]
    colours = colours_of(picture)
    for arrow in picture.arrows:
        colour = CYCLE if arrow.highlighted else colours[arrow.relation]
        options = [f"label={_quote(arrow.relation)}", f'color="{colour}"', f'fontcolor="{colour}"']
        options += ["penwidth=2.5"] if arrow.highlighted else []
        options += ["style=dashed"] if arrow.relation in DASHED else []
        options += ["weight=10"] if arrow.relation == "po" else ["constraint=false"]
        lines.append(f"  e{arrow.source} -> e{arrow.target} [{', '.join(options)}];")
    # Invisible edges keep the initial writes above all threads.
    first = [node.event for node in picture.nodes if node.column is not None and node.row == 0]
    lines += [f"  e{node.event} -> e{below} [style=invis];" for node in initial for below in first]
    return "\n".join([*lines, "}", ""])


def _heading(picture: Picture) -> str:
    return f"{picture.title}\n{picture.note}" if picture.note else picture.title


def _dot_node(node: Node) -> str:
    text = f"{node.label}\n{node.instruction or INITIAL}"
    colour = f', color="{CYCLE}", penwidth=2' if node.highlighted else ""
    return f"e{node.event} [label={_quote(text)}{colour}];"


def _quote(text: str) -> str:
    """A string of the dot language, with its special characters escaped."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
