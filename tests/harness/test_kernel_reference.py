"""Kernels in a cubin that are not what the compiler makes of the templates."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudiy.harness.checking import AROUND, check_cubin, disassemble_cubin, select_functions
from gpudiy.harness.kernel_reference import KernelReference
from gpudiy.harness.module import Assembler, PtxTest
from gpudiy.harness.source import PREFIX
from gpudiy.litmus import read_test
from optcheck.binary import list_sections
from optcheck.cubin_code import read_code

TEST = read_test((Path(__file__).parents[1] / "data" / "sass" / "faults" / "MP.litmus").read_text())
WAIT = 116  # the first of the bits of an instruction that say what it waits for


def damage(cubin: bytes, function: str, bit: int) -> bytes:
    """The cubin with another bit in the third instruction of a function."""
    section = next(one for one in list_sections(cubin) if one.name == f".text.{function}")
    changed = bytearray(cubin)
    changed[section.offset + 2 * 16 + bit // 8] ^= 1 << bit % 8
    return bytes(changed)


HEAVY = [pytest.param(one, marks=pytest.mark.heavy) for one in ("sm_75", "sm_90", "sm_120")]


@pytest.mark.parametrize("architecture", ["sm_80", *HEAVY])
def test_code_of_another_compilation_is_found_even_if_no_listing_shows_it(architecture: str) -> None:
    assembler = Assembler(architecture)
    codes = [PtxTest.of(TEST, architecture)]
    cubin = assembler.compile(codes)
    reference = KernelReference(Assembler(architecture))
    assert reference.find_difference(read_code(cubin, PREFIX)) == ""
    changed = damage(cubin, "reduce", WAIT)
    listings = [select_functions(disassemble_cubin(one, architecture), AROUND) for one in (cubin, changed)]
    assert listings[0] == listings[1] and cubin != changed
    wrong = "kernels: a second compilation gives other code for reduce"
    assert check_cubin(changed, codes, architecture, reference=reference).stress == wrong


def test_a_function_that_is_missing_is_found() -> None:
    assembler = Assembler("sm_80")
    code = read_code(assembler.compile([PtxTest.of(TEST, "sm_80")]), PREFIX)
    del code.texts["reset"]
    assert KernelReference(assembler).find_difference(code).endswith("for reset")
