"""The page: its frame, its style, its script and its data in one text."""

from __future__ import annotations

from pathlib import Path

from gpudiy.logs.html_report.payload import pack_data
from gpudiy.logs.tables.heat import css

TEMPLATES = Path(__file__).parent / "templates"


def page_text(data: dict[str, object], title: str) -> str:
    """A page that needs no network."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    scripts = [(TEMPLATES / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    return environment.get_template("report.html").render(
        title=title, style=f"{style}\n{css()}", script="\n".join(scripts), data=pack_data(data)
    )


SCRIPTS = (
    "statistics",
    "data",
    "grid",
    "plots",
    "panel",
    "views",
    "main",
)  # in the order in which they need each other
