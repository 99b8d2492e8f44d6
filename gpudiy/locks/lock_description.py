"""The lock description: a lock as acquire and release sequences of PTX.

    lock NAME
    source "where it comes from"
    variables lock = 0, flag = 0 shared
    key k
    acquire:
    retry:
        atom.cas.b32 r0, [lock], 0, 1
        setp.ne.s32 p, r0, 0
        @p bra retry
    release:
        atom.exch.b32 r1, [lock], 0

`#` and `//` start comments. A `key` is a number that each thread receives, chosen so
that the threads enter one after the other.
"""

from __future__ import annotations

import re

from gpudiy.litmus.access import Space
from gpudiy.locks.lock_program import (
    LockProgram,
    LockVariable,
    hole_statement,
    read_statement,
    source_error,
    split_statement,
)
from gpudiy.ptx import CodePlace, PtxStatement

COMMENT = re.compile(r"(?:#|//)[^\n]*")
VARIABLE = re.compile(r"([A-Za-z_]\w*)\s*(?:=\s*(-?\w+))?\s*(global|shared)?\Z")
LABEL = re.compile(r"\s*([A-Za-z_$][\w$]*):\s*")
IN_BRACKETS = re.compile(r"\[\s*([A-Za-z_]\w*)")
WORDS = ("lock", "source", "variables", "key")
UNTYPED = {"ld": "s32", "st": "s32", "setp": "s32", "mov": "s32", "add": "s32", "sub": "s32"}
UNTYPED_ATOMICS = {"cas": "b32", "exch": "b32", "inc": "u32", "dec": "u32"}


def read_description(text: str, path: str) -> LockProgram:
    """Read a lock description; raise `InputError` at the place of a mistake."""
    reader = _Reader(text, path)
    for number, line in enumerate(text.split("\n"), 1):
        reader.read(COMMENT.sub(lambda match: " " * len(match[0]), line), number)
    return reader.finish()


class _Reader:
    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.section = ""
        self.statements: list[PtxStatement] = []
        self.labels: dict[str, int] = {}
        self.variables: dict[str, LockVariable] = {}
        self.keys: dict[str, str] = {}
        self.line = 0

    def read(self, line: str, number: int) -> None:
        self.line = number
        text = line.strip()
        if not text:
            return
        heading = text.rstrip(":").strip()
        if text.endswith(":") and heading in ("acquire", "release"):
            self._open_section(heading, line)
        elif self.section:
            self._read_statement(line)
        else:
            self._read_declaration(line, text)

    def finish(self) -> LockProgram:
        if self.section != "release":
            missing = "release" if self.section else "acquire"
            raise source_error(self.path, self.text, f"no lock found: the `{missing}:` section is missing")
        return LockProgram(
            tuple(self.statements), self.labels, self.path, self.text, self.variables, self.keys
        )  # fmt: skip

    def _open_section(self, heading: str, line: str) -> None:
        if heading == "acquire" and self.section:
            raise self._error("this is a second `acquire:` section: a description has exactly one", line)
        if heading == "release":
            if self.section != "acquire":
                raise self._error("`release:` must come once, after `acquire:`", line)
            self.statements.append(hole_statement(CodePlace(self.line, 1)))
        self.section = heading

    def _read_declaration(self, line: str, text: str) -> None:
        word, _, rest = text.partition(" ")
        if word == "variables":
            for piece in rest.split(","):
                match = VARIABLE.match(piece.strip())
                if match is None:
                    raise self._error(f"`{piece.strip()}` is not a variable such as `lock = 0 global`", line, piece)
                initial = None if match[2] is None else self._number(match[2], line)
                self.variables[match[1]] = LockVariable(Space(match[3]) if match[3] else None, initial)
        elif word == "key":
            for name in rest.replace(",", " ").split():
                self.keys[name] = name
        elif word not in WORDS:
            hint = f"a description has lines {', '.join(WORDS)}, then `acquire:` and `release:`"
            raise self._error(f"unknown word `{word}`", line, word, hint)

    def _number(self, text: str, line: str) -> int:
        try:
            return int(text, 0)
        except ValueError:
            raise self._error(f"`{text}` is not a number", line, text) from None

    def _read_statement(self, line: str) -> None:
        while (label := LABEL.match(line)) is not None:
            if label[1] in self.labels:
                raise self._error(f"label {label[1]} is defined twice", line, label[1])
            self.labels[label[1]] = len(self.statements)
            line = " " * label.end() + line[label.end() :]
            if not line.strip():
                return
        text = line.strip().rstrip(";").rstrip()
        column = len(line) - len(line.lstrip()) + 1
        if not text:
            return
        for name in IN_BRACKETS.findall(text):
            self.variables.setdefault(name, LockVariable())
        self.statements.append(read_statement(_add_type(text), CodePlace(self.line, column)))

    def _error(self, message: str, line: str, token: str = "", hint: str | None = None) -> Exception:
        column = max(0, line.find(token.strip())) + 1 if token else len(line) - len(line.lstrip()) + 1
        return source_error(self.path, self.text, message, self.line, column, hint)


def _add_type(text: str) -> str:
    """The statement with its type, which figures in papers leave out."""
    guard, opcode, operands = split_statement(text)
    words = opcode.split(".")
    if any(re.fullmatch(r"[subf](8|16|32|64)|pred", word) for word in words):
        return text
    type = UNTYPED.get(words[0])
    if words[0] in ("atom", "red"):
        type = next((UNTYPED_ATOMICS[word] for word in words if word in UNTYPED_ATOMICS), "s32")
    return text if type is None else f"{guard}{opcode}.{type}{operands}"
