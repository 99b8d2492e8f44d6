"""The PTX format of Dat3M: untyped registers, variables as operands, placements beside the threads."""

from __future__ import annotations

import re
from functools import lru_cache, partial
from itertools import count

from gpudiy.errors import near_name
from gpudiy.litmus.access import Proxy
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.condition import AddressOf
from gpudiy.litmus.draft import CellParser, Draft, SourcedTest
from gpudiy.litmus.grammar import (
    RawDeclaration,
    RawInstruction,
    RawOperand,
    SyntaxProblem,
    parse_instruction,
    skip_space,
)
from gpudiy.litmus.memory_map import MappedVariable, MemoryMap
from gpudiy.litmus.opcode import ATOMICS, LOADS, MODES, REDUCTIONS, STORES
from gpudiy.litmus.program import read_columns, semicolon_rows
from gpudiy.litmus.read_gpu_ptx import STRING, split_texts, unquote
from gpudiy.litmus.scope_tree import ScopeTree
from gpudiy.litmus.sections import TOO_EARLY, read_conditions
from gpudiy.litmus.source_text import SourceText

PLACED = r"P(\d{1,6})\s*@\s*cta\s+(\d{1,6})\s*,\s*gpu\s+(\d{1,6})"
THREADS = re.compile(rf"\s*{PLACED}\s*(?:\|\s*{PLACED}\s*)*;", re.ASCII)
PROGRAM_END = re.compile(r"(?<![\w.])(?:locations|filter|forall|final|exists)\b|~\s*exists\b|\bnot\s+exists\b")
REGISTER = re.compile(r"r\d+\Z", re.ASCII)
BRANCHES = {f"b{comparison}": comparison for comparison in Comparison}
OPCODES = (
    *LOADS, *STORES, *ATOMICS, *REDUCTIONS, *BRANCHES,
    "goto", "fence", "bar", "add", "sub", "mul", "div", "and", "or", "xor",
)  # fmt: skip


def read_dat3m(source: SourceText, name: str, start: int) -> SourcedTest:
    """The test whose text goes on at `start`, after its header."""
    text = source.text
    draft = Draft(source, name)
    opening = text.find("{", start)
    if opening < 0:
        raise source.error("expected `{` and the initial values", start)
    draft.cycle, draft.doc = _texts(text[start:opening])
    closing = text.find("}", opening)
    if closing < 0:
        raise source.error(f"this `{{` is not closed: {TOO_EARLY}", opening)
    draft.read_declarations(opening + 1, closing)
    end = _read_program(draft, closing + 1)
    draft.read_sections(read_conditions, end)
    draft.memory_map = _memory_map(draft)
    return draft.finish(cell_parser(_free_predicate(text)), declared=False)


def _free_predicate(text: str) -> str:
    """A name for the predicate of every branch: each reads it right after the setp that sets it."""
    taken = set(re.findall(r"p\d+", text))
    return next(name for name in map("p{}".format, count()) if name not in taken)


def _texts(text: str) -> tuple[str, str]:
    strings, offset = [], 0
    while found := STRING.match(text, offset):
        strings.append(unquote(found[1]))
        offset = found.end()
    if text[offset:].strip():
        return "", text.strip()
    return split_texts(strings)


def _read_program(draft: Draft, start: int) -> int:
    source, text = draft.source, draft.source.text
    start = skip_space(text, start + 1 if text.startswith(";", start) else start)
    header = THREADS.match(text, start)
    if header is None:
        raise source.error("expected a row of threads such as `P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;`", start)
    placed = [tuple(map(int, found)) for found in re.findall(PLACED, header[0], re.ASCII)]
    numbers = [thread for thread, _, _ in placed]
    if sorted(numbers) != list(range(len(numbers))):
        raise source.error(f"the threads of a test are P0 to P{len(numbers) - 1}, each once", start)
    draft.scope_tree = _scope_tree(placed)
    ended = PROGRAM_END.search(text, header.end())
    end = len(text) if ended is None else ended.start()
    draft.cells = read_columns(source, semicolon_rows(source, header.end(), end), "|", numbers)
    if ended is None:
        raise source.error(f"the condition is missing: {TOO_EARLY}", len(text.rstrip()))
    return end


def _scope_tree(placed: list[tuple[int, ...]]) -> ScopeTree:
    """CTAs are numbered per GPU; every thread has a separate warp, and every GPU one kernel."""
    groups: dict[tuple[int, int], int] = {}
    placements = []
    for thread, cta, gpu in sorted(placed):
        group = groups.setdefault((gpu, cta), len(groups))
        placements.append((thread, group, group, gpu, gpu))
    return ScopeTree.of(placements)


def _memory_map(draft: Draft) -> MemoryMap:
    """All variables are global; one that is only used is declared by its use."""
    variables: dict[str, MappedVariable] = {}
    for piece, raw in draft.declarations.pieces:
        if raw.aliases is not None:
            read = partial(_alias, raw, variables)
            variables[raw.name] = draft.source.piece(read, piece.text, draft.declarations_at + piece.offset)
        elif raw.thread is None:
            variables.setdefault(raw.name, MappedVariable(raw.name))
        if isinstance(raw.value, AddressOf):
            variables.setdefault(raw.value.variable, MappedVariable(raw.value.variable))
    for cells in draft.cells:
        for cell in cells:
            for instruction in draft.source.piece(cell_parser("p0"), *cell):
                for operand in instruction.operands:
                    if operand.kind == "address" and not REGISTER.match(operand.text):
                        variables.setdefault(operand.text, MappedVariable(operand.text))
    return MemoryMap(tuple(variables.values()))


def _alias(raw: RawDeclaration, variables: dict[str, MappedVariable], _text: str) -> MappedVariable:
    if raw.proxy not in list(Proxy):
        raise SyntaxProblem(
            f"unknown proxy {raw.proxy!r}", token=raw.proxy, hint=near_name(str(raw.proxy), list(Proxy))
        )
    if raw.name in variables:
        raise SyntaxProblem(f"{raw.name} is declared twice", token=raw.name)
    return MappedVariable(raw.name, aliases=raw.aliases, proxy=Proxy(raw.proxy))


@lru_cache(16)
def cell_parser(predicate: str) -> CellParser:
    """`parse_cell` for tests whose branches use this predicate."""
    return lru_cache(1 << 16)(partial(parse_cell, predicate=predicate))


def parse_cell(text: str, predicate: str = "p0") -> tuple[RawInstruction, ...]:
    """A cell, rewritten as PTX: brackets around addresses, `ld r, 1` as mov, `beq` as setp and a guarded bra."""
    raw = parse_instruction(text)
    if not raw.opcode:
        return (raw,)
    opcode, words = raw.opcode[0], raw.opcode[1:]
    if raw.guard is not None or opcode not in OPCODES:
        word = raw.opcode[0] if raw.guard is None else raw.guard
        raise SyntaxProblem(f"unknown operator {word!r}", token=word, hint=near_name(opcode, OPCODES))
    if opcode == "goto":
        return (raw._replace(opcode=("bra",)),)
    if opcode in BRANCHES:
        return _branch(raw, BRANCHES[opcode], predicate)
    if opcode == "bar":
        return (_barrier(raw, words),)
    if opcode == "ld" and len(raw.operands) == 2 and (not words or raw.operands[1].kind == "number"):
        return (raw._replace(opcode=("mov",)),)
    if opcode in LOADS or opcode in ATOMICS:
        return (_mark_address(raw, 1),)
    if opcode in STORES or opcode in REDUCTIONS:
        return (_mark_address(raw, 0),)
    return (raw,)


def _mark_address(raw: RawInstruction, position: int) -> RawInstruction:
    operands = list(raw.operands)
    if len(operands) <= position or operands[position].kind == "number":
        raise SyntaxProblem(f"{raw.opcode[0]} needs a variable as operand {position + 1}")
    operands[position] = RawOperand("address", operands[position].text)
    return raw._replace(operands=tuple(operands))


def _branch(raw: RawInstruction, comparison: Comparison, predicate: str) -> tuple[RawInstruction, ...]:
    if len(raw.operands) != 3 or len(raw.opcode) > 1:
        raise SyntaxProblem(f"{raw.opcode[0]} takes two values and a label")
    left, right, label = raw.operands
    test = RawInstruction(raw.labels, None, False, ("setp", comparison), (RawOperand("name", predicate), left, right))
    return test, RawInstruction((), predicate, False, ("bra",), (label,))


def _barrier(raw: RawInstruction, words: tuple[str, ...]) -> RawInstruction:
    """`bar.cta.sync instance[, identifier[, count]]`."""
    instance, *rest = raw.operands or (RawOperand("name", "nothing"),)
    if len(words) != 2 or words[0] != "cta" or words[1] not in MODES or instance.kind != "number" or len(rest) > 2:
        raise SyntaxProblem("a barrier reads bar.cta.sync or bar.cta.arrive, a number, and perhaps an id and a count")
    if not 0 <= instance.value < 1 << 31:
        raise SyntaxProblem("a barrier instance is a small number from 0 on", token=instance.text)
    opcode = ("bar", words[1], f"inst{instance.value}")
    return raw._replace(opcode=opcode, operands=tuple(rest) or (RawOperand("number", "0"),))
