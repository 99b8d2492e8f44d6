"""Reads that a cache of the reader's own may answer with an old value, although another thread has written."""

from __future__ import annotations

from gpudiy.litmus.access import Access, Scope, Space
from gpudiy.litmus.flow import Use, memory_uses
from gpudiy.litmus.instruction import Load
from gpudiy.litmus.test import Test


def find_stale_reads(test: Test) -> list[Use]:
    """Loads of global memory whose reach does not include a thread that writes there: weak, `.ca` or under-scoped.

    Only a line that is in the cache before the other thread writes can be stale. So a run that neither reads these
    lines before the test, nor shares them between instances, says nothing about such reads. For a weak load the writer
    may be in the same CTA: on Fermi chips coRR-L2-L1 was seen there, behind fences too (ASPLOS 2015, figure 4).
    """
    uses = memory_uses(test)
    writers: dict[str, set[int]] = {}
    for use in uses:
        if not isinstance(use.instruction, Load):
            for location in _locations(test, use):
                writers.setdefault(location, set()).add(use.thread)
    return [
        use
        for use in uses
        if isinstance(use.instruction, Load)
        and any(
            _may_miss(test, use, writer)
            for location in _locations(test, use)
            for writer in writers.get(location, set()) - {use.thread}
        )
    ]


def _may_miss(test: Test, read: Use, writer: int) -> bool:
    """Whether the read may miss what another thread has written."""
    access = read.instruction.access
    reach = read_reach(access)
    if not access.strong and reach is Scope.CTA:
        return True
    return not test.scope_tree.includes(read.thread, reach, writer)


def read_reach(access: Access) -> Scope:
    """The threads whose writes a load sees at once: those of the CTA where it may be answered by the L1 cache."""
    if access.effective_scope is not None:
        return access.effective_scope
    reach = None if access.cache is None else access.cache.scope
    return Scope.CTA if reach is None else reach


def _locations(test: Test, use: Use) -> set[str]:
    """The locations in global memory that an instruction may access."""
    spaces = {variable.name: variable.space for variable in test.memory_map.variables}
    return {
        test.memory_map.location_of(name)
        for name in use.targets
        if (use.instruction.access.space or spaces[name]) is Space.GLOBAL
    }
