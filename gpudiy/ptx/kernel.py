"""`PtxKernel` and `PtxModule`: the kernels, functions and variables of a PTX file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gpudiy.ptx.statement import PtxSpace, PtxStatement

NUMBERED = re.compile(r"(.*?)(\d+)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A parameter of a kernel or function; `type` is a PTX type such as u64, or b8 for a structure of `bytes` bytes.

    A kernel reads it with ld.param; a function can have parameters that are registers.
    """

    name: str
    type: str
    bytes: int
    in_register: bool = False


@dataclass(frozen=True, slots=True)
class RegisterBank:
    """A register declaration: one register, or with `count` the registers name0, name1, …"""

    name: str
    type: str
    count: int | None = None


@dataclass(frozen=True, slots=True)
class PtxVariable:
    """A variable of a module or a kernel.

    `bytes` is 0 for an array without a size (dynamic shared memory). `initial` are its first values; a value that is
    not a number, such as the address of another variable, is kept as text.
    """

    name: str
    space: PtxSpace
    type: str
    bytes: int
    initial: tuple[int | str, ...] = ()


@dataclass(frozen=True, slots=True)
class PtxKernel:
    """A kernel (`entry`) or a device function.

    `labels` maps each label to the position of the next instruction in `body`; the position after the last instruction
    is the end. `branch_targets` are the labels of each `.branchtargets` list, for brx.idx. A name that is declared
    again in an inner block of the PTX gets a suffix (`p%1`), so that every name is unique.
    """

    name: str
    entry: bool
    parameters: tuple[KernelParameter, ...]
    results: tuple[KernelParameter, ...]
    registers: tuple[RegisterBank, ...]
    variables: tuple[PtxVariable, ...]
    body: tuple[PtxStatement, ...]
    labels: Mapping[str, int] = field(default_factory=dict)
    branch_targets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        what = "kernel" if self.entry else "function"
        return f"<{what} {self.name}: {len(self.parameters)} parameters, {len(self.body):,} instructions>"

    @property
    def shared_variables(self) -> tuple[PtxVariable, ...]:
        """The variables that a CTA shares."""
        return tuple(variable for variable in self.variables if variable.space is PtxSpace.SHARED)

    def register_type(self, name: str) -> str | None:
        """The PTX type of a register, such as b32, f64 or pred; None for a special register or an unknown name."""
        match = NUMBERED.match(name)
        for bank in self.registers:
            if bank.count is None and bank.name == name:
                return bank.type
            if match and bank.count is not None and bank.name == match[1] and int(match[2]) < bank.count:
                return bank.type
        return None


@dataclass(frozen=True, slots=True)
class PtxModule:
    """A PTX file: its kernels and functions that have a body, and the variables outside them."""

    kernels: tuple[PtxKernel, ...]
    variables: tuple[PtxVariable, ...]
    version: str = ""
    target: str = ""

    def __repr__(self) -> str:
        count = sum(len(kernel.body) for kernel in self.kernels)
        return f"<PTX {self.version} for {self.target}: {len(self.kernels):,} functions, {count:,} instructions>"
