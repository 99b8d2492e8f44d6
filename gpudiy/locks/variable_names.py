"""The names of the variables of a lock: one name for each address that its code uses."""

from __future__ import annotations

import re

from gpudiy.litmus.instruction import Alu, AluOperation, Immediate
from gpudiy.litmus.validity import is_name
from gpudiy.locks.lock_program import LockProgram
from gpudiy.locks.symbolic_value import Number, SymbolicAddress
from gpudiy.ptx import OpaqueInstruction, PtxSpace, PtxStatement

REGISTER = re.compile(r"[rp]\d+\Z")
COPIES = (AluOperation.ADD, AluOperation.SUB, AluOperation.MOV)  # the base of an address is their first source


class VariableNames:
    """Collects variables with their widths; `pointers` are the registers from which addresses are computed."""

    def __init__(self, program: LockProgram) -> None:
        self.program = program
        self.variables: dict[str, int] = {}
        self.named: dict[SymbolicAddress, str] = {}
        self.pointers = self._find_pointers()

    def name(self, address: SymbolicAddress, bits: int, position: int | None = None) -> str:
        """The name of the variable at an address."""
        if address not in self.named:
            base = address.variable
            if address.offset == Number(0):
                name = base
            elif isinstance(address.offset, Number):
                name = f"{base}_{address.offset.value}"
            else:
                others = sum(known.variable == base for known in self.named)
                name = f"{base}_at{others or ''}"
            self.named[address] = _make_legal(re.sub(r"\W", "_", name))
        name = self.named[address]
        known = self.variables.setdefault(name, bits)
        if known != bits and position is not None:
            problem = f"{name} is accessed with {known} and with {bits} bits"
            raise self.program.error(position, problem)
        return name

    def _find_pointers(self) -> frozenset[str]:
        """The registers from which addresses are computed."""
        found = {
            address.base.name for statement in self.program.statements if statement.space is not PtxSpace.PARAM
            for address in statement.addresses if address.base is not None
        }  # fmt: skip
        copies = [copy for statement in self.program.statements if (copy := _copy(statement)) is not None]
        before = -1
        while len(found) > before:
            before = len(found)
            found.update(source for destination, source in copies if destination in found)
        return frozenset(found)


def _copy(statement: PtxStatement) -> tuple[str, str] | None:
    """The destination and the base of a statement that may compute an address."""
    match statement.instruction:
        case Alu(operation=operation, destination=destination, sources=(source, *_)) if operation in COPIES:
            return None if isinstance(source, Immediate) else (destination.name, source.name)
        case OpaqueInstruction(opcode=opcode, destinations=(destination,), sources=(source,)):
            is_copy = opcode.startswith("cvta.") and not isinstance(source, Immediate)
            return (destination.name, source.name) if is_copy else None  # type: ignore[union-attr]
        case _:
            return None


def _make_legal(name: str) -> str:
    """A name that is legal in a test: not a reserved word, not the name of a register."""
    return f"{name}_" if not is_name(name) or REGISTER.match(name) else name
