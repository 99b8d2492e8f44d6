"""A test while it is being read: its pieces, each with its place, until they make a `Test`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.condition import (
    AddressOf,
    And,
    Compare,
    Condition,
    Expression,
    FinalRegister,
    FinalVariable,
    Implies,
    Not,
    Observable,
    Or,
    Term,
    Value,
    comparisons,
)
from gpudiy.litmus.errors import InvalidTest, LitmusError, Place
from gpudiy.litmus.flow import touched
from gpudiy.litmus.grammar import RawDeclaration, RawInstruction, SyntaxProblem
from gpudiy.litmus.inference import infer_types
from gpudiy.litmus.instruction import Instruction, Label
from gpudiy.litmus.memory_map import MemoryMap
from gpudiy.litmus.opcode import TYPES, build_instruction
from gpudiy.litmus.scope_tree import ScopeTree
from gpudiy.litmus.source_text import SourceText, find_token
from gpudiy.litmus.test import InitialMemory, RegisterDeclaration, Test

RegisterTypes = tuple[tuple[str, ScalarType], ...]
CellParser = Callable[[str], tuple[RawInstruction, ...]]


class Piece(NamedTuple):
    """A part of the text and the offset at which it stands."""

    text: str
    offset: int


@dataclass(slots=True)
class Draft:
    """The pieces of one test, in the order in which a reader finds them."""

    source: SourceText
    name: str
    doc: str = ""
    cycle: str = ""
    declarations: list[tuple[Piece, RawDeclaration]] = field(default_factory=list)
    cells: list[list[Piece]] = field(default_factory=list)
    sections: dict[str, Piece] = field(default_factory=dict)
    scope_tree: ScopeTree | None = None
    memory_map: MemoryMap | None = None
    condition: Condition | None = None
    filter: Expression | None = None
    locations: tuple[Observable, ...] = ()

    def finish(self, parse_cell: CellParser, *, declared: bool, lenient_map: bool = False) -> Test:
        """The test. Registers must be declared where any is (`declared`); else their types are inferred."""
        assert self.scope_tree is not None and self.memory_map is not None and self.condition is not None
        variables = frozenset(self.memory_map.names)
        registers = self._registers()
        init = self._init()
        threads = []
        places: list[list[Piece]] = []
        for number, cells in enumerate(self.cells):
            types = {declaration.name: declaration.type for declaration in registers if declaration.thread == number}
            if not declared:
                raws = [raw for cell in cells for raw in self.source.piece(parse_cell, *cell)]
                inferred = infer_types(raws, types, variables)
                fresh = [(name, type) for name, type in inferred.items() if name not in types]
                fresh.sort(key=lambda register: register[1] is ScalarType.PRED)
                registers += [RegisterDeclaration(number, *register) for register in fresh]
                types = inferred
            instructions, place = self._instructions(cells, parse_cell, tuple(types.items()), variables)
            threads.append(instructions)
            places.append(place)
        registers.sort(key=lambda declaration: declaration.thread)
        condition, filter = self._resolved(registers, variables)
        build = {
            "name": self.name,
            "threads": tuple(threads),
            "registers": tuple(registers),
            "init": init,
            "scope_tree": self.scope_tree,
            "condition": condition,
            "doc": self.doc,
            "cycle": self.cycle,
            "filter": filter,
            "locations": self.locations,
        }
        try:
            return Test(memory_map=self.memory_map, **build)  # type: ignore[arg-type]
        except InvalidTest as invalid:
            if lenient_map and (test := self._symbolic(build)) is not None:
                return test
            raise self.located(invalid, places) from None

    def _symbolic(self, build: dict[str, object]) -> Test | None:
        """The test with a map that nobody believes, if the fault is that instructions contradict the map."""
        assert self.memory_map is not None
        try:
            test = Test(memory_map=replace(self.memory_map, symbolic=True), **build)  # type: ignore[arg-type]
        except InvalidTest:
            return None
        return test if contradicts_map(test) else None

    def _init(self) -> tuple[InitialMemory, ...]:
        """What memory holds at the start; variables that hold 0 are not kept."""
        values: dict[str, Value] = {}
        for piece, raw in self.declarations:
            if raw.thread is None and raw.aliases is None:
                if raw.name in values:
                    raise self.source.error(f"{raw.name} is initialised twice", piece.offset)
                values[raw.name] = _value(raw)
        return tuple(InitialMemory(name, value) for name, value in values.items() if value != 0)

    def _registers(self) -> list[RegisterDeclaration]:
        """Declared registers; `0:r0=1` gives a declared one its value, and declares it where nobody did."""
        typed = {(raw.thread, raw.name) for _, raw in self.declarations if raw.type is not None}
        values = {
            (raw.thread, raw.name): raw.value
            for _, raw in self.declarations
            if raw.type is None and (raw.thread, raw.name) in typed
        }
        registers = []
        for piece, raw in self.declarations:
            key = (raw.thread, raw.name)
            if raw.thread is None or (raw.type is None and key in typed):
                continue
            value = _value(raw) if raw.value is not None or values.get(key) is None else values[key]
            assert value is not None
            if raw.type is None:
                type = ScalarType.B64 if isinstance(value, AddressOf) else ScalarType.S32
            elif raw.type[1:] in TYPES:
                type = TYPES[raw.type[1:]]
            else:
                known = "types: " + ", ".join(f".{name}" for name in TYPES)
                raise self.source.problem(
                    SyntaxProblem(f"unknown type {raw.type}", token=raw.type[1:], hint=known), *piece
                )
            registers.append(RegisterDeclaration(raw.thread, raw.name, type, value))
        return registers

    def _instructions(
        self, cells: list[Piece], parse_cell: CellParser, types: RegisterTypes, variables: frozenset[str]
    ) -> tuple[tuple[Instruction, ...], list[Piece]]:
        instructions: list[Instruction] = []
        places: list[Piece] = []
        for cell in cells:
            try:
                built = _built(cell.text, parse_cell, types, variables)
            except SyntaxProblem as problem:
                raise self.source.problem(problem, *cell) from None
            instructions += built
            places += [cell] * len(built)
        return tuple(instructions), places

    def _resolved(
        self, registers: list[RegisterDeclaration], variables: frozenset[str]
    ) -> tuple[Condition, Expression | None]:
        """Figures write `r0=1` for the register r0 of the only thread that has one."""
        assert self.condition is not None
        filter = self.filter
        expressions = [self.condition.expression] + ([filter] if filter is not None else [])
        if not any(_unknown(term, variables) for expression in expressions for term in _terms(expression)):
            return self.condition, filter
        owners: dict[str, list[int]] = {}
        for declaration in registers:
            owners.setdefault(declaration.name, []).append(declaration.thread)

        def owned(term: Term) -> Term:
            if isinstance(term, FinalVariable) and _unknown(term, variables) and len(owners.get(term.name, ())) == 1:
                return FinalRegister(owners[term.name][0], term.name)
            return term

        condition = replace(self.condition, expression=_mapped(self.condition.expression, owned))
        return condition, None if filter is None else _mapped(filter, owned)

    def located(self, invalid: InvalidTest, places: list[list[Piece]]) -> LitmusError:
        """The error with the place in the text of what the rules found wrong."""
        piece = self._piece_of(invalid.place, places)
        offset = piece.offset
        token = invalid.place.token
        if token is not None:
            thread, _, name = token.rpartition(":")
            pattern = rf"P?{thread}\s*:\s*{re.escape(name)}(?!\w)"
            found = re.search(pattern, piece.text) if thread.isdecimal() else None
            offset += found.start() if found else find_token(piece.text, name, -1 if invalid.place.last else 0)
        return self.source.error(invalid.message, offset, invalid.hint)

    def _piece_of(self, place: Place, places: list[list[Piece]]) -> Piece:
        if place.part == "instruction" and isinstance(place.key, tuple):
            thread, index = place.key
            return places[thread][index]
        if place.part == "register":
            return self._declaration(lambda raw: (raw.thread, raw.name) == place.key)
        if place.part == "init":
            return self._declaration(lambda raw: raw.thread is None and raw.name == place.key)
        if place.part in self.sections:
            return self.sections[place.part]
        if place.part == "memory map":  # a format without one: the declarations stand for it
            return self._declaration(lambda raw: raw.thread is None and raw.name == place.key)
        return Piece("", 0)

    def _declaration(self, wanted: Callable[[RawDeclaration], bool]) -> Piece:
        found = [piece for piece, raw in self.declarations if wanted(raw)]
        return found[-1] if found else Piece("", 0)


def contradicts_map(test: Test) -> bool:
    """Whether instructions name spaces other than the memory map does."""
    spaces = {variable.name: variable.space for variable in test.memory_map.variables}
    targets = touched(test)
    return any(
        getattr(getattr(instruction, "access", None), "space", None) not in (None, spaces[name])
        for number, thread in enumerate(test.threads)
        for index, instruction in enumerate(thread)
        for name in targets[number][index]
    )


@lru_cache(1 << 17)
def _built(
    text: str, parse_cell: CellParser, types: RegisterTypes, variables: frozenset[str]
) -> tuple[Instruction, ...]:
    declared = dict(types)
    built: list[Instruction] = []
    for raw in parse_cell(text):
        built += [Label(label) for label in raw.labels]
        if raw.opcode:
            built.append(build_instruction(raw, declared, variables))
    return tuple(built)


def _value(raw: RawDeclaration) -> Value:
    return 0 if raw.value is None else raw.value


def _terms(expression: Expression) -> Iterable[Term]:
    for comparison in comparisons(expression):
        yield comparison.left
        yield comparison.right


def _unknown(term: Term, variables: frozenset[str]) -> bool:
    return isinstance(term, FinalVariable) and term.name not in variables


def _mapped(expression: Expression, change: Callable[[Term], Term]) -> Expression:
    match expression:
        case Compare():
            return replace(expression, left=change(expression.left), right=change(expression.right))
        case Not():
            return Not(_mapped(expression.inner, change))
        case And():
            return And(tuple(_mapped(part, change) for part in expression.parts))
        case Or():
            return Or(tuple(_mapped(part, change) for part in expression.parts))
        case Implies():
            return Implies(_mapped(expression.premise, change), _mapped(expression.conclusion, change))
