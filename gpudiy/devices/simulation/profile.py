"""Profiles: what the simulated machine may reorder, and how often, in the manner of a chip."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpudiy.litmus.access import Scope


class MemoryFamily(Enum):
    """The rules by which a chip keeps accesses in order."""

    INTERLEAVING = "one access after another"
    SINGLE_MEMORY = "one memory behind reordering threads; fences of three scopes"
    MANY_VIEWS = "every thread has its own view of memory; acquire, release and fence.sc bring views together"


@dataclass(frozen=True, slots=True)
class Pace:
    """How often something is late under full stress (a share), and by how much then (in issue slots)."""

    share: float
    slots: float


PROMPT = Pace(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Profile:
    """`model` names the model under which the machine is sound; the machine itself does not use models."""

    name: str
    chip: str
    architecture: str
    family: MemoryFamily
    model: str
    loads: Pace = PROMPT  # a load takes its value late: those behind it overtake it
    rereads: Pace = PROMPT  # the same, for a load whose location its thread loads again
    stores: Pace = PROMPT  # a store waits in the store buffer before it reaches L2
    atomics: Pace = PROMPT  # an atomic waits on its way to L2
    views: Pace = PROMPT  # a write in L2 becomes visible to some thread late
    lines: Pace = PROMPT  # a cached load finds a line that came into L1 so long ago, where such lines are
    emptied_by: Scope | None = None  # the narrowest fence that empties L1
    reads_in_order: bool = True  # two reads of one location stay in order
    bank_conflicts_hold_loads: float = 1.0  # how much more often loads are late under bank conflicts


_PROFILES = (
    Profile(
        "sc", "simulated SC", "none", MemoryFamily.INTERLEAVING, "sc",
        loads=Pace(0.3, 5.0), rereads=Pace(0.3, 5.0), stores=Pace(0.3, 5.0), atomics=Pace(0.3, 5.0),
    ),
    Profile(
        "fermi", "simulated Fermi", "sm_20", MemoryFamily.SINGLE_MEMORY, "ptx-asplos15",
        loads=Pace(0.12, 6.0), rereads=Pace(0.35, 8.0), stores=Pace(0.10, 5.0), atomics=Pace(0.001, 6.0),
        lines=Pace(0.05, 20.0),
        reads_in_order=False, bank_conflicts_hold_loads=1.5,
    ),
    Profile(
        "kepler", "simulated Kepler", "sm_35", MemoryFamily.SINGLE_MEMORY, "ptx-asplos15",
        loads=Pace(0.15, 6.0), rereads=Pace(0.45, 8.0), stores=Pace(0.20, 6.0), atomics=Pace(0.002, 6.0),
        lines=Pace(0.05, 20.0), emptied_by=Scope.CTA,
        reads_in_order=False, bank_conflicts_hold_loads=1.5,
    ),
    Profile(
        "maxwell", "simulated Maxwell", "sm_52", MemoryFamily.SINGLE_MEMORY, "ptx-asplos15",
        loads=Pace(0.01, 5.0), rereads=Pace(0.01, 5.0), stores=Pace(0.01, 5.0),
    ),
    Profile(
        "volta", "simulated Volta", "sm_70", MemoryFamily.MANY_VIEWS, "ptx-6.0",
        loads=Pace(0.15, 6.0), rereads=Pace(0.15, 6.0), stores=Pace(0.20, 6.0), atomics=Pace(0.02, 6.0),
        views=Pace(0.15, 8.0), reads_in_order=False,
    ),
)  # fmt: skip
PROFILES = {profile.name: profile for profile in _PROFILES}
