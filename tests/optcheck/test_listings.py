"""Listings as data: `// finding` marks a line that a deviation must name, `!! message` the line that cannot be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import DATA

from optcheck.check import check_kernels
from optcheck.finding import Finding
from optcheck.listing import SassError, read_listing
from optcheck.sass_grammar import parse_instruction

LISTINGS = sorted((DATA / "sass").glob("*.sass"))
MARK = re.compile(r"// (\S+)$", re.MULTILINE)


@pytest.mark.parametrize("path", LISTINGS, ids=lambda path: path.stem)
def test_verdicts_of_listings(path: Path) -> None:
    text = path.read_text()
    marked = {(number, mark[1]) for number, line in enumerate(text.split("\n"), 1) if (mark := MARK.search(line))}
    checks = list(check_kernels(text, {}))
    found = {
        (int(line.partition(":")[0]), str(deviation.finding))
        for check in checks
        for deviation in check.deviations
        for line in deviation.sass
    }
    assert checks
    assert marked <= found
    assert {finding for _, finding in found} == {finding for _, finding in marked}
    expected = {finding for _, finding in marked} or {"unchanged"}
    assert {str(check.finding) for check in checks} == expected


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("@!P0 IADD3 R12, P3, R10.reuse, R13, RZ", "R12 P3"),
        ("IADD3 R11, PT, PT, R13, 0x7f3a050, RZ", "R11"),
        ("LDG.E.STRONG.GPU R21, desc[UR4][R10.64+0x100]", "R21"),
        ("LDG.E.128 R4, [R2.64+-0x10]", "R4 R5 R6 R7"),
        ("ATOMG.E.CAS.STRONG.GPU PT, R4, [R2], R4, R5", "R4"),
        ("ATOMS.CAST.SPIN.64 R4, [R2], R4, R6", "R4 R5"),
        ("ISETP.NE.U32.AND.EX P0, P1, RZ, UR7, PT, P2", "P0 P1"),
        ("LOP3.LUT P3, RZ, R21.reuse, 0x80000000, RZ, 0xc0, !PT", "P3"),
        ("HFMA2.MMA R5, -RZ, RZ, 0, 5.9604644775390625e-08", "R5"),
        ("IMAD.WIDE.U32 R10, R10, R7, c[0x0][0x160]", "R10 R11"),
        ("LDC.64 R2, c[0x0][R4+0x10]", "R2 R3"),
        ("R2UR UR4, R16.reuse", "UR4"),
        ("VOTE.ANY R4, P0, P1", "R4 P0"),
        ("CS2R R2, SRZ", "R2 R3"),
        ("DEPBAR.LE SB0, 0x0, {2,1}", ""),
        ("BRX R8 -0x200", ""),
        ("RET.REL.NODEC R20 0x0", ""),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", ""),
        ("STS.64 [R3+UR4+0x8], R4", ""),
        ("FADD.FTZ R0, |R2|, -c[0x3][0x8]", "R0"),
        ("TEX.SCR.LL RZ, R4, R2, R5, 0x0, 2D", ""),
        ("LD.E.CG R0, [R4+0x10]", "R0"),
        ("MOV R1, c[0x0][0x44]", "R1"),
        ("BRA.U !UP0, `(.L_x_1)", ""),
        ("MOV R20, 32@lo((_Z6stressPjjj + .L_x_9@srel))", "R20"),
    ],
)
def test_forms_of_instructions(text: str, writes: str) -> None:
    assert list(parse_instruction(text).writes) == writes.split()


def test_constants_made_of_two_halves() -> None:
    assert parse_instruction("HFMA2.MMA R5, -RZ, RZ, 0, 5.9604644775390625e-08").packed_halves == 1
    assert parse_instruction("HFMA2 R5, -RZ, RZ, 1.875, 0").packed_halves == 0x3F800000


OLD = """
\tcode for sm_35
\t\tFunction : kernel
        /*0008*/                   MOV R1, c[0x0][0x44];           /* 0x64c03c00089c0006 */
        /*0010*/         {         MOV R4, c[0x0][0x140];          /* 0x64c03c00281c0012 */
        /*0018*/                   LDS.U.32 R0, [0x10]; }          /* 0x7aa00000081ffc02 */
                                                                   /* 0x08a0bc80c0a08cc0 */
        /*0020*/                   SSY `(.L_1);
        /*0028*/               @P0 BRA `(.L_1);
        /*0030*/                   ST.E.CG [R4], R0;
.L_1:
        /*0038*/                   NOP.S (*"TARGET= .L_1 "*);
        /*0040*/                   EXIT;
"""


def test_the_oldest_listings() -> None:
    (function,) = read_listing(OLD)
    assert function.architecture == "sm_35"
    assert [instruction.opcode for instruction in function.instructions] == [
        "MOV", "MOV", "LDS", "SSY", "BRA", "ST", "NOP", "EXIT",
    ]  # fmt: skip
    assert function.targets_of(4) == [6]


@pytest.mark.parametrize(
    ("line", "message", "column"),
    [
        ("        /*0010*/                   HELLO R1, R2 ;", "unknown opcode 'HELLO'", 36),
        ("        /*0010*/                   MOV R1, ?? ;", "this is not a SASS instruction", 42),
        ("the quick brown fox", "this is not a SASS instruction", 1),
        ("        /*0010*/                   LDG.E R1, [R2 ;", "this is not a SASS instruction", 44),
    ],
)
def test_lines_that_cannot_be_read(line: str, message: str, column: int) -> None:
    with pytest.raises(SassError) as caught:
        read_listing(f".text.kernel:\n        /*0000*/                   NOP ;\n{line}\n", "some.sass")
    assert str(caught.value).startswith(f"some.sass:3:{column}: error: {message}")
    assert "^" in str(caught.value)


def test_braces_of_a_pair_and_of_an_operand() -> None:
    """Old listings have braces around two instructions that issue together, and as an operand of DEPBAR."""
    text = "Function : f\n /*0008*/ { MOV R1, R2;\n /*0010*/ MOV R3, R4; }\n /*0018*/ DEPBAR {1} ;\n"
    (function,) = read_listing(text)
    assert [one.text for one in function.instructions] == ["MOV R1, R2", "MOV R3, R4", "DEPBAR {1}"]


def test_addresses_that_the_linker_fills_in() -> None:
    line = "        /*0010*/                   MOV R20, 32@lo((_Z6stressPjjj + .L_x_9@srel)) ;"
    (function,) = read_listing(f".text.kernel:\n{line}\n")
    assert list(function.instructions[0].writes) == ["R20"] and not function.named_targets


def test_a_verdict_for_every_word() -> None:
    assert len({str(finding) for finding in Finding}) == 9


MISTAKES = {
    "LDG.E R0, [R2": ("this is not a SASS instruction", 18),
    "LDG.E R0, [R2+]": ("this is not a SASS instruction", 18),
    "LDG.E R0,, [R2]": ("this is not a SASS instruction", 18),
    "LDG.E R0, [R2]]": ("this is not a SASS instruction", 24),
    "LDG.E R999, [R2]": ("there is no register R999", 16),
    "LDG.E R0, [R255]": ("there is no register R255", 21),
    "@P7 LDG.E R0, [R2]": ("there is no register P7", 11),
    "MOV R0, c[0x0]": ("a bracket of this operand is missing", 18),
    "LDG.E R0, [R2] foo": ("'foo' is no operand of LDG", 25),
    "LDG.E R0, [R2] R7": ("a comma is missing between operands", 26),
    "LDG.E R0 [R2]": ("a comma is missing between operands", 22),
    "LDG.E R0": ("LDG has no address", 17),
    "STG.E [R2]": ("STG has no value", 19),
    "LDG.E R0, [R2-R3]": ("a register is subtracted in an address", 23),
    "STG.E.STRONG.GPUX [R2], R0": ("STG has no modifier 'GPUX'", 23),
    "MEMBAR.SC.FOO": ("MEMBAR has no modifier 'FOO'", 20),
}


@pytest.mark.parametrize("code", MISTAKES)
def test_operands_that_no_chip_has_are_errors(code: str) -> None:
    message, column = MISTAKES[code]
    with pytest.raises(SassError, match=re.escape(message)) as error:
        read_listing(f"/*0000*/ {code} ;\n/*0010*/ EXIT ;\n", "case.sass")
    assert str(error.value).startswith(f"case.sass:1:{column}: error: ") and "^" in str(error.value)


WHOLE = (
    "LD.E R0, [R4] ;|ST.E [R6], R1 ;|LD.E R2, [R8] ;|IADD32I R10, R0, 0x07f3a010 ;|IADD32I R11, R1, 0x07f3a001 ;|"
    "IADD32I R12, R2, 0x07f3a012 ;|EXIT ;"
)


def check_lines(lines: list[str]) -> Finding:
    text = "\n".join(f"/*{8 * number:04x}*/ {line}" for number, line in enumerate(lines))
    (check,) = check_kernels(f"Function : f\n{text}\n", {}, "sm_35")
    return check.finding


def test_a_listing_without_an_access_and_its_literal_does_not_pass() -> None:
    lines = WHOLE.split("|")
    assert check_lines(lines) is Finding.UNCHANGED
    assert check_lines([line for place, line in enumerate(lines) if place not in (1, 4)]) is Finding.REMOVED
    assert check_lines([line for place, line in enumerate(lines) if place != 1]) is not Finding.UNCHANGED


def test_a_listing_that_breaks_off_does_not_pass() -> None:
    assert check_lines(WHOLE.split("|")[:-1]) is Finding.UNVERIFIABLE
    assert check_lines([*WHOLE.split("|")[:-1], "@P0 EXIT ;"]) is Finding.UNVERIFIABLE
