"""Walking through the code of a lock: all short paths, with reads that may give anything, or one with known memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.instruction import AluOperation, AtomicOperation, Comparison
from gpudiy.locks.arithmetic import TYPE, result_of, widened
from gpudiy.locks.flow import Flow
from gpudiy.locks.path import AccessStep, DecisionStep, FenceStep, HoleStep, Path
from gpudiy.locks.program import HOLE, Program
from gpudiy.locks.value import (
    TRUE,
    Comparing,
    Given,
    Joined,
    Number,
    Opaque,
    Place,
    Read,
    Value,
    compute,
    negated,
    opaque_in,
    rebuilt,
)
from gpudiy.locks.variable_names import PLACE, VariableNames
from gpudiy.locks.walk_state import WalkState
from gpudiy.models.trace import modified

MOST_ROUNDS = 1  # times a path goes back: one failed attempt
MOST_PATHS = 400
MOST_STATEMENTS = 1000  # of one run with known memory
NOTHING = ("nanosleep", "pragma", "prefetch", "prefetchu", "discard")  # say nothing about memory order
UNSUPPORTED = ("call", "trap", "brx", "bar", "barrier", "brkpt", "mbarrier", "cp", "elect", "griddepcontrol")
LOCAL = "%local"
SPACES = ("global", "shared", "shared::cta", "param", "local", "const")
NUMBERED = ("%tid.x", "%ctaid.x", "%laneid", "%warpid", "%smid")
COUNTED = re.compile(r"%n(tid|ctaid)\.[xyz]\Z")


class Walker:
    """Walks through one program. `names` learns every variable on the way."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.flow = Flow(program)
        self.names = VariableNames(program)

    @property
    def variables(self) -> dict[str, int]:
        """Every variable that was met, and its width in bits."""
        return self.names.variables

    def paths(self) -> list[Path]:
        """All paths with at most one failed attempt, also those that end without entering; the shortest first."""
        found: list[Path] = []
        waiting = [WalkState()]
        while waiting:
            state = waiting.pop()
            ended = False
            while not ended:
                states = list(self._step(state))
                waiting += states[1:]
                if not states:
                    break
                state = states[0]
                ended = state.position >= self.flow.end
            if ended:
                found.append(self._path(state))
            if len(found) > MOST_PATHS:
                raise self.program.error_at(self.program.hole, f"more than {MOST_PATHS} paths lead through this lock")
        return sorted(found, key=lambda path: (not path.entered, path.accesses_before(), len(path.acquired)))

    def run(self, thread: int, memory: Mapping[str, int], given: Mapping[str, int]) -> Path | None:
        """The path of a thread that runs alone, from this memory; None if it never enters. Numbers it is given and
        that nobody chose are chosen so that it enters.
        """
        waiting = [WalkState(memory=dict(memory), given={**given, "%thread": thread})]
        for _ in range(MOST_PATHS):
            if not waiting:
                break
            state = waiting.pop(0)
            while state.position < self.flow.end and len(state.trace) < MOST_STATEMENTS:
                state, *others = self._step(state)  # with known memory no path is given up
                waiting += others
            if state.position == self.flow.end and self.program.hole in state.trace:
                return self._path(state)
        return None

    def _path(self, state: WalkState) -> Path:
        hole = next((index for index, at in enumerate(state.trace) if at == self.program.hole), None)
        memory = () if state.memory is None else tuple(state.memory.items())
        given = tuple((name, value) for name, value in state.given.items() if not name.startswith("%"))
        return Path(
            tuple(state.steps),
            tuple(state.trace[:hole]),
            () if hole is None else tuple(state.trace[hole + 1 :]),
            hole is not None,
            tuple(state.values),
            memory,
            () if state.held is None else tuple(state.held.items()),
            given,
        )

    def _step(self, state: WalkState) -> Iterator[WalkState]:
        """The states after the next statement: none if the path is given up."""
        position = state.position
        statement = self.program.statements[position]
        while state.regions and state.regions[-1][0] == position:
            state.regions.pop()
        state.trace.append(position)
        if statement.kind == "selp" and statement.guard is None:
            yield from self._select(state, position)
            return
        if statement.guard is None:
            yield from self._go(state, self._execute(state, position))
            return
        if statement.guard not in state.registers:
            raise self.program.error_at(position, f"predicate {statement.guard} is used before it is set")
        predicate = state.registers[statement.guard]
        predicate = negated(predicate) if statement.negated else predicate
        branches = statement.kind in ("bra", "ret", "exit")
        end = self.flow.join(position) if branches else position + 1
        for way, taken in self._decided(state, predicate, position, end):
            yield from self._go(way, self._execute(way, position) if taken else position + 1)

    def _select(self, state: WalkState, position: int) -> Iterator[WalkState]:
        """A choice between two values: whatever comes after it may hang on it."""
        destination, *operands = self.program.statements[position].operands
        one, other, predicate = (self._value(state, operand, position) for operand in operands)
        for way, taken in self._decided(state, predicate, position, self.flow.end):
            way.registers[destination] = one if taken else other
            yield from self._go(way, position + 1)

    def _go(self, state: WalkState, target: int) -> Iterator[WalkState]:
        if (state.position, target) in self.flow.back_edges and state.memory is None:
            state.rounds += 1
            if state.rounds > MOST_ROUNDS + (self.program.hole in state.trace):
                return
        state.position = target
        yield state

    def _execute(self, state: WalkState, position: int) -> int:
        """Do what the statement does; the position of the next one."""
        statement = self.program.statements[position]
        kind = statement.kind
        if statement.opcode == HOLE:
            state.steps.append(HoleStep(position, state.guard))
            state.held = None if state.memory is None else dict(state.memory)
        elif kind == "bra":
            return self.flow.target(position)
        elif kind in ("ret", "exit"):
            return self.flow.end
        elif kind in ("membar", "fence"):
            state.steps.append(FenceStep(position, statement.opcode, state.guard))
        elif kind in ("ld", "st", "atom", "red"):
            self._access(state, position)
        elif kind in UNSUPPORTED:
            raise self._unsupported(position)
        elif kind not in NOTHING:
            self._compute(state, position)
        return position + 1

    def _unsupported(self, position: int) -> Exception:
        text = self.program.statements[position].text
        return self.program.error_at(position, f"unsupported instruction `{text}` in a lock")

    def _decided(self, state: WalkState, predicate: Value, position: int, end: int) -> Iterator[tuple[WalkState, bool]]:
        """The ways on: with the predicate true, with it false, or the one that what is known leaves."""
        predicate = rebuilt(predicate, lambda leaf: self._leaf(state, leaf))
        if isinstance(predicate, Number):
            yield state, bool(predicate.value)
            return
        if isinstance(predicate, Joined):
            first, second = predicate.parts
            for way, truth in self._decided(state, first, position, end):
                if truth == predicate.every:
                    yield from self._decided(way, second, position, end)
                else:
                    yield way, truth
            return
        opaque = opaque_in(predicate)
        if opaque is not None or not isinstance(predicate, Comparing):
            raise self._unsupported(opaque.position if opaque is not None else position)
        known = self._truth(state, predicate)
        for wanted in (True, False) if known is None else (known,):
            way = state.copy() if known is None and wanted else state
            self._decide(way, predicate if wanted else _contrary(predicate), position, end)
            yield way, wanted

    def _leaf(self, state: WalkState, leaf: Value) -> Value:
        if isinstance(leaf, Given) and leaf.name in state.given:
            return Number(state.given[leaf.name])
        return leaf

    def _truth(self, state: WalkState, predicate: Comparing) -> bool | None:
        if predicate in state.facts:
            return True
        if _contrary(predicate) in state.facts:
            return False
        known = rebuilt(predicate, lambda leaf: state.known.get(leaf, leaf) if isinstance(leaf, Read) else leaf)
        return bool(known.value) if isinstance(known, Number) else None

    def _decide(self, state: WalkState, true: Comparing, position: int, end: int) -> None:
        """Go on where this comparison is true."""
        at = state.facts.get(true)
        if at is None:
            at = len(state.steps)
            state.steps.append(DecisionStep(position, true, state.guard))
            state.facts[true] = at
        equal = true.comparison is Comparison.EQ and not true.inverted
        if equal and isinstance(true.left, Read) and not isinstance(true.right, Read):
            state.known.setdefault(true.left, true.right)
        if state.memory is not None:
            self._choose(state, true)
        state.regions.append((end, at))

    def _choose(self, state: WalkState, true: Comparing) -> None:
        """Give the thread a number that makes a comparison true."""
        for side, other in ((true.left, true.right), (true.right, true.left)):
            if isinstance(side, Given) and isinstance(other, Number):
                for number in (other.value, other.value + 1, other.value - 1):
                    known: dict[Value, Value] = {side: Number(number)}
                    if rebuilt(true, lambda leaf: known.get(leaf, leaf)) == TRUE:  # noqa: B023
                        state.given[side.name] = number
                        return

    def _access(self, state: WalkState, position: int) -> None:
        statement = self.program.statements[position]
        kind = statement.kind
        operands = list(statement.operands)
        destination = operands.pop(0) if kind in ("ld", "atom") and operands else None
        bits = self._bits(position)
        match = PLACE.match(operands.pop(0)) if operands else None
        if match is None or any("{" in operand for operand in statement.operands):
            raise self._unsupported(position)
        sources = tuple(self._value(state, operand, position) for operand in operands)
        if "param" in statement.opcode:
            self._parameter(state, match[1], int(match[2] or "0", 0), destination)
            return
        base = self._value(state, match[1], position)
        place = compute(AluOperation.ADD, ScalarType.S64, (base, Number(int(match[2] or "0", 0))))
        if isinstance(place, Place) and place.variable == LOCAL:
            self._local(state, position, place, destination, sources)
            return
        if not isinstance(place, Place):
            raise self.program.error_at(position, f"`{statement.text}` goes to an address that is not known")
        if destination in self.names.pointers and kind == "ld" and bits == 64:
            state.registers[destination] = Place(f"{self.names.name(place, 64)}_to")
            return
        variable = self.names.name(place, bits, position)
        opcode = tuple(word for word in statement.opcode if word not in SPACES)
        read = None
        if destination is not None:
            read = Read(state.reads, bits)
            state.reads += 1
            state.registers[destination] = read
        state.steps.append(AccessStep(position, opcode, variable, sources, read, state.guard))
        if state.memory is not None:
            self._perform(state, position, variable, sources, destination)

    def _perform(
        self, state: WalkState, position: int, variable: str, sources: tuple[Value, ...], destination: str | None
    ) -> None:
        """What the access does to known memory."""
        assert state.memory is not None
        statement = self.program.statements[position]
        old = state.memory.get(variable, 0)
        numbers = []
        for source in sources:
            source = rebuilt(source, lambda leaf: self._leaf(state, leaf))
            numbers.append(source.value if isinstance(source, Number) else 0)
        if statement.kind == "st":
            state.memory[variable] = numbers[0]
        elif statement.kind != "ld":
            operation = next((w for w in statement.opcode if w in AtomicOperation._value2member_map_), None)
            if operation is None:
                raise self._unsupported(position)
            new = modified(AtomicOperation(operation), old, list(numbers), self._type(position))
            if isinstance(new, int):
                state.memory[variable] = new
        if destination is not None:
            state.values.append(old)
            state.registers[destination] = Number(old)

    def _parameter(self, state: WalkState, name: str, offset: int, destination: str | None) -> None:
        called = self.program.parameters.get(name, name)
        called = f"{called}_{offset}" if offset else called
        assert destination is not None
        state.registers[destination] = Place(called) if destination in self.names.pointers else Given(called)

    def _local(
        self, state: WalkState, position: int, place: Place, destination: str | None, sources: tuple[Value, ...]
    ) -> None:
        if self.program.statements[position].kind not in ("ld", "st"):
            raise self._unsupported(position)
        if destination is None:
            state.local[place.offset] = sources[0]
        else:
            state.registers[destination] = state.local.get(place.offset, Opaque(position, "an unset local variable"))

    def _compute(self, state: WalkState, position: int) -> None:
        statement = self.program.statements[position]
        if not statement.operands:
            raise self._unsupported(position)
        destination, *operands = statement.operands
        values = tuple(self._value(state, operand, position) for operand in operands)
        state.registers[destination] = result_of(statement, position, values)

    def _value(self, state: WalkState, operand: str, position: int) -> Value:
        if operand in state.registers:
            return state.registers[operand]
        if re.match(r"-?\d", operand):
            return Number(int(operand.rstrip("Uu"), 0))
        if operand in self.program.variables:
            return Place(operand)
        if operand.startswith("__local_depot"):
            return Place(LOCAL)
        if operand in NUMBERED and state.memory is not None:
            return Number(state.given.get("%thread", 0))
        if COUNTED.match(operand):
            return Number(32)
        if operand.startswith("%") and ("." in operand or operand in ("%laneid", "%warpid", "%smid", "%clock")):
            return Given(operand)
        if operand in self.program.parameters:
            return Given(operand)
        if operand.startswith(("0f", "0d")):
            return Opaque(position, operand)
        raise self.program.error_at(position, f"register {operand} is used before it is set")

    def _bits(self, position: int) -> int:
        found = [match for word in self.program.statements[position].opcode if (match := TYPE.match(word))]
        if not found:
            raise self.program.error_at(position, f"`{self.program.statements[position].text}` names no type")
        return max(32, int(found[-1][2]))

    def _type(self, position: int) -> ScalarType:
        return widened(next(word for word in self.program.statements[position].opcode if TYPE.match(word)))


def _contrary(predicate: Comparing) -> Comparing:
    contrary = negated(predicate)
    assert isinstance(contrary, Comparing)
    return contrary
