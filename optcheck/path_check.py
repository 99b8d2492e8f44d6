"""Checks one copy of a thread, in a kernel that gpudiy did not write, on all paths."""

from __future__ import annotations

from collections.abc import Iterator

from gpudiy.litmus.test import Test
from optcheck.execution import SassExecution
from optcheck.expected_function import Disproved
from optcheck.finding import Deviation, Finding
from optcheck.kernel_paths import KernelPath
from optcheck.linked_thread import LinkedThread
from optcheck.path_state import Watcher
from optcheck.path_steps import NotUnderstood, PathEnd, SassAccess, SassLoop, SassTable, Step, is_specification
from optcheck.term import Term


def check_paths(thread: LinkedThread, test: Test | None) -> Iterator[Deviation]:
    """Why the copy is not proved to be the thread; without the test, only accesses and their order are known.

    The paths begin where the one before the test becomes several, in any state.
    """
    graph = thread.graph
    places = [link.index for link in thread.links.values()] + [anchor.index for anchor in thread.cluster]
    start = graph.starts[graph.find_common_dominator(places)]
    watcher: Watcher = LiteralPath(thread) if test is None else KernelPath(thread, test)
    try:
        SassExecution(graph).run(watcher, start)
    except NotUnderstood as error:
        yield thread.deviation(Finding.UNVERIFIABLE, error.why, [error.index], [])
    except Disproved as error:
        yield thread.deviation(error.finding, error.why, list(error.sass), list(error.ptx))


class LiteralPath(Watcher):
    """Counts the accesses on a path: those that the literals name must all run, in order, or none of them."""

    def __init__(self, thread: LinkedThread) -> None:
        self.number = thread.specification.thread
        self.positions = {link.index: position for position, link in thread.links.items()}
        self.made = 0

    def fork(self) -> LiteralPath:
        """A copy for another way."""
        other = object.__new__(LiteralPath)
        other.__dict__.update(self.__dict__)
        return other

    def step(self, step: Step) -> None:
        """Fences and conditions are not known."""

    def jump(self, step: SassTable) -> tuple[int, ...]:
        """Which way a table leads is not known: all are followed."""
        return step.targets

    def arrive(self, index: int) -> None:
        """Any thread may come here."""

    def enter(self, step: SassLoop) -> dict[str, Term]:
        """A loop begins."""
        return {}

    def access(self, step: SassAccess) -> tuple[Term, ...]:
        """Raises `Disproved`."""
        position = self.positions.get(step.index)
        if position is None:
            if self.made == 0 and is_specification(step, self.number):
                raise Disproved(Finding.REMOVED, "a path has a specification but no access", (step.index,))
            if 0 < self.made < len(self.positions):
                raise Disproved(Finding.CHANGED, "other accesses are among those of the test", (step.index,))
        elif position != self.made:
            why = f"a path does not run access {self.made} before access {position}"
            raise Disproved(Finding.UNVERIFIABLE, why, (step.index,))
        else:
            self.made += 1
        return ()

    def end(self, path: PathEnd) -> None:
        """Raises `Disproved`."""
        if 0 < self.made < len(self.positions):
            why = f"a path ends before access {self.made}"
            raise Disproved(Finding.UNVERIFIABLE, why, (path.index,))
