"""The modifiers that opcodes have, in the order in which disassemblers print them.

An instruction with any other modifier exists on no chip that is known here, so nobody knows what it does.
"""

from __future__ import annotations

import re
from functools import lru_cache

COMPARED = r"\.(?:EQ|NE|LT|LE|GT|GE)"
COMBINED = r"\.(?:AND|OR|XOR)"
TYPE = r"(?:\.[US]32)?"
JOIN = r"(?:\.S)?"  # threads of sm_35 join behind it
NONE = ""
SUM = r"(?:\.X)?"
PRODUCT = r"(?:(?:\.MOV|\.IADD|\.SHL)?(?:\.U32)?|(?:\.U32)?\.X|\.WIDE(?:\.U32)?(?:\.X)?|\.HI(?:\.U32)?)"
COMPARISON = rf"{COMPARED}(?:(?:\.U32)?(?:{COMBINED}(?:\.EX)?|\.X{COMBINED})|\.[US]64{COMBINED})"
SCALED = r"(?:\.HI(?:\.X)?(?:\.SX32)?)?"
SHIFTED = r"(?:\.L|\.R)(?:\.W)?(?:\.[US](?:32|64))?(?:\.HI)?"
EXTREME = r"(?:\.[US]32|\.[US]16x2)?(?:\.RELU)?"
TYPES = r"(?:\.[USF](?:8|16|32|64))"
# By opcode: the text of all modifiers, each with its point.
FORMS = {
    # moves
    "MOV": rf"(?:\.64)?{JOIN}",
    **dict.fromkeys(("UMOV", "R2UR"), r"(?:\.64)?"),
    **dict.fromkeys(("MOV32I", "UMOV32I", "UR2UP", "LEPC", "ULEPC"), NONE),
    **dict.fromkeys(("LDC", "LDCU", "ULDC"), r"(?:\.[US](?:8|16)|\.64|\.128)?"),
    **dict.fromkeys(("S2R", "S2UR"), NONE),
    **dict.fromkeys(("CS2R", "CS2UR"), r"(?:\.32|\.64)?"),
    **dict.fromkeys(("P2R", "R2P", "UP2UR"), r"(?:\.B[0-3])?"),
    **dict.fromkeys(("SEL", "USEL"), r"(?:\.64)?"),
    "FSEL": r"(?:\.FTZ)?",
    # sums and products
    "IADD": rf"(?:\.X|\.64|\.SAT|\.PO)?{JOIN}",
    "IADD3": r"(?:\.X|\.RS|\.LS|\.64)?",
    **dict.fromkeys(("UIADD3", "UIADD"), r"(?:\.X|\.64)?"),
    **dict.fromkeys(("IADD32I", "IADD2"), SUM),
    **dict.fromkeys(("VIADD", "UVIADD"), r"(?:\.U?16x2)?"),
    **dict.fromkeys(("IMAD", "UIMAD"), PRODUCT),
    "XMAD": r"(?:\.[US]16\.[US]16)?(?:\.PSL)?(?:\.CLO|\.CHI|\.CSFU|\.CBCC)?(?:\.MRG)?(?:\.X)?",
    **dict.fromkeys(("IMUL", "IMUL32I"), r"(?:\.[US]32\.[US]32)?(?:\.HI)?"),
    **dict.fromkeys(("LEA", "ULEA"), SCALED),
    "IMAD32I": r"(?:\.[US]32\.[US]32)?(?:\.HI)?",
    **dict.fromkeys(("ISCADD", "ISCADD32I"), NONE),
    **dict.fromkeys(("IMNMX", "UIMNMX", "VIMNMX", "UVIMNMX", "VIADDMNMX", "VIMNMX3"), EXTREME),
    # bits
    **dict.fromkeys(("LOP3", "ULOP3", "PLOP3", "UPLOP3"), r"\.LUT(?:\.PAND)?"),
    **dict.fromkeys(("LOP", "LOP32I"), r"\.(?:AND|OR|XOR|PASS_B)(?:\.X)?(?:\.N?Z)?"),
    **dict.fromkeys(("SHF", "USHF"), SHIFTED),
    **dict.fromkeys(("SHL", "SHR", "USHL", "USHR"), rf"{TYPE}(?:\.W)?"),
    **dict.fromkeys(("BFE", "FLO", "UFLO"), rf"{TYPE}(?:\.SH)?(?:\.BREV)?"),
    **dict.fromkeys(("POPC", "UPOPC", "BREV", "UBREV", "BFI", "IABS", "UIABS"), NONE),
    **dict.fromkeys(("PRMT", "UPRMT"), r"(?:\.F4E|\.B4E|\.RC8|\.ECL|\.ECR|\.RC16)?"),
    **dict.fromkeys(("SGXT", "USGXT"), r"(?:\.W)?(?:\.U32)?"),
    **dict.fromkeys(("BMSK", "UBMSK"), r"(?:\.[CW])?"),
    # comparisons and predicates
    **dict.fromkeys(("ISETP", "UISETP"), COMPARISON),
    "ISET": rf"(?:\.BF)?{COMPARED}(?:\.U32)?(?:\.X)?{COMBINED}",
    "ICMP": rf"{COMPARED}(?:\.U32)?",
    "PSETP": rf"{COMBINED}{COMBINED}",
    "PSET": rf"(?:\.BF)?{COMBINED}{COMBINED}",
    # conversions, and halves as constants
    **dict.fromkeys(("I2I", "UI2I"), rf"{TYPES}{TYPES}(?:\.SAT)?"),
    "HFMA2": r"(?:\.MMA|\.BF16(?:_V2)?)?(?:\.SAT|\.RELU)?",
    # warps
    **dict.fromkeys(("VOTE", "VOTEU"), r"\.(?:ANY|ALL|EQ)"),
    "SHFL": r"\.(?:IDX|UP|DOWN|BFLY)",
    # branches, and where threads meet
    **dict.fromkeys(("BRA", "JMP"), r"(?:\.U|\.DIV|\.CONV)?"),
    **dict.fromkeys(("SSY", "PBK", "PCNT", "SYNC", "BRK", "CONT", "JCAL", "CAL", "PRET", "BRX", "JMX"), NONE),
    **dict.fromkeys(("BRXU", "JMXU", "EXIT", "LDGDEPBAR"), NONE),
    "CALL": r"\.(?:ABS|REL)\.NOINC",
    "RET": r"(?:\.(?:ABS|REL)\.NODEC)?",
    **dict.fromkeys(("BSSY", "BSYNC"), r"(?:\.RECONVERGENT|\.RELIABLE)?"),
    "BREAK": r"(?:\.RELIABLE)?",
    "BMOV": r"\.32(?:\.CLEAR)?",
    "WARPSYNC": r"(?:\.ALL|\.EXCLUSIVE|\.COLLECTIVE)?",
    "YIELD": NONE,
    "NOP": JOIN,
    "DEPBAR": r"(?:\.LE)?",
}  # fmt: skip
PATTERNS = {opcode: re.compile(form) for opcode, form in FORMS.items()}


@lru_cache(1 << 12)
def has_known_form(opcode: str, modifiers: tuple[str, ...]) -> bool:
    """Whether an opcode can have these modifiers; also for those of which nothing is known here."""
    pattern = PATTERNS.get(opcode)
    return pattern is None or pattern.fullmatch("".join(f".{one}" for one in modifiers)) is not None
