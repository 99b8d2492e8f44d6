"""Value numbering: finds registers with the same value, backwards from where a value is used.

A copy has the value of its source, a predicated write is a choice between two values, and where paths of the program
join, a value is a choice of the values of all paths.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property

from optcheck.graph import Graph
from optcheck.sass import (
    ADDS,
    MOVES,
    PAIRS,
    TRUE,
    UNIFORM_ZERO,
    WORD,
    ZERO,
    AddressOperand,
    ConstantOperand,
    NameOperand,
    NumberOperand,
    Operand,
    PredicateOperand,
    RegisterOperand,
    SassInstruction,
    successor,
)
from optcheck.value_nodes import ValueNodes

DEEPEST = 150  # most nested operations of a value; deeper ones get a new value
EFFECTS = frozenset(
    {"S2R", "CS2R", "VOTE", "VOTEU", "SHFL", "MATCH", "REDUX", "CREDUX", "ELECT", "B2R", "QSPC", "ATOMS"}
)


class Values:
    """The values of registers, operands and stores of one function, computed when asked for."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.instructions = graph.function.instructions
        self.nodes = ValueNodes()
        self._stored: dict[int, tuple[int, ...]] = {}
        self._results: dict[tuple[int, str], int] = {}
        self._at_start: dict[tuple[int, str], int] = {}
        self._depth = self._nesting = 0

    # Values, for the checks.

    def register(self, name: str, index: int, guard: PredicateOperand | None = None) -> int:
        """The value of a register or predicate just before the instruction `index`, which runs under `guard`."""
        if name in (ZERO, UNIFORM_ZERO):
            return self.nodes.zero
        if name in TRUE:
            return self.nodes.number(("number", 1))
        block = self.graph.block_of[index]
        return self._in_block(name, block, index, guard, index)

    def result(self, index: int, name: str) -> int:
        """The value that the instruction `index` writes into a register or predicate."""
        key = (index, name)
        known = self._results.get(key)
        if known is None:
            self._results[key] = self.nodes.number(("unknown", index, name))  # found again through a loop
            self._depth += 1
            known = (
                self.nodes.number(("deep", index, name)) if self._depth > DEEPEST else self._compute_result(index, name)
            )
            self._depth -= 1
            self._results[key] = known
        return known

    def operand(self, operand: Operand, index: int, word: int = 0) -> int:
        """The value of an operand of the instruction `index`."""
        guard = self.instructions[index].guard
        match operand:
            case RegisterOperand():
                name = operand.name
                if word and name not in (ZERO, UNIFORM_ZERO):
                    name = successor(name, word)
                value = self.register(name, index, guard)
                if operand.part:
                    value = self.nodes.number(("part", operand.part, value))
                if operand.inverted:
                    value = self.nodes.number(("inverted", value))
                return self.nodes.sum(((value, -1),)) if operand.negated else value
            case PredicateOperand():
                value = self.register(operand.name, index, guard)
                return self.nodes.number(("not", value)) if operand.negated else value
            case NumberOperand():
                return self.nodes.number(("number", operand.value & WORD))
            case ConstantOperand():
                return self._constant(operand, index, word)
            case AddressOperand():
                return self.nodes.number(("address", operand.offset, *self.address(operand, index)))
            case _:
                return self.nodes.number(("name", str(operand)))

    def address(self, operand: AddressOperand, index: int, wide: bool = True) -> tuple[int, ...]:
        """The values of the registers an address is made of."""
        found = []
        for register in operand.registers:
            found.append(self.operand(register, index))
            if (register.wide or wide) and register.name not in (ZERO, UNIFORM_ZERO):
                found.append(self.operand(register, index, 1))
        return tuple(found)

    def _constant(self, operand: ConstantOperand, index: int, word: int) -> int:
        place = ("constant", operand.bank, operand.offset + 4 * word)
        if operand.register not in (ZERO, UNIFORM_ZERO) or isinstance(operand.bank, str):
            inside = self.register(operand.register, index)
            value = self.nodes.number(("operation", str(place), word, (inside,)))
        else:
            value = self.nodes.number(place)
        if operand.inverted:
            value = self.nodes.number(("inverted", value))
        return self.nodes.sum(((value, -1),)) if operand.negated else value

    # Where a value comes from.

    @cached_property
    def _writers(self) -> dict[str, list[int]]:
        """The instructions that write each register or predicate, in order."""
        writers: dict[str, list[int]] = {}
        for index, instruction in enumerate(self.instructions):
            for name in instruction.writes:
                writers.setdefault(name, []).append(index)
        return writers

    def _in_block(self, name: str, block: int, before: int, guard: PredicateOperand | None, use: int) -> int:
        writers = self._writers.get(name)
        if writers is None:
            return self.nodes.number(("entry", name))
        start = self.graph.starts[block]
        place = bisect_left(writers, before) - 1
        while place >= 0 and (index := writers[place]) >= start:
            place -= 1
            condition = self.instructions[index].guard
            if condition is None or condition.name in TRUE:
                return self.result(index, name)
            agreed = self._agree(condition, index, guard, use)
            if agreed is None:
                chosen = self.register(condition.name, index)
                old = self._in_block(name, block, index, None, index)
                new = self.result(index, name)
                pair = (old, new) if condition.negated else (new, old)
                return new if new == old else self.nodes.number(("choice", chosen, *pair))
            if agreed:
                return self.result(index, name)
        return self._before_block(name, block, guard, use)

    def _agree(self, one: PredicateOperand, at: int, other: PredicateOperand | None, use: int) -> bool | None:
        """Whether a write under `one` always reaches a use under `other`, or never; None if neither."""
        if other is None or self.register(one.name, at) != self.register(other.name, use):
            return None
        return one.negated == other.negated

    def _before_block(self, name: str, block: int, guard: PredicateOperand | None, use: int) -> int:
        """The value at the start of a block."""
        key = (block, name)
        known = self._at_start.get(key) if guard is None else None
        if known is not None:
            return known
        only = self._only_writer(name, block)
        if only is not None:
            return self.nodes.number(("entry", name)) if only < 0 else self.result(only, name)
        previous = self.graph.predecessors[block]
        if len(previous) == 1 and previous[0] != block and block != 0:
            if self._nesting > DEEPEST:
                return self.nodes.number(("deep", block, name))
            self._nesting += 1
            known = self._in_block(name, previous[0], self.graph.ends[previous[0]], guard, use)
            self._nesting -= 1
            if guard is None:
                self._at_start[key] = known
            return known
        return self._join_paths(name, block, previous)

    def _only_writer(self, name: str, block: int) -> int | None:
        """The only instruction whose value reaches a block, -1 if there is none; None if the paths decide."""
        reached = self.graph.reached_from[block]
        block_of = self.graph.block_of
        arriving = -1
        for index in self._writers[name]:
            if reached >> block_of[index] & 1:
                if arriving >= 0:
                    return None
                arriving = index
        if arriving < 0:
            return -1
        alone = self.instructions[arriving].guard is None and self.graph.dominates(block_of[arriving], block)
        return arriving if alone else None

    def _join_paths(self, name: str, block: int, previous: list[int]) -> int:
        key = (block, name)
        known = self._at_start.get(key)
        if known is not None:
            return known
        own = self.nodes.number(("join", block, name) if previous else ("entry", name))
        self._at_start[key] = own
        if not previous:
            return own
        brought = {self._in_block(name, one, self.graph.ends[one], None, self.graph.ends[one] - 1) for one in previous}
        brought.discard(own)
        if block == 0:
            brought.add(self.nodes.number(("entry", name)))
        self.nodes.choices[own] = tuple(brought)
        if len(brought) == 1:
            (only,) = brought
            self._at_start[key] = only
            return only
        return own

    # What an instruction computes.

    def _compute_result(self, index: int, name: str) -> int:
        instruction = self.instructions[index]
        word = instruction.writes[name]
        if instruction.touch is not None:
            return self.nodes.number(("loaded", index, word if name[0] != "P" else name))
        if instruction.packed_halves is not None:
            return self.nodes.number(("number", instruction.packed_halves))
        if instruction.opcode in ("SEL", "USEL", "FSEL") and isinstance(instruction.operands[-1], PredicateOperand):
            return self._select(instruction, index)
        if name[0] != "P" and name[:2] != "UP":
            simple = self._copied_value(instruction, index, word)
            if simple is None:
                simple = self._sum_value(instruction, index, word)
            if simple is not None:
                return simple
        children = tuple(self._source_values(instruction, index))
        if instruction.opcode in EFFECTS:
            return self.nodes.number(("effect", index, name, children))
        position = word if name[0] not in "PU" else self._result_position(instruction, name)
        return self.nodes.number(
            ("operation", ".".join((instruction.opcode, *instruction.modifiers)), position, children)
        )

    def _select(self, instruction: SassInstruction, index: int) -> int:
        """`SEL R0, R1, R2, P0`: R1 where P0 holds, else R2."""
        one, other = (self.operand(operand, index) for operand in instruction.operands[1:3])
        predicate = instruction.operands[3]
        assert isinstance(predicate, PredicateOperand)
        if predicate.negated:
            one, other = other, one
        return one if one == other else self.nodes.number(("choice", self.register(predicate.name, index), one, other))

    def _result_position(self, instruction: SassInstruction, name: str) -> int:
        """The index of a result: of predicates by operand, of uniform registers by word."""
        for place, operand in enumerate(instruction.operands):
            if isinstance(operand, PredicateOperand) and operand.name == name:
                return -1 - place
        return instruction.writes[name]

    def _copied_value(self, instruction: SassInstruction, index: int, word: int) -> int | None:
        opcode, operands = instruction.opcode, instruction.operands
        if opcode in MOVES and len(operands) >= 2 and not isinstance(operands[1], (NameOperand, PredicateOperand)):
            return self.operand(operands[1], index, word)
        if opcode == "IMAD" and "MOV" in instruction.modifiers and len(operands) == 4:
            return self.operand(operands[3], index)
        if opcode in ("LDC", "LDCU", "ULDC") and isinstance(operands[1], ConstantOperand):
            return self.operand(operands[1], index, word)
        if opcode == "CS2R" and operands[1] == NameOperand("SRZ"):
            return self.nodes.zero
        return None

    def _sum_value(self, instruction: SassInstruction, index: int, word: int) -> int | None:
        opcode, operands = instruction.opcode, instruction.sources
        if "X" in instruction.modifiers or (word and "64" in instruction.modifiers):
            return None
        if opcode == "IMAD" and instruction.words == 1 and len(operands) == 3 and operands[1] == NumberOperand(1):
            terms: tuple[Operand, ...] = (operands[0], operands[2])
        elif opcode in ADDS:
            terms = tuple(operand for operand in operands if not isinstance(operand, PredicateOperand))
        else:
            return None
        if any(not isinstance(term, (RegisterOperand, NumberOperand, ConstantOperand)) for term in terms):
            return None
        if any(isinstance(term, RegisterOperand) and term.part for term in terms):
            return None
        return self.nodes.sum(tuple((self.operand(term, index), 1) for term in terms))

    def _source_values(self, instruction: SassInstruction, index: int) -> list[int]:
        found = []
        sources = instruction.sources
        all_wide = "64" in instruction.modifiers or instruction.opcode in PAIRS
        for place, operand in enumerate(sources):
            found.append(self.operand(operand, index))
            wide = all_wide or ("WIDE" in instruction.modifiers and place == 2)
            if wide and isinstance(operand, (RegisterOperand, ConstantOperand)):
                found.append(self.operand(operand, index, 1))
        return found

    @cached_property
    def writes_memory(self) -> list[int]:
        """The instructions that store a value in memory that other threads can read."""
        return [
            index
            for index, instruction in enumerate(self.instructions)
            if instruction.touch is not None and instruction.data and instruction.space != "local"
        ]

    def stored_values(self, index: int) -> tuple[int, ...]:
        """The values that an instruction stores, one per word."""
        known = self._stored.get(index)
        if known is None:
            instruction = self.instructions[index]
            data = instruction.data[0]
            known = self._stored[index] = tuple(self.operand(data, index, word) for word in range(instruction.words))
        return known

    def from_literals(self, index: int) -> bool:
        """Whether some instruction with a literal writes the register that this instruction stores."""
        data = self.instructions[index].data[0]
        if not isinstance(data, RegisterOperand):
            return False
        return any(self.instructions[writer].literal is not None for writer in self._writers.get(data.name, ()))
