"""Where the machine code of an architecture finds what a launch passes to it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineAbi:
    """Offsets in bank 0 of constant memory, in bytes, and how shared memory is addressed."""

    parameters: int
    group_size: int
    group_count: int
    stack: int
    descriptor: int | None = None
    window: int | None = None  # of shared memory; later chips have a special register for it
    shared_base: int = 0
    weak: tuple[str, ...] = ()  # how weak accesses are written, besides E


VOLTA = MachineAbi(parameters=0x160, group_size=0x0, group_count=0xC, stack=0x28, window=0x18, weak=("SYS",))
AMPERE = MachineAbi(parameters=0x160, group_size=0x0, group_count=0xC, stack=0x28, descriptor=0x118, window=0x18)
HOPPER = MachineAbi(parameters=0x210, group_size=0x0, group_count=0xC, stack=0x28, descriptor=0x208, shared_base=0x400)
BLACKWELL = MachineAbi(
    parameters=0x380, group_size=0x360, group_count=0x370, stack=0x37C, descriptor=0x358, shared_base=0x400
)


def abi_of(architecture: str) -> MachineAbi | None:
    """The ABI of an architecture such as sm_80; None for those before sm_70, whose code the machine cannot run."""
    number = int(architecture.removeprefix("sm_").rstrip("af"))
    if number < 70:
        return None
    for first, abi in ((100, BLACKWELL), (90, HOPPER), (80, AMPERE)):
        if number >= first:
            return abi
    return VOLTA
