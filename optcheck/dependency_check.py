"""Checks that the dependencies of a thread are still in the SASS."""

from __future__ import annotations

from collections.abc import Iterator

from optcheck.finding import Deviation, Finding
from optcheck.linked_thread import LinkedThread
from optcheck.sass import PredicateOperand
from optcheck.specification import Dependency, DependencyKind


class DependencyCheck:
    """Traces the values that an access depends on back to the access that read them."""

    def __init__(self, thread: LinkedThread) -> None:
        self.thread = thread

    def deviations(self) -> Iterator[Deviation]:
        for dependency in self.thread.specification.dependencies:
            if dependency.source not in self.thread.links or dependency.target not in self.thread.links:
                continue
            if not self._is_kept(dependency):
                source, target = self.thread.links[dependency.source].index, self.thread.links[dependency.target].index
                accesses = self.thread.specification.accesses
                first, last = accesses[dependency.source].index, accesses[dependency.target].index
                between = f"from access {dependency.source} to access {dependency.target}"
                why = f"the {dependency.kind} dependency {between} is gone"
                yield self.thread.deviation(
                    Finding.DEPENDENCY_BROKEN, why, [source, target], list(range(first, last + 1))
                )

    def _is_kept(self, dependency: Dependency) -> bool:
        source, target = self.thread.links[dependency.source].index, self.thread.links[dependency.target].index
        instruction = self.thread.instructions[target]
        match dependency.kind:
            case DependencyKind.ADDRESS:
                address = instruction.address
                return address is not None and source in self.thread.values.nodes.origins(
                    *self.thread.values.address(address, target, self.thread.is_wide(target))
                )
            case DependencyKind.DATA:
                words = [
                    self.thread.values.operand(operand, target, word)
                    for operand in instruction.data
                    for word in range(instruction.words)
                ]
                return source in self.thread.values.nodes.origins(*words)
            case DependencyKind.CONTROL:
                return self._is_controlled(source, target)

    def _is_controlled(self, source: int, target: int) -> bool:
        guard = self.thread.instructions[target].guard
        if guard is not None and source in self.thread.values.nodes.origins(
            self.thread.values.register(guard.name, target)
        ):
            return True
        block, end = self.thread.graph.block_of[target], self.thread.graph.block_of[self.thread.linker.end]
        for branch in self.thread.graph.blocks_in(self.thread.graph.before[block]):
            last = self.thread.graph.ends[branch] - 1
            jump = self.thread.instructions[last]
            predicates = [operand for operand in (jump.guard, *jump.operands) if isinstance(operand, PredicateOperand)]
            if not jump.is_jump or not predicates:
                continue
            deciding = [self.thread.values.register(predicate.name, last) for predicate in predicates]
            if source in self.thread.values.nodes.origins(*deciding) and self.thread.graph.can_avoid(
                branch, block, end
            ):
                return True
        return False
