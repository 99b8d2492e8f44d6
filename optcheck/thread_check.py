"""One thread of a test against one copy of it in the SASS: accesses, order, neighbours, fences, dependencies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from gpudiy.litmus.instruction import Barrier, Immediate
from optcheck.linking import Anchor, Link, Linker
from optcheck.mapping import Mapping, barrier_number, difference, fence_word, words_of
from optcheck.sass import PredicateOperand, Touch
from optcheck.specification import AccessKind, Dependency, DependencyKind, ExpectedAccess, ThreadSpecification
from optcheck.values import Values
from optcheck.verdict import Finding, Verdict

Shown = Callable[[int], str]  # from the index of an instruction of the thread to its text
INVALIDATE = "CCTL.IVALL"
AGGREGATION = frozenset({"VOTE", "VOTEU", "MATCH", "REDUX", "CREDUX", "SHFL"})

ESCORT = "MEMBAR.ALL.CTA"


class ThreadCheck:
    """`links` are the instructions of the accesses that were found, by position."""

    def __init__(
        self,
        values: Values,
        specification: ThreadSpecification,
        cluster: tuple[Anchor, ...],
        earlier: list[tuple[Anchor, ...]],
        mapping: Mapping,
        shown: Shown,
    ) -> None:
        self.values = values
        self.graph = values.graph
        self.function = values.graph.function
        self.instructions = values.instructions
        self.specification = specification
        self.cluster = cluster
        self.mapping = mapping
        self.shown = shown
        self.linker = Linker(values, cluster, earlier)
        self.links: dict[int, Link] = {}

    def findings(self) -> list[Finding]:
        found = [*self._accesses(), *self._shared_instructions()]
        found += self._order()
        found += [*self._conditions(), *self._neighbours()]
        complete = len(self.links) == len(self.specification.accesses) and not self.specification.literals_only
        if complete and not found:
            found += self._fences()
        found += self._dependencies()
        return found

    def _finding(self, verdict: Verdict, why: str, sass: list[int], ptx: list[int]) -> Finding:
        return Finding(
            verdict,
            f"P{self.specification.thread}: {why}",
            tuple(self.function.shown(index) for index in sass),
            tuple(self.shown(index) for index in ptx),
        )

    # Every access is there, once, and is what it was.

    def _accesses(self) -> Iterator[Finding]:
        anchors = {anchor.literal.position: anchor for anchor in self.cluster}
        for expected in self.specification.accesses:
            anchor = anchors.get(expected.position)
            if anchor is None:
                why = f"the specification of access {expected.position} is not in the SASS"
                yield self._finding(Verdict.UNVERIFIABLE, why, [], [expected.index])
            elif anchor.literal.type != expected.literal.type:
                said, wanted = anchor.literal.type_name, expected.literal.type_name
                why = f"the literal of access {expected.position} says {said}, not {wanted}"
                yield self._finding(Verdict.UNVERIFIABLE, why, [anchor.index], [expected.index])
            else:
                yield from self._access(expected, anchor)

    def _access(self, expected: ExpectedAccess, anchor: Anchor) -> Iterator[Finding]:
        links = [] if self._forwarded(expected, anchor) else self.linker.find(expected, anchor.value)
        if not links:
            yield self._missing(expected, anchor)
            return
        link = links[0]
        self.links[expected.position] = link
        instruction = self.instructions[link.index]
        if len(links) > 1:
            why = f"the {expected.kind} is there {len(links)} times"
            yield self._finding(Verdict.CHANGED, why, [one.index for one in links], [expected.index])
        different = difference(expected, instruction, self.mapping)
        if different:
            verdict = Verdict.UNVERIFIABLE if "CAST" in instruction.modifiers else Verdict.CHANGED
            yield self._finding(verdict, different, [link.index], [expected.index])
        if instruction.words > words_of(expected):
            bits = expected.access.type.bits
            why = f"the {expected.kind} of {bits} bits is now part of one of {32 * instruction.words}"
            yield self._finding(Verdict.WIDENED, why, [link.index], [expected.index])
        elif instruction.words < words_of(expected):
            why = f"the {expected.kind} of {expected.access.type.bits} bits now has {32 * instruction.words}"
            yield self._finding(Verdict.CHANGED, why, [link.index], [expected.index])

    def _forwarded(self, expected: ExpectedAccess, anchor: Anchor) -> ExpectedAccess | None:
        """The store whose value a load has without asking memory."""
        if expected.kind is not AccessKind.LOAD:
            return None
        values = {other.literal.position: other.value for other in self.cluster}
        for access in self.specification.accesses[: expected.position]:
            if access.kind is AccessKind.STORE and values.get(access.position) == anchor.value:
                return access
        return None

    def _missing(self, expected: ExpectedAccess, anchor: Anchor) -> Finding:
        """Why no instruction has the value that the specification says was read or stored."""
        store = self._forwarded(expected, anchor)
        if store is not None:
            why = f"the {expected.kind} is gone: its value is taken from the store before it"
            return self._finding(Verdict.REMOVED, why, [anchor.index], [store.index, expected.index])
        parts = self.values.parts(anchor.value)
        nodes = [self.values.node(part) for part in parts]
        effects = [
            node[1] for node in nodes if node[0] == "effect" and self.instructions[node[1]].opcode in AGGREGATION
        ]
        atomics = sorted(self.values.origins(anchor.value))
        if expected.kind is AccessKind.REDUCE:
            atomics, effects = self._aggregated(anchor.value)
        if effects and atomics:
            why = f"the {expected.kind}s of the threads of a warp became one"
            return self._finding(Verdict.MERGED, why, [*sorted(effects), *atomics], [expected.index])
        made_from = [index for index in atomics if self._may_be(expected, index)]
        if made_from or any(node[0] == "deep" for node in nodes):
            why = f"what the {expected.kind} read or stored cannot be followed"
            return self._finding(Verdict.UNVERIFIABLE, why, [*made_from, anchor.index], [expected.index])
        if any(self.instructions[index].space == "local" for index in atomics):
            return self._finding(Verdict.UNVERIFIABLE, "a register was spilled", atomics, [expected.index])
        return self._finding(Verdict.REMOVED, f"the {expected.kind} is gone", [anchor.index], [expected.index])

    def _may_be(self, expected: ExpectedAccess, index: int) -> bool:
        """Whether the value in question is made from what could be the very access."""
        if expected.kind not in (AccessKind.LOAD, AccessKind.ATOMIC) or not self.linker.inside(index):
            return False
        linked = {link.index for link in self.links.values()}
        return index not in linked and not difference(expected, self.instructions[index], self.mapping)

    def _aggregated(self, value: int) -> tuple[list[int], list[int]]:
        """Atomics that store something made of `value` and of a vote, and those votes."""
        for index in self.values.writes_memory:
            parts = self.values.parts(*self.values.stored(index))
            touch = self.instructions[index].touch
            if touch in (Touch.REDUCE, Touch.ATOMIC) and value in parts:
                nodes = map(self.values.node, parts)
                votes = [node[1] for node in nodes if node[0] == "effect"]
                return [index], votes
        return [], []

    def _shared_instructions(self) -> Iterator[Finding]:
        users: dict[Link, list[ExpectedAccess]] = {}
        for expected in self.specification.accesses:
            if expected.position in self.links:
                users.setdefault(self.links[expected.position], []).append(expected)
        for link, accesses in users.items():
            if len(accesses) > 1:
                why = f"{len(accesses)} {accesses[0].kind}s became one"
                yield self._finding(Verdict.MERGED, why, [link.index], [access.index for access in accesses])

    # In order, and alone.

    def _order(self) -> Iterator[Finding]:
        placed = [access for access in self.specification.accesses if access.position in self.links]
        for place, one in enumerate(placed):
            for other in placed[place + 1 :]:
                first, second = self.links[one.position].index, self.links[other.position].index
                if first == second or self.graph.precedes(first, second):
                    continue
                if self.graph.precedes(second, first):
                    why = f"access {other.position} now comes before access {one.position}"
                    yield self._finding(Verdict.REORDERED, why, [second, first], [one.index, other.index])
                else:
                    why = f"accesses {one.position} and {other.position} are no longer on one path"
                    yield self._finding(Verdict.UNVERIFIABLE, why, [first, second], [one.index, other.index])

    def _conditions(self) -> Iterator[Finding]:
        """An access that always happens must not depend on more than the others do."""
        guards: dict[tuple[int, bool] | None, ExpectedAccess] = {}
        for expected in self.specification.accesses:
            link = self.links.get(expected.position)
            if link is None or expected.conditional:
                continue
            guard = self.instructions[link.index].guard
            key = None if guard is None else (self.values.register(guard.name, link.index), guard.negated)
            guards.setdefault(key, expected)
            block, end = self.graph.block_of[link.index], self.graph.block_of[self.linker.end]
            if not self.graph.dominates(block, end):
                why = f"access {expected.position} is not on every path to its specification"
                yield self._finding(Verdict.UNVERIFIABLE, why, [link.index], [expected.index])
        if len(guards) > 1:
            accesses = list(guards.values())
            why = "accesses that always happen now depend on different predicates"
            yield self._finding(
                Verdict.UNVERIFIABLE,
                why,
                [self.links[one.position].index for one in accesses],
                [one.index for one in accesses],
            )

    @cached_property
    def region(self) -> list[int]:
        """The instructions from the first access to the last, or to the specification where its end is known."""
        linked = sorted({link.index for link in self.links.values()})
        if not linked:
            return []
        lasts = [*linked, self.linker.end] if self.linker.stored else linked
        graph, block_of = self.graph, self.graph.block_of
        own = ending = earlier = 0
        for index in linked:
            own |= 1 << block_of[index]
        for index in lasts:
            ending |= 1 << block_of[index]
            earlier |= graph.before[block_of[index]]
        found: list[int] = []
        for block in graph.blocks_in(earlier | ending):
            entered = graph.before[block] & own
            if not entered and not own >> block & 1:
                continue
            start, end = graph.starts[block], graph.ends[block]
            if not entered:
                start = next(index for index in linked if block_of[index] == block)
            if not earlier >> block & 1:
                end = max(index for index in lasts if block_of[index] == block) + 1
            found += range(start, end)
        return found

    def _neighbours(self) -> Iterator[Finding]:
        linked = {link.index for link in self.links.values()}
        anchors = {anchor.index for anchor in self.cluster}
        region = self.region
        foreign = []
        for index in region:
            instruction = self.instructions[index]
            if (
                instruction.touch is not None
                and index not in linked
                and index not in anchors
                and not self._excluded(index)
            ):
                foreign.append(index)
            if instruction.opcode in ("CALL", "CAL", "JCAL"):
                yield self._finding(Verdict.UNVERIFIABLE, "a function is called among the accesses", [index], [])
        foreign += self._repeated(set(region), linked)
        if foreign:
            why = "accesses that are not of the test stand among its own"
            yield self._finding(Verdict.CHANGED, why, foreign, [access.index for access in self.specification.accesses])

    def _repeated(self, region: set[int], linked: set[int]) -> list[int]:
        """Accesses before the first one that do the same to the same place."""
        if not linked:
            return []
        first = min(linked)
        start = self.graph.starts[self.graph.block_of[first]]
        earlier = [
            index for index in range(start, first) if self.instructions[index].touch is not None and index not in region
        ]
        if not earlier:
            return []
        same = {self._touched(index) for index in linked}
        return [index for index in earlier if self._touched(index) in same]

    def _touched(self, index: int) -> tuple[object, ...]:
        instruction = self.instructions[index]
        address = instruction.address
        if address is None:
            return (index,)
        return instruction.touch, address.offset, *self.values.address(address, index, self._wide(index))

    def _wide(self, index: int) -> bool:
        return "E" in self.instructions[index].modifiers

    def _excluded(self, index: int) -> bool:
        """Whether an instruction runs only where this thread does not: code of threads that was merged."""
        guard = self.instructions[index].guard
        if guard is None:
            return False
        value = self.values.register(guard.name, index)
        for link in self.links.values():
            own = self.instructions[link.index].guard
            if own is not None and own.negated != guard.negated and self.values.register(own.name, link.index) == value:
                return True
        return False

    # Fences.

    def _fences(self) -> Iterator[Finding]:
        found = self._found_fences()
        count = len(self.specification.accesses)
        for gap in range(count + 1):
            wanted = self._expected_fences(gap)
            open_end = gap == 0 or (gap == count and not self.linker.stored)
            has = [word for _, words in found.get(gap, ()) for word in words]
            if _same_fences(wanted, has, open_end):
                continue
            lines = [index for index, _ in found.get(gap, ())]
            place = f"before access {gap}" if gap < count else "behind the last access"
            why = f"{place} there must be {_listed(wanted)}, and there is {_listed(has)}"
            ptx = [fence.index for fence in self.specification.fences if fence.after == gap]
            ptx += [access.index for access in self.specification.accesses if access.position in (gap - 1, gap)]
            yield self._finding(Verdict.FENCE_CHANGED, why, lines, sorted(ptx))
        yield from self._barrier_numbers(found)

    def _expected_fences(self, gap: int) -> list[str]:
        accesses = self.specification.accesses
        words: list[str] = []
        if gap > 0:
            words += self.mapping.after(accesses[gap - 1])
        for fence in self.specification.fences:
            if fence.after == gap:
                words += self.mapping.fences(fence.fence)
        if gap < len(accesses):
            words += self.mapping.before(accesses[gap].access)
        return words

    def _found_fences(self) -> dict[int, list[tuple[int, tuple[str, ...]]]]:
        """The fences of the thread in the SASS, by the number of accesses before them."""
        linked = [link.index for link in self.links.values()]
        found: dict[int, list[tuple[int, tuple[str, ...]]]] = {}
        candidates = self.region
        if linked:
            candidates = [
                *self._run_up(min(linked, key=lambda one: sum(self.graph.precedes(o, one) for o in linked))),
                *candidates,
            ]
        for index in candidates:
            if self.instructions[index].is_fence and not self._excluded(index):
                words = fence_word(self.instructions[index])
                if words:
                    gap = sum(self.graph.precedes(one, index) for one in linked)
                    found.setdefault(gap, []).append((index, words))
        return found

    def _run_up(self, first: int) -> list[int]:
        """The instructions before the first access, back to another access or to where paths join."""
        found: list[int] = []
        block = self.graph.block_of[first]
        index = first
        while True:
            while index > self.graph.starts[block]:
                index -= 1
                if self.instructions[index].touch is not None and not self._excluded(index):
                    return found
                found.insert(0, index)
            before = self.graph.predecessors[block]
            if len(before) != 1 or (before[0], block) in self.graph.back:
                return found
            block = before[0]
            index = self.graph.ends[block]

    def _barrier_numbers(self, found: dict[int, list[tuple[int, tuple[str, ...]]]]) -> Iterator[Finding]:
        for fence in self.specification.fences:
            if not isinstance(fence.fence, Barrier) or not isinstance(fence.fence.identifier, Immediate):
                continue
            numbers = {
                barrier_number(self.instructions[index])
                for index, words in found.get(fence.after, ())
                if words[0].startswith("BAR")
            }
            if numbers and None not in numbers and fence.fence.identifier.value not in numbers:
                yield self._finding(Verdict.FENCE_CHANGED, "the barrier has another number", [], [fence.index])

    # Dependencies.

    def _dependencies(self) -> Iterator[Finding]:
        for dependency in self.specification.dependencies:
            if dependency.source not in self.links or dependency.target not in self.links:
                continue
            if not self._kept(dependency):
                source, target = self.links[dependency.source].index, self.links[dependency.target].index
                accesses = self.specification.accesses
                first, last = accesses[dependency.source].index, accesses[dependency.target].index
                between = f"from access {dependency.source} to access {dependency.target}"
                why = f"the {dependency.kind} dependency {between} is gone"
                yield self._finding(Verdict.DEPENDENCY_BROKEN, why, [source, target], list(range(first, last + 1)))

    def _kept(self, dependency: Dependency) -> bool:
        source, target = self.links[dependency.source].index, self.links[dependency.target].index
        instruction = self.instructions[target]
        match dependency.kind:
            case DependencyKind.ADDRESS:
                address = instruction.address
                return address is not None and source in self.values.origins(
                    *self.values.address(address, target, self._wide(target))
                )
            case DependencyKind.DATA:
                words = [
                    self.values.operand(operand, target, word)
                    for operand in instruction.data
                    for word in range(instruction.words)
                ]
                return source in self.values.origins(*words)
            case DependencyKind.CONTROL:
                return self._controlled(source, target)

    def _controlled(self, source: int, target: int) -> bool:
        guard = self.instructions[target].guard
        if guard is not None and source in self.values.origins(self.values.register(guard.name, target)):
            return True
        block, end = self.graph.block_of[target], self.graph.block_of[self.linker.end]
        for branch in self.graph.blocks_in(self.graph.before[block]):
            last = self.graph.ends[branch] - 1
            jump = self.instructions[last]
            predicates = [operand for operand in (jump.guard, *jump.operands) if isinstance(operand, PredicateOperand)]
            if not jump.is_jump or not predicates:
                continue
            deciding = [self.values.register(predicate.name, last) for predicate in predicates]
            if source in self.values.origins(*deciding) and self.graph.avoidable(branch, block, end):
                return True
        return False


def _same_fences(wanted: list[str], has: list[str], open_end: bool) -> bool:
    """Invalidations count once, however many there are; more of them than needed do no harm."""
    if INVALIDATE in wanted and INVALIDATE not in has:
        return False
    one = sorted(word for word in wanted if word != INVALIDATE)
    other = sorted(word for word in _without_escorts(wanted, has) if word != INVALIDATE)
    if not open_end:
        return one == other
    return all(other.count(word) >= one.count(word) for word in one)


def _without_escorts(wanted: list[str], has: list[str]) -> list[str]:
    """From sm_90 on, code that will be linked has a fence of the CTA before each wider one: it adds nothing to it."""
    kept = list(has)
    for at in reversed(range(len(has) - 1)):
        wider = has[at + 1].startswith("MEMBAR.") and not has[at + 1].endswith(".CTA")
        if has[at] == ESCORT and wider and kept.count(ESCORT) > wanted.count(ESCORT):
            del kept[at]
    return kept


def _listed(words: list[str]) -> str:
    return ", ".join(words) if words else "no fence"
