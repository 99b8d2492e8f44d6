"""A second opinion on locks: the whole program `lock; x = x + 1; unlock` of each thread as one test, loops and all.

It shares no code with the search for paths: statement by statement, the PTX of a lock becomes the code of a thread.
"""

from __future__ import annotations

from dataclasses import replace

from gpudiy.litmus import Test
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import Access, CacheOperator, Order, ScalarType, Scope
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.condition import Compare, Condition, Constant, Expression, FinalRegister, FinalVariable, Quantifier
from gpudiy.litmus.memory_map import MappedVariable, MemoryMap
from gpudiy.litmus.test import RegisterDeclaration
from gpudiy.locks.lock_program import LockProgram, ends_thread, is_hole
from gpudiy.locks.placement import ThreadPlacement
from gpudiy.ptx import OpaqueInstruction, PtxSpace, PtxStatement

DATA, INSIDE, END = "x", "inside", "END"
IGNORED = ("nanosleep", "pragma")


class UnlikeThis(Exception):
    """A lock that this simple translation does not cover."""


class _ThreadWriter:
    """Writes the code of one thread."""

    def __init__(self, program: LockProgram, thread: int, count: bool) -> None:
        self.program, self.thread, self.count = program, thread, count
        self.code: list[isa.Instruction] = []
        self.pointers: dict[str, tuple[str, int]] = {name: (name, 0) for name in program.variables}
        self.names: dict[str, isa.Register] = {}
        self.types: dict[str, ScalarType] = {}
        self.variables: set[str] = set()
        self.seen = ""

    def write(self) -> None:
        labels: dict[int, list[str]] = {}
        for name, position in self.program.labels.items():
            labels.setdefault(position, []).append(name)
        for position, statement in enumerate(self.program.statements):
            self.code += [isa.Label(_label(name)) for name in labels.get(position, ())]
            self._statement(statement)
        self.code += [isa.Label(_label(name)) for name in labels.get(len(self.program.statements), ())]
        self.code.append(isa.Label(END))

    def _statement(self, statement: PtxStatement) -> None:
        instruction, guard = statement.instruction, self._guard(statement)
        match instruction:
            case OpaqueInstruction():
                self._opaque(statement, instruction, guard)
            case isa.Branch():
                self.code.append(isa.Branch(_label(instruction.target), guard))
            case isa.Alu(destination=to, sources=(source, *rest)) if _name(source) in self.pointers:
                base, offset = self.pointers[_name(source)]
                more = rest[0].value if rest and isinstance(rest[0], isa.Immediate) else 0
                self.pointers[to.name] = (base, offset + more)
            case isa.Alu() | isa.SetPredicate():
                sources = tuple(map(self._operand, instruction.sources))
                type = ScalarType.PRED if isinstance(instruction, isa.SetPredicate) else instruction.type
                to = self._register(instruction.destination.name, type)
                self.code.append(replace(instruction, destination=to, sources=sources, guard=guard))
            case isa.Load():
                access = _normalise(instruction.access)
                to = self._register(instruction.destination.name, access.type)
                self.code.append(isa.Load(to, self._variable(statement), access, guard))
            case isa.Store():
                source = self._operand(instruction.source)
                self.code.append(isa.Store(self._variable(statement), source, _normalise(instruction.access), guard))
            case isa.Atomic():
                access = replace(instruction.access, space=None)
                if access.type[0] == "u":
                    access = replace(access, type=access.type.of_kind("s"))
                to = self._register(instruction.destination.name, ScalarType(f"s{access.type.bits}"))
                sources = tuple(map(self._operand, instruction.sources))
                self.code.append(
                    isa.Atomic(instruction.operation, to, self._variable(statement), sources, access, guard)
                )
            case isa.Fence():
                self.code.append(replace(instruction, guard=guard))
            case _:
                raise UnlikeThis(statement.text)

    def _opaque(self, statement: PtxStatement, instruction: OpaqueInstruction, guard: isa.Guard | None) -> None:
        kind = statement.opcode[0]
        if is_hole(statement):
            self._section()
        elif ends_thread(statement):
            self.code.append(isa.Branch(END, guard))
        elif kind == "ld" and statement.space is PtxSpace.PARAM:
            (address,) = statement.addresses
            assert address.base is not None
            name = self.program.parameters.get(address.base.name, address.base.name)
            (to,) = instruction.destinations
            if statement.opcode[-1].endswith("64"):
                self.pointers[to.name] = (name, address.offset)
            else:  # a number that the thread receives, such as its turn
                register = self._register(to.name, ScalarType.S32)
                number = isa.Immediate(self.thread)
                self.code.append(isa.Alu(isa.AluOperation.MOV, ScalarType.S32, register, (number,)))
        elif kind == "cvta":
            self.pointers[instruction.destinations[0].name] = self.pointers[_name(instruction.sources[0])]
        elif kind not in IGNORED:
            raise UnlikeThis(statement.text)

    def _section(self) -> None:
        if self.count:
            seen, gone = self._register("%seen", ScalarType.S32), self._register("%gone", ScalarType.S32)
            self.seen = seen.name
            for register, number in ((seen, 1), (gone, -1)):
                add = isa.AtomicOperation.ADD
                access = Access(type=ScalarType.S32, order=Order.RELAXED, scope=Scope.SYS)
                self.code.append(isa.Atomic(add, register, isa.Variable(INSIDE), (isa.Immediate(number),), access))
            self.variables.add(INSIDE)
            return
        old, new = self._register("%old", ScalarType.S32), self._register("%new", ScalarType.S32)
        access = _normalise(Access(type=ScalarType.S32))
        self.code += [
            isa.Load(old, isa.Variable(DATA), access),
            isa.Alu(isa.AluOperation.ADD, ScalarType.S32, new, (old, isa.Immediate(1))),
            isa.Store(isa.Variable(DATA), new, access),
        ]
        self.variables.add(DATA)

    def _variable(self, statement: PtxStatement) -> isa.Variable:
        (address,) = statement.addresses
        assert address.base is not None
        base, offset = self.pointers.get(address.base.name, (address.base.name, 0))
        name = f"v_{base}_{offset + address.offset}"
        self.variables.add(name)
        return isa.Variable(name)

    def _guard(self, statement: PtxStatement) -> isa.Guard | None:
        guard = statement.guard
        return None if guard is None else replace(guard, predicate=self.names[guard.predicate.name])

    def _operand(self, operand: isa.Operand) -> isa.Operand:
        if isinstance(operand, isa.Immediate):
            return operand
        if operand.name not in self.names:
            raise UnlikeThis(operand.name)
        return self.names[operand.name]

    def _register(self, name: str, type: ScalarType) -> isa.Register:
        if name not in self.names:
            letter = "p" if type is ScalarType.PRED else "r"
            self.names[name] = isa.Register(f"{letter}{len(self.names)}")
            self.types[self.names[name].name] = type
        return self.names[name]


def write_whole_program(program: LockProgram, threads: int, placement: ThreadPlacement, count: bool = False) -> Test:
    """Each thread takes the lock, adds 1 to x and releases the lock: is an addition lost?

    With `count`, each thread instead adds 1 to a counter as it enters and takes 1 away as it leaves: does a thread
    find another one inside?
    """
    writers = [_ThreadWriter(program, number, count) for number in range(threads)]
    for writer in writers:
        writer.write()
    asked: Expression = Compare(Comparison.NE, FinalVariable(DATA), Constant(threads))
    if count:
        asked = Compare(Comparison.EQ, FinalRegister(threads - 1, writers[-1].seen), Constant(1))
    variables = sorted({name for writer in writers for name in writer.variables})
    return Test(
        name="whole-program",
        threads=tuple(tuple(writer.code) for writer in writers),
        registers=tuple(RegisterDeclaration(w.thread, name, type) for w in writers for name, type in w.types.items()),
        init=(),
        scope_tree=placement.tree(threads),
        memory_map=MemoryMap(tuple(MappedVariable(name) for name in variables)),
        condition=Condition(Quantifier.EXISTS, asked),
    )


def _label(name: str) -> str:
    return "".join(letter for letter in name if letter.isalnum()).upper() or "L"


def _name(operand: object) -> str:
    return getattr(operand, "name", "")


def _normalise(access: Access) -> Access:
    """A plain access goes to L2, as in the literature; its sign does not matter."""
    access = replace(access, space=None, type=access.type.of_kind("s"))
    plain = access.order is Order.WEAK and access.cache is None
    return replace(access, cache=CacheOperator.CG) if plain else access
