"""The GPU_PTX formats: the canonical one of gpu-diy and the one of the original gpu-litmus and herd."""

from __future__ import annotations

import re

from gpudiy.litmus.draft import Draft, SourcedTest
from gpudiy.litmus.errors import LitmusError
from gpudiy.litmus.grammar import RawInstruction, parse_instruction, skip_space
from gpudiy.litmus.program import line_rows, read_columns, semicolon_rows
from gpudiy.litmus.sections import KEYWORD, TOO_EARLY, read_sections
from gpudiy.litmus.source_text import SourceText

STRING = re.compile(r'\s*"((?:[^"\\]|\\.)*)"', re.DOTALL)
INFORMATION = re.compile(r"\s*([A-Z][A-Za-z]*)=([^\n]*[^\n;\s])[ \t]*(?=\n)")
EDGE = re.compile(r"(?:Po|Rf|Fr|Co|Ws|Dp|Ctrl|Rmw|Bar|[Mm]embar|MFence|Fence|M(?:cta|gl|sys)-)[\w.*+-]*\Z")
THREADS = re.compile(r"^[ \t]*P\d{1,6}[ \t]*(?:[|:][ \t]*P\d{1,6}[ \t]*)*(?:(;)[ \t]*)?$", re.MULTILINE | re.ASCII)
SECTION_WORDS = ("scopeTree", "exists", "forall", "final", "observed", "locations", "filter")
SECTION_START = re.compile(rf"\bscopeTree\b|^[ \t]*{KEYWORD}", re.MULTILINE)
BARE_SECTION = re.compile(
    r"^[ \t]*(?:P?\d+\s*:\s*[a-z]\w*\s*[=!<>]|\w+\s*:\s*(?:global|shared)\b)", re.ASCII | re.MULTILINE
)


def read_gpu_ptx(source: SourceText, name: str, start: int) -> SourcedTest:
    """The test whose text goes on at `start`, after its header."""
    draft = Draft(source, name)
    offset = _read_texts(draft, start)
    header, braces = _read_declarations(draft, offset)
    end = _read_program(draft, header)
    draft.read_sections(lambda text: read_sections(text, len(draft.cells)), end)
    return draft.finish(parse_cell, declared=draft.declarations.typed, lenient_map=braces)


def parse_cell(text: str) -> tuple[RawInstruction, ...]:
    """Parse one cell, which has one instruction."""
    return (parse_instruction(text),)


def split_texts(strings: list[str]) -> tuple[str, str]:
    """The quoted strings after a header as (cycle, doc): the first is a cycle if it lists edges, or is empty."""
    if strings and (not strings[0] or looks_like_cycle(strings[0])):
        return " ".join(strings[0].split()), "\n".join(strings[1:])
    return "", "\n".join(strings)


def looks_like_cycle(text: str) -> bool:
    """Whether a string is a list of at least two edges."""
    words = text.split()
    return len(words) > 1 and all(EDGE.match(word) for word in words)


def unquote(text: str) -> str:
    """The text of a quoted string, without its escapes."""
    return re.sub(r'\\(["\\])', r"\1", text)


def _read_texts(draft: Draft, offset: int) -> int:
    """Quoted strings and `Key=value` lines of the herd family."""
    text = draft.source.text
    strings, lines = [], []
    while found := STRING.match(text, offset):
        strings.append(unquote(found[1]))
        offset = found.end()
    draft.cycle, draft.doc = split_texts(strings)
    while found := INFORMATION.match(text, offset):
        key, value = found[1], found[2].strip()
        if key == "Cycle" and not draft.cycle:
            draft.cycle = " ".join(value.split())
        else:
            lines.append(value if key == "Doc" else f"{key}={value}")
        offset = found.end()
    if lines:
        draft.doc = "\n".join([draft.doc, *lines] if draft.doc else lines)
    return skip_space(text, offset)


def _read_declarations(draft: Draft, offset: int) -> tuple[re.Match[str], bool]:
    """Read registers and initial memory; returns the row of threads, and whether there are braces."""
    source, text = draft.source, draft.source.text
    if text.startswith("{", offset):
        end = text.find("}", offset)
        if end < 0:
            raise source.error(f"this `{{` is not closed: {TOO_EARLY}", offset)
        draft.read_declarations(offset + 1, end)
        row = skip_space(text, end + 1)
        header = THREADS.match(text, text.rfind("\n", 0, row) + 1)
        if header is None:
            raise _no_threads(source, end + 1)
        return header, True
    header = _find_threads(text, offset)
    if header is None:
        raise _no_threads(source, offset)
    declared = text[offset : header.start()].rstrip()
    draft.read_declarations(offset, header.start())
    if declared and declared[-1] != ";":
        raise source.error("expected `;`", offset + len(declared))
    return header, False


def _find_threads(text: str, offset: int) -> re.Match[str] | None:
    """The row of threads: usually the first line with P0."""
    line = text.rfind("\n", 0, text.find("P0", offset)) + 1
    return (THREADS.match(text, line) if line > offset else None) or THREADS.search(text, offset)


def _no_threads(source: SourceText, offset: int) -> LitmusError:
    row = re.compile(r"^[ \t]*P\d+\b(?!\s*:\s*\.)", re.MULTILINE).search(source.text, offset)
    if row is None:
        return source.error("expected a row of threads such as `P0 | P1 ;`: the test has no threads", offset)
    hint = "the row of threads names them only: `P0 : P1` or `P0 | P1 ;`"
    return source.error("this row of threads cannot be read", row.start(), hint)


def _read_program(draft: Draft, header: re.Match[str]) -> int:
    source, text = draft.source, draft.source.text
    line = header[0]
    separator = "|" if "|" in line else ":"
    numbers = [int(number) for number in re.findall(r"P(\d+)", line)]
    if sorted(numbers) != list(range(len(numbers))):
        raise source.error(f"the threads of a test are P0 to P{len(numbers) - 1}, each once", header.start())
    start, end = header.end(), _program_end(text, header.end())
    if separator == ":" and not header[1] and (section := BARE_SECTION.search(text, start, end)) is not None:
        raise source.error("the scope tree is missing before this", skip_space(text, section.start()))
    rows = semicolon_rows(source, start, end) if header[1] else line_rows(source, start, end)
    draft.cells = read_columns(source, rows, separator, numbers)
    if end == len(text):
        raise source.error(f"the scope tree is missing: {TOO_EARLY}", len(text.rstrip()))
    return end


def _program_end(text: str, start: int) -> int:
    """Where the first section after the program starts: no instruction has a parenthesis."""
    end = text.find("(", start)
    end = len(text) if end < 0 else end
    if any(text.find(word, start, end) >= 0 for word in SECTION_WORDS):
        found = SECTION_START.search(text, start, end)
        return end if found is None else found.start()
    return end
