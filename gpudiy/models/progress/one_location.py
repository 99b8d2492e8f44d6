"""Tests of one location, of which a model that is coherent there says what sc says.

If all accesses are of one location and each pair is morally strong, sc-per-location and atomicity of ptx-6.0 and
ptx-7.5 say the same as sc: program order, reads-from, coherence and from-reads have no cycle. In tso that is so of all
accesses. ptx-asplos15 is not coherent: it lets two reads of a location swap.
"""

from __future__ import annotations

from gpudiy.litmus.flow import Use, memory_uses
from gpudiy.litmus.instruction import Barrier, ProxyFence, scope_of
from gpudiy.litmus.test import Test
from gpudiy.models.library import is_of_library
from gpudiy.models.model import Model

COHERENT = ("tso", "ptx-6.0", "ptx-7.5")
WITHOUT_SCOPES = ("tso",)


def behaves_as_sc(test: Test, model: Model) -> bool:
    """Whether all executions of a test that a model permits are those of sc, since they are about one location."""
    if not is_of_library(model) or model.name not in COHERENT:
        return False
    if any(isinstance(instruction, (Barrier, ProxyFence)) for thread in test.threads for instruction in thread):
        return False
    uses = memory_uses(test)
    if len({name for use in uses for name in use.targets}) > 1 or not all(use.targets for use in uses):
        return False
    return model.name in WITHOUT_SCOPES or all(_reaches(test, one, other) for one in uses for other in uses)


def _reaches(test: Test, one: Use, other: Use) -> bool:
    """Whether an access is strong and its scope includes the thread of the other; within a thread nothing is asked."""
    scope = scope_of(one.instruction) if one.instruction.access.strong else None
    far = one.thread != other.thread
    return not far or (scope is not None and test.scope_tree.includes(one.thread, scope, other.thread))
