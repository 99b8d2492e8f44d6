"""Checks that every access of a thread is in the SASS once, with the same kind, strength and width."""

from __future__ import annotations

from collections.abc import Iterator

from gpudiy.litmus.instruction import AtomicOperation
from optcheck.finding import Deviation, Finding
from optcheck.linked_thread import LinkedThread
from optcheck.linking import Anchor, Link
from optcheck.mapping import find_difference, words_of
from optcheck.sass import Touch
from optcheck.specification import AccessKind, ExpectedAccess

AGGREGATION = frozenset({"VOTE", "VOTEU", "MATCH", "REDUX", "CREDUX", "SHFL"})


class AccessCheck:
    """Finds the accesses of a thread, and links each to its instruction."""

    def __init__(self, thread: LinkedThread) -> None:
        self.thread = thread

    def deviations(self) -> Iterator[Deviation]:
        """The accesses that are missing, changed or merged."""
        yield from self._check_accesses()
        yield from self._check_shared_instructions()

    def _check_accesses(self) -> Iterator[Deviation]:
        anchors = {anchor.literal.position: anchor for anchor in self.thread.cluster}
        for expected in self.thread.specification.accesses:
            anchor = anchors.get(expected.position)
            if anchor is None:
                why = f"the specification of access {expected.position} is not in the SASS"
                yield self.thread.deviation(Finding.UNVERIFIABLE, why, [], [expected.index])
            elif anchor.literal.type != expected.literal.type:
                found, type_name = anchor.literal.type_name, expected.literal.type_name
                why = f"the literal of access {expected.position} says {found}, not {type_name}"
                yield self.thread.deviation(Finding.UNVERIFIABLE, why, [anchor.index], [expected.index])
            else:
                yield from self._check_access(expected, anchor)

    def _check_access(self, expected: ExpectedAccess, anchor: Anchor) -> Iterator[Deviation]:
        emulation = self._find_emulation(expected)
        if emulation:
            why = f"the {expected.kind} is emulated by a loop"
            yield self.thread.deviation(Finding.CHANGED, why, emulation, [expected.index])
            return
        links = [] if self._find_forwarding_store(expected, anchor) else self.thread.linker.find(expected, anchor.value)
        if not links:
            yield self._explain_missing(expected, anchor)
            return
        link = links[0]
        self.thread.links[expected.position] = link
        instruction = self.thread.instructions[link.index]
        if len(links) > 1:
            why = f"the {expected.kind} occurs {len(links)} times"
            yield self.thread.deviation(Finding.CHANGED, why, [one.index for one in links], [expected.index])
        different = find_difference(expected, instruction, self.thread.mapping)
        if different:
            finding = Finding.UNVERIFIABLE if "CAST" in instruction.modifiers else Finding.CHANGED
            yield self.thread.deviation(finding, different, [link.index], [expected.index])
        if instruction.words > words_of(expected):
            bits = expected.access.type.bits
            why = f"the {expected.kind} of {bits} bits is now part of one of {32 * instruction.words}"
            yield self.thread.deviation(Finding.WIDENED, why, [link.index], [expected.index])
        elif instruction.words < words_of(expected):
            why = f"the {expected.kind} of {expected.access.type.bits} bits now has {32 * instruction.words}"
            yield self.thread.deviation(Finding.CHANGED, why, [link.index], [expected.index])

    def _find_emulation(self, expected: ExpectedAccess) -> list[int]:
        """The instructions by which a loop does what no instruction can: 64 bits of shared memory, for example."""
        if expected.kind not in (AccessKind.ATOMIC, AccessKind.REDUCE) or expected.operation is AtomicOperation.CAS:
            return []
        return [
            index
            for index, instruction in enumerate(self.thread.instructions)
            if "CAST" in instruction.modifiers and self.thread.linker.inside(index)
        ]

    def _find_later_store(self, expected: ExpectedAccess, anchor: Anchor) -> list[int]:
        """The stores of the value of the specification that come after it."""
        values = self.thread.values
        return [
            index
            for index in values.writes_memory
            if expected.kind is AccessKind.STORE
            and anchor.value in values.stored_values(index)
            and values.graph.precedes(anchor.index, index)
            and not find_difference(expected, values.instructions[index], self.thread.mapping)
        ]

    def _find_forwarding_store(self, expected: ExpectedAccess, anchor: Anchor) -> ExpectedAccess | None:
        """The store whose value a load takes without reading memory."""
        if expected.kind is not AccessKind.LOAD:
            return None
        values = {other.literal.position: other.value for other in self.thread.cluster}
        for access in self.thread.specification.accesses[: expected.position]:
            if access.kind is AccessKind.STORE and values.get(access.position) == anchor.value:
                return access
        return None

    def _explain_missing(self, expected: ExpectedAccess, anchor: Anchor) -> Deviation:
        """Explain why no instruction reads or stores the value of the specification."""
        store = self._find_forwarding_store(expected, anchor)
        if store is not None:
            why = f"the {expected.kind} is gone: its value is taken from the store before it"
            return self.thread.deviation(Finding.REMOVED, why, [anchor.index], [store.index, expected.index])
        parts = self.thread.values.nodes.parts(anchor.value)
        nodes = [self.thread.values.nodes.node(part) for part in parts]
        effects = [
            node[1] for node in nodes if node[0] == "effect" and self.thread.instructions[node[1]].opcode in AGGREGATION
        ]
        atomics = sorted(self.thread.values.nodes.origins(anchor.value))
        if expected.kind is AccessKind.REDUCE:
            atomics, effects = self._find_aggregation(anchor.value)
        if effects and atomics:
            why = f"the {expected.kind}s of the threads of a warp became one"
            return self.thread.deviation(Finding.MERGED, why, [*sorted(effects), *atomics], [expected.index])
        made_from = [index for index in atomics if self._may_perform(expected, index)]
        if made_from or any(node[0] == "deep" for node in nodes):
            why = f"the value that the {expected.kind} read or stored cannot be traced"
            return self.thread.deviation(Finding.UNVERIFIABLE, why, [*made_from, anchor.index], [expected.index])
        if any(self.thread.instructions[index].space == "local" for index in atomics):
            return self.thread.deviation(Finding.UNVERIFIABLE, "a register was spilled", atomics, [expected.index])
        later = self._find_later_store(expected, anchor)
        if later:
            why = f"the {expected.kind} now comes after the specification, which follows the test"
            return self.thread.deviation(Finding.REORDERED, why, [anchor.index, *later], [expected.index])
        return self.thread.deviation(Finding.REMOVED, f"the {expected.kind} is gone", [anchor.index], [expected.index])

    def _may_perform(self, expected: ExpectedAccess, index: int) -> bool:
        """Whether the instruction, which is not linked yet, could perform the access."""
        if expected.kind not in (AccessKind.LOAD, AccessKind.ATOMIC) or not self.thread.linker.inside(index):
            return False
        linked = {link.index for link in self.thread.links.values()}
        return index not in linked and not find_difference(
            expected, self.thread.instructions[index], self.thread.mapping
        )

    def _find_aggregation(self, value: int) -> tuple[list[int], list[int]]:
        """The atomic that stores a value computed from `value` and from votes, and those votes."""
        for index in self.thread.values.writes_memory:
            parts = self.thread.values.nodes.parts(*self.thread.values.stored_values(index))
            touch = self.thread.instructions[index].touch
            if touch in (Touch.REDUCE, Touch.ATOMIC) and value in parts:
                nodes = map(self.thread.values.nodes.node, parts)
                votes = [node[1] for node in nodes if node[0] == "effect"]
                return [index], votes
        return [], []

    def _check_shared_instructions(self) -> Iterator[Deviation]:
        users: dict[Link, list[ExpectedAccess]] = {}
        for expected in self.thread.specification.accesses:
            if expected.position in self.thread.links:
                users.setdefault(self.thread.links[expected.position], []).append(expected)
        for link, accesses in users.items():
            if len(accesses) > 1:
                why = f"{len(accesses)} {accesses[0].kind}s became one"
                yield self.thread.deviation(Finding.MERGED, why, [link.index], [access.index for access in accesses])
