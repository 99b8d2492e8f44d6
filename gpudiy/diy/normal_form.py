"""The normal form of a thread: its part of the content of a test.

This is what `gpudiy.litmus.content` makes of a thread, for the few kinds of instruction that are generated, with the
locations still to be filled in. A thread stands in many tests of a family; so each of them can be hashed unbuilt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpudiy.litmus.access import Access, ScalarType
from gpudiy.litmus.instruction import (
    Alu,
    Atomic,
    Barrier,
    Branch,
    Fence,
    Immediate,
    Instruction,
    Label,
    Load,
    Operand,
    ProxyFence,
    Reduce,
    Register,
    SetPredicate,
    Store,
    address_of,
    destination_of,
    guard_of,
    operands_of,
)

Declared = dict[str, tuple[ScalarType, int | None]]  # type, and the access whose location's address it holds


class NormalForm(NamedTuple):
    """`%s` in `tokens` stands for a location, those of the accesses `places` in turn; `names` are of registers."""

    tokens: str
    places: tuple[int, ...]
    names: dict[str, str]


def normal_form(instructions: Sequence[Instruction], declared: Declared) -> NormalForm:
    return _Writer(instructions, declared).written(instructions)


class _Writer:
    """Registers are numbered by their first use; one that is never written is what it holds."""

    def __init__(self, instructions: Sequence[Instruction], declared: Declared) -> None:
        self.declared = declared
        written = [destination_of(instruction) for instruction in instructions]
        self.kept = {register.name for register in written if register is not None}
        self.tokens: list[str] = []
        self.places: list[int] = []
        self.names: dict[str, str] = {}

    def written(self, instructions: Sequence[Instruction]) -> NormalForm:
        end = sum(not isinstance(instruction, Label) for instruction in instructions)
        for instruction in instructions:
            if isinstance(instruction, Label):
                continue  # there is one, at the end, where branches go
            guard = guard_of(instruction)
            if guard is not None:
                self.tokens += ["unless" if guard.negated else "if", self._register(guard.predicate.name)]
            self.tokens.append(_words(instruction, end))
            destination = destination_of(instruction)
            if destination is not None:
                self.tokens.append(self._register(destination.name))
            address = address_of(instruction)
            if address is not None:
                self.tokens.append("@")
                self._operand(address)
            for operand in operands_of(instruction):
                self._operand(operand)
            self.tokens.append(";")
        for name in self.names:
            self.tokens.append(f"{self.declared[name][0]}=")
            self._value(self.declared[name][1])
        return NormalForm(" ".join(self.tokens), tuple(self.places), self.names)

    def _register(self, name: str) -> str:
        return self.names.setdefault(name, f"r{len(self.names)}")

    def _operand(self, operand: Operand) -> None:
        if isinstance(operand, Immediate):
            self.tokens.append(f"#{operand.value}")
        elif isinstance(operand, Register) and operand.name in self.kept:
            self.tokens.append(self._register(operand.name))
        else:
            self._value(self.declared[operand.name][1])

    def _value(self, access: int | None) -> None:
        if access is None:
            self.tokens.append("#0")
        else:
            self.tokens.append("&%s")
            self.places.append(access)


def _words(instruction: Instruction, end: int) -> str:
    match instruction:
        case Load(access=access) | Store(access=access):
            return f"{type(instruction).__name__} {_access(access)}"
        case Atomic(operation=operation, access=access):
            return f"Atomic {operation} {_access(access)}"
        case Fence(kind=kind, scope=scope):
            return f"Fence {kind} {scope.word}"
        case Alu():
            return f"Alu {instruction.operation} {instruction.type} {instruction.source_type}"
        case SetPredicate(comparison=comparison):
            return f"SetPredicate {comparison} {instruction.type}"
        case Branch():
            return f"Branch {end}"
        case Barrier(mode=mode, instance=instance):
            return f"Barrier {mode} {instance}"
        case Reduce() | ProxyFence() | Label():
            raise ValueError(f"no test is generated with {instruction}")


def _access(access: Access) -> str:
    scope = "-" if access.scope is None else access.scope.word
    return f"{access.type} {access.order} {scope} {access.space or '-'} {access.cache or '-'} {access.proxy}"
