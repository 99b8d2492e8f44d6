"""A test while it is being read: its pieces, each with its offset."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import NamedTuple, TypeVar

from gpudiy.litmus import condition as logic
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.condition import map_terms, terms
from gpudiy.litmus.declarations import Declarations, RegisterTypes, TextPiece, read_declarations
from gpudiy.litmus.errors import InvalidTest, LitmusError, SourcePlace
from gpudiy.litmus.flow import contradicts_map
from gpudiy.litmus.grammar import RawInstruction, SyntaxProblem, find_token
from gpudiy.litmus.inference import infer_types
from gpudiy.litmus.instruction import Instruction, Label
from gpudiy.litmus.memory_map import MemoryMap
from gpudiy.litmus.opcode import build_instruction
from gpudiy.litmus.scope_tree import ScopeTree
from gpudiy.litmus.sections import Sections
from gpudiy.litmus.source_text import SourceText
from gpudiy.litmus.test import RegisterDeclaration, Test

CellParser = Callable[[str], tuple[RawInstruction, ...]]
AnyTerm = TypeVar("AnyTerm", bound=logic.Term)
ASKED = ("condition", "filter", "locations")
NO_TYPES = RegisterTypes()
NOTHING = Declarations((), (), (), {}, False)


@dataclass(slots=True)
class Draft:
    """The pieces of one test, in the order in which a reader finds them."""

    source: SourceText
    name: str
    doc: str = ""
    cycle: str = ""
    declarations: Declarations = NOTHING
    cells: list[list[TextPiece]] = field(default_factory=list)
    scope_tree: ScopeTree | None = None
    memory_map: MemoryMap | None = None
    sections: Sections = field(default_factory=Sections)
    declarations_at: int = 0
    sections_at: int = 0

    def read_declarations(self, start: int, end: int) -> None:
        self.declarations = self.source.piece(read_declarations, self.source.text[start:end], start)
        self.declarations_at = start

    def read_sections(self, read: Callable[[str], Sections], start: int) -> None:
        self.sections = self.source.piece(read, self.source.text[start:], start)
        self.sections_at = start
        self.scope_tree = self.sections.scope_tree or self.scope_tree
        self.memory_map = self.sections.memory_map or self.memory_map

    def finish(self, parse_cell: CellParser, *, declared: bool, lenient_map: bool = False) -> SourcedTest:
        """The test and its text. With `declared`, registers must be declared; otherwise their types are inferred."""
        assert self.scope_tree is not None and self.memory_map is not None
        variables = frozenset(self.memory_map.names)
        inferred: list[RegisterDeclaration] = []
        threads = []
        places: list[list[TextPiece]] = []
        for number, cells in enumerate(self.cells):
            types = self.declarations.types.get(number, NO_TYPES)
            if not declared:
                known = types.of
                types = self._infer_types(cells, parse_cell, known, variables)
                inferred += [RegisterDeclaration(number, *new) for new in types.items if new[0] not in known]
            instructions, place = self._read_instructions(cells, parse_cell, types, variables)
            threads.append(instructions)
            places.append(place)
        registers = self.declarations.registers
        if inferred:
            registers = tuple(sorted((*registers, *inferred), key=lambda declaration: declaration.thread))
        condition, filter, locations = self._resolve_registers(registers, variables)
        build = partial(
            Test,
            name=self.name,
            threads=tuple(threads),
            registers=registers,
            init=self.declarations.init,
            scope_tree=self.scope_tree,
            condition=condition,
            doc=self.doc,
            cycle=self.cycle,
            filter=filter,
            locations=locations,
        )
        try:
            return self._add_source(build(memory_map=self.memory_map), places)
        except InvalidTest as invalid:
            if lenient_map and (test := self._try_symbolic_map(build)) is not None:
                return self._add_source(test, places)
            raise self._locate_error(invalid, places) from None

    def _add_source(self, test: Test, places: list[list[TextPiece]]) -> SourcedTest:
        return SourcedTest(test, self.source, tuple(tuple(place.offset for place in thread) for thread in places))

    def _infer_types(
        self, cells: list[TextPiece], parse_cell: CellParser, known: dict[str, ScalarType], variables: frozenset[str]
    ) -> RegisterTypes:
        """Types for all registers of a thread, the declared ones first and predicates last."""
        raws = [raw for cell in cells for raw in self.source.piece(parse_cell, *cell)]
        inferred = infer_types(raws, known, variables)
        return RegisterTypes(
            sorted(inferred.items(), key=lambda item: (item[0] not in known, item[1] is ScalarType.PRED))
        )

    def _try_symbolic_map(self, build: Callable[..., Test]) -> Test | None:
        """The test with a symbolic map, if the error is that instructions contradict the map."""
        assert self.memory_map is not None
        try:
            test = build(memory_map=replace(self.memory_map, symbolic=True))
        except InvalidTest:
            return None
        return test if contradicts_map(test) else None

    def _read_instructions(
        self, cells: list[TextPiece], parse_cell: CellParser, types: RegisterTypes, variables: frozenset[str]
    ) -> tuple[tuple[Instruction, ...], list[TextPiece]]:
        instructions: list[Instruction] = []
        places: list[TextPiece] = []
        for cell in cells:
            try:
                built = _build_instructions(cell.text, parse_cell, types, variables)
            except SyntaxProblem as problem:
                moved = problem.move_into(*cell)
                raise self.source.error(moved.message, moved.offset, moved.hint) from None
            instructions += built
            places += [cell] * len(built)
        return tuple(instructions), places

    def _resolve_registers(
        self, registers: tuple[RegisterDeclaration, ...], variables: frozenset[str]
    ) -> tuple[logic.Condition, logic.Expression | None, tuple[logic.Observable, ...]]:
        """In conditions, replace `r0=1` by the register r0 of the only thread that has one."""
        condition, filter, locations = self.sections.condition, self.sections.filter, self.sections.locations
        assert condition is not None
        asked = [*locations, *terms(condition.expression), *(() if filter is None else terms(filter))]
        if not any(_is_unknown(term, variables) for term in asked):
            return condition, filter, locations
        owners: dict[str, list[int]] = {}
        for declaration in registers:
            owners.setdefault(declaration.name, []).append(declaration.thread)

        def add_owner(term: AnyTerm) -> AnyTerm | logic.FinalRegister:
            if (
                isinstance(term, logic.FinalVariable)
                and _is_unknown(term, variables)
                and len(owners.get(term.name, ())) == 1
            ):
                return logic.FinalRegister(owners[term.name][0], term.name)
            return term

        condition = replace(condition, expression=map_terms(condition.expression, add_owner))
        filter = None if filter is None else map_terms(filter, add_owner)
        return condition, filter, tuple(add_owner(term) for term in locations)

    def _locate_error(self, invalid: InvalidTest, places: list[list[TextPiece]]) -> LitmusError:
        """The error with its position in the text."""
        piece = self._piece_of(invalid.place, places)
        offset = piece.offset
        token = invalid.place.token
        if token is not None:
            found = _token_pattern(token, invalid.place.part).search(piece.text)
            name = token.rpartition(":")[2].strip("[]")
            offset += found.start(1) if found else find_token(piece.text, name, -1 if invalid.place.last else 0)
        return self.source.error(invalid.message, offset, invalid.hint)

    def _piece_of(self, place: SourcePlace, places: list[list[TextPiece]]) -> TextPiece:
        if place.part == "instruction" and isinstance(place.key, tuple):
            thread, index = place.key
            return places[thread][index]
        if place.part in self.sections.pieces:
            text, offset = self.sections.pieces[place.part]
            return TextPiece(text, self.sections_at + offset)
        declared = [
            piece
            for piece, raw in self.declarations.pieces
            if place.key in ((raw.thread, raw.name), raw.name if raw.thread is None else "")
        ]
        return (
            TextPiece(declared[-1].text, self.declarations_at + declared[-1].offset) if declared else TextPiece("", 0)
        )


class SourcedTest(NamedTuple):
    """A test and its source text, so that later problems can be reported with their position."""

    test: Test
    source: SourceText
    offsets: tuple[tuple[int, ...], ...]  # where the instructions of each thread are in the text

    def error_at(self, message: str, thread: int | None = None, index: int | None = None) -> LitmusError:
        """A problem with the test, or with one of its instructions, with file, line and column."""
        offset = 0 if thread is None or index is None else self.offsets[thread][index]
        return self.source.error(message, offset)


def _token_pattern(token: str, part: str) -> re.Pattern[str]:
    """A pattern for `1:r0`, `[r0]`, or a variable of a condition; it matches no other token."""
    thread, _, name = token.rpartition(":")
    word = rf"{re.escape(name.strip('[]'))}(?![\w$])"
    if thread:
        return re.compile(rf"(?<![\w$])(P?{thread}\s*:\s*{word})")
    if token.startswith("["):
        return re.compile(rf"\[\s*({word})")
    return re.compile(rf"(?<![\w$:&%])({word})" if part in ASKED else "(?!)()")


@lru_cache(1 << 17)
def _build_instructions(
    text: str, parse_cell: CellParser, types: RegisterTypes, variables: frozenset[str]
) -> tuple[Instruction, ...]:
    built: list[Instruction] = []
    for raw in parse_cell(text):
        built += [Label(label) for label in raw.labels]
        if raw.opcode:
            built.append(build_instruction(raw, types.of, variables))
    return tuple(built)


def _is_unknown(term: logic.Term, variables: frozenset[str]) -> bool:
    return isinstance(term, logic.FinalVariable) and term.name not in variables
