"""What the variables of a lock are called: one name for each address its code comes to."""

from __future__ import annotations

import re

from gpudiy.litmus.validity import is_name
from gpudiy.locks.program import Program
from gpudiy.locks.value import Number, Place

REGISTER = re.compile(r"[rp]\d+\Z")
PLACE = re.compile(r"\[\s*([\w$%.]+)\s*(?:\+\s*(-?\w+))?\s*\]\Z")


class VariableNames:
    """Learns every variable on the way, with its width; `pointers` are the registers that addresses are made of."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.variables: dict[str, int] = {}
        self.named: dict[Place, str] = {}
        self.pointers = self._pointers()

    def name(self, place: Place, bits: int, position: int | None = None) -> str:
        """What the variable at an address is called."""
        if place not in self.named:
            base = place.variable
            if place.offset == Number(0):
                name = base
            elif isinstance(place.offset, Number):
                name = f"{base}_{place.offset.value}"
            else:
                others = sum(known.variable == base for known in self.named)
                name = f"{base}_at{others or ''}"
            self.named[place] = _legal(re.sub(r"\W", "_", name))
        name = self.named[place]
        known = self.variables.setdefault(name, bits)
        if known != bits and position is not None:
            problem = f"{name} is accessed both as {known} and as {bits} bits"
            raise self.program.error_at(position, problem)
        return name

    def _pointers(self) -> frozenset[str]:
        """The registers that addresses are made of."""
        found = {
            match[1] for statement in self.program.statements for operand in statement.operands
            if (match := PLACE.match(operand)) and "param" not in statement.opcode
        }  # fmt: skip
        changed = True
        while changed:
            before = len(found)
            for statement in self.program.statements:
                if statement.kind in ("add", "sub", "cvta", "mov") and statement.operands[0] in found:
                    found.add(statement.operands[1])  # the base of an address stands first, its index behind it
            changed = len(found) > before
        return frozenset(found)


def _legal(name: str) -> str:
    """A name that a test can have: no word of its formats, and none that its registers have."""
    return f"{name}_" if not is_name(name) or REGISTER.match(name) else name
