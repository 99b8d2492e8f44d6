"""Reading listings of cuobjdump -sass, nvdisasm and nvdisasm -json, or plain instructions, one per line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gpudiy.errors import InputError, near_name
from optcheck.constant_bank import BANK_LINE
from optcheck.literal import decode_literal
from optcheck.opcodes import OPCODES
from optcheck.sass import WORD, NumberOperand, SassInstruction
from optcheck.sass_grammar import SassSyntax, parse_instruction

FUNCTION = re.compile(r"\s*Function : ([\w$.]+)\s*$|\.text\.([\w$.]+):\s*$|\s*//-+ \.text\.([\w$.]+)\s+-+\s*$")
INNER_FUNCTION = re.compile(r"\$[\w$.]+\$([\w.]+):\s*$")  # a function inside the section of a kernel
LABEL = re.compile(r"\s*(\.?[\w$.]+):\s*(?:/[/*].*)?$")
TARGET = re.compile(r"\s*(?:code for|\.target)\s+(sm_\d+)\w?|.*EF_CUDA_SM(\d+)")
ADDRESS = re.compile(r"\s*(?:[{}]\s*)?/\*([0-9a-f]{4,8})\*/")
ENCODING = re.compile(r"/\*\s*0x[0-9a-f]+\s*\*/\s*$")
COMMENT = re.compile(r"//.*$|/\*.*?\*/|#.*$")
CONTROL_CODES = re.compile(
    r"&\w+=(?:\{[\d,]*\}|\S+)|\?\w+|^\s*\[B[-\d]{6}:R[-\d]:W[-\d]:[-Y]:S\d+\]|\b[\da-f-]{2}:[\d-]:[\d-]:[-YE]:[\da-f]\b"
)
BRANCH_TARGETS = re.compile(r'\(\*"[A-Z_]*TARGETS?\s*[:=]?\s*([^"]*)"\*\)')
RELOCATION = re.compile(r"\w+@(?:lo|hi)\(+[^()]*\)+")  # 32@lo((stress + .L_x_9@srel)): an address, treated as a name
LABEL_OPERAND = re.compile(r"`\(([\w$.]+)\)|(?<![\w.`(])(\.L[\w$.]*)|\((\.[\w$.]+)\)")
JUMP_ADDRESS = re.compile(r"(?:BRA|JMP|BSSY|SSY|PBK|PCNT|CAL|CALL|JCAL|JMX)\b[^;]*?(?<![-\w])0x([0-9a-f]+)\s*$")
# Lines around the code: directives, section rulers, fatbin headers, dots between functions.
IGNORED = re.compile(
    r"\s*(?:$|\.\.+\s*$|//.*$|\.(?:headerflags|elftype|section|sectioninfo|sectionflags|sectionentsize|align|global|weak|"
    r"type|size|other|target|byte|short|word|dword|quad|zero|string|nv\.|info|file|loc|version|address_size|L_?\w*:|debug_|text)\b.*$|"
    r"(?:Fatbin (?:elf|ptx|tile ir) code:|=+\s*$|(?:arch|code version|host|producer|compile_size|identifier|compressed|"
    r"ptxasOptions|has debug info|has device linker info)\b.*$)|\s*code for .*$|Function\b.*:.*:|\s*-+\s*$|[{}]\s*$|"
    r"\s*\.(?:L_x_|nv)\S*$|\s*\.\w+\s+[.\w$@\"]+\s*(?:,.*)?$)"
)


class SassError(InputError):
    """A listing that cannot be read, with its line and a caret."""


@dataclass
class SassFunction:
    """The code of one function: instructions with their line numbers, labels, and the targets of branches."""

    name: str
    architecture: str
    source: list[str]  # the lines of the listing
    instructions: list[SassInstruction] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    named_targets: dict[int, tuple[str, ...]] = field(default_factory=dict)
    bank: bytes | None = None  # bank 2 of constant memory, which has the tables of jumps; None if it is not known
    _targets: dict[int, list[int] | None] = field(default_factory=dict, repr=False, compare=False)

    def targets_of(self, index: int) -> list[int] | None:
        """The indexes to which the branch at `index` may go; None for a jump through a table that is not shown."""
        if index not in self._targets:
            named = self.named_targets.get(index)
            places = None if named is None else [self._find_place(name) for name in named]
            self._targets[index] = None if places is None else [place for place in places if place is not None]
        return self._targets[index]

    def _find_place(self, name: str) -> int | None:
        if not name.startswith("0x"):
            return self.labels.get(name)
        return self._places.get(int(name, 16))

    def find_condition_code(self) -> int | None:
        """The first instruction that sets the condition code, which chips have up to sm_62."""
        return next((index for index, one in enumerate(self.instructions) if one.sets_code), None)

    @cached_property
    def identities(self) -> tuple[int, ...]:
        """Equal instructions of listings are one object."""
        return tuple(map(id, self.instructions))

    @cached_property
    def literals(self) -> set[int]:
        """The specification literals in the code."""
        found = (instruction.literal for instruction in self.instructions)
        return {literal for literal in found if literal is not None and decode_literal(literal) is not None}

    @cached_property
    def deciding_numbers(self) -> tuple[int, ...]:
        """The numbers, other than small ones, that instructions compare with or move into registers."""
        found = (number for instruction in self.instructions for number in instruction.deciding_numbers)
        return tuple(dict.fromkeys(number for number in found if 16 < number < WORD))

    @cached_property
    def _places(self) -> dict[int, int]:
        """The instructions by their addresses."""
        found: dict[int, int] = {}
        for index, line in enumerate(self.lines):
            address = ADDRESS.match(self.source[line - 1])
            if address:
                found.setdefault(int(address[1], 16), index)
        return found

    def jump_targets(self, index: int, places: list[int], size: int) -> list[int] | None:
        """Where a jump leads for words at these places of the bank; -1 is nowhere. None if that is not known.

        `size` is that of an instruction: a jump adds the word to its operand and to the address after it.
        """
        address = ADDRESS.match(self.source[self.lines[index] - 1])
        operands = self.instructions[index].operands
        if self.bank is None or address is None or len(operands) != 2 or not isinstance(operands[1], NumberOperand):
            return None
        start = int(address[1], 16) + size + operands[1].value
        words = [self.bank[place : place + 4] for place in places]
        targets = [start + int.from_bytes(word, "little") & WORD if len(word) == 4 else -1 for word in words]
        if size == 8:  # every fourth word is not an instruction: it says how the next three are scheduled
            targets = [target + 8 if target % 32 == 0 else target for target in targets]
        return [self._places.get(target, -1) for target in targets]

    @cached_property
    def breaks_off(self) -> bool:
        """Whether the last instruction is neither an end nor a jump; an excerpt without addresses may be like that."""
        if ADDRESS.match(self.source[self.lines[-1] - 1]) is None:
            return False
        last = next((one for one in reversed(self.instructions) if one.opcode != "NOP"), None)
        return last is None or not last.leaves or last.guard is not None

    def show_instruction(self, index: int) -> str:
        """An instruction for messages: its line in the listing and its text."""
        return f"{self.lines[index]}: {self.instructions[index].text}"


Targets = tuple[str, ...] | None
_Line = tuple[bool, SassInstruction, Targets]  # whether the line has an address; its instruction; its targets
_PLAIN: dict[str, SassInstruction] = {}  # instructions without targets, by the text after the address
_KNOWN: dict[str, tuple[SassInstruction, Targets]] = {}  # instructions read before, by the text after the address


def read_listing(text: str, path: str = "<text>") -> list[SassFunction]:
    """All functions of a listing; raises `SassError` for the first line that cannot be read."""
    if not text.strip():
        raise SassError("this listing is empty", path=path, line=1, column=1)
    if text.lstrip()[:1] in "[{" and text.lstrip()[:2] not in ("{ ", "[B"):
        found = _read_json(text, path)
    else:
        found = _read_text(text, path)
    return [function for function in found if function.instructions]


def _read_text(text: str, path: str) -> list[SassFunction]:
    architecture = ""
    source = text.split("\n")
    bank: bytes | None = None
    current = SassFunction("", "", source)
    functions = [current]
    plain = _PLAIN.get
    for number, line in enumerate(source, 1):
        code = line.partition("*/")[2]
        known = plain(code)
        if known is not None:  # most lines: the same code occurred before, at another address
            current.instructions.append(known)
            current.lines.append(number)
            continue
        if line[:2] == ".L" and line[-1] == ":":
            current.labels[line[:-1]] = len(current.instructions)
            continue
        if line.startswith(BANK_LINE):
            bank = _read_bank(line, path, number)
            current.bank = bank
            continue
        try:
            read = _read_quickly(line) or _read_line(line)
        except SassSyntax as error:
            raise SassError(error.message, path=path, line=number, column=error.column, source=line) from None
        if read is None:
            continue
        if len(read) == 3:
            instruction, targets = read[1:]
            if targets is not None:
                current.named_targets[len(current.instructions)] = targets
            elif read[0]:
                _PLAIN[code] = instruction
            current.instructions.append(instruction)
            current.lines.append(number)
        elif read[0] == "function":
            if read[1] != current.name:
                current = SassFunction(read[1], architecture, source, bank=bank)
                functions.append(current)
        elif read[0] == "label":
            current.labels[read[1]] = len(current.instructions)
        else:
            architecture = read[1]
            if not current.instructions:
                current.architecture = architecture
    return functions


def _read_bank(line: str, path: str, number: int) -> bytes:
    try:
        return bytes.fromhex(line.removeprefix(BANK_LINE))
    except ValueError:
        column = len(BANK_LINE) + 1
        raise SassError("expected the bytes of a bank", path=path, line=number, column=column, source=line) from None


def _read_quickly(line: str) -> _Line | None:
    """Read a line whose instruction occurred before at another address, perhaps with another target."""
    start = line.find("/*")
    if start < 0 or line[:start].strip():
        return None
    end = line.find("*/", start)
    code = line[end + 2 :]
    if code.endswith("*/"):
        code = code[: code.rfind("/*")]
    targets = None
    label = code.find("`(")
    if label >= 0:
        close = code.find(")", label)
        targets = (code[label + 2 : close],)
        code = f"{code[:label]}`(.L){code[close + 1 :]}"
    known = _KNOWN.get(code)
    if known is None:
        return None
    return False, known[0], targets or known[1]


def _read_line(line: str) -> _Line | tuple[str, str] | None:
    """An instruction, or ("function" | "label" | "architecture", its name), or nothing."""
    address = ADDRESS.match(line)
    if address is None:
        other = _classify_line(line)
        if other != ("instruction", ""):
            return other
    start = address.end() if address else 0
    code = ENCODING.sub("", line[start:])
    listed = BRANCH_TARGETS.search(code)
    if listed:
        code = code[: listed.start()] + code[listed.end() :]
    if "&" in code or "?" in code or ":" in code:
        code = CONTROL_CODES.sub("", code)
    code = COMMENT.sub("", code).lstrip(" \t{").rstrip(" \t;")
    if code.count("}") > code.count("{"):  # the end of two instructions that run together, not of an operand
        code = code.rstrip(" \t;}")
    if not code:
        return None
    instruction, targets = _read_instruction(line, code, listed)
    if address and "`(" in line and not listed:
        _KNOWN[LABEL_OPERAND.sub("`(.L)", ENCODING.sub("", line[start:]))] = (instruction, None)
    elif address and not listed:
        _KNOWN[ENCODING.sub("", line[start:])] = (instruction, targets)
    return address is not None and not listed, instruction, targets


def _read_instruction(
    line: str, code: str, listed: re.Match[str] | None
) -> tuple[SassInstruction, tuple[str, ...] | None]:
    if "@lo(" in code or "@hi(" in code:
        code = RELOCATION.sub(lambda found: f"_{re.sub('[^A-Za-z0-9_]', '_', found[0])}", code)
    label = LABEL_OPERAND.search(code)
    jump = JUMP_ADDRESS.search(code)
    targets: tuple[str, ...] | None = None
    if listed:
        targets = tuple(name.strip() for name in listed[1].split(",") if name.strip())
    elif label:
        targets = (label[1] or label[2] or label[3],)
        code = code[: label.start()] + "`(.L)" + code[label.end() :]
    elif jump:
        targets = (f"0x{jump[1]}",)
    try:
        instruction = parse_instruction(code)
    except SassSyntax as error:
        column = max(line.find(code[:12]), 0) + error.column
        raise SassSyntax(error.message, column) from None
    if instruction.opcode not in OPCODES:
        near = near_name(instruction.opcode, sorted(OPCODES))
        message = f"unknown opcode {instruction.opcode!r}" + (f": {near}" if near else "")
        raise SassSyntax(message, line.find(instruction.opcode) + 1)
    return instruction, targets


def _classify_line(line: str) -> tuple[str, str] | None:
    """The kind of a line without an address, as `_read_line` returns it; ("instruction", "") for any other line."""
    function = FUNCTION.match(line)
    if function:
        return "function", function[1] or function[2] or function[3]
    inner = INNER_FUNCTION.match(line)
    if inner:
        return "function", inner[1]
    target = TARGET.match(line)
    if target:
        return "architecture", target[1] or f"sm_{target[2]}"
    label = LABEL.match(line)
    if label and not line.lstrip().startswith(("arch", "Fatbin", "host", "producer")):
        return "label", label[1]
    if IGNORED.match(line) or ENCODING.sub("", line).strip() == "":
        return None
    return "instruction", ""


def _read_json(text: str, path: str) -> list[SassFunction]:
    """nvdisasm -json: a list of a header and a list of functions, for each cubin."""
    try:
        parts = json.loads(text)
    except json.JSONDecodeError as error:
        source = text.split("\n")[error.lineno - 1]
        raise SassError(
            f"this is not JSON: {error.msg}", path=path, line=error.lineno, column=error.colno, source=source
        ) from None
    architecture = ""
    functions = []
    for part in _flatten(parts):
        if "SM" in part:
            version = part["SM"]["version"]
            architecture = f"sm_{version['major']}{version['minor']}"
        if "function-name" in part:
            functions.append(_read_json_function(part, architecture, path))
    return functions


def _flatten(parts: object) -> Iterator[dict[str, Any]]:
    if isinstance(parts, dict):
        yield parts
    elif isinstance(parts, list):
        for part in parts:
            yield from _flatten(part)


def _read_json_function(part: dict[str, Any], architecture: str, path: str) -> SassFunction:
    entries = part.get("sass-instructions", [])
    step = 8 if architecture < "sm_7" and len(architecture) == 5 else 16
    source = [f"/*{number * step:04x}*/" for number in range(len(entries))]
    function = SassFunction(str(part["function-name"]), architecture, source)
    for number, entry in enumerate(entries):
        operands = re.sub(
            r"(?<=[\w])(?=(?:g?desc)?\[)(?<!desc)(?<!c)(?<!cx)(?<!\b[at])", ",", entry.get("operands", "")
        )
        text = f"{entry.get('predicate', '')} {entry['opcode']} {operands.replace(',', ', ')}".strip()
        try:
            instruction, targets = _read_instruction(text, text, None)
        except SassSyntax as error:
            raise SassError(error.message, path=path, line=number + 1, column=error.column, source=text) from None
        if targets is not None:
            function.named_targets[number] = targets
        function.instructions.append(instruction)
        function.lines.append(number + 1)
    return function
