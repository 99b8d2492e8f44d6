"""What a model says of itself in the comment at the top of its file: what it covers, its source, what it leaves out.

(* A sentence about the model.
   covers: …
   source: …
   not covered: … *)
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpudiy.models.model import Model

HEADER = re.compile(r"^\s*covers:(.*?)\n\s*source:(.*?)\n\s*not covered:(.*?)\*\)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """A model in words; the last three are empty if its file does not say it."""

    name: str
    title: str
    chips: str
    covers: str = ""
    source: str = ""
    not_covered: str = ""


def describe_model(model: Model) -> ModelDescription:
    """The model in the words of its own file."""
    found = HEADER.search(model.text)
    parts = () if found is None else tuple(" ".join(part.split()) for part in found.groups())
    return ModelDescription(model.name, model.title, str(model.chips), *parts)
