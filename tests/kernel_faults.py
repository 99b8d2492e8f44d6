"""Faults in the kernels around tests: a listing cut into functions, one of which is changed, and the rest as it was."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from block_equivalence import are_equal
from kernel_equivalence import find_difference
from sass_faults import make_fault

from gpudiy.harness.checking import AROUND, disassemble_cubin, select_functions
from gpudiy.harness.kernel_check import KERNELS, find_odd_code, try_kernels
from gpudiy.harness.module import Assembler, PtxTest
from gpudiy.litmus import read_test
from optcheck.cubin_code import read_code
from optcheck.listing import SassError, SassFunction, read_listing
from optcheck.machine_abi import MachineAbi, abi_of

PART = re.compile(r"^\.text\.(\w+):\n(.*?)(?=^\s*\.section|\Z)", re.MULTILINE | re.DOTALL)
TEST = (Path(__file__).parent / "data" / "sass" / "faults" / "MP.litmus").read_text()


@dataclass(frozen=True, slots=True)
class KernelListing:
    """The functions around a test: their texts, what they call, and the banks of constant memory."""

    architecture: str
    texts: dict[str, str]
    functions: dict[str, SassFunction]
    calls: dict[str, frozenset[str]]
    banks: dict[int, bytes]

    def reachable(self, kernel: str) -> set[str]:
        """The functions that a kernel calls, and those that they call."""
        found, waiting = {kernel}, [kernel]
        while waiting:
            new = self.calls[waiting.pop()] - found
            found |= new
            waiting += new
        return found

    def check(self, name: str, text: str) -> str:
        """What is wrong with the kernels if a function has this text instead; empty if nothing is."""
        try:
            (changed,) = read_listing(text)
        except SassError as error:
            return str(error)
        kernel = self._kernel_of(name)  # one kernel that reaches it is enough
        module = self._module(kernel, changed)
        return find_odd_code(module, self._abi()) or try_kernels(module, self._abi(), self.banks, [kernel])

    def is_equal(self, name: str, text: str) -> bool:
        """Whether a function with this text is proved to do the same, block by block."""
        (changed,) = read_listing(text)
        return are_equal(self.functions[name], changed)

    def try_seed(self, seed: int) -> str:
        """What is wrong in other launches than those of the check; empty if nothing is."""
        kernels = sorted(name for name in self.texts if name.startswith(KERNELS))
        return try_kernels([self.functions[one] for one in self.texts], self._abi(), self.banks, kernels, seed)

    def find_difference(self, name: str, text: str, seeds: int) -> str:
        """What else the kernels do in other launches if a function has this text instead; empty if nothing."""
        (changed,) = read_listing(text)
        kernel = self._kernel_of(name)
        original, other = self._module(kernel, self.functions[name]), self._module(kernel, changed)
        return find_difference(original, other, self._abi(), self.banks, kernel, seeds)

    def _kernel_of(self, name: str) -> str:
        return next(one for one in self.texts if one.startswith(KERNELS) and name in self.reachable(one))

    def _module(self, kernel: str, changed: SassFunction) -> list[SassFunction]:
        needed = self.reachable(kernel)
        return [changed if one == changed.name else self.functions[one] for one in self.texts if one in needed]

    def _abi(self) -> MachineAbi:
        abi = abi_of(self.architecture)
        assert abi is not None
        return abi


@cache
def kernel_listing(architecture: str) -> KernelListing:
    """The kernels as the compiler makes them now."""
    cubin = Assembler(architecture).compile([PtxTest.of(read_test(TEST), architecture)])
    listing = select_functions(disassemble_cubin(cubin, architecture), AROUND)
    texts = {part[1]: f"\t.target\t{architecture}\n{part[0]}" for part in PART.finditer(listing)}
    functions = {function.name: function for function in read_listing(listing)}
    calls = {
        name: frozenset(one for targets in function.named_targets.values() for one in targets if one in functions)
        for name, function in functions.items()
    }
    return KernelListing(architecture, texts, functions, calls, read_code(cubin, "test_").banks)


def random_fault(listing: KernelListing, dice: Random) -> tuple[str, str, str]:
    """A function, what was done to it, and its text."""
    names = sorted(listing.texts)
    weights = [len(listing.functions[name].instructions) ** 0.5 for name in names]
    (name,) = dice.choices(names, weights)
    what, text = make_fault(listing.texts[name], dice)
    return name, what, text
