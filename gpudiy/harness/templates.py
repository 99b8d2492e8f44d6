"""The templates of `harness_templates/`: all the code that runs on a device."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from gpudiy.harness.host_side import BUFFERS, COUNTERS, LAUNCH_FIELDS
from gpudiy.shipped import find_shipped

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def render(name: str, **values: Any) -> str:
    """A template filled in. Every template may use the fields of a launch, the buffers and the counters."""
    return _template(name).render(launch_fields=LAUNCH_FIELDS, buffers=BUFFERS, counters=COUNTERS, **values)


def tidy(text: str) -> str:
    """The text without blanks at the ends of lines and without double empty lines, with one newline at the end."""
    lines: list[str] = []
    for line in map(str.rstrip, text.split("\n")):
        if line or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines).strip("\n") + "\n"


@cache
def templates_hash() -> str:
    """A hash of all templates and of the description of a launch."""
    digest = sha256(repr((LAUNCH_FIELDS, BUFFERS, COUNTERS)).encode())
    for path in sorted(find_shipped("harness_templates").iterdir()):
        if path.suffix in (".h", ".j2"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _template(name: str) -> Template:
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(find_shipped("harness_templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
