"""Reading PTX: the statements of a kernel or of two functions, with the lines they come from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from gpudiy.litmus.access import Space
from gpudiy.locks.names import Pair, chosen_pair
from gpudiy.locks.program import HOLE, Program, SharedVariable, Statement, source_error

MARK = "gpudiy critical section"
HOLE_COMMENT = re.compile(r"//[^\n]*\bcritical section\b[^\n]*|/\*[^*]*\bcritical section\b[^*]*\*/", re.IGNORECASE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
FUNCTION = re.compile(r"\.(entry|func)\b[^{};]*?([\w$%]+)\s*\(([^)]*)\)[^{;]*\{|\.(entry|func)\s+([\w$%]+)\s*\{")
PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.\w+\s+(?:\.ptr\s*(?:\.\w+\s*)*(?:\.align\s+\d+\s+)?)?([\w$]+)"
)
VARIABLE = re.compile(
    r"\.(global|shared)\s+(?:\.align\s+\d+\s+)?\.\w+\s+([\w$]+)\s*(?:\[\d*\])?\s*(?:=\s*([-\w]+))?\s*;"
)
LOCATION = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)")
LABEL = re.compile(r"\s*([A-Za-z_$%][\w$]*):(?!:)")
GUARD = re.compile(r"@(!?)\s*([\w$%]+)\s+")
IGNORED = (".reg", ".local", ".loc", ".pragma", ".file", ".section", ".param", ".branchtargets", ".minnctapersm")
DONE = ("ret", "exit")
WORD = re.compile(r"(?<![\w.])[%$]?[A-Za-z_][\w$.]*")
SPECIAL = ("%laneid", "%warpid", "%smid", "%clock", "%clock64", "%globaltimer")


@dataclass(slots=True)
class Body:
    """The statements of one function."""

    name: str
    parameters: tuple[str, ...]
    statements: list[Statement] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


def compiled_program(ptx: str, path: str, source: str, names: tuple[str, ...], kernel: str | None) -> Program:
    """The program of a kernel that a compiler made from `source`: the named one, or the one that has the hole.

    `names` are what a person calls its parameters.
    """
    bodies = list(_bodies(ptx, compiled=True))
    with_hole = [body for body in bodies if any(statement.opcode == HOLE for statement in body.statements)]
    named = [body for body in bodies if body.name == kernel]
    body = (named or with_hole or bodies or [Body("", ())])[0]
    same = len(names) == len(body.parameters)
    called = dict(zip(body.parameters, names if same else body.parameters, strict=True))
    return Program(tuple(body.statements), body.labels, path, source, _variables(ptx), called)


def read_ptx(text: str, path: str, names: Pair) -> Program:
    """The program of a PTX file: a function with a hole, or one that takes the lock and one that gives it back."""
    bodies = list(_bodies(text, compiled=False))
    with_hole = [body for body in bodies if any(statement.opcode == HOLE for statement in body.statements)]
    if len(with_hole) > 1:
        line = next(s.line for s in with_hole[1].statements if s.opcode == HOLE)
        raise source_error(path, text, "a second critical section: a lock has one", line, 1)
    if with_hole:
        body = with_hole[0]
        if sum(statement.opcode == HOLE for statement in body.statements) > 1:
            line = [s.line for s in body.statements if s.opcode == HOLE][1]
            raise source_error(path, text, "a second critical section: a lock has one", line, 1)
        return Program(tuple(body.statements), body.labels, path, text, _variables(text), _own(body.parameters))
    by_name = {body.name: body for body in bodies}
    places = {body.name: next((s.line for s in body.statements if s.line), 0) for body in bodies}
    acquire, release = chosen_pair(list(by_name), names, path, text, places)
    return _joined(by_name[acquire], by_name[release], path, text)


def _own(parameters: tuple[str, ...]) -> dict[str, str]:
    return {name: name for name in parameters}


def _joined(acquire: Body, release: Body, path: str, text: str) -> Program:
    """One program of two functions; the parameters of the second are those of the first, by position."""
    end = len(acquire.statements)
    first = [replace(s, opcode=("bra",), operands=("%hole",)) if s.opcode[0] in DONE else s for s in acquire.statements]
    kept = {name: name for name in _variables(text)} | dict(zip(release.parameters, acquire.parameters, strict=False))
    second = [_apart(statement, kept) for statement in release.statements]
    labels = {**acquire.labels, "%hole": end}
    labels |= {f"{name}%": target + end + 1 for name, target in release.labels.items()}
    parameters = {**_own(acquire.parameters), **{n: n for n in release.parameters[len(acquire.parameters) :]}}
    return Program((*first, Statement(HOLE), *second), labels, path, text, _variables(text), parameters)


def _apart(statement: Statement, kept: dict[str, str]) -> Statement:
    """A statement of the second function: its registers and labels are its own, its parameters those of the first."""

    def change(match: re.Match[str]) -> str:
        word = match[0]
        return kept.get(word) or (word if "." in word or word in SPECIAL else f"{word}%")

    operands = tuple(WORD.sub(change, operand) for operand in statement.operands)
    return replace(statement, operands=operands, guard=None if statement.guard is None else f"{statement.guard}%")


def _variables(text: str) -> dict[str, SharedVariable]:
    found = {}
    for match in VARIABLE.finditer(COMMENT.sub("", text)):
        initial = int(match[3], 0) if match[3] and re.fullmatch(r"-?(0x)?[\da-fA-F]+", match[3]) else None
        found[match[2]] = SharedVariable(Space(match[1]), initial)
    return found


def _bodies(text: str, compiled: bool) -> Iterator[Body]:
    """Every function of a PTX text. Lines come from .loc directives if a compiler made it, else they are its own."""
    text = HOLE_COMMENT.sub(lambda match: _same_lines("%hole%;", match[0]), text)
    text = COMMENT.sub(lambda match: _same_lines("", match[0]), text)
    for match in FUNCTION.finditer(text):
        name, parameters = match[2] or match[5], tuple(PARAMETER.findall(match[3] or ""))
        body = Body(name, parameters)
        _read_body(body, text, match.end(), compiled)
        yield body


def _same_lines(new: str, old: str) -> str:
    """A text of the same length as the one it stands for, so that places stay right."""
    return new.ljust(len(old)) if "\n" not in old else new + re.sub(r"[^\n]", " ", old)


def _read_body(body: Body, text: str, start: int, compiled: bool) -> None:
    line = column = 0
    depth = 1
    for match in re.compile(r"[{}]|[^;{}]+;?|;").finditer(text, start):
        piece = match[0]
        if piece in "{}":
            depth += 1 if piece == "{" else -1
            if not depth:
                return
            continue
        offset = match.start()
        for location in LOCATION.finditer(piece):
            line, column = (int(location[2]), int(location[3])) if location[1] == "1" else (0, 0)
        piece = re.sub(r"\.loc\b[^\n]*", lambda found: " " * len(found[0]), piece)
        while (label := LABEL.match(piece)) is not None:
            body.labels[label[1]] = len(body.statements)
            piece = " " * label.end() + piece[label.end() :]
        words = piece.rstrip("; \n\t").strip()
        if not words or words.startswith(IGNORED):
            continue
        if not compiled:
            offset += len(piece) - len(piece.lstrip())
            line = text.count("\n", 0, offset) + 1
            column = offset - text.rfind("\n", 0, offset)
        body.statements.append(_statement(words, line, column))


def _statement(text: str, line: int, column: int) -> Statement:
    if text == "%hole%":
        return Statement(HOLE, line=line, column=column)
    guard = GUARD.match(text)
    if guard is not None:
        text = text[guard.end() :]
    words = text.split(None, 1)
    opcode, rest = words[0], words[1] if len(words) > 1 else ""
    operands = tuple(part.strip() for part in re.split(r",(?![^\[{]*[\]}])", rest)) if rest.strip() else ()
    return Statement(
        tuple(opcode.split(".")), operands, guard[2] if guard else None, bool(guard and guard[1]), line, column
    )
