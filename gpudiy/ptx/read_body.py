"""Read the body of a PTX function: blocks, declarations, labels, line information and instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from gpudiy.ptx.declarations import read_registers, read_variable
from gpudiy.ptx.kernel import KernelParameter, PtxKernel, PtxVariable, RegisterBank
from gpudiy.ptx.line_index import LineIndex
from gpudiy.ptx.operands import OperandReader
from gpudiy.ptx.read_instruction import read_instruction
from gpudiy.ptx.statement import CodePlace, PtxStatement, SourceLine

TOKEN = re.compile(
    r"""\s*(?:
      (?P<loc>\.loc\b[^\n;]*) | \.file\b[^\n;]* | (?P<brace>[{}]) | ;
    | (?P<label>[$%A-Za-z_][\w$%]*)\s*:(?!:)
    | (?P<directive>\.[^;]*); | (?P<instruction>[^\s;{}.][^;]*);
    )""",
    re.VERBOSE,
)
LOCATION = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*?inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
NAME = re.compile(r"[%$A-Za-z_][\w$%]*")
MOST_RENAMED = 1000  # registers of one bank in an inner block


@dataclass(slots=True)
class Block:
    """One block of a function, with the new names for those that were already declared outside."""

    parent: Block | None = None
    renamed: dict[str, str] = field(default_factory=dict)

    def names(self) -> Mapping[str, str]:
        """The new names that hold inside this block."""
        outer = {} if self.parent is None else self.parent.names()
        return {**outer, **self.renamed} if outer or self.renamed else {}


@dataclass(slots=True)
class RawStatement:
    """An instruction whose names are not resolved yet: a label may come after the branch to it."""

    text: str
    place: CodePlace
    block: Block


class BodyReader:
    """Reads one function."""

    def __init__(self, text: str, lines: LineIndex, files: Mapping[int, str]) -> None:
        self.text = text
        self.lines = lines
        self.files = files
        self.raw: list[RawStatement] = []
        self.labels: dict[str, int] = {}
        self.branch_targets: dict[str, tuple[str, ...]] = {}
        self.registers: list[RegisterBank] = []
        self.variables: list[PtxVariable] = []
        self.declared: dict[str, int] = {}  # every name, and how often it was declared

    def read(self, offset: int) -> int | None:
        """Read a function from its opening brace; the offset after its closing brace, None if there is none."""
        block = Block()
        source: SourceLine | None = None
        label = ""
        while (match := TOKEN.match(self.text, offset)) is not None:
            offset = match.end()
            kind = match.lastgroup
            if kind == "instruction":
                line, column = self.lines.find(match.start("instruction"))
                self.raw.append(RawStatement(match["instruction"].rstrip(), CodePlace(line, column, source), block))
            elif kind == "loc":
                source = self._source_line(match["loc"])
            elif kind == "label":
                label = self._declare(match["label"], block)
                self.labels[label] = len(self.raw)
            elif kind == "directive":
                self._read_directive(match["directive"], block, label)
            elif kind == "brace" and match["brace"] == "{":
                block = Block(block)
            elif kind == "brace":
                if block.parent is None:
                    return offset
                block = block.parent
        return None

    def kernel(
        self, name: str, entry: bool, parameters: tuple[KernelParameter, ...], results: tuple[KernelParameter, ...]
    ) -> PtxKernel:
        """The kernel that was read."""
        self.registers += [RegisterBank(parameter.name, parameter.type) for parameter in (*parameters, *results)
                           if parameter.in_register]  # fmt: skip
        return PtxKernel(
            name, entry, parameters, results, tuple(self.registers), tuple(self.variables), tuple(self._statements()),
            self.labels, self.branch_targets,
        )  # fmt: skip

    def _statements(self) -> Iterator[PtxStatement]:
        plain = {name for bank in self.registers for name in _names_of(bank) if name[0] != "%"}
        operands = OperandReader(plain)
        block: Block | None = None
        names: Mapping[str, str] = {}
        for raw in self.raw:
            if raw.block is not block:
                block, names = raw.block, raw.block.names()
            if not names:
                yield read_instruction(raw.text, raw.place, operands)
                continue
            yield read_instruction(_rename(raw.text, names), raw.place, operands)

    def _source_line(self, text: str) -> SourceLine | None:
        match = LOCATION.match(text)
        if match is None:
            return None
        file, line, column, *call = (0 if number is None else int(number) for number in match.groups())
        called = SourceLine(self.files.get(call[0], ""), call[1], call[2]) if call[0] else None
        return SourceLine(self.files.get(file, ""), line, column, called)

    def _read_directive(self, text: str, block: Block, label: str) -> None:
        """Read a directive; the label before it names a list of branch targets."""
        word = text.split(None, 1)[0]
        if word == ".reg":
            for bank in read_registers(text):
                self.registers += self._declare_registers(bank, block)
        elif word == ".branchtargets":
            self.branch_targets[label] = tuple(NAME.findall(text.partition(word)[2]))
            self.labels.pop(label, None)
        elif word == ".callprototype":
            self.labels.pop(label, None)
        else:
            variable = read_variable(text)
            if variable is not None:
                self.variables.append(replace(variable, name=self._declare(variable.name, block)))

    def _declare_registers(self, bank: RegisterBank, block: Block) -> list[RegisterBank]:
        if block.parent is None or (bank.count or 0) > MOST_RENAMED:
            for name in _names_of(bank) if bank.count is None else ():
                self._declare(name, block)
            return [bank]
        names = [(name, self._declare(name, block)) for name in _names_of(bank)]
        if all(name == new for name, new in names):
            return [bank]
        return [RegisterBank(new, bank.type) for _, new in names]

    def _declare(self, name: str, block: Block) -> str:
        """Declare a name in a block; the name, with a suffix if it is already used."""
        times = self.declared.get(name, 0)
        self.declared[name] = times + 1
        if not times or block.parent is None:
            return name
        block.renamed[name] = f"{name}%{times}"
        return block.renamed[name]


def _names_of(bank: RegisterBank) -> Iterator[str]:
    if bank.count is None:
        yield bank.name
    else:
        yield from (f"{bank.name}{number}" for number in range(bank.count))


def _rename(text: str, names: Mapping[str, str]) -> str:
    return NAME.sub(lambda match: names.get(match[0], match[0]), text)
