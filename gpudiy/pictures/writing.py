"""Pictures as files: the suffix of a file chooses how a picture is drawn."""

from __future__ import annotations

from pathlib import Path

from gpudiy.errors import InputError
from gpudiy.files import write_whole
from gpudiy.pictures.graphviz import to_dot
from gpudiy.pictures.picture import Picture, to_json
from gpudiy.pictures.png import to_png
from gpudiy.pictures.svg import to_svg

SUFFIXES = (".svg", ".png", ".dot", ".json")


def write_picture(picture: Picture, path: str | Path) -> None:
    """Draw a picture into a file; the suffix (.svg, .png, .dot, .json) chooses the format."""
    path = Path(path)
    match path.suffix.lower():
        case ".svg":
            data = to_svg(picture).encode()
        case ".png":
            data = to_png(picture)
        case ".dot":
            data = to_dot(picture).encode()
        case ".json":
            data = to_json(picture).encode()
        case _:
            raise InputError(f"{path.name}: cannot draw a picture in this format; use one of {', '.join(SUFFIXES)}")
    write_whole(path, data)
