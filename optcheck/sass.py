"""`SassInstruction`: one instruction of a listing, of any architecture, with its reads, writes and effects."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from optcheck.literal import PREFIXES
from optcheck.modifiers import has_known_form

ZERO, UNIFORM_ZERO = "RZ", "URZ"
TRUE = frozenset({"PT", "UPT"})
WORD = 0xFFFFFFFF
# The condition code of sm_50 to sm_62 and older chips: carry, whether the result is 0, and the result.
CARRY, IS_ZERO, RESULT = CONDITION_CODE = ("CC.C", "CC.Z", "CC.R")


@dataclass(frozen=True, slots=True)
class RegisterOperand:
    """R4, UR4, RZ; `wide` for R4.64, which is R4 and R5."""

    name: str
    negated: bool = False
    inverted: bool = False
    wide: bool = False
    part: str = ""  # .H0_H0, .B1, .X4 and the like: not the register as it is
    sets_code: bool = False  # R4.CC: the instruction also writes the condition code


@dataclass(frozen=True, slots=True)
class PredicateOperand:
    """P0, UP0, PT; `negated` for !P0."""

    name: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class NumberOperand:
    """An integer immediate."""

    value: int


@dataclass(frozen=True, slots=True)
class RealOperand:
    """A floating-point immediate."""

    value: float


@dataclass(frozen=True, slots=True)
class ConstantOperand:
    """c[bank][register+offset]; a bank in a register is named by it."""

    bank: int | str
    offset: int
    register: str = ZERO
    negated: bool = False
    inverted: bool = False
    part: str = ""


@dataclass(frozen=True, slots=True)
class AddressOperand:
    """[R2.64+UR4+0x10], with or without a descriptor."""

    registers: tuple[RegisterOperand, ...]
    offset: int
    descriptor: str = ""


@dataclass(frozen=True, slots=True)
class NameOperand:
    """A special register, barrier, label or any other operand without a value."""

    text: str


Operand = (
    RegisterOperand | PredicateOperand | NumberOperand | RealOperand | ConstantOperand | AddressOperand | NameOperand
)


class Touch(StrEnum):
    """How an instruction accesses memory."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"
    REDUCE = "reduction"


TOUCHES = {
    **dict.fromkeys(("LD", "LDG", "LDS", "LDL", "LDSM", "LDSLK", "TLD", "TLD4", "TEX", "SULD"), Touch.LOAD),
    **dict.fromkeys(("ST", "STG", "STS", "STL", "STSM", "STSCUL", "STSUL", "SUST", "LDGSTS", "STAS"), Touch.STORE),
    **dict.fromkeys(("ATOM", "ATOMG", "ATOMS", "SUATOM"), Touch.ATOMIC),
    **dict.fromkeys(("RED", "REDG", "REDAS", "REDS", "SURED"), Touch.REDUCE),
}
SPACES = {
    **dict.fromkeys(("LDG", "STG", "ATOMG", "REDG", "RED"), "global"),
    **dict.fromkeys(("LDS", "STS", "ATOMS", "LDSM", "STSM", "LDSLK", "STSCUL", "STSUL", "STAS", "REDS"), "shared"),
    **dict.fromkeys(("LDL", "STL"), "local"),
    **dict.fromkeys(("LD", "ST", "ATOM"), "generic"),
}
FENCES = frozenset({"MEMBAR", "CCTL", "CCTLL", "CCTLT", "ERRBAR", "CGAERRBAR", "FENCE", "BAR", "UCGABAR_ARV",
                    "UCGABAR_WAIT", "SYNCS"})  # fmt: skip
JUMPS = frozenset({"BRA", "JMP", "BRX", "JMX", "JMXU", "BRXU"})
ENDS = frozenset({"EXIT", "RET", "KILL", "BPT"})
STACK_JUMPS = frozenset({"SYNC", "BRK", "CONT"})  # of sm_35 to sm_60: to the target of SSY, PBK or PCNT
MEETINGS = frozenset({"BSSY", "BSYNC", "BREAK", "SSY", "PBK", "PCNT"})  # they say where threads of a warp meet
NO_RESULT = frozenset({
    *(opcode for opcode, touch in TOUCHES.items() if touch in (Touch.STORE, Touch.REDUCE)), *FENCES, *JUMPS, *ENDS,
    *STACK_JUMPS, "NOP", "YIELD", "BSSY", "BSYNC", "BREAK", "WARPSYNC", "SSY", "PBK", "PCNT", "CAL", "JCAL", "CALL",
    "DEPBAR", "NANOSLEEP", "LDGDEPBAR", "ARRIVES", "PMTRIG", "ACQBULK", "ENDCOLLECTIVE", "WARPGROUP", "PREEXIT",
    "USETMAXREG", "LDDEP", "UTMALDG", "UTMASTG", "TEXDEPBAR", "SETCTAID", "SETLMEMBASE", "RTT",
    "BRKPT", "PLONGJMP", "LONGJMP", "VOTE_VTG", "UBLKCP", "UTMACMDFLUSH", "UTMAPF", "UBLKPF", "UBLKRED",
})  # fmt: skip
PREDICATE_RESULTS = frozenset(
    {"ISETP", "UISETP", "FSETP", "DSETP", "HSETP2", "PSETP", "PLOP3", "UPLOP3", "CSETP", "VSETP"}
)
PAIRS = frozenset({"DADD", "DMUL", "DFMA", "DMNMX", "LEPC", "ULEPC"})
LONG_TYPES = frozenset({"F64", "S64", "U64"})
CONVERSIONS = frozenset({"F2F", "F2I", "I2F", "I2I", "UF2F", "UF2I", "UI2F", "UI2I", "FRND", "UFRND"})
CLOCKS = frozenset({"CS2R", "CS2UR"})
MOVES = frozenset({"MOV", "UMOV", "MOV32I", "R2UR", "S2UR", "UMOV32I"})
DECIDING = frozenset(
    {"ISETP", "UISETP", "ICMP", "ISET", "IMNMX", "UIMNMX", "VIMNMX", "VIMNMX3", "UVIMNMX", "VIADDMNMX", "SEL", "USEL"}
) | (MOVES - {"R2UR", "S2UR"})
ADDS = frozenset({"IADD", "IADD3", "IADD32I", "VIADD", "UIADD3", "UVIADD", "UIADD", "IADD2"})


@dataclass(frozen=True)
class SassInstruction:
    """An instruction without its address; equal texts give the same object."""

    text: str
    opcode: str
    modifiers: tuple[str, ...]
    guard: PredicateOperand | None
    operands: tuple[Operand, ...]

    @cached_property
    def never(self) -> bool:
        """`@!PT`: the assembler puts four `@!PT LDS RZ, [RZ]` before the fences of a function; none of them runs."""
        return self.guard is not None and self.guard.negated and self.guard.name in TRUE

    @cached_property
    def is_known(self) -> bool:
        """Whether its opcode can have its modifiers: if not, nobody knows what it does."""
        return has_known_form(self.opcode, self.modifiers)

    @cached_property
    def touch(self) -> Touch | None:
        return None if self.never else TOUCHES.get(self.opcode)

    @cached_property
    def space(self) -> str:
        return SPACES.get(self.opcode, "")

    @cached_property
    def is_fence(self) -> bool:
        return self.opcode in FENCES

    @cached_property
    def is_jump(self) -> bool:
        return self.opcode in JUMPS or self.opcode in STACK_JUMPS

    @cached_property
    def ends(self) -> bool:
        return self.opcode in ENDS

    @cached_property
    def joins(self) -> bool:
        """sm_35 joins threads with a suffix, as in `NOP.S`, and continues at the target of SSY."""
        return "S" in self.modifiers and self.opcode in ("NOP", "MOV", "ST", "LD", "IADD", "TEXDEPBAR")

    @cached_property
    def leaves(self) -> bool:
        """Whether an instruction other than the next one can run after it."""
        return self.is_jump or self.ends or self.joins or self.is_near_call

    @property
    def is_near_call(self) -> bool:
        """Whether it jumps and does nothing else: who is to return saves the address of the return before, by MOV."""
        return self.opcode == "CALL" and self.modifiers == ("REL", "NOINC")

    @cached_property
    def is_straight(self) -> bool:
        """Whether it always runs, the next one runs after it, and all that it does is to write registers."""
        only_reads = self.touch in (None, Touch.LOAD) and self.space != "local"
        others = self.leaves or self.is_fence or self.opcode in MEETINGS
        return self.guard is None and only_reads and not others

    @cached_property
    def words(self) -> int:
        """How many 32-bit registers a result, or the stored value, has."""
        for modifier in self.modifiers:
            if modifier in ("64", "128", "256"):
                return int(modifier) // 32
            if modifier in ("S64", "U64") and self.touch is not None:  # ATOMG.E.MIN.S64
                return 2
        if "WIDE" in self.modifiers or self.opcode in PAIRS or (self.opcode in CLOCKS and "32" not in self.modifiers):
            return 2
        if self.opcode in CONVERSIONS and not LONG_TYPES.isdisjoint(self.modifiers):
            return 2
        return 1

    @cached_property
    def result_count(self) -> int:
        """How many of the first operands are results."""
        if self.opcode in NO_RESULT or not self.operands:
            return 0
        if self.opcode in PREDICATE_RESULTS:
            return 2
        count = 1
        predicates_first = isinstance(self.operands[0], PredicateOperand)
        for operand in self.operands[1:]:
            if predicates_first:
                if isinstance(operand, RegisterOperand):
                    return count + 1
                return count
            if not isinstance(operand, PredicateOperand) or operand.negated:
                break
            count += 1
            if self.opcode in ("VOTE", "VOTEU"):
                break
        return count

    @cached_property
    def writes(self) -> dict[str, int]:
        """The registers and predicates that it writes, each with the index of its word in the result."""
        written: dict[str, int] = {}
        if self.opcode in ("R2P", "UR2UP"):
            predicate = "P" if self.opcode == "R2P" else "UP"
            return {f"{predicate}{number}": number for number in range(7)}
        for operand in self.operands[: self.result_count]:
            if isinstance(operand, PredicateOperand) and operand.name not in TRUE:
                written[operand.name] = 0
            if isinstance(operand, RegisterOperand) and operand.name not in (ZERO, UNIFORM_ZERO):
                for word in range(self.words):
                    written[successor(operand.name, word)] = word
        return written | dict.fromkeys(CONDITION_CODE, 0) if self.sets_code else written

    @cached_property
    def sets_code(self) -> bool:
        """Whether it writes the condition code, as `IADD R4.CC, R2, R3`."""
        return any(
            isinstance(operand, RegisterOperand) and operand.sets_code for operand in self.operands[: self.result_count]
        )

    @cached_property
    def cleared(self) -> dict[str, None]:
        """The registers and predicates that it may write."""
        return {} if self.never else dict.fromkeys(self.writes)

    @cached_property
    def plain_move(self) -> tuple[str, str] | None:
        """The destination and source of a copy of one register that always happens."""
        if self.opcode not in ("MOV", "UMOV") or self.modifiers or self.guard or len(self.operands) != 2:
            return None
        to, source = self.operands
        if not isinstance(to, RegisterOperand) or not isinstance(source, RegisterOperand):
            return None
        plain = not (source.negated or source.inverted or source.part or source.wide)
        zeros = {to.name, source.name} & {ZERO, UNIFORM_ZERO}
        return (to.name, source.name) if plain and not zeros else None

    @cached_property
    def changes_nothing(self) -> bool:
        """Whether it copies registers onto themselves, as -O0 does."""
        if self.opcode not in ("MOV", "UMOV") or self.modifiers not in ((), ("64",)) or len(self.operands) != 2:
            return False
        to, source = self.operands
        return isinstance(to, RegisterOperand) and to == source and not (to.negated or to.inverted or to.part)

    @cached_property
    def sources(self) -> tuple[Operand, ...]:
        return self.operands[self.result_count :]

    @cached_property
    def address(self) -> AddressOperand | None:
        return next((operand for operand in self.operands if isinstance(operand, AddressOperand)), None)

    @cached_property
    def data(self) -> tuple[Operand, ...]:
        """The operands of a memory instruction other than its address."""
        return tuple(operand for operand in self.sources if isinstance(operand, (RegisterOperand, NumberOperand)))

    @cached_property
    def literal(self) -> int | None:
        """The immediate that is a literal of a specification or of stress."""
        for operand in self.operands:
            if isinstance(operand, NumberOperand) and operand.value >> 12 in PREFIXES:
                return operand.value
        return None

    @cached_property
    def deciding_numbers(self) -> tuple[int, ...]:
        """The immediates that this instruction compares something with, or moves into a register."""
        if self.opcode not in DECIDING or self.literal is not None:
            return ()
        return tuple(one.value & WORD for one in self.operands if isinstance(one, NumberOperand))

    @cached_property
    def packed_halves(self) -> int | None:
        """The result of an HFMA2 of zeros and two immediates, by which compilers write some constants."""
        if self.opcode != "HFMA2" or len(self.operands) != 5:
            return None
        one, other, high, low = self.operands[1:]
        zeros = all(
            isinstance(operand, RegisterOperand) and operand.name == ZERO and not operand.part
            for operand in (one, other)
        )
        if (
            not zeros
            or not isinstance(high, (RealOperand, NumberOperand))
            or not isinstance(low, (RealOperand, NumberOperand))
        ):
            return None
        return _half(high.value) << 16 | _half(low.value)


def successor(register: str, count: int) -> str:
    """The register `count` places after another: R5 after R4; those that are always 0 have no successor."""
    if count == 0 or register in (ZERO, UNIFORM_ZERO):
        return register
    prefix = register.rstrip("0123456789")
    return f"{prefix}{int(register[len(prefix) :]) + count}"


def _half(value: float) -> int:
    bits: int = struct.unpack("<H", struct.pack("<e", value))[0]
    return bits
