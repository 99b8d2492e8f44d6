"""The comparisons of setp and of conditions."""

from __future__ import annotations

from enum import StrEnum


class Comparison(StrEnum):
    """Comparisons of setp and of conditions."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"

    @property
    def symbol(self) -> str:
        """Its operator in C."""
        match self:
            case Comparison.EQ:
                return "=="
            case Comparison.NE:
                return "!="
            case Comparison.LT:
                return "<"
            case Comparison.LE:
                return "<="
            case Comparison.GT:
                return ">"
            case Comparison.GE:
                return ">="

    @property
    def equates(self) -> bool:
        """Whether it only asks if values are equal, as is possible of addresses too."""
        return self in (Comparison.EQ, Comparison.NE)

    @property
    def opposite(self) -> Comparison:
        """The comparison that holds where this one does not."""
        match self:
            case Comparison.EQ:
                return Comparison.NE
            case Comparison.NE:
                return Comparison.EQ
            case Comparison.LT:
                return Comparison.GE
            case Comparison.LE:
                return Comparison.GT
            case Comparison.GT:
                return Comparison.LE
            case Comparison.GE:
                return Comparison.LT

    @property
    def swapped(self) -> Comparison:
        """The same comparison with its sides swapped."""
        match self:
            case Comparison.EQ | Comparison.NE:
                return self
            case Comparison.LT:
                return Comparison.GT
            case Comparison.LE:
                return Comparison.GE
            case Comparison.GT:
                return Comparison.LT
            case Comparison.GE:
                return Comparison.LE

    def holds(self, left: int, right: int) -> bool:
        """Whether it is true of two numbers."""
        match self:
            case Comparison.EQ:
                return left == right
            case Comparison.NE:
                return left != right
            case Comparison.LT:
                return left < right
            case Comparison.LE:
                return left <= right
            case Comparison.GT:
                return left > right
            case Comparison.GE:
                return left >= right
