"""The GPU_PTX formats: the canonical one of gpu-diy and the one of the original gpu-litmus and herd."""

from __future__ import annotations

import re

from gpudiy.litmus.access import Proxy, Space
from gpudiy.litmus.draft import Draft, Piece
from gpudiy.litmus.errors import counted, near_name
from gpudiy.litmus.grammar import (
    RawInstruction,
    SyntaxProblem,
    parse_condition,
    parse_declaration,
    parse_expression,
    parse_instruction,
    parse_locations,
    parse_memory_map,
)
from gpudiy.litmus.memory_map import MappedVariable, MemoryMap
from gpudiy.litmus.read_scope_tree import read_scope_tree
from gpudiy.litmus.source_text import SourceText
from gpudiy.litmus.test import Test

STRING = re.compile(r'\s*"((?:[^"\\]|\\.)*)"', re.DOTALL)
INFORMATION = re.compile(r"\s*([A-Z][A-Za-z]*)=([^\n]*[^\n;\s])[ \t]*(?=\n)")
EDGE = re.compile(r"(?:Po|Rf|Fr|Co|Ws|Dp|Ctrl|Rmw|Bar|[Mm]embar|MFence|Fence|M(?:cta|gl|sys)-)[\w.*+-]*\Z")
THREADS = re.compile(r"^[ \t]*P\d+[ \t]*(?:[|:][ \t]*P\d+[ \t]*)*(;?)[ \t]*$", re.MULTILINE | re.ASCII)
KEYWORD = r"(?:~[ \t]*exists|not[ \t]+exists|exists|forall|final|observed|locations|filter)\b"
PROGRAM_END = re.compile(rf"\bscopeTree\b|\(|^[ \t]*{KEYWORD}", re.MULTILINE)
MAP_END = re.compile(
    rf"{KEYWORD}|\bscopeTree\b|[(~\[]|\bnot\b|(?<![\w$])P?\d+\s*:|[A-Za-z_$%][\w$]*\s*(?:=|!=|<|>)|\b(?:true|false)\b",
    re.ASCII,
)
MAP_START = re.compile(r"[A-Za-z_$%][\w$]*\s*:\s*\w*(?!\w|\s*(?:=|!=|<|>))", re.ASCII)
CELL_END = {
    "|": re.compile(r"\|"),
    # a label is the first word of its cell with the colon right behind it
    ":": re.compile(r"(?<!:):(?!:)"),
}
LABEL = re.compile(r"\s*[A-Za-z_$][\w$]*:(?!:)")
AFTER_TREE = re.compile(
    r"[ \t]*(?:P?\d+[ \t]*:[ \t]*[a-z]\w*[ \t]*[=!<>]|\w+[ \t]*:[ \t]*(?:global|shared)\b)", re.ASCII
)
SPACE = re.compile(r"\s*")


def read_gpu_ptx(source: SourceText, name: str, start: int) -> Test:
    """The test whose text goes on at `start`, after its header."""
    draft = Draft(source, name)
    offset = _read_texts(draft, start)
    offset, braces = _read_declarations(draft, offset)
    offset = _read_program(draft, offset)
    _read_sections(draft, offset)
    declared = any(raw.type is not None for _, raw in draft.declarations)
    return draft.finish(parse_cell, declared=declared, lenient_map=braces)


def parse_cell(text: str) -> tuple[RawInstruction, ...]:
    return (parse_instruction(text),)


def split_texts(strings: list[str]) -> tuple[str, str]:
    """The quoted strings after a header as (cycle, doc): the first is a cycle if it lists edges, or is empty."""
    if strings and (not strings[0] or looks_like_cycle(strings[0])):
        return strings[0], "\n".join(strings[1:])
    return "", "\n".join(strings)


def looks_like_cycle(text: str) -> bool:
    words = text.split()
    return len(words) > 1 and all(EDGE.match(word) for word in words)


def unquoted(text: str) -> str:
    return re.sub(r'\\(["\\])', r"\1", text)


def _read_texts(draft: Draft, offset: int) -> int:
    """Quoted strings and `Key=value` lines of the herd family."""
    text = draft.source.text
    strings, information = [], []
    while found := STRING.match(text, offset):
        strings.append(unquoted(found[1]))
        offset = found.end()
    while found := INFORMATION.match(text, offset):
        information.append((found[1], found[2].strip()))
        offset = found.end()
    draft.cycle, doc = split_texts(strings)
    lines = [doc] if doc else []
    for key, value in information:
        if key == "Cycle" and not draft.cycle:
            draft.cycle = value
        elif key == "Doc":
            lines.append(value)
        else:
            lines.append(f"{key}={value}")
    draft.doc = "\n".join(lines)
    return _skip(text, offset)


def _read_declarations(draft: Draft, offset: int) -> tuple[int, bool]:
    """Registers and initial memory, in braces or up to the row of threads; says whether there were braces."""
    source, text = draft.source, draft.source.text
    if text.startswith("{", offset):
        end = text.find("}", offset)
        if end < 0:
            raise source.error("this `{` is not closed: the file ends too early", offset)
        read_declaration_list(draft, offset + 1, end)
        return end + 1, True
    header = THREADS.search(text, offset)
    if header is None:
        raise _no_threads(source, offset)
    read_declaration_list(draft, offset, header.start())
    if text[offset : header.start()].rstrip()[-1:] not in ("", ";"):
        raise source.error("expected `;`", offset + len(text[offset : header.start()].rstrip()))
    return header.start(), False


def read_declaration_list(draft: Draft, start: int, end: int) -> None:
    """The declarations between two offsets, each ended by a semicolon; the last one may do without."""
    text = draft.source.text
    while start < end:
        stop = text.find(";", start, end)
        stop = end if stop < 0 else stop
        begin = _skip(text, start)
        if begin < stop:
            piece = Piece(text[begin:stop].rstrip(), begin)
            draft.declarations.append((piece, draft.source.piece(parse_declaration, *piece)))
        start = stop + 1


def _no_threads(source: SourceText, offset: int) -> Exception:
    row = re.compile(r"^[ \t]*P\d+\b(?!\s*:\s*\.)", re.MULTILINE).search(source.text, offset)
    if row is None:
        return source.error("expected a row of threads such as `P0 | P1 ;`: the test has no threads", offset)
    hint = "the row of threads names them only: `P0 : P1` or `P0 | P1 ;`"
    return source.error("this row of threads cannot be read", row.start(), hint)


def _read_program(draft: Draft, offset: int) -> int:
    source, text = draft.source, draft.source.text
    header = THREADS.match(text, _skip_lines(text, offset))
    if header is None:
        raise _no_threads(source, offset)
    line = header[0]
    separator = "|" if "|" in line else ":"
    numbers = [int(number) for number in re.findall(r"P(\d+)", line)]
    if sorted(numbers) != list(range(len(numbers))):
        raise source.error(f"the threads of a test are P0 to P{len(numbers) - 1}, each once", header.start())
    ended = PROGRAM_END.search(text, header.end())
    end = len(text) if ended is None else ended.start()
    rows = semicolon_rows(source, header.end(), end) if header[1] else _line_rows(source, header.end(), end)
    draft.cells = read_rows(source, rows, separator, numbers)
    if ended is None:
        raise source.error("the scope tree is missing: the file ends too early", len(text.rstrip()))
    return end


def semicolon_rows(source: SourceText, start: int, end: int) -> list[Piece]:
    """Rows that end in `;`, wherever the lines break."""
    text = source.text
    rows = []
    while (stop := text.find(";", start, end)) >= 0:
        rows.append(Piece(text[start:stop], start))
        start = stop + 1
    if text[start:end].strip():
        raise source.error("expected `;` at the end of the row", start + len(text[start:end].rstrip()))
    return rows


def _line_rows(source: SourceText, start: int, end: int) -> list[Piece]:
    text = source.text
    rows = []
    while start < end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        row = text[start:stop]
        if AFTER_TREE.match(row):
            raise source.error("the scope tree is missing before this", start)
        if row and not row.isspace():
            rows.append(Piece(row.rstrip(" \t;"), start))
        start = stop + 1
    return rows


def read_rows(source: SourceText, rows: list[Piece], separator: str, numbers: list[int]) -> list[list[Piece]]:
    """The cells of every thread, without the empty ones."""
    columns: list[list[Piece]] = [[] for _ in numbers]
    for row in rows:
        cells = row.text.split("|") if separator == "|" else _colon_cells(row.text)
        if len(cells) != len(numbers):
            raise _ragged(source, row, len(cells), len(numbers))
        offset = row.offset
        for number, cell in zip(numbers, cells, strict=True):
            text = cell.strip()
            if text:
                columns[number].append(Piece(text, offset + cell.index(text)))
            offset += len(cell) + 1
    return columns


def _ragged(source: SourceText, row: Piece, cells: int, threads: int) -> Exception:
    start = row.offset + len(row.text) - len(row.text.lstrip())
    return source.error(f"this row has {counted(cells, 'cell')}, the test has {counted(threads, 'thread')}", start)


def _colon_cells(row: str) -> list[str]:
    cells, start = [], 0
    while True:
        label = LABEL.match(row, start)
        found = CELL_END[":"].search(row, label.end() if label else start)
        if found is None:
            cells.append(row[start:])
            return cells
        cells.append(row[start : found.start()])
        start = found.end()


def _read_sections(draft: Draft, offset: int) -> None:
    """What follows the program: scope tree, memory map, locations, filter and condition."""
    source, text = draft.source, draft.source.text
    offset = _skip(text, offset)
    while offset < len(text) and draft.condition is None:
        if text.startswith("scopeTree", offset):
            offset = _skip(text, offset + len("scopeTree"))
        if draft.scope_tree is None:
            offset = _read_scope_tree(draft, offset)
        elif draft.memory_map is None and MAP_START.match(text, offset):
            offset = _read_memory_map(draft, offset)
        else:
            offset = read_condition_section(draft, offset)
        offset = _skip(text, offset)
    if draft.memory_map is None and draft.condition is not None and offset < len(text):
        offset = _skip(text, _read_memory_map(draft, offset))
    if offset < len(text):
        raise source.error("the test ends before this", offset)
    if draft.scope_tree is None:
        raise source.error("the scope tree is missing", len(text.rstrip()))
    if draft.condition is None:
        raise source.error("the condition is missing: the file ends too early", len(text.rstrip()))
    if draft.memory_map is None:
        draft.memory_map = MemoryMap(())


def _read_scope_tree(draft: Draft, start: int) -> int:
    source, text = draft.source, draft.source.text
    if not text.startswith("(", start):
        raise source.error("expected a scope tree such as `(device (kernel (cta (warp P0))))`", start)
    end = start
    while text.startswith("(", _skip(text, end)) and (end == start or not draft_condition_ahead(text, end)):
        end = _closing(source, _skip(text, end)) + 1
    piece = Piece(text[start:end], start)
    draft.sections["scope tree"] = piece
    draft.scope_tree = source.piece(lambda tree: read_scope_tree(tree, len(draft.cells)), *piece)
    return end


def draft_condition_ahead(text: str, offset: int) -> bool:
    """Whether a parenthesis opens a bare condition, not another device."""
    return re.compile(r"\s*\((?!\s*[A-Za-z_]+[\s(])").match(text, offset) is not None


def _closing(source: SourceText, start: int) -> int:
    depth = 0
    for found in re.compile(r"[()]").finditer(source.text, start):
        depth += 1 if found[0] == "(" else -1
        if depth == 0:
            return found.start()
    raise source.error("this `(` is not closed: the file ends too early", start)


def _read_memory_map(draft: Draft, start: int) -> int:
    source, text = draft.source, draft.source.text
    ended = MAP_END.search(text, start)
    end = len(text) if ended is None else ended.start()
    piece = Piece(text[start:end].rstrip(), start)
    draft.sections["memory map"] = piece
    entries = source.piece(parse_memory_map, *piece)
    try:
        draft.memory_map = MemoryMap(_mapped_variables(entries))
    except SyntaxProblem as problem:
        raise source.problem(problem, *piece) from None
    return end


def _mapped_variables(entries: tuple[tuple[str, ...], ...]) -> tuple[MappedVariable, ...]:
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
    return tuple(variables)


def read_condition_section(draft: Draft, start: int) -> int:
    """`locations […]`, `filter …` or the condition, which ends the test but for what herd writes behind it."""
    source, text = draft.source, draft.source.text
    word = re.compile(r"locations\b|filter\b").match(text, start)
    if word is not None and word[0] == "locations":
        opening = _skip(text, word.end())
        end = text.find("]", opening)
        if not text.startswith("[", opening) or end < 0:
            raise source.error("expected `[…]` after locations", opening)
        draft.sections["locations"] = piece = Piece(text[opening + 1 : end], opening + 1)
        draft.locations = source.piece(parse_locations, *piece)
        return end + 1
    begin = start if word is None else _skip(text, word.end())
    following = re.compile(rf"^[ \t]*{KEYWORD}|\bscopeTree\b|^[ \t]*\(\s*(?:device|system)\b", re.MULTILINE)
    ended = following.search(text, begin + 1)
    end = len(text) if ended is None else ended.start()
    piece = Piece(text[begin:end].rstrip(), begin)
    if word is None:
        draft.sections["condition"] = piece
        draft.condition = source.piece(parse_condition, *piece)
    else:
        draft.sections["filter"] = piece
        draft.filter = source.piece(parse_expression, *piece)
    return end


def _skip(text: str, offset: int) -> int:
    found = SPACE.match(text, offset)
    return found.end() if found else offset


def _skip_lines(text: str, offset: int) -> int:
    """The start of the first line with something on it."""
    end = _skip(text, offset)
    newline = text.rfind("\n", offset, end)
    return newline + 1 if newline >= 0 else offset
