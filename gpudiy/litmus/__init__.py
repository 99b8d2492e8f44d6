"""What a litmus test is: its types, and reading and printing it in every known format.

`read_test` and `print_test` are the way in and out; a `Test` that exists is valid. The names below are imported from
their modules when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudiy.lazy import lazy_names

if TYPE_CHECKING:
    from gpudiy.litmus.access import Access, CacheOperator, Order, Proxy, ScalarType, Scope, Space
    from gpudiy.litmus.condition import Condition, Quantifier
    from gpudiy.litmus.content import content_hash
    from gpudiy.litmus.errors import InvalidTest, LitmusError
    from gpudiy.litmus.instruction import Instruction
    from gpudiy.litmus.memory_map import MappedVariable, MemoryMap
    from gpudiy.litmus.print_dat3m import CannotExpress
    from gpudiy.litmus.printer import Format, modernise_test, print_test
    from gpudiy.litmus.reader import read_test, read_tests
    from gpudiy.litmus.scope_tree import ScopeTree
    from gpudiy.litmus.shape import shape_hash
    from gpudiy.litmus.sources import find_sources, load_tests
    from gpudiy.litmus.test import InitialMemory, RegisterDeclaration, Test

_MODULES = {
    "access": ("Access", "CacheOperator", "Order", "Proxy", "ScalarType", "Scope", "Space"),
    "condition": ("Condition", "Quantifier"),
    "content": ("content_hash",),
    "errors": ("InvalidTest", "LitmusError"),
    "instruction": ("Instruction",),
    "memory_map": ("MappedVariable", "MemoryMap"),
    "print_dat3m": ("CannotExpress",),
    "printer": ("Format", "modernise_test", "print_test"),
    "reader": ("read_test", "read_tests"),
    "scope_tree": ("ScopeTree",),
    "shape": ("shape_hash",),
    "sources": ("find_sources", "load_tests"),
    "test": ("InitialMemory", "RegisterDeclaration", "Test"),
}

__all__ = [
    "Access", "CacheOperator", "CannotExpress", "Condition", "Format", "InitialMemory", "Instruction", "InvalidTest",
    "LitmusError", "MappedVariable", "MemoryMap", "Order", "Proxy", "Quantifier", "RegisterDeclaration", "ScalarType",
    "Scope", "ScopeTree", "Space", "Test", "content_hash", "find_sources", "load_tests", "modernise_test", "print_test",
    "read_test", "read_tests", "shape_hash",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker must find misspelt names
    __getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
