"""Values that a loop of the test carries from round to round, and the registers of the SASS that hold them.

A register that holds what a register of the test holds, before the loop, is assumed to do so in every round. At the end
of a round this must be so again; if it is not, all paths are run once more without the assumption.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from gpudiy.litmus import instruction as isa
from optcheck.expected_function import NotCarried
from optcheck.finding import Finding
from optcheck.frame import FrameSamples
from optcheck.path_steps import PathEnd, SassLoop
from optcheck.reference import ReferenceRun, loop_symbol
from optcheck.sass import WORD
from optcheck.term import Term


@dataclass(frozen=True, slots=True)
class CarriedWord:
    """A word of a register of the test."""

    register: str
    word: int

    def shift(self, values: Iterable[int]) -> list[int]:
        """This word of the values of the register."""
        return [value >> 32 * self.word & WORD for value in values]


@dataclass(frozen=True, slots=True)
class CarriedValues:
    """What registers of the SASS hold at the head of the loop at a label of the test."""

    block: int
    label: int
    words: dict[str, CarriedWord]

    def terms(self, special: tuple[int, ...]) -> dict[str, Term]:
        """The terms that the registers hold."""
        return {name: loop_symbol(self.label, one.register, one.word, special) for name, one in self.words.items()}

    def check_round(
        self, run: ReferenceRun, label: int | None, end: PathEnd, samples: FrameSamples, mask: list[int]
    ) -> None:
        """Raises `NotCarried` if a register does not hold its value at the end of a round of the loop at a label."""
        for name, one in self.words.items():
            found, wanted = samples.values(end.registers[name]), one.shift(run.registers[one.register])
            if label != self.label or any(found[place] != wanted[place] for place in mask):
                why = f"{name} is not carried to the next round of a loop"
                raise NotCarried(Finding.CHANGED, why, (end.index,), name=assumption(self.block, name, one))


def assumption(block: int, name: str, one: CarriedWord) -> str:
    """The name of an assumption, by which it is given up."""
    return f"{block} {name} {one.register} {one.word}"


def assume_carried(
    run: ReferenceRun, step: SassLoop, samples: FrameSamples, mask: list[int], refuted: Collection[str]
) -> CarriedValues | None:
    """The registers that hold, before a loop, what the registers hold that the loop of the test reads first."""
    found = run.find_loop(mask)
    if found is None:
        return None
    label, registers = found
    words: dict[str, CarriedWord] = {}
    held = step.before
    for one in _carried_words(run, label):
        wanted = one.shift(registers[one.register])
        for name, before in held.items():
            if name in words or name[0] not in "R[" or assumption(step.block, name, one) in refuted:
                continue
            values = samples.values(before)
            if all(values[place] == wanted[place] for place in mask):
                words[name] = one
    return CarriedValues(step.block, label, words) if words else None


def _carried_words(run: ReferenceRun, label: int) -> Iterator[CarriedWord]:
    written: set[str] = set()
    carried: dict[str, None] = {}
    body = run.loop_body(label)
    changed = {one.name for one in map(isa.destination_of, body) if one is not None}
    for instruction in body:
        read = [*isa.operands_of(instruction), isa.address_of(instruction)]
        names = [one.name for one in read if isinstance(one, isa.Register)]
        carried.update(dict.fromkeys(name for name in names if name in changed - written))
        destination = isa.destination_of(instruction)
        if destination is not None:
            if isa.guard_of(instruction) is None:
                written.add(destination.name)
            elif destination.name not in written:
                carried[destination.name] = None
    for name in carried:
        bits = run.types[name].bits if name in run.types else 0
        yield from (CarriedWord(name, word) for word in range(bits // 32))
