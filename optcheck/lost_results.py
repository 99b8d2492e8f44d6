"""Results that nobody reads. Compilers leave none but copies: what should have read another is missing or changed.

The check knows nothing of what kernels do. It follows all ways through the functions of a module backwards, into the
functions that they call and back, and notes what may be read later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from optcheck.graph import Graph
from optcheck.listing import SassFunction
from optcheck.machine_abi import MachineAbi
from optcheck.path_proof import KEPT
from optcheck.register_reads import registers_read
from optcheck.sass import ZERO, ConstantOperand, RegisterOperand, SassInstruction

Names = frozenset[str]
RETURN = frozenset({"R20", "R21"})  # where a function returns to, by the ABI
STACK = "R1"
ARGUMENTS = frozenset(f"R{number}" for number in range(4, 16))  # of a function that is not known: that of a test
KEPT_UNIFORM = 32  # from this number on, functions restore uniform registers
CALLS = frozenset({"CALL", "CAL", "JCAL"})


@dataclass
class _Flow:
    """A function: what may be read from its start on, and what its callers may read after it."""

    graph: Graph
    inside: list[Names]  # what may be read from the start of each block on
    needed: Names = frozenset()  # by the function, from its caller
    wanted: Names = frozenset()  # from the function, by its callers
    after_calls: dict[int, Names] = field(default_factory=dict)


class LostResults:
    """The functions of a module, with what each reads of the others."""

    def __init__(self, functions: Sequence[SassFunction], abi: MachineAbi) -> None:
        self.abi = abi
        self.flows = {one.name: _Flow(graph := Graph(one), [frozenset()] * len(graph.starts)) for one in functions}
        changed = True
        while changed:
            changed = sum(self._follow(flow) for flow in self.flows.values()) > 0  # all of them

    def find(self) -> str:
        """The first instruction whose result nobody reads; empty if there is none."""
        for flow in self.flows.values():
            for block in range(len(flow.graph.starts)):
                index = self._find_in(flow, block)
                if index is not None:
                    return f"{flow.graph.function.name}: {flow.graph.function.show_instruction(index)}"
        return ""

    def _follow(self, flow: _Flow) -> bool:
        """Find what may be read from each block on; whether that changed."""
        changed = False
        waiting = list(range(len(flow.graph.starts)))
        while waiting:
            block = waiting.pop()
            live = self._before(flow, block)
            if live != flow.inside[block]:
                flow.inside[block] = live
                waiting += flow.graph.predecessors[block]
                changed = True
        flow.needed = flow.inside[0]
        return changed

    def _before(self, flow: _Flow, block: int) -> Names:
        live = self._after(flow, block)
        for index in range(flow.graph.ends[block] - 1, flow.graph.starts[block] - 1, -1):
            live = self._step(flow, index, live)
        return live

    def _after(self, flow: _Flow, block: int) -> Names:
        return frozenset().union(*(flow.inside[one] for one in flow.graph.successors[block]))

    def _step(self, flow: _Flow, index: int, live: Names) -> Names:
        """What may be read before an instruction, if this may be read after it."""
        instruction = flow.graph.function.instructions[index]
        if instruction.never:
            return live
        if instruction.opcode in CALLS and not instruction.is_near_call:
            passed_by = live if instruction.guard is not None else frozenset()
            return self._call(flow, index, live) | passed_by | registers_read(instruction)
        if instruction.opcode == "RET":
            live = flow.wanted | KEPT
        kept = live if instruction.guard is not None else live - instruction.writes.keys()
        return kept | registers_read(instruction)

    def _call(self, flow: _Flow, index: int, live: Names) -> Names:
        """Scratch registers come back from the function, all others pass it by."""
        names = flow.graph.function.named_targets.get(index, ())
        called = self.flows.get(names[0]) if len(names) == 1 else None
        passing = frozenset(one for one in live if not _is_scratch(one))
        if called is None:
            return passing | ARGUMENTS | RETURN | {STACK}
        called.wanted |= live - passing
        return passing | called.needed

    def _find_in(self, flow: _Flow, block: int) -> int | None:
        live = self._after(flow, block)
        for index in range(flow.graph.ends[block] - 1, flow.graph.starts[block] - 1, -1):
            instruction = flow.graph.function.instructions[index]
            if self._is_lost(instruction, live):
                return index
            live = self._step(flow, index, live)
        return None

    def _is_lost(self, instruction: SassInstruction, live: Names) -> bool:
        if instruction.never or not instruction.writes or not live.isdisjoint(instruction.writes):
            return False
        if instruction.touch is not None and (instruction.touch != "load" or "STRONG" in instruction.modifiers):
            return False
        return STACK not in instruction.writes and not _is_copy(instruction) and not self._is_descriptor(instruction)

    def _is_descriptor(self, instruction: SassInstruction) -> bool:
        """The descriptor of memory; listings of sm_80 to sm_89 do not show which accesses use it."""
        source = instruction.operands[-1]
        return isinstance(source, ConstantOperand) and source.bank == 0 and source.offset == self.abi.descriptor


def _is_copy(instruction: SassInstruction) -> bool:
    """MOV, or IMAD with a product of zeros."""
    zeros = [isinstance(one, RegisterOperand) and one.name == ZERO for one in instruction.sources[:2]]
    return instruction.opcode in ("MOV", "UMOV") or (instruction.opcode == "IMAD" and zeros == [True, True])


def _is_scratch(name: str) -> bool:
    if name.startswith("UR"):
        return int(name[2:]) < KEPT_UNIFORM
    return name not in KEPT


def find_lost_result(functions: Sequence[SassFunction], abi: MachineAbi) -> str:
    """An instruction whose result nobody reads, with its place; empty if there is none."""
    return LostResults(functions, abi).find()
