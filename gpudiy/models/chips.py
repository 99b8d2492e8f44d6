"""Which chips a model speaks for, as its file says: `chips "sm_70 and later"`."""

from __future__ import annotations

import re
from dataclasses import dataclass

GENERATIONS = {
    "fermi": 20, "kepler": 30, "maxwell": 50, "pascal": 60, "volta": 70, "turing": 75, "ampere": 80, "ada": 89,
    "hopper": 90, "blackwell": 100,
}  # fmt: skip
FORMS = 'chips "sm_70 and later", chips "before sm_70", chips "all" or chips "none"'


@dataclass(frozen=True, slots=True)
class ChipRange:
    """Chips from architecture sm_`first` on, before sm_`end`; all of them if neither is given."""

    text: str
    first: int | None = None
    end: int | None = None

    def __str__(self) -> str:
        return {"all": "all chips", "none": "no chip"}.get(self.text, f"chips {self.text}")

    def includes(self, architecture: str) -> bool:
        """Whether a chip is one of them: `sm_80`, `Kepler`. One that says nothing of its age is among all or none."""
        if self.first is None and self.end is None:
            return True
        number = _number(architecture)
        return (
            number is not None
            and (self.first is None or number >= self.first)
            and (self.end is None or number < self.end)
        )


ALL_CHIPS = ChipRange("all")


def read_chips(text: str) -> ChipRange:
    """The chips that a model names; raises ValueError for what is none of the known forms."""
    if text == "all":
        return ALL_CHIPS
    if text == "none":
        return ChipRange(text, end=0)
    found = re.fullmatch(r"sm_(\d+) and later|before sm_(\d+)", text)
    if found is None:
        raise ValueError(f"expected {FORMS}")
    return ChipRange(text, int(found[1])) if found[1] else ChipRange(text, end=int(found[2]))


def _number(architecture: str) -> int | None:
    """The number in sm_NN, or that of the first chips of a generation."""
    words = architecture.lower()
    found = re.search(r"sm_?(\d+)", words)
    if found is not None:
        return int(found[1])
    return next((number for name, number in GENERATIONS.items() if name in words), None)
