"""The sections after the program: scope tree, memory map, locations, filter and condition."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from gpudiy.errors import near_name
from gpudiy.litmus.access import Proxy, Space
from gpudiy.litmus.condition import Condition, Expression, Observable
from gpudiy.litmus.declarations import TextPiece
from gpudiy.litmus.grammar import (
    SyntaxProblem,
    parse_condition,
    parse_expression,
    parse_locations,
    parse_memory_map,
    parse_piece,
    skip_space,
)
from gpudiy.litmus.memory_map import MappedVariable, MemoryMap
from gpudiy.litmus.read_scope_tree import read_scope_tree
from gpudiy.litmus.scope_tree import ScopeTree

KEYWORD = r"(?<![\w$%])(?:~[ \t]*exists|not[ \t]+exists|exists|forall|final|observed|locations|filter)\b"
MAP_START = re.compile(r"[A-Za-z_$%][\w$]*\s*:\s*\w*(?!\w|\s*(?:=|!=|<|>))", re.ASCII)
MAP_END = re.compile(
    rf"{KEYWORD}|\bscopeTree\b|[(~\[]|\bnot\b|(?<![\w$])P?\d+\s*:|\b(?:true|false)\b"
    r"|(?<![\w$])[A-Za-z_$%][\w$]*+\s*(?:=|!=|<|>)",
    re.ASCII,
)
CONDITION_END = re.compile(
    rf"^[ \t]*{KEYWORD}|\bscopeTree\b|^[ \t]*\(\s*(?:(?:device|system)\s*[(P]|host\s+P\d)", re.MULTILINE
)
FILTER_END = re.compile(rf"{KEYWORD}|{CONDITION_END.pattern}", re.MULTILINE)
ASIDE = re.compile(r"locations\b|filter\b")
BARE_CONDITION = re.compile(r"\s*\((?!\s*[A-Za-z_]+[\s(])")
PARENTHESIS = re.compile(r"[()]")
TOO_EARLY = "the file ends too early"


@dataclass(slots=True)
class Sections:
    """The sections of one test; `pieces` are their texts and offsets."""

    scope_tree: ScopeTree | None = None
    memory_map: MemoryMap | None = None
    condition: Condition | None = None
    filter: Expression | None = None
    locations: tuple[Observable, ...] = ()
    pieces: dict[str, TextPiece] = field(default_factory=dict)


@lru_cache(1 << 14)
def read_sections(text: str, threads: int) -> Sections:
    """Read the sections of a GPU_PTX test; the condition may also come before tree and map."""
    sections = Sections()
    offset = skip_space(text, 0)
    while offset < len(text):
        if text.startswith("scopeTree", offset):
            offset = skip_space(text, offset + len("scopeTree"))
        if sections.scope_tree is None and (text.startswith("(", offset) or sections.condition is not None):
            offset = _read_scope_tree(sections, text, offset, threads)
        elif sections.memory_map is None and MAP_START.match(text, offset):
            offset = _read_memory_map(sections, text, offset)
        elif sections.condition is None:
            offset = _read_condition(sections, text, offset)
        else:
            raise SyntaxProblem("the test ends before this", offset)
        offset = skip_space(text, offset)
    if sections.scope_tree is None:
        raise SyntaxProblem("the scope tree is missing", len(text.rstrip()))
    if sections.condition is None:
        raise SyntaxProblem(f"the condition is missing: {TOO_EARLY}", len(text.rstrip()))
    if sections.memory_map is None:
        sections.memory_map = MemoryMap(())
    return sections


@lru_cache(1 << 14)
def read_conditions(text: str) -> Sections:
    """Read sections that are only locations, filter and condition."""
    sections = Sections()
    offset = skip_space(text, 0)
    while offset < len(text) and sections.condition is None:
        offset = skip_space(text, _read_condition(sections, text, offset))
    if sections.condition is None:
        raise SyntaxProblem(f"the condition is missing: {TOO_EARLY}", len(text.rstrip()))
    if offset < len(text):
        raise SyntaxProblem("the test ends before this", offset)
    return sections


def _read_scope_tree(sections: Sections, text: str, start: int, threads: int) -> int:
    if not text.startswith("(", start):
        raise SyntaxProblem("expected a scope tree such as `(device (kernel (cta (warp P0))))`", start)
    end = start
    while text.startswith("(", skip_space(text, end)) and (end == start or not BARE_CONDITION.match(text, end)):
        end = _closing(text, skip_space(text, end)) + 1
    piece = TextPiece(text[start:end], start)
    sections.pieces["scope tree"] = piece
    sections.scope_tree = parse_piece(lambda tree: read_scope_tree(tree, threads), *piece)
    return end


def _closing(text: str, start: int) -> int:
    depth = 0
    for found in PARENTHESIS.finditer(text, start):
        depth += 1 if found[0] == "(" else -1
        if depth == 0:
            return found.start()
    raise SyntaxProblem(f"this `(` is not closed: {TOO_EARLY}", start)


def _read_memory_map(sections: Sections, text: str, start: int) -> int:
    ended = MAP_END.search(text, start)
    end = len(text) if ended is None else ended.start()
    piece = TextPiece(text[start:end].rstrip(), start)
    sections.pieces["memory map"] = piece
    sections.memory_map = parse_piece(_memory_map, *piece)
    return end


def _memory_map(text: str) -> MemoryMap:
    entries = parse_memory_map(text)
    spaces = {name: Space(word) for name, word, *rest in entries if not rest and word in list(Space)}
    targets = {name: rest[0] for name, _, *rest in entries if rest}
    variables = []
    for name, word, *aliases in entries:
        if not aliases:
            if word not in list(Space):
                raise SyntaxProblem(f"unknown space {word!r}", token=word, hint="spaces: global, shared")
            variables.append(MappedVariable(name, Space(word)))
            continue
        if word not in list(Proxy):
            raise SyntaxProblem(f"unknown proxy {word!r}", token=word, hint=near_name(word, list(Proxy)))
        target = aliases[0]
        for _ in targets:
            target = targets.get(target, target)
        variables.append(MappedVariable(name, spaces.get(target, Space.GLOBAL), aliases[0], Proxy(word)))
    return MemoryMap(tuple(variables))


def _read_condition(sections: Sections, text: str, start: int) -> int:
    """`locations […]`, `filter …` or the condition."""
    word = ASIDE.match(text, start)
    if word is not None and word[0] == "locations":
        opening = skip_space(text, word.end())
        end = text.find("]", opening)
        if not text.startswith("[", opening) or end < 0:
            raise SyntaxProblem("expected `[…]` after locations", opening)
        _check_only(sections, "locations", start)
        sections.pieces["locations"] = piece = TextPiece(text[opening + 1 : end], opening + 1)
        sections.locations = parse_piece(parse_locations, *piece)
        return end + 1
    begin = start if word is None else skip_space(text, word.end())
    ended = (CONDITION_END if word is None else FILTER_END).search(text, begin + 1)
    end = len(text) if ended is None else ended.start()
    piece = TextPiece(text[begin:end].rstrip(), begin)
    if word is None:
        _check_only(sections, "condition", start)
        sections.pieces["condition"] = piece
        sections.condition = parse_piece(parse_condition, *piece)
    else:
        _check_only(sections, "filter", start)
        sections.pieces["filter"] = piece
        sections.filter = parse_piece(parse_expression, *piece)
    return end


def _check_only(sections: Sections, section: str, offset: int) -> None:
    if section in sections.pieces:
        raise SyntaxProblem(f"{section} occurs twice", offset)
