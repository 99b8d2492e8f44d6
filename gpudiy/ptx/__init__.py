"""Read the PTX that compilers write, as whole kernels.

`read_module(text)` reads a PTX file. Every instruction becomes a litmus instruction, or an `OpaqueInstruction` where
litmus has none: no instruction is lost, and no compiler output is rejected for an unknown instruction.
"""

from gpudiy.ptx.kernel import (
    KernelParameter,
    PtxKernel,
    PtxModule,
    PtxVariable,
    RegisterBank,
)
from gpudiy.ptx.read_module import read_module
from gpudiy.ptx.statement import CodePlace, OpaqueInstruction, PtxAddress, PtxSpace, PtxStatement, SourceLine

__all__ = [
    "CodePlace",
    "KernelParameter",
    "OpaqueInstruction",
    "PtxAddress",
    "PtxKernel",
    "PtxModule",
    "PtxSpace",
    "PtxStatement",
    "PtxVariable",
    "RegisterBank",
    "SourceLine",
    "read_module",
]
