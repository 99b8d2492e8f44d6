"""The kernels of a module, compared with a second compilation of the same templates by the same compiler.

Launches show that the compiler did what the templates mean; that the code is the compiler's, they can only suggest. A
compiler writes the same code twice, so any other code was changed on its way: in a file, in a cache, by the linker.
"""

from __future__ import annotations

from functools import cache

from gpudiy.harness.module import Assembler
from gpudiy.harness.source import PREFIX
from optcheck.cubin_code import TABLE, CubinCode, read_code


class KernelReference:
    """What a compiler makes of the templates; it is asked once, when the first cubin is compared."""

    def __init__(self, assembler: Assembler) -> None:
        self.assembler = assembler
        self._code: CubinCode | None = None

    @property
    def code(self) -> CubinCode:
        """The code of a module without tests."""
        if self._code is None:
            assembler = self.assembler
            empty = f"{assembler.header}.visible .global .align 8 .u64 {TABLE}[1];\n"
            linked = assembler.linker.link(
                [empty.encode(), assembler.compile_kernels()],
                assembler.architecture,
                assembler.level,
                assembler.registers,
            )
            self._code = read_code(linked, PREFIX)
        return self._code

    def find_difference(self, code: CubinCode) -> str:
        """A function around tests that the second compilation does not have, or has with other code; or nothing."""
        known = self.code
        for name in sorted(known.texts.keys() | code.texts.keys()):
            if known.texts.get(name) != code.texts.get(name):
                return f"kernels: a second compilation gives other code for {name}"
        for name, bank in known.own_banks.items():
            if not code.own_banks.get(name, b"").startswith(bank):
                return f"kernels: a second compilation gives other constants for {name}"
        return ""


@cache
def reference_for(assembler: Assembler) -> KernelReference:
    """The reference for all modules of an assembler."""
    return KernelReference(assembler)
