"""`Frame`: the function that the harness writes around a test: where locations, constants and results are.

for (instance = first; instance < end; instance += instance_step)
    switch (test_thread) { ... the threads of the test, each between two looks at a clock, then its specification ... }
    ... the results of the thread ...

The parameters of the launch are at the beginning of a bank of constant memory. In functions that older harnesses wrote
they are where the pointer in LAUNCH says, and the address of shared memory is on the stack.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache

from gpudiy.litmus.instruction import Barrier
from gpudiy.litmus.test import Test
from optcheck.operands import constant_name
from optcheck.sass import WORD
from optcheck.stack_words import stack_word
from optcheck.term import WIDE, Samples, Term, random_words, symbol
from optcheck.term import number as number_term

SAMPLES = 64
NEAR_END = {3: 4, 19: 8, 35: 16, 51: 64}  # samples in which pointers are so many bytes before a multiple of 4 GiB
# Instances that show carries between the results of one instance: the first, where pointers are near such an end, and
# those whose results, of so many rows each, begin below 2 ** 32 and end above.
ROWS_APART = (3, 5, 6, 7, 9, 10, 11, 12)
INSTANCES = {**dict.fromkeys(NEAR_END, 0), **{8 * at + 5: WORD // rows for at, rows in enumerate(ROWS_APART)}}
LAUNCH, LOCATIONS, RESULTS, SPECIFICATION = "R4", "R6", "R8", "R14"  # parameters of 64 bits, as the ABI places them
POINTERS = (LAUNCH, LOCATIONS, RESULTS)
THREAD, FIRST, END, GROUP = "R10", "R11", "R12", "R13"
SHARED, SHARED_ON_STACK = "R4", stack_word(0)
LAUNCH_BANK = 3  # of constant memory: it begins with the launch
BEGIN, END_TIME = "%begin", "%end"  # what the clock said: results that are no registers of the test
INSTANCE, SLOT = symbol("instance"), symbol("slot")  # what the loop over the instances carries
ZEROS = 256  # bytes of the launch that are 0, which the compiler does not know

Words = list[int]


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The register of a thread that its function stores in a row of the results."""

    register: str
    row: int


@dataclass(frozen=True, slots=True)
class Frame:
    """What the function of a test is told: the fields of the launch by offset, and what the test adds to them."""

    offsets: tuple[tuple[str, int], ...] = field(compare=False)  # in bytes, of the fields of the launch
    launch_bytes: int
    constants: tuple[int, ...]
    variables: tuple[str, ...]  # in global memory, in the order of the launch
    shared: tuple[str, ...]
    results: tuple[tuple[StoredResult, ...], ...]  # by thread
    rows: int
    word_bytes: int
    launch_pointer: bool = True  # LAUNCH points to the launch: it is not in constant memory
    clock: str = ""  # the special register that threads read before and after their accesses, if they do
    sleeps: bool = False  # threads may sleep before they read it
    test: Test | None = field(default=None, compare=False)  # as it runs, with bounds on its loops
    start_barriers: tuple[Barrier | None, ...] = ()  # by thread: where it meets others before its first instruction


class FrameSamples(Samples):
    """The values of what a launch decides: random, but so that all conditions of the frame sometimes hold."""

    def __init__(self, offsets: Mapping[str, int]) -> None:
        super().__init__(SAMPLES)
        self.offsets = offsets
        self._pairs: dict[tuple[Term, Term, int], Words] = {}
        self._distances: dict[tuple[Term, Term, int, str], int | None] = {}
        self.first = self.symbol_words(("entry", FIRST))
        self.instance = self.symbol_words(INSTANCE.arguments)
        self.slot = self.symbol_words(SLOT.arguments)
        self.next = _sums(self.instance, self.launch_words(offsets["instance_step"]))
        groups = _products(self.launch_words(offsets["warp_groups"]), self.launch_words(offsets["lane_groups"]))
        self.next_slot = _sums(self.slot, groups)
        self.end = [
            (self.first[place], self.next[place], word)[place % 3] for place, word in enumerate(register_words(END))
        ]
        self.specification = specification_words()
        self.meanings = self._meanings()
        self._bases = {LAUNCH: pair_words(LAUNCH), SPECIFICATION: self.specification}

    def launch_words(self, offset: int) -> Words:
        """The word of the launch at an offset."""
        return self.symbol_words(("launch", offset))

    def symbol_words(self, name: tuple[object, ...]) -> Words:
        """The values of a symbol."""
        match name:
            case ("entry", str(pointer)) if pointer in POINTERS:
                return register_words(pointer)
            case ("entry", "R12"):
                return self.end
            case ("entry", "R14"):
                return [word & WORD for word in self.specification]
            case ("entry", "R15"):
                return [word >> 32 for word in self.specification]
            case ("constant", 3, int(offset)):
                return self._bank_words(offset)
            case ("read", *_):
                return read_words(name)
            case INSTANCE.arguments:
                return [INSTANCES.get(place, word) for place, word in enumerate(super().symbol_words(name))]
            case _:
                return super().symbol_words(name)

    def _bank_words(self, offset: int) -> Words:
        start = self.offsets.get("zeros", -ZEROS)
        return [0] * SAMPLES if start <= offset < start + ZEROS else self.launch_words(offset)

    def pair(self, low: Term, high: Term, offset: int) -> Words:
        """The values of an address of two words, plus an offset."""
        found = self._pairs.get((low, high, offset))
        if found is None:
            words = zip(self.values(low), self.values(high), strict=True)
            found = self._pairs[low, high, offset] = [((b << 32 | a) + offset) & WIDE for a, b in words]
        return found

    def distance(self, address: tuple[Term, Term], offset: int, base: str) -> int | None:
        """How far an address is from the one in two registers at entry, if that is the same on all samples."""
        key = (*address, offset, base)
        if key not in self._distances:
            one, other = self.pair(*address, offset), self._bases[base]
            found = {(a - b) & WIDE for a, b in zip(one, other, strict=True)}
            self._distances[key] = found.pop() if len(found) == 1 else None
        return self._distances[key]

    def _meanings(self) -> dict[tuple[int, ...], tuple[str, bool]]:
        """The conditions of the frame by their values: what they mean, and whether they say so or the opposite."""
        conditions = {
            "entered": [int(a < b) for a, b in zip(self.first, self.end, strict=True)],
            "again": [int(a < b) for a, b in zip(self.next, self.end, strict=True)],
            "unspecified": [int(word == 0) for word in self.specification],
        }
        found = {tuple(words): (meaning, True) for meaning, words in conditions.items()}
        return found | {tuple(1 - word for word in words): (name, False) for name, words in conditions.items()}


def read_symbol(number: int | str, bits: int, signed: bool, word: int, special: tuple[int, ...]) -> Term:
    """A word of what the access number `number` of a path reads, or another source; `special`: words that decide."""
    return symbol("read", number, bits, signed, word, special)


@lru_cache(1 << 12)
def read_words(name: tuple[object, ...]) -> Words:
    """Half of the words random, half of them such that decide something."""
    _, number, bits, signed, word, special = name
    assert isinstance(bits, int) and isinstance(special, tuple)
    words = list(random_words(("read", number, word), SAMPLES))
    words[1::2] = [0] * (SAMPLES // 2) if word else _choose_deciding(number, special)
    if bits != 16:
        return words
    return [one & 0xFFFF | (0xFFFF0000 if signed and one & 0x8000 else 0) for one in words]


def _choose_deciding(number: object, special: tuple[int, ...]) -> Words:
    """Of eight words, five are different ones; two are often 0, 1 or 2; one is the same whatever is read."""
    keys = random_words(("order", number), len(special))
    order = [special[place] for place in sorted(range(len(special)), key=keys.__getitem__)]
    own, common = random_words(("chosen", number), SAMPLES // 2), random_words(("chosen",), SAMPLES // 2)
    words = []
    for place in range(SAMPLES // 2):
        eighth, within = divmod(place, 8)
        if within < 5:
            words.append(order[(5 * eighth + within) % len(order)])
        else:
            words.append(special[((common if within == 7 else own)[place] >> 3) % 3])
    return words


class FrameValues:
    """Where the function of a test finds and puts things, on the samples."""

    def __init__(self, frame: Frame, window: int | None, mask: int) -> None:
        self.frame = frame
        self.window = window
        self.mask = mask
        self.offsets: Mapping[str, int] = dict(frame.offsets)
        self.samples = frame_samples(frame.offsets)
        self.places = {name: self._place_global(number) for number, name in enumerate(frame.variables)}
        self.places |= {name: self._place_shared(number) for number, name in enumerate(frame.shared)}
        self.results = {self._result(result.row): result for thread in frame.results for result in thread}

    def field(self, name: str, number: int = 0) -> Words:
        """The values of a field of the launch."""
        return self.samples.launch_words(self.offsets[name] + 4 * number)

    def launch_term(self, offset: int) -> Term:
        """The word of the launch at an offset; that of a constant of the test is known, and so are the zeros."""
        zeros = self.offsets.get("zeros")
        if zeros is not None and zeros <= offset < zeros + ZEROS:
            return number_term(0)
        start = self.offsets["constants"]
        number = (offset - start) // 8
        if 0 <= number < len(self.frame.constants):
            upper = (offset - start) % 8 // 4
            return number_term(self.frame.constants[number] >> 32 * upper)
        return symbol("launch", offset)

    def constant_words(self) -> dict[str, Term]:
        """The words of constant memory that are known: the constants of the test."""
        if self.frame.launch_pointer:
            return {}
        start = self.offsets["constants"]
        return {
            constant_name(LAUNCH_BANK, offset): self.launch_term(offset)
            for offset in range(start, start + 8 * len(self.frame.constants), 4)
        }

    def _result(self, row: int) -> tuple[int, ...]:
        """The address of a row of the results of the instance."""
        size, base = self.frame.word_bytes, pair_words(RESULTS)
        return tuple(
            (start + instance * self.frame.rows * size + row * size) & WIDE
            for start, instance in zip(base, self.samples.instance, strict=True)
        )

    def _place_global(self, number: int) -> Words:
        between, pitch, masks = self.field("location_bytes"), self.field("pitch"), self.field("masks", number)
        return [
            (base + number * distance + (instance ^ mask) * step) & WIDE
            for base, distance, instance, mask, step in zip(
                pair_words(LOCATIONS), between, self.samples.instance, masks, pitch, strict=True
            )
        ]

    def _place_shared(self, number: int) -> Words:
        count, none = len(self.frame.shared), [0] * SAMPLES
        starts = none if self.window is None else self.samples.symbol_words(("constant", 0, self.window))
        own = SHARED_ON_STACK if self.frame.launch_pointer else SHARED
        return [
            ((base & self.mask) - start + (slot * count + number) * stride * 8) & WORD
            for base, start, slot, stride in zip(
                register_words(own), starts, self.samples.slot, self.field("shared_stride"), strict=True
            )
        ]


@lru_cache(1 << 10)
def frame_values(frame: Frame, window: int | None, mask: int) -> FrameValues:
    """The values of a frame; many tests share them.

    `window`: where constant memory has the start of shared memory; `mask`: the bits of its address that count.
    """
    return FrameValues(frame, window, mask)


@lru_cache(4)
def frame_samples(offsets: tuple[tuple[str, int], ...]) -> FrameSamples:
    """The samples for a layout of the launch."""
    return FrameSamples(dict(offsets))


@cache
def register_words(name: str) -> Words:
    """The values of a register at entry; the lower word of a pointer is sometimes so large that small sums carry."""
    words = random_words(("entry", name), SAMPLES)
    if name not in POINTERS:
        return words
    large = [word | 0xFFFFF000 if place % 8 == 3 else word for place, word in enumerate(words)]
    return [WORD + 1 - NEAR_END[place] if place in NEAR_END else word for place, word in enumerate(large)]


def pair_words(name: str) -> Words:
    """The values of two registers at entry, as 64 bits."""
    upper = f"R{int(name[1:]) + 1}"
    return [high << 32 | low for low, high in zip(register_words(name), register_words(upper), strict=True)]


def specification_words() -> Words:
    """The address of the specification: sometimes 0, or with a word that is 0."""
    masks = (0, WORD, WIDE ^ WORD, WIDE)
    return [word & masks[place % 4] for place, word in enumerate(pair_words(SPECIFICATION))]


def _sums(one: Words, other: Words) -> Words:
    return [(a + b) & WORD for a, b in zip(one, other, strict=True)]


def _products(one: Words, other: Words) -> Words:
    return [a * b & WORD for a, b in zip(one, other, strict=True)]
