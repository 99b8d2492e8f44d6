"""Proves that one path of a function does what the frame and the test say, in that order."""

from __future__ import annotations

from functools import lru_cache

from gpudiy.litmus.instruction import Immediate, operands_of
from optcheck.carried_values import CarriedValues, assume_carried
from optcheck.expected_function import Disproved, ExpectedFunction, ExpectedThread, NotCarried, Words
from optcheck.finding import Finding
from optcheck.frame import (
    FIRST,
    GROUP,
    INSTANCE,
    LAUNCH,
    SLOT,
    SPECIFICATION,
    StoredResult,
)
from optcheck.literal import POSITIONS
from optcheck.mapping import Generation
from optcheck.path_steps import PathEnd, SassAccess, SassDecision, SassFence, SassLoop, Step
from optcheck.reference import LoopBack, ReferenceRun
from optcheck.sass import WORD, PredicateOperand, RegisterOperand, Touch
from optcheck.specification import ExpectedAccess
from optcheck.term import ONE, ZERO, Term, entry, operate, symbol
from optcheck.timed_proof import HeadCounts, TimedProof

PLAIN = {1: ("E",), 2: ("E", "64"), 4: ("E", "128")}  # the modifiers of a weak access, by its words
DESCRIPTORS = (0x118, 0x208, 0x358)  # in bank 0 of constant memory, for sm_80, sm_90 and sm_100 and later
KEPT = frozenset(
    f"R{number}" for number in range(256) if number in (1, 2) or 16 <= number < 32 or (number > 32 and number & 4)
)  # the registers that a function must restore, by the ABI
ASKED = symbol("asked")  # the word by which the specification asks for another round
ANY = ("VOTE.ANY", ONE)
RETURN = RegisterOperand("R20")  # by the ABI
STRONG = ("E", "STRONG", "SYS")
MARKS = {Touch.LOAD: (STRONG, ("E", "CV")), Touch.STORE: (STRONG, ("E", "WT"))}  # how the specification is accessed


class PathProof(TimedProof):
    """Walks along a path and along a run of the thread; the run must make each step of the path, and no other."""

    def __init__(self, function: ExpectedFunction) -> None:
        super().__init__(function)
        self.entered: bool | None = None  # whether first < end
        self.again: bool | None = None  # whether the next instance is below the end
        self.specified: bool | None = None
        self.asked: bool | None = None  # whether it is
        self.carried: dict[str, Term] = {}  # what the loop over instances carries from round to round
        self.memory = self.decisions = self.votes = 0
        self.inner: dict[int, CarriedValues] = {}  # what loops of the test carry
        self.waits = False  # the threads of a warp vote again

    def choose(self, code: ExpectedThread | None) -> PathProof:
        """A copy that follows this thread, or none of the test."""
        chosen = self.fork()
        chosen.code = code
        chosen.done = code is None
        if code is not None:
            chosen.run = ReferenceRun(code.thread, code.declared, self.values.places, self.special)
        return chosen

    def fork(self) -> PathProof:
        """A copy; what it shares is never changed in place."""
        other = object.__new__(PathProof)
        other.__dict__.update(self.__dict__)
        other.heads = dict(self.heads)
        other.run = None if self.run is None else self.run.fork()
        return other

    def load_field(self, step: SassAccess) -> tuple[Term, ...] | None:
        """What the step loads if that is a parameter of the launch, which has nothing to do with any thread."""
        if step.instruction.space == "shared" or not self.values.frame.launch_pointer:
            return None
        offset = self.samples.distance(step.address, step.offset, LAUNCH)
        if offset is None or offset >= self.values.frame.launch_bytes:
            return None
        self._check_descriptor(step)
        instruction = step.instruction
        half = instruction.modifiers == ("E", "U16", *self._weak())
        size = 2 if half else 4 * instruction.words
        if instruction.touch is not Touch.LOAD or not (half or self._is_plain(step)) or offset % size:
            raise Disproved(Finding.CHANGED, "the parameters of the launch are accessed in another way", (step.index,))
        if self.run is not None and self.run.accesses and not self.done_with_accesses():
            raise Disproved(Finding.CHANGED, "other accesses are among those of the test", (step.index,))
        self.memory += 1
        if half:
            return (operate("byte", self.values.launch_term(offset & ~3), 8 * (offset & 3), 16, 0),)
        return tuple(self.values.launch_term(offset + 4 * word) for word in range(instruction.words))

    def _is_plain(self, step: SassAccess) -> bool:
        """Whether an access of global memory is weak and has no other modifiers; generic ones of old chips say so."""
        instruction = step.instruction
        generic = self.function.mapping.has_condition_code and instruction.opcode in ("LD", "ST")
        if generic and not any(isinstance(one, PredicateOperand) for one in instruction.sources):
            return False
        return instruction.modifiers == (*PLAIN.get(instruction.words, ()), *self._weak())

    def _weak(self) -> tuple[str, ...]:
        """The last modifiers of weak accesses."""
        return ("SYS",) if self.function.mapping.generation is Generation.VOLTA else ()

    def _check_descriptor(self, step: SassAccess) -> None:
        """The descriptor of global memory is at a fixed place of constant memory."""
        if step.descriptor is None:
            return
        low, high = (one.arguments if one.operation == "symbol" else () for one in step.descriptor)
        if any(low == ("constant", 0, place) and high == ("constant", 0, place + 4) for place in DESCRIPTORS):
            return
        raise Disproved(Finding.CHANGED, "the descriptor of memory is another", (step.index,))

    def step(self, step: Step) -> None:
        """Raises `Disproved`."""
        match step:
            case SassDecision():
                self._decision(step)
            case SassFence():
                self.fences += (step,)

    # What is not part of the test.

    def enter(self, step: SassLoop) -> dict[str, Term]:
        """A loop begins; the first one is that over the instances."""
        made = 0 if self.run is None else self.run.accesses
        self.heads[step.block] = HeadCounts(made, len(self.fences), self.memory, self.decisions, self.votes)
        if self.loop is not None:
            return self._enter_test_loop(step)
        self.loop = step.block
        starts = {entry(FIRST): INSTANCE}
        if self.values.frame.shared:
            starts[entry(GROUP)] = SLOT
        self.carried = {
            name: starts[before]
            for name, before in step.before.items()
            if before in starts and name not in self.function.scratch
        }
        return self.carried

    def _enter_test_loop(self, step: SassLoop) -> dict[str, Term]:
        if self.run is None or self.due is not None:
            return {}
        found = assume_carried(self.run, step, self.samples, self.mask, self.function.scratch)
        if found is None:
            return {}
        self.inner = {**self.inner, step.block: found}
        terms = found.terms(self.special)
        before = step.before
        self.origins = {**self.origins, **{term: self._sources_of(before[name]) for name, term in terms.items()}}
        return terms

    def _decision(self, step: SassDecision) -> None:
        if mentions_votes(step.condition):
            self._vote(step)
            return
        self.decisions += 1
        words = self.samples.values(step.condition)
        meaning = self.samples.meanings.get(tuple(words))
        if meaning is not None:
            self._settle(meaning[0], step.holds == meaning[1])
            return
        if self.questioned and step.condition is operate("equal", ASKED, ZERO):
            self.asked = step.holds
            return
        kept = [place for place in self.mask if bool(words[place]) == step.holds]
        if not kept:
            raise Disproved(Finding.UNVERIFIABLE, "no sample takes this path", (step.index,))
        self.mask = kept

    def _vote(self, step: SassDecision) -> None:
        """sm_70 and sm_75 go on when all threads of a warp that vote are those that run, else they vote again."""
        condition = step.condition
        counted = condition.arguments[0] if condition.operation == "equal" and condition.arguments[1] is ZERO else None
        if isinstance(counted, Term) and counted.operation == "lop3" and counted.arguments[2:] == (ZERO, 0x0C):
            votes = [one.arguments[:2] for one in counted.arguments[:2] if isinstance(one, Term)]
            different = counted.arguments[0] is not counted.arguments[1]
            if different and votes in ([ANY, ("VOTEU.ANY", ONE)], [ANY, ANY]):
                self.votes += 1
                self.waits = not step.holds
                return
        raise Disproved(Finding.UNVERIFIABLE, "a vote of the threads decides something", (step.index,))

    def _settle(self, meaning: str, holds: bool) -> None:
        if meaning == "entered":
            self.entered = holds
        elif meaning == "again":
            self.again = holds
        else:
            self.specified = not holds

    def access(self, step: SassAccess) -> tuple[Term, ...]:
        """An access; returns what it reads."""
        loaded = self.load_field(step)
        if loaded is not None:
            return loaded
        self._check_descriptor(step)
        self.memory += 1
        address = self._address(step)
        if step.instruction.space != "shared":
            offset = self.samples.distance(step.address, step.offset, SPECIFICATION)
            if offset is not None and offset < 4 * POSITIONS:
                return self._specify(step, offset)
            if step.instruction.touch is Touch.STORE and self.done_with_accesses():
                result = self.values.results.get(tuple(address))
                if result is not None and self.code is not None and result in self.code.results:
                    self._result(step, result)
                    return ()
        return self.match_access(step, address)

    def _address(self, step: SassAccess) -> Words:
        if step.instruction.space == "shared":
            return [(word + step.offset) & WORD for word in self.samples.values(step.address[0])]
        return self.samples.pair(*step.address, step.offset)

    def _specify(self, step: SassAccess, offset: int) -> tuple[Term, ...]:
        """A store of a specification result, or the load that asks whether to store them again."""
        if not self.done_with_accesses() or self.run is None or self.code is None or self.specified is not True:
            raise Disproved(Finding.CHANGED, "other accesses are among those of the test", (step.index,))
        otherwise = Disproved(Finding.UNVERIFIABLE, "the specification is accessed in another way", (step.index,))
        touch = step.instruction.touch
        if touch is None or step.instruction.modifiers not in MARKS.get(touch, ()):
            raise otherwise
        accesses = self.code.specification.accesses
        if step.instruction.touch is Touch.LOAD and offset == 0 and len(self.anchors) == len(accesses):
            if self.questioned:
                raise otherwise
            self.questioned = True
            return (ASKED,)
        position = offset // 4
        expected = position == len(self.anchors) and position < len(accesses) and not self.questioned
        if step.instruction.touch is not Touch.STORE or offset % 4 or not expected:
            raise otherwise
        literal = accesses[position].literal.encode()
        self.anchors |= {position}
        self.code.found.specification[position] = step.index
        stored = [(word - literal) & WORD for word in self.samples.values(step.data[0][0])]
        seen = self.run.seen.get(position)
        if seen is not None and self.same(stored, _fold(seen, accesses[position])):
            return ()
        if seen is None and self._is_constant(stored):
            return ()
        why = f"the specification of access {position} has another value"
        raise Disproved(Finding.UNVERIFIABLE, why, (step.index,), (accesses[position].index,))

    def _is_constant(self, words: Words) -> bool:
        """Whether a value is 0 or a constant of the thread, as that of an access that did not run."""
        assert self.code is not None
        allowed = {0}
        for instruction in self.code.thread:
            allowed |= {one.value & WORD for one in operands_of(instruction) if isinstance(one, Immediate)}
        return len(kept := {words[place] for place in self.mask}) == 1 and kept <= allowed

    def _result(self, step: SassAccess, result: StoredResult) -> None:
        assert self.run is not None
        size = self.values.frame.word_bytes
        instruction = step.instruction
        if result.row in self.rows or instruction.opcode not in ("ST", "STG"):
            raise Disproved(Finding.CHANGED, "a result is stored twice", (step.index,))
        if not self._is_plain(step) or instruction.words != size // 4:
            raise Disproved(Finding.CHANGED, "a result is stored in another way", (step.index,))
        words = [self.samples.values(one) for one in step.data[0]]
        stored = words[0] if size == 4 else [low | high << 32 for low, high in zip(*words, strict=True)]
        if not self.same(stored, self.expect_result(result.register, step)):
            raise Disproved(Finding.CHANGED, f"another value is stored as the result {result.register}", (step.index,))
        self.rows |= {result.row}

    # The end of the path.

    def end(self, path: PathEnd) -> None:
        """The path ends; raises `Disproved`."""
        if self.waits and path.back_to in (None, self.loop):
            raise Disproved(Finding.CHANGED, "threads that should vote again do something else", (path.index,))
        if self.entered is False:
            if path.back_to is not None or self.loop is not None:
                raise Disproved(Finding.CHANGED, "instances run that should not", (path.index,))
            self._check_return(path)
            return
        if path.back_to is not None and path.back_to != self.loop and self._ends_in_loop(path):
            return
        self._check_complete(path)
        if self.code is not None:
            self.code.found.finished = True
        if path.back_to is None:
            if self.again is not False:
                raise Disproved(Finding.CHANGED, "the loop over the instances ends early", (path.index,))
            self._check_return(path)
        else:
            self._check_next_round(path)

    def may_return(self, path: PathEnd) -> bool:
        """Whether the path ends as one without instances must, whatever the thread is."""
        if self.entered is not False or self.waits:
            return False
        try:
            self.end(path)
        except Disproved:
            return False
        return True

    def _check_next_round(self, path: PathEnd) -> None:
        if path.back_to != self.loop or self.again is not True:
            raise Disproved(Finding.CHANGED, "the loop over the instances goes on too long", (path.index,))
        following = {INSTANCE: self.samples.next, SLOT: self.samples.next_slot}
        for name, carried in self.carried.items():
            if self.samples.values(path.registers[name]) != following[carried]:
                raise NotCarried(Finding.CHANGED, "the next round is another instance", (path.index,), name=name)

    def _check_complete(self, path: PathEnd) -> None:
        """The thread made all its accesses, and stored its results and, if asked to, its specification."""
        if self.entered is None:
            raise Disproved(Finding.UNVERIFIABLE, "the loop over the instances is not found", (path.index,))
        if not self.done_with_accesses():
            if isinstance(self.due, LoopBack):
                raise Disproved(Finding.CHANGED, "a loop of the test is not a loop", (path.index,))
            raise Disproved(Finding.REMOVED, "the path ends before all accesses", (path.index,), (self._index(),))
        if self.fences:
            raise Disproved(Finding.FENCE_CHANGED, "a fence is added", tuple(one.index for one in self.fences))
        accesses = () if self.code is None else self.code.specification.accesses
        if accesses and self.specified is None:
            raise Disproved(Finding.UNVERIFIABLE, "the specification is not found", (path.index,))
        if self.specified and accesses and (len(self.anchors) < len(accesses) or self.asked is not False):
            raise Disproved(Finding.UNVERIFIABLE, "a part of the specification is missing", (path.index,))
        results = () if self.code is None else self.code.results
        if len(self.rows) < len(results):
            raise Disproved(Finding.CHANGED, "a result is not stored", (path.index,))

    def _ends_in_loop(self, path: PathEnd) -> bool:
        """Whether the path ends at the head of a loop inside: of the test, of the specification, or one that waits."""
        assert path.back_to is not None
        before = self.heads.get(path.back_to)
        if before is None:
            return False
        done = (self.memory, self.decisions, len(self.fences))
        quiet = done == (before.memory, before.decisions, before.fences)
        if self.waits:
            if quiet and before.votes < self.votes:
                self._check_carried(path, None)
                return True
            raise Disproved(Finding.CHANGED, "threads that should vote again do something else", (path.index,))
        if self.done_with_accesses():
            accesses = self.code.specification.accesses if self.code is not None else ()
            complete = len(self.anchors) == len(accesses) and self.asked and not self.fences
            if complete and self.memory - before.memory == len(accesses) + 1:
                self._check_carried(path, None)
                return True
            raise Disproved(Finding.CHANGED, f"a {'fence' if self.fences else 'loop'} is added", (path.index,))
        assert self.run is not None
        label = self.run.heads.get(self.due.label) if isinstance(self.due, LoopBack) else None
        if label is None or label.accesses != before.accesses:
            raise Disproved(Finding.CHANGED, "a loop of the test has other accesses", (path.index,))
        if not self.splits_fences(before.accesses, before.fences, label.fences):
            raise Disproved(Finding.FENCE_CHANGED, "a loop of the test has other fences", (path.index,))
        assert isinstance(self.due, LoopBack)
        self._check_carried(path, self.due.label)
        return True

    def _check_carried(self, path: PathEnd, label: int | None) -> None:
        """What was assumed of a loop must hold at the end of a round; `label` is None if it is no loop of the test."""
        carried = None if path.back_to is None else self.inner.get(path.back_to)
        if carried is not None and self.run is not None:
            carried.check_round(self.run, label, path, self.samples, self.mask)

    def _check_return(self, path: PathEnd) -> None:
        """The function returns to where it was called from, with the registers that its caller keeps."""
        for name in KEPT.intersection(path.registers):
            if path.registers[name] is not entry(name):
                raise Disproved(Finding.CHANGED, f"{name} is not restored", (path.index,))
        instruction = path.instruction
        operands = [one for one in instruction.operands if isinstance(one, RegisterOperand)]
        if instruction.opcode != "RET" or operands not in ([RETURN], []):
            raise Disproved(Finding.CHANGED, "the function ends without a return", (path.index,))


@lru_cache(1 << 14)
def mentions_votes(term: Term) -> bool:
    """Whether a value comes from a vote of the threads of a warp."""
    if term.operation == "unknown" and str(term.arguments[0]).startswith("VOTE"):
        return True
    return any(isinstance(one, Term) and mentions_votes(one) for one in term.arguments)


def _fold(seen: Words, access: ExpectedAccess) -> Words:
    """What is specified of a value: 64 bits are the sum of their words."""
    bits = access.access.type.bits
    if bits == 64:
        return [(word + (word >> 32)) & WORD for word in seen]
    return [word & (1 << bits) - 1 for word in seen]
