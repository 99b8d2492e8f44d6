"""A small machine that runs the SASS of a test function on given numbers, and notes all that others could notice.

It shares the reader of listings with optcheck, nothing else: no semantics, no comparison. What it does not know, it
computes as a hash of the operands, which is enough to tell two listings apart.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field

import sass_old_arithmetic as old

from optcheck.listing import SassFunction
from optcheck.sass import (
    AddressOperand,
    ConstantOperand,
    NameOperand,
    NumberOperand,
    Operand,
    PredicateOperand,
    RegisterOperand,
    SassInstruction,
    successor,
)

WORD = 0xFFFFFFFF
ADDRESS = re.compile(r"\s*/\*([0-9a-f]+)\*/")
MOST_STEPS, MOST_ENTRIES = 2000, 40
LAUNCH = 0x7000_0000_1000
POINTERS = {"R4": LAUNCH, "R6": 0x7100_2000_0040, "R8": 0x7200_FFFF_FF00}
RESULTS = ("ST.E", "ST.E.SYS", "ST.64.E", "ST.64.E.SYS")
SILENT = ("NOP", "YIELD", "BMOV", "WARPSYNC", "DEPBAR", "LDGDEPBAR")
FENCES = ("MEMBAR", "CCTL", "ERRBAR", "CGAERRBAR", "FENCE", "BAR")


@dataclass
class Inputs:
    """What a run is given: the registers at entry, the launch, and what each load reads, in order."""

    thread: int
    specification: int
    first: int
    end: int
    launch: dict[int, int]
    reads: list[int]


@dataclass
class SassMachine:
    """One run of a function; `trace` is what it did."""

    function: SassFunction
    inputs: Inputs
    most_steps: int = MOST_STEPS
    registers: dict[str, int] = field(default_factory=dict)
    stack: dict[int, int] = field(default_factory=dict)
    barriers: dict[str, int] = field(default_factory=dict)
    calls: list[tuple[str, int]] = field(default_factory=list)
    trace: list[tuple[object, ...]] = field(default_factory=list)
    descriptors: dict[int, tuple[int, ...]] = field(default_factory=dict)
    loads: int = 0

    def run(self) -> list[tuple[object, ...]]:
        for name, value in (*POINTERS.items(), ("R14", self.inputs.specification)):
            self.registers[name] = value & WORD
            self.registers[successor(name, 1)] = value >> 32
        self.registers |= {"R10": self.inputs.thread, "R11": self.inputs.first, "R12": self.inputs.end, "R1": 0xFFF000}
        kept = [f"R{number}" for number in range(16, 32)] + [f"R{number}" for number in (1, 2, 36, 37, 38, 39, 44, 45)]
        before = [self.read(name) for name in kept]
        index, steps = 0, 0
        while True:
            steps += 1
            if steps > self.most_steps or len(self.trace) > MOST_ENTRIES or index >= len(self.function.instructions):
                return [*self.trace[:MOST_ENTRIES], ("never ends",)]
            instruction = self.function.instructions[index]
            if instruction.guard is not None and not self.predicate(instruction.guard):
                index += 1
                continue
            if instruction.opcode in ("RET", "EXIT"):
                where = [self.value(one) for one in instruction.operands if isinstance(one, RegisterOperand)]
                self.trace.append((instruction.opcode, *where, before == [self.read(name) for name in kept]))
                return self.trace
            index = self.step(instruction, index)

    def read(self, name: str) -> int:
        if name in ("RZ", "URZ"):
            return 0
        if name in ("PT", "UPT"):
            return 1
        if name not in self.registers:
            seed = zlib.crc32(name.encode())
            self.registers[name] = seed & 1 if name[0] == "P" or name[:2] == "UP" else seed
        return self.registers[name]

    def predicate(self, operand: PredicateOperand) -> bool:
        return bool(self.read(operand.name)) != operand.negated

    def value(self, operand: Operand, word: int = 0) -> int:
        match operand:
            case RegisterOperand():
                name = operand.name if operand.name in ("RZ", "URZ") else successor(operand.name, word)
                found = self.read(name)
                part = operand.part if name not in ("RZ", "URZ") else ""  # all parts of zero are zero
                found = zlib.crc32(f"{part}{found}".encode()) if part else found
                found = ~found & WORD if operand.inverted else found
                return -found & WORD if operand.negated else found
            case PredicateOperand():
                return int(self.predicate(operand))
            case NumberOperand():
                return operand.value & WORD if word == 0 else 0
            case ConstantOperand():
                base = self.read(operand.register) if operand.register != "RZ" else 0
                found = self.constant(operand.bank, (base + operand.offset + 4 * word) & WORD)
                found = zlib.crc32(f"{operand.part}{found}".encode()) if operand.part else found
                found = ~found & WORD if operand.inverted else found
                return -found & WORD if operand.negated else found
            case _:
                return zlib.crc32(str(operand).encode())

    def constant(self, bank: int | str, place: int) -> int:
        if bank == 2 and self.function.bank is not None and place + 4 <= len(self.function.bank):
            return int.from_bytes(self.function.bank[place : place + 4], "little")
        if bank == 3:
            return self.inputs.launch.get(place, 0)
        return zlib.crc32(f"{bank} {place}".encode())

    def write(self, operand: Operand, *words: int) -> None:
        for place, word in enumerate(words):
            match operand:
                case RegisterOperand(name=name) if name not in ("RZ", "URZ"):
                    self.registers[successor(name, place)] = word & WORD
                case PredicateOperand(name=name) if name not in ("PT", "UPT"):
                    self.registers[name] = word & 1
                case _:
                    pass

    def step(self, instruction: SassInstruction, index: int) -> int:
        opcode = instruction.opcode
        if opcode in ("BRA", "JMP"):
            if all(self.predicate(one) for one in instruction.operands if isinstance(one, PredicateOperand)):
                targets = self.function.targets_of(index)
                return targets[0] if targets else len(self.function.instructions)
        elif opcode in ("BRX", "JMX"):
            return self.table(index)
        elif opcode in ("BSSY", "SSY", "PBK"):
            self.barriers[str(instruction.operands[0])] = (self.function.targets_of(index) or [-1])[0]
            self.calls.append((opcode, (self.function.targets_of(index) or [-1])[0]))
        elif opcode == "BSYNC":
            if self.barriers.pop(str(instruction.operands[0]), None) != index + 1:
                self.trace.append(("threads do not meet",))
        elif opcode in ("SYNC", "BRK"):
            while opcode == "BRK" and self.calls and self.calls[-1][0] != "PBK":
                self.calls.pop()
            if not self.calls or self.calls[-1][0] != ("SSY" if opcode == "SYNC" else "PBK"):
                self.trace.append(("threads do not meet",))
                return len(self.function.instructions)
            return self.calls.pop()[1]
        elif opcode in FENCES:
            self.fence(instruction.text.partition(" ")[2] if instruction.guard else instruction.text)
        elif instruction.touch is not None:
            self.access(instruction)
        elif opcode not in SILENT:
            self.compute(instruction)
        return index + 1

    def fence(self, text: str) -> None:
        """A fence of the CTA directly before one of a wider scope, which orders all that it orders, is not noted."""
        if text.startswith("MEMBAR") and "CTA" not in text and self.trace and self.trace[-1] == ("MEMBAR.ALL.CTA",):
            self.trace.pop()
        self.trace.append((text,))

    def table(self, index: int) -> int:
        """Where a jump leads: the table holds distances from the address after it and its number."""
        code, jump = self.function.instructions, self.function.instructions[index].operands
        if self.function.bank is None or len(jump) != 2 or not isinstance(jump[1], NumberOperand):
            return self.guess_table(index)
        addresses = [ADDRESS.match(self.function.source[line - 1]) for line in self.function.lines]
        places = [int(one[1], 16) for one in addresses if one is not None]
        size = 16 if self.function.architecture >= "sm_7" or len(self.function.architecture) > 5 else 8
        target = places[index] + size + jump[1].value + self.value(jump[0]) & WORD
        if size == 8 and target % 32 == 0:  # a word that says how the next instructions are scheduled
            target += 8
        return places.index(target) if target in places else len(code)

    def guess_table(self, index: int) -> int:
        """Without its table, the targets are the labels after the jump that no branch names, in that order."""
        named = {
            target for places in map(self.function.targets_of, self.function.named_targets) for target in places or ()
        }
        code = self.function.instructions
        ends = [at for at in sorted(self.function.labels.values()) if at > index and code[at - 1].leaves]
        free = [at for at in ends if at not in named and code[at - 1].guard is None]
        jump = self.function.instructions[index].operands[0]
        choice = self.value(jump) % max(1, len(free)) if free else 0
        self.trace.append(("table", self.value(jump)))
        return free[choice] if free else len(self.function.instructions)

    # Memory.

    def access(self, instruction: SassInstruction) -> None:
        address = instruction.address
        if address is None:
            self.trace.append((instruction.text,))
            return
        wide = "E" in instruction.modifiers
        place = address.offset - (1 << 32) if address.offset >> 31 else address.offset
        for register in address.registers:
            place += self.value(register)
            if wide and register.name not in ("RZ", "URZ"):
                place += self.value(register, 1) << 32
        if instruction.space == "local":
            self.access_stack(instruction, place & WORD)
            return
        self.note(instruction, address, place & (1 << 64) - 1)

    def access_stack(self, instruction: SassInstruction, place: int) -> None:
        for word in range(instruction.words):
            if instruction.touch == "store":
                self.stack[place + 4 * word] = self.value(instruction.data[0], word)
            else:
                found = self.stack.get(place + 4 * word, zlib.crc32(f"stack {place + 4 * word}".encode()))
                self.write(RegisterOperand(successor(instruction.operands[0].name, word)), found)  # type: ignore[union-attr]

    def note(self, instruction: SassInstruction, address: AddressOperand, place: int) -> None:
        ordered = {"MIN", "MAX"} & {*instruction.modifiers}  # other atomics do the same for numbers with a sign
        silent = ("S32", "U32") if instruction.touch in ("atomic", "reduction") and not ordered else ()
        name = ".".join((instruction.opcode, *sorted(one for one in instruction.modifiers if one not in silent)))
        data = tuple(self.value(one, word) for one in instruction.data for word in range(instruction.words))
        described: tuple[int, ...] = ()
        if address.descriptor:
            described = (self.read(address.descriptor), self.read(successor(address.descriptor, 1)))
        launch = 0 <= place - LAUNCH < 0x800
        if not launch:
            self.trace.append((name, place, data, described))
            self.sort_results()
        elif instruction.touch != "load" or self.descriptors.setdefault(0, described) != described:
            self.trace.append((name, "launch", data, described))
        for register, word in instruction.writes.items():
            if launch:
                self.registers[register] = self.inputs.launch.get(place - LAUNCH + 4 * word, 0)
            else:
                reads = self.inputs.reads
                self.registers[register] = reads[(self.loads + word) % len(reads)] & (1 if register[0] == "P" else WORD)
        if not launch and instruction.writes:
            self.loads += 1

    def sort_results(self) -> None:
        """Nobody reads results before the end: in which order weak stores write them is not noted."""
        while len(self.trace) > 1 and all(one[0] in RESULTS and one[1] >> 40 == 0x72 for one in self.trace[-2:]):  # type: ignore[operator]
            if self.trace[-2][1] <= self.trace[-1][1]:  # type: ignore[operator]
                return
            self.trace[-2:] = self.trace[-1], self.trace[-2]
            last = self.trace.pop()
            self.sort_results()
            self.trace.append(last)
            return

    # Registers.

    def compute(self, instruction: SassInstruction) -> None:
        opcode, modifiers = instruction.opcode, instruction.modifiers
        values = [self.value(one) for one in instruction.sources]
        if opcode == "HFMA2" and instruction.packed_halves is not None and modifiers in ((), ("MMA",)):
            self.write(instruction.operands[0], instruction.packed_halves)
            return
        known = COMPUTE.get(opcode)
        if known is not None and known(self, instruction, values):
            return
        written = sorted(instruction.writes.items())
        for name, _ in written:
            mixed = zlib.crc32(f"{opcode} {modifiers} {values} {name if len(written) > 1 else ''}".encode())
            self.registers[name] = mixed & 1 if name[0] == "P" or name[:2] == "UP" else mixed


def sign(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word


def move(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    if not isinstance(instruction.operands[0], RegisterOperand) or isinstance(instruction.operands[1], NameOperand):
        return False
    machine.write(
        instruction.operands[0], *(machine.value(instruction.operands[1], word) for word in range(instruction.words))
    )
    return True


def add(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    if old.carries_in_code(instruction):
        return old.add_with_code(machine, instruction, values)
    if "RS" in instruction.modifiers or "LS" in instruction.modifiers:
        return old.add_and_shift(machine, instruction, values)
    sources = [one for one in instruction.sources if not isinstance(one, PredicateOperand)]
    total = sum(machine.value(one) for one in sources)
    if "64" in instruction.modifiers:
        total += sum(machine.value(one, 1) for one in sources) << 32
        machine.write(instruction.operands[0], total, total >> 32)
        return True
    if "X" in instruction.modifiers:
        total += sum(machine.value(one) for one in instruction.sources if isinstance(one, PredicateOperand))
    machine.write(instruction.operands[0], total)
    for operand in instruction.operands[1 : instruction.result_count]:
        machine.write(operand, total >> 32)
    return True


def multiply(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    a, b, c = values[:3]
    if "U32" not in instruction.modifiers:
        a, b = sign(a), sign(b)
    if "WIDE" in instruction.modifiers or "HI" in instruction.modifiers:
        total = a * b + c + (machine.value(instruction.sources[2], 1) << 32)
        words = (total >> 32,) if "HI" in instruction.modifiers else (total, total >> 32)
        machine.write(instruction.operands[0], *words)
        return True
    machine.write(instruction.operands[0], a * b + c + (values[3] if "X" in instruction.modifiers else 0))
    return True


def logic(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    a, b, c, table = values[:4]
    bits = (table >> (4 * (a >> at & 1) + 2 * (b >> at & 1) + (c >> at & 1)) & 1 for at in range(32))
    result = sum(bit << at for at, bit in enumerate(bits))
    first = instruction.operands[0]
    if isinstance(first, PredicateOperand):
        machine.write(first, int(result != 0) | (values[4] if len(values) > 4 else 0))
        first = instruction.operands[1]
    machine.write(first, result)
    return True


def compare(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    words = [one for one in instruction.modifiers if one in ("EQ", "NE", "LT", "LE", "GT", "GE")]
    if not words:
        return False
    a, b = values[:2]
    if "U64" in instruction.modifiers:
        a, b = (one | machine.value(source, 1) << 32 for one, source in zip((a, b), instruction.sources, strict=False))
    elif "U32" not in instruction.modifiers:
        a, b = sign(a), sign(b)
    results = {"EQ": a == b, "NE": a != b, "LT": a < b, "LE": a <= b, "GT": a > b, "GE": a >= b}
    result = results[words[0]]
    if "X" in instruction.modifiers:
        result = old.compares(machine, words[0], a, b)
    if "EX" in instruction.modifiers:
        low = bool(values[3])
        both = {"EQ": result and low, "NE": result or low}
        result = both.get(words[0], low if a == b else result)
    other = bool(values[2])
    for place, one in enumerate((result, not result)):
        if "OR" in instruction.modifiers:
            holds = one or other
        else:
            holds = one != other if "XOR" in instruction.modifiers else one and other
        machine.write(instruction.operands[place], int(holds))
    return True


def scale(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    if old.carries_in_code(instruction):
        return old.scale_old(machine, instruction, values)
    if instruction.modifiers == ("HI", "X") and len(values) == 5 and instruction.result_count == 1:
        low, added, high, shift, carry = values
        machine.write(instruction.operands[0], ((high << 32 | low) << shift >> 32 & WORD) + added + carry)
        return True
    if instruction.modifiers or len(values) < 3:
        return False
    total = (values[0] << values[2] & WORD) + values[1]
    machine.write(instruction.operands[0], total)
    for operand in instruction.operands[1 : instruction.result_count]:
        machine.write(operand, total >> 32)
    return True


def vote(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    if instruction.modifiers != ("ANY",) or values != [1]:
        return False
    machine.write(instruction.operands[0], 1)  # one thread runs
    return True


def read_zero(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    source = instruction.operands[-1]
    if not isinstance(source, NameOperand) or source.text != "SRZ":
        return False
    machine.write(instruction.operands[0], *([0] if "32" in instruction.modifiers else [0, 0]))
    return True


COMPUTE = {
    "CS2R": read_zero,
    **dict.fromkeys(("VOTE", "VOTEU"), vote),
    **dict.fromkeys(("MOV", "UMOV", "R2UR", "MOV32I"), move),
    **dict.fromkeys(("LDC", "LDCU", "ULDC"), move),
    **dict.fromkeys(("IADD", "IADD3", "IADD32I", "VIADD", "UIADD3"), add),
    "IMAD": multiply,
    "LOP3": logic,
    "ISETP": compare,
    **dict.fromkeys(("LEA", "ISCADD"), scale),
    "XMAD": old.multiply_halves,
    "SHF": old.shift_pair,
    "BFE": old.extract_bits,
    "SEL": old.choose,
    **dict.fromkeys(("IMUL", "IMUL32I"), old.multiply_words),
    **dict.fromkeys(("LOP", "LOP32I"), old.logic_old),
    **dict.fromkeys(("SHL", "SHR"), old.shift_word),
    **dict.fromkeys(("IMNMX", "VIMNMX", "VIADDMNMX"), old.choose_extreme),
}
