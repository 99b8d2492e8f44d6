"""Whether two functions do the same, block by block, whatever their instructions compute.

Nothing is known here of what an instruction does but its operands: its results are a term of them. Two functions with
the same blocks are equal if, in each block, the same accesses, calls, barriers and branches happen in the same order
with the same terms, and each register that may be read later has the same term. That holds for instructions that are
there twice, or exchanged with others on which they do not depend, or that write what nobody reads.
"""

from __future__ import annotations

from optcheck.graph import Graph
from optcheck.listing import SassFunction
from optcheck.path_proof import KEPT
from optcheck.register_reads import registers_read
from optcheck.sass import (
    AddressOperand,
    NameOperand,
    Operand,
    PredicateOperand,
    RegisterOperand,
    SassInstruction,
    Touch,
    successor,
)

EVERYTHING = frozenset({*(f"R{n}" for n in range(255)), *(f"UR{n}" for n in range(80)), *(f"P{n}" for n in range(7)),
                        *(f"UP{n}" for n in range(7))})  # fmt: skip
QUIET = frozenset({"NOP", "YIELD"})
MEETINGS = frozenset({"BRA", "JMP", "BRX", "BSSY", "BSYNC", "BREAK", "BMOV"})
EFFECTS = MEETINGS | {
    "BAR", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "WARPSYNC", "VOTE", "VOTEU", "SHFL", "REDUX", "MATCH", "CALL",
    "RET", "EXIT", "NANOSLEEP", "DEPBAR",
}  # fmt: skip


def are_equal(original: SassFunction, changed: SassFunction) -> bool:
    """Whether the functions are proved to be equal; false if they differ, or nothing is known of it."""
    one, other = Graph(original), Graph(changed)
    if one.successors != other.successors:
        return False
    later = [a | b for a, b in zip(_live_after(one), _live_after(other), strict=True)]
    terms: dict[object, int] = {}
    return all(
        _run(one, block, later[block], terms) == _run(other, block, later[block], terms)
        for block in range(len(one.starts))
    )


def _live_after(graph: Graph) -> list[frozenset[str]]:
    """For each block, what may be read after it."""
    inside: list[frozenset[str]] = [frozenset()] * len(graph.starts)
    after = list(inside)
    changed = True
    while changed:
        changed = False
        for block in reversed(range(len(graph.starts))):
            after[block] = frozenset().union(*(inside[one] for one in graph.successors[block]))
            live = _live_before(graph, block, after[block])
            changed |= live != inside[block]
            inside[block] = live
    return after


def _live_before(graph: Graph, block: int, live: frozenset[str]) -> frozenset[str]:
    for instruction in reversed(graph.function.instructions[graph.starts[block] : graph.ends[block]]):
        if instruction.opcode in ("CALL", "RET"):
            live = EVERYTHING
        if instruction.guard is None:
            live -= instruction.writes.keys()
        live |= registers_read(instruction)
    return live


def _run(graph: Graph, block: int, later: frozenset[str], terms: dict[object, int]) -> tuple[object, ...]:
    """What a block does, and what it leaves in registers."""
    run, function = _BlockRun(terms), graph.function
    for index in range(graph.starts[block], graph.ends[block]):
        places = [graph.block_of[one] for one in function.targets_of(index) or () if one < len(graph.block_of)]
        run.step(function.instructions[index], tuple(places) or function.named_targets.get(index, ()))
    return run.effects, {name: run.read(name) for name in later}


class _BlockRun:
    """A block, run with terms; equal terms have equal numbers."""

    def __init__(self, terms: dict[object, int]) -> None:
        self.terms = terms
        self.registers: dict[str, int] = {}
        self.effects: list[int] = []
        self.memory = 0  # how often memory may have changed

    def number(self, term: object) -> int:
        return self.terms.setdefault(term, len(self.terms))

    def read(self, name: str) -> int:
        return self.registers.get(name) or self.number(("entry", name))

    def step(self, instruction: SassInstruction, targets: tuple[object, ...]) -> None:
        if instruction.never or instruction.opcode in QUIET:
            return
        guard = None
        if instruction.guard is not None:
            guard = (self.read(instruction.guard.name), instruction.guard.negated)
        names = [one.text for one in instruction.operands if isinstance(one, NameOperand) and "`" not in one.text]
        sources = tuple(self._term(one, registers_read(instruction)) for one in instruction.sources)
        done: tuple[object, ...] = (instruction.opcode, instruction.modifiers, sources, tuple(names))
        clock = any("CLOCK" in name or "TIMER" in name for name in names)
        if clock or _has_effect(instruction):
            self.effects.append(self.number((done, guard, targets, self._passed(instruction))))
            done = (*done, len(self.effects), self.effects[-1])
            self.memory += instruction.opcode not in MEETINGS
        elif instruction.touch is Touch.LOAD:
            done = (*done, self.memory)
        copied = _copied(instruction)
        for name, place in _results(instruction).items():
            self._write(name, self.number((done, place)) if copied is None else self.read(copied), guard)
        if instruction.opcode == "CALL":
            for name in EVERYTHING - KEPT:
                self.registers[name] = self.number(("called", len(self.effects), name))

    def _passed(self, instruction: SassInstruction) -> tuple[int, ...]:
        """What a function that is called, or returned to, may read."""
        if instruction.opcode not in ("CALL", "RET"):
            return ()
        return tuple(self.read(name) for name in sorted(EVERYTHING))

    def _write(self, name: str, value: int, guard: tuple[int, bool] | None) -> None:
        if guard is None:
            self.registers[name] = value
            return
        before = self.read(name)
        under = self.terms.get(("unless", guard, before))  # nothing but what a write under this guard left
        self.registers[name] = chosen = self.number(("if", guard, value, before if under is None else under))
        self.terms.setdefault(("unless", guard, chosen), before if under is None else under)

    def _term(self, operand: Operand, read: frozenset[str]) -> object:
        """An operand, with the terms of all its words: which register it names does not matter."""
        match operand:
            case RegisterOperand():
                form = (operand.negated, operand.inverted, operand.wide, operand.part, operand.sets_code)
                return *form, *self._words(operand.name, read)
            case PredicateOperand():
                return operand.negated, operand.name in ("PT", "UPT"), self.read(operand.name)
            case AddressOperand():
                registers = tuple(self._term(one, read) for one in operand.registers)
                described = self._words(operand.descriptor, read) if operand.descriptor else ()
                return registers, operand.offset, described
            case NameOperand():
                return "name"
            case _:
                return str(operand), *(self.read(name) for name in sorted(read) if name in str(operand))

    def _words(self, name: str, read: frozenset[str]) -> tuple[object, ...]:
        if name in ("RZ", "URZ"):
            return (name,)
        return tuple(self.read(word) for word in (successor(name, count) for count in range(4)) if word in read)


def _has_effect(instruction: SassInstruction) -> bool:
    if instruction.touch is Touch.LOAD:
        return "STRONG" in instruction.modifiers
    return instruction.touch is not None or instruction.opcode in EFFECTS


def _copied(instruction: SassInstruction) -> str | None:
    """The register that an instruction copies, as it is: MOV, or IMAD with a product of zeros."""
    zero = RegisterOperand("RZ")
    last = instruction.sources[-1] if instruction.sources else None
    if not isinstance(last, RegisterOperand) or last != RegisterOperand(last.name) or instruction.result_count != 1:
        return None
    multiplies = (
        instruction.opcode == "IMAD" and instruction.sources[:2] == (zero, zero) and len(instruction.sources) == 3
    )
    plain = (instruction.opcode == "MOV" and not instruction.modifiers and len(instruction.sources) == 1) or (
        multiplies and instruction.modifiers in (("MOV",), ("MOV", "U32"), ("U32",), ("IADD",), ())
    )
    return last.name if plain else None


def _results(instruction: SassInstruction) -> dict[str, tuple[int, int]]:
    """The registers that are written, with the places of their operands and words."""
    found = {}
    for place, operand in enumerate(instruction.operands[: instruction.result_count]):
        if isinstance(operand, (RegisterOperand, PredicateOperand)):
            words = instruction.words if isinstance(operand, RegisterOperand) else 1
            names = [operand.name] if words == 1 else [successor(operand.name, word) for word in range(words)]
            found |= {name: (place, word) for word, name in enumerate(names) if name in instruction.writes}
    return found
