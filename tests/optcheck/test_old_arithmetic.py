"""The arithmetic of sm_50 to sm_62: what the compiler makes of C is run with the semantics of optcheck, and with those
of the small machine, on many numbers, and compared with the arithmetic of Python."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import pytest
from cuda_12 import expect_cuda_12
from sass_machine import Inputs, SassMachine

from gpudiy.harness.nvrtc import compiler_for
from optcheck.disassembler import disassemble
from optcheck.listing import SassFunction, read_listing
from optcheck.sass import Touch
from optcheck.semantics import results
from optcheck.term import Samples, Term, mentions_unknown, number, symbol

pytestmark = pytest.mark.heavy  # `make check-all` installs the tools of CUDA 12

WORD, WIDE = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
PARAMETERS = 0x140  # where bank 0 has them; before sm_70


def signed(value: int, bits: int = 64) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


# C over unsigned long long a and b, and the same in Python.
COMPUTED: dict[str, Callable[[int, int], int]] = {
    "(unsigned)a * (unsigned)b": lambda a, b: (a & WORD) * (b & WORD) & WORD,
    "__umulhi((unsigned)a, (unsigned)b)": lambda a, b: (a & WORD) * (b & WORD) >> 32,
    "(unsigned long long)(unsigned)a * (unsigned)b": lambda a, b: (a & WORD) * (b & WORD),
    "a * b": lambda a, b: a * b,
    "a * b + (a >> 3)": lambda a, b: a * b + (a >> 3),
    "a * 0x123456789abcdefull": lambda a, b: a * 0x123456789ABCDEF,
    "(unsigned)a * 123456789u": lambda a, b: (a & WORD) * 123456789 & WORD,
    "(long long)((short)(a ^ b) * (short)(a & b))": lambda a, b: signed(a ^ b, 16) * signed(a & b, 16),
    "a + b": lambda a, b: a + b,
    "a - b": lambda a, b: a - b,
    "-a": lambda a, b: -a,
    "a + (unsigned)b * 12ull": lambda a, b: a + (b & WORD) * 12,
    "a + ((unsigned)b ^ 5u) * (a >> 32)": lambda a, b: a + ((b & WORD) ^ 5) * (a >> 32),
    "a < b": lambda a, b: int(a < b),
    "a <= b": lambda a, b: int(a <= b),
    "a > b": lambda a, b: int(a > b),
    "a == b": lambda a, b: int(a == b),
    "a != b": lambda a, b: int(a != b),
    "a != 0": lambda a, b: int(a != 0),
    "(long long)a < (long long)b": lambda a, b: int(signed(a) < signed(b)),
    "(long long)a >= (long long)b": lambda a, b: int(signed(a) >= signed(b)),
    "(long long)a > (long long)b": lambda a, b: int(signed(a) > signed(b)),
    "a & b": lambda a, b: a & b,
    "a | b": lambda a, b: a | b,
    "a ^ ~b": lambda a, b: a ^ ~b,
    "min((unsigned)a, (unsigned)b)": lambda a, b: min(a & WORD, b & WORD),
    "(unsigned)a << 5": lambda a, b: a << 5 & WORD,
    "(unsigned)a >> 5": lambda a, b: (a & WORD) >> 5,
    "(unsigned)((int)a >> 9)": lambda a, b: signed(a, 32) >> 9 & WORD,
}
# What optcheck does not understand, and says so: shifts of 64 bits to the left, the upper word of signed products.
NOT_UNDERSTOOD = ("a << 5", "a + (unsigned)b * 8ull", "__mulhi((int)a, (int)b)")
LEVELS = ("0", "1", "2", "3")


@cache
def kernels(architecture: str, level: str) -> dict[str, SassFunction]:
    names = {f"k{place}": text for place, text in enumerate((*COMPUTED, *NOT_UNDERSTOOD))}
    heads = "unsigned long long a, unsigned long long b, unsigned long long *out"
    source = "\n".join(
        f'extern "C" __global__ void {name}({heads}) {{ *out = (unsigned long long)({text}); }}'
        for name, text in names.items()
    )
    cubin = compiler_for(architecture).compile(source, architecture, options=(f"--ptxas-options=-O{level}",))
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        functions = read_listing(disassemble(Path(file.name)))
    return {names[function.name]: function for function in functions}


def pairs() -> list[tuple[int, int]]:
    dice = Random(60)
    special = [0, 1, 2, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, WORD, 1 << 32, WIDE, 1 << 63, (1 << 63) - 1]
    found = [(a, b) for a in special for b in special]
    return found + [(dice.getrandbits(64), dice.getrandbits(64)) for _ in range(100)]


def stored_terms(function: SassFunction) -> tuple[Term, Term]:
    """The two words that a kernel without branches stores, as terms over its parameters."""
    registers: dict[str, Term] = {}
    for place, instruction in enumerate(function.instructions):
        if instruction.touch is Touch.STORE:
            name = instruction.data[0].name  # type: ignore[union-attr]
            low, high = name, f"R{int(name[1:]) + 1}"
            return registers[low], registers[high]
        assert instruction.guard is None and not instruction.leaves, instruction.text
        registers |= results(instruction, registers, place)
    raise AssertionError("nothing is stored")


def compute_by_terms(function: SassFunction) -> list[int] | None:
    """What a kernel stores for each pair, by the semantics of optcheck; None if it does not understand it."""
    terms = stored_terms(function)
    if any(map(mentions_unknown, terms)):
        return None
    inputs = pairs()
    known = {
        symbol("constant", 0, PARAMETERS + 8 * place + 4 * word): [pair[place] >> 32 * word & WORD for pair in inputs]
        for place in (0, 1)
        for word in (0, 1)
    }
    samples = Samples(len(inputs), known)
    low, high = (samples.values(term) for term in terms)
    return [one | other << 32 for one, other in zip(low, high, strict=True)]


class Kernel(SassMachine):
    """The small machine, with the parameters of a kernel in constant memory."""

    pair = (0, 0)

    def constant(self, bank: int | str, place: int) -> int:
        number_of, word = divmod(place - PARAMETERS, 8)
        if bank == 0 and number_of in (0, 1):
            return self.pair[number_of] >> 8 * word & WORD
        return super().constant(bank, place)


def compute_by_machine(function: SassFunction, pair: tuple[int, int]) -> int:
    machine = Kernel(function, Inputs(0, 0, 0, 0, {}, [0]))
    machine.pair = pair
    (store, *_) = machine.run()
    low, high = store[2]  # type: ignore[misc]
    return int(low) | int(high) << 32


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("architecture", ["sm_50", "sm_60"])
def test_the_compiled_arithmetic_is_that_of_c(architecture: str, level: str) -> None:
    expect_cuda_12(architecture)
    understood = 0
    for text, expected in COMPUTED.items():
        found = compute_by_terms(kernels(architecture, level)[text])
        if found is None:
            assert level == "0", f"{text} is not understood"
            continue
        understood += 1
        assert found == [expected(a, b) & WIDE for a, b in pairs()], text
    assert understood >= (len(COMPUTED) if level != "0" else 12)


@pytest.mark.parametrize("level", LEVELS[1:])
def test_the_machine_of_the_faults_computes_the_same(level: str) -> None:
    expect_cuda_12("sm_60")
    for text, expected in COMPUTED.items():
        for a, b in pairs()[::7]:
            assert compute_by_machine(kernels("sm_60", level)[text], (a, b)) == expected(a, b) & WIDE, (text, a, b)


@pytest.mark.parametrize("text", NOT_UNDERSTOOD)
def test_what_is_not_understood_is_said_to_be(text: str) -> None:
    expect_cuda_12("sm_60")
    assert compute_by_terms(kernels("sm_60", "3")[text]) is None
    assert not mentions_unknown(number(1))
