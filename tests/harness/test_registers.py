"""Registers of the kernels: they decide how many warps an SM runs at once."""

from __future__ import annotations

import struct

import pytest

from gpudiy.devices.cuda_occupancy import Multiprocessor, Needs, describe_occupancy, groups_of_one
from gpudiy.harness.module import REGISTERS, PtxTest, assembler_for
from gpudiy.litmus import read_test
from optcheck.binary import SYMBOL, list_sections, read_string

TEST = read_test(
    "GPU_PTX SB\n{ }\nP0 | P1 ;\nst.cg.s32 [x],1 | st.cg.s32 [y],1 ;\nld.cg.s32 r0,[y] | ld.cg.s32 r0,[x] ;\n"
    "scopeTree (device (kernel (cta P0) (cta P1)))\nx: global, y: global\nexists (0:r0=0 /\\ 1:r0=0)"
)
A100 = Multiprocessor(108, 2048, 32, 65536, 164 << 10, 1024)
REGISTER_COUNT = 0x2F  # an attribute of .nv.info: a symbol, and its registers


def registers_of(cubin: bytes) -> dict[str, int]:
    """The registers of a thread, by kernel and function."""
    sections = list_sections(cubin)
    table = next(section for section in sections if section.name == ".symtab")
    names = [
        read_string(cubin, sections[table.link].offset + SYMBOL.unpack_from(cubin, offset)[0])
        for offset in range(table.offset, table.offset + table.size, SYMBOL.size)
    ]
    info = next(section for section in sections if section.name == ".nv.info")
    found, at = {}, info.offset
    while at < info.offset + info.size:
        form, attribute, size = struct.unpack_from("<BBH", cubin, at)
        if attribute == REGISTER_COUNT:
            symbol, count = struct.unpack_from("<II", cubin, at + 4)
            found[names[symbol]] = count
        at += 4 + (size if form == 4 else 0)
    return found


@pytest.mark.parametrize("architecture", ["sm_80", pytest.param("sm_90", marks=pytest.mark.heavy),
                                          pytest.param("sm_120", marks=pytest.mark.heavy)])  # fmt: skip
def test_kernels_leave_room_for_36_warps(architecture: str) -> None:
    cubin = assembler_for(architecture).compile([PtxTest.of(TEST, architecture)])
    registers = registers_of(cubin)
    runs = {name: count for name, count in registers.items() if name.startswith("run")}
    assert runs and max(registers.values()) <= REGISTERS
    groups = groups_of_one(A100, Needs(max(runs.values()), 0), 128)
    assert describe_occupancy(A100, groups * A100.count, 128) == "36 of 64 warps"


def test_occupancy_of_a_small_launch_is_what_it_uses() -> None:
    assert describe_occupancy(A100, 108, 128) == "4 of 64 warps"
    assert describe_occupancy(A100, 2, 96) == "3 of 64 warps"
