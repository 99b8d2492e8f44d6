"""Printing tests in every format; the text always reads back as the same test."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import Access, Order, Scope, Space
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.errors import LitmusError
from gpudiy.litmus.print_dat3m import CannotExpress, dat3m_text
from gpudiy.litmus.print_gpu_ptx import canonical_text, herd_text
from gpudiy.litmus.reader import read_test
from gpudiy.litmus.test import Test


class Format(StrEnum):
    """The formats that `print_test` writes; see docs/litmus-format.md."""

    CANONICAL = "canonical"
    HERD = "herd"
    DAT3M = "dat3m"


def print_test(test: Test, format: Format = Format.CANONICAL) -> str:
    """The text of the test; raises `CannotExpress` if the format cannot express it."""
    if format is Format.HERD:
        return herd_text(test)
    if format is Format.DAT3M:
        return _checked_dat3m(test)
    if test.memory_map.symbolic:
        raise CannotExpress("a memory map that the instructions contradict")
    return canonical_text(test)


def print_any_test(test: Test) -> str:
    """The canonical text, or the herd text: no other can express a memory map that the instructions contradict."""
    return print_test(test, Format.HERD if test.memory_map.symbolic else Format.CANONICAL)


def _checked_dat3m(test: Test) -> str:
    """The dat3m format cannot express everything, so its text is read again and must give the same test."""
    text = dat3m_text(test)
    try:
        again = read_test(text)
    except LitmusError as error:
        raise CannotExpress(f"this test: {error.message}") from None
    if content_hash(again) != content_hash(test):
        raise CannotExpress("the types of this test")
    if (again.cycle, again.doc.strip()) != (test.cycle, test.doc.strip()):
        raise CannotExpress("the cycle and doc of this test")
    return text


def modernise_test(test: Test) -> Test:
    """Rewrite a test in the instructions of sm_70 and later, with the same meaning there.

    Cache operators are hints and are dropped, volatile is relaxed.sys, membar is fence.sc of the same scope, and the
    space of an access is left to the memory map.
    """
    threads = tuple(tuple(_modern(instruction) for instruction in thread) for thread in test.threads)
    return replace(test, threads=threads)


def _modern(instruction: isa.Instruction) -> isa.Instruction:
    match instruction:
        case isa.Fence(kind=isa.FenceKind.MEMBAR):
            return replace(instruction, kind=isa.FenceKind.SC)
        case isa.Load() | isa.Store() | isa.Atomic() | isa.Reduce():
            return replace(instruction, access=_modern_access(instruction.access))
        case (
            isa.Fence() | isa.ProxyFence() | isa.Barrier() | isa.Alu() | isa.SetPredicate() | isa.Branch() | isa.Label()
        ):
            return instruction


def _modern_access(access: Access) -> Access:
    if access.order is Order.VOLATILE:
        access = replace(access, order=Order.RELAXED, scope=Scope.SYS)
    return replace(access, cache=None, space=None if access.space is Space.GLOBAL else access.space)
