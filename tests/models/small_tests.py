"""Random small tests for hypothesis: a few threads of a few instructions that often meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hypothesis import assume
from hypothesis import strategies as st
from litmus_strategies import scope_trees

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import Access, CacheOperator, Order, Proxy, ScalarType, Scope, Space
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.condition import And, Condition, FinalRegister, FinalVariable, Quantifier
from gpudiy.litmus.memory_map import MappedVariable, MemoryMap
from gpudiy.litmus.scope_tree import ScopeTree
from gpudiy.litmus.test import InitialMemory, RegisterDeclaration, Test

S32, B32, B64 = ScalarType.S32, ScalarType.B32, ScalarType.B64
HIGH = 0x80000000  # `and` with it gives 0 for all values here, but the result still depends on the register
MEMBARS = (Scope.CTA, Scope.GPU, Scope.SYS)
SCOPES = (Scope.CTA, Scope.GPU, Scope.SYS)
LOAD_OPERATORS = (CacheOperator.CG, CacheOperator.CA, CacheOperator.CA, CacheOperator.CV, CacheOperator.LU, None)
ATOMICS = (
    isa.AtomicOperation.ADD,
    isa.AtomicOperation.EXCH,
    isa.AtomicOperation.CAS,
    isa.AtomicOperation.CAS,
    isa.AtomicOperation.OR,
)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the instructions of a random test may be."""

    orders: bool = False  # relaxed, acquire, release, volatile accesses and fences of all kinds
    proxies: bool = False  # aliases, accesses through other proxies and proxy fences
    caches: bool = False  # loads that L1 may answer, beside those of L2
    dependencies: bool = True
    branches: bool = True
    loops: bool = False  # that wait for a value, count, or change memory until it is as they like it
    barriers: bool = False
    counts: bool = False  # barriers with a count
    instances: tuple[int, ...] = (0, 1)  # of barriers; 0 is none
    one_cta: bool = False
    threads: tuple[int, int] = (2, 3)
    length: int = 3


PLAIN = Vocabulary()


@st.composite
def small_tests(draw: st.DrawFn, vocabulary: Vocabulary = PLAIN) -> Test:
    count = draw(st.integers(*vocabulary.threads))
    variables = [MappedVariable("x"), MappedVariable("y")]
    if vocabulary.proxies:
        variables.append(MappedVariable("a", Space.GLOBAL, "x"))
        variables.append(MappedVariable("t", Space.GLOBAL, "x", draw(st.sampled_from(list(Proxy)[1:]))))
    if draw(st.booleans()):
        threads = [_Thread(draw, vocabulary, variables).crossing(number % 2) for number in range(count)]
    else:
        length = vocabulary.length if count == 2 else max(1, vocabulary.length - 1)
        threads = [_Thread(draw, vocabulary, variables).drawn(length) for _ in range(count)]
    stores = sum(isinstance(each, (isa.Store, isa.Atomic, isa.Reduce)) for thread in threads for each in thread)
    assume(stores <= 5 - vocabulary.proxies)  # the orders of many writes take a search long
    tree = ScopeTree.of([(n, 0, 0, 0, 0) for n in range(count)]) if vocabulary.one_cta else draw(scope_trees(count))
    seen = [
        FinalRegister(number, register.name)
        for number, thread in enumerate(threads)
        for register in dict.fromkeys(
            isa.destination_of(each)
            for each in thread
            if isinstance(each, (isa.Load, isa.Atomic)) and isa.destination_of(each)
        )
    ]
    written = {
        each.address.name
        for thread in threads
        for each in thread
        if isinstance(each, (isa.Store, isa.Atomic, isa.Reduce))
    }
    return Test(
        name="random",
        threads=tuple(threads),
        registers=tuple(
            RegisterDeclaration(number, name, type)
            for number in range(count)
            for name, type in (("r0", S32), ("r1", S32), ("r2", S32), ("q", S32), ("c", S32), ("p", ScalarType.PRED))
        ),
        init=(InitialMemory("y", 1),) if draw(st.integers(0, 5)) == 0 else (),
        scope_tree=tree,
        memory_map=MemoryMap(tuple(variables)),
        condition=Condition(Quantifier.EXISTS, And(())),
        locations=(*seen, *(FinalVariable(name) for name in ("x", "y") if written)),
    )


class _Thread:
    """Draws the instructions of one thread."""

    def __init__(self, draw: st.DrawFn, vocabulary: Vocabulary, variables: list[MappedVariable]) -> None:
        self.draw = draw
        self.vocabulary = vocabulary
        self.variables = variables
        self.loaded: list[isa.Register] = []
        self.labels = 0

    def drawn(self, length: int) -> tuple[isa.Instruction, ...]:
        kinds: list[Callable[[], list[isa.Instruction]]] = [self.load, self.load, self.store, self.store, self.atomic]
        kinds += [self.reduce, self.fence]
        if self.vocabulary.barriers:
            kinds.append(self.barrier)
        if self.vocabulary.proxies:
            kinds += [self.proxy_fence, self.proxy_fence]
        if self.vocabulary.dependencies:
            kinds.append(self.dependent)
        if self.vocabulary.branches:
            kinds += [self.guarded, self.jump]
        if self.vocabulary.loops:
            kinds += [self.wait, self.acquire, self.count, self.repeat]
        thread: list[isa.Instruction] = []
        for _ in range(self.draw(st.integers(1, length))):
            thread += self.draw(st.sampled_from(kinds))()
        return tuple(thread)

    def crossing(self, first: int) -> tuple[isa.Instruction, ...]:
        """An access of x, perhaps something else, and one of y, or the other way round, as in the classic shapes."""
        one, other = self.variables[first], self.variables[1 - first]
        between = [list, list, self.fence, self.fence, self.atomic, lambda: self.load(one)]
        between += [self.barrier] if self.vocabulary.barriers else []
        thread = self.draw(st.sampled_from([self.store, self.load]))(variable=one)
        thread += self.draw(st.sampled_from(between))()
        return (*thread, *self.draw(st.sampled_from([self.load, self.load, self.store]))(variable=other))

    def load(self, variable: MappedVariable | None = None) -> list[isa.Instruction]:
        variable = variable or self.variable()
        destination = isa.Register(f"r{len(self.loaded) % 3}")
        self.loaded.append(destination)
        orders = (Order.WEAK, Order.RELAXED, Order.ACQUIRE, Order.VOLATILE)
        access = self.access(orders, variable.proxy)
        if self.vocabulary.caches and access.order is Order.WEAK:
            access = replace(access, cache=self.draw(st.sampled_from(LOAD_OPERATORS)))
        return [isa.Load(destination, isa.Variable(variable.name), access)]

    def store(
        self, source: isa.Register | None = None, variable: MappedVariable | None = None
    ) -> list[isa.Instruction]:
        variable = variable or self.variable(stores=True)
        orders = (Order.WEAK, Order.RELAXED, Order.RELEASE, Order.VOLATILE)
        value = source or isa.Immediate(self.draw(st.integers(1, 2)))
        return [isa.Store(isa.Variable(variable.name), value, self.access(orders, variable.proxy))]

    def atomic(self) -> list[isa.Instruction]:
        operation = self.draw(st.sampled_from(ATOMICS))
        sources = [isa.Immediate(self.draw(st.integers(0, 2))) for _ in range(2 if operation == "cas" else 1)]
        destination = isa.Register(f"r{len(self.loaded) % 3}")
        self.loaded.append(destination)
        return [isa.Atomic(operation, destination, self.generic(), tuple(sources), self.strong(operation))]

    def reduce(self) -> list[isa.Instruction]:
        operation = self.draw(st.sampled_from([isa.AtomicOperation.ADD, isa.AtomicOperation.OR]))
        return [
            isa.Reduce(
                operation, self.generic(), (isa.Immediate(self.draw(st.integers(1, 2))),), self.strong(operation)
            )
        ]

    def fence(self) -> list[isa.Instruction]:
        kinds = list(isa.FenceKind) if self.vocabulary.orders else [isa.FenceKind.MEMBAR]
        return [isa.Fence(self.draw(st.sampled_from(kinds)), self.draw(st.sampled_from(MEMBARS)))]

    def proxy_fence(self) -> list[isa.Instruction]:
        return [isa.ProxyFence(self.draw(st.sampled_from(list(isa.ProxyFenceKind)[:5])))]

    def barrier(self) -> list[isa.Instruction]:
        counts = st.none() | st.integers(1, 3).map(isa.Immediate) if self.vocabulary.counts else st.none()
        mode = self.draw(st.sampled_from([isa.BarrierMode.SYNC, isa.BarrierMode.SYNC, isa.BarrierMode.ARRIVE]))
        identifier = isa.Immediate(self.draw(st.sampled_from([0, 0, 1])))
        return [isa.Barrier(mode, identifier, self.draw(counts), self.draw(st.sampled_from(self.vocabulary.instances)))]

    def dependent(self) -> list[isa.Instruction]:
        """A store of a value that depends on a read, or whose number only seems to."""
        source = self.draw(st.sampled_from(self.loaded)) if self.loaded else isa.Register("r0")
        if self.draw(st.booleans()):
            return self.store(source)
        held = isa.Register("q")
        seeming = [
            isa.Alu(isa.AluOperation.AND, B32, held, (source, isa.Immediate(HIGH))),
            isa.Alu(isa.AluOperation.AND, B32, held, (source, isa.Immediate(0))),
            isa.Alu(isa.AluOperation.XOR, B32, held, (source, source)),
        ]
        return [
            self.draw(st.sampled_from(seeming)),
            isa.Alu(isa.AluOperation.ADD, S32, held, (held, isa.Immediate(1))),
            *self.store(held),
        ]

    def compared(self) -> tuple[isa.Instruction, isa.Guard]:
        source = self.draw(st.sampled_from(self.loaded)) if self.loaded else isa.Register("r0")
        comparison = self.draw(st.sampled_from([Comparison.EQ, Comparison.NE]))
        setter = isa.SetPredicate(
            comparison, S32, isa.Register("p"), (source, isa.Immediate(self.draw(st.integers(0, 1))))
        )
        return setter, isa.Guard(isa.Register("p"), self.draw(st.booleans()))

    def guarded(self) -> list[isa.Instruction]:
        setter, guard = self.compared()
        store = self.store()[0]
        assert isinstance(store, isa.Store)
        return [setter, isa.Store(store.address, store.source, store.access, guard)]

    def jump(self) -> list[isa.Instruction]:
        setter, guard = self.compared()
        self.labels += 1
        label = f"L{self.labels}"
        return [setter, isa.Branch(label, guard), *self.store(), isa.Label(label)]

    def loop(self, body: list[isa.Instruction]) -> list[isa.Instruction]:
        """The body, again and again while the last value loaded compares with a small number."""
        setter, guard = self.compared()
        self.labels += 1
        label = f"L{self.labels}"
        return [isa.Label(label), *body, setter, isa.Branch(label, guard)]

    def wait(self) -> list[isa.Instruction]:
        """A loop that only reads, perhaps two locations, and perhaps adds up what it read."""
        return self.loop(self.load() + self.draw(st.sampled_from([list, self.load, self.fence, self.add_up]))())

    def add_up(self) -> list[isa.Instruction]:
        """The last value loaded, added to a register that is looked at later."""
        total, last = isa.Register("q"), self.loaded[-1]
        self.loaded.append(total)
        return [isa.Alu(isa.AluOperation.ADD, S32, total, (total, last))]

    def acquire(self) -> list[isa.Instruction]:
        """A loop around an atomic, as in a lock."""
        return self.loop(self.atomic())

    def repeat(self) -> list[isa.Instruction]:
        """A loop that may write, or meet a barrier, in every pass."""
        kinds = [self.store, self.reduce, self.guarded, *([self.barrier] if self.vocabulary.barriers else [])]
        return self.loop(self.load() + self.draw(st.sampled_from(kinds))())

    def count(self) -> list[isa.Instruction]:
        """A loop of one or two passes."""
        self.labels += 1
        label, counter = f"L{self.labels}", isa.Register("c")
        body = self.draw(st.sampled_from([self.load, self.store]))()
        return [
            isa.Alu(isa.AluOperation.MOV, S32, counter, (isa.Immediate(0),)),
            isa.Label(label),
            *body,
            isa.Alu(isa.AluOperation.ADD, S32, counter, (counter, isa.Immediate(1))),
            isa.SetPredicate(
                Comparison.LT, S32, isa.Register("p"), (counter, isa.Immediate(self.draw(st.integers(1, 2))))
            ),
            isa.Branch(label, isa.Guard(isa.Register("p"))),
        ]

    def variable(self, stores: bool = False) -> MappedVariable:
        able = [v for v in self.variables if not stores or v.proxy in (Proxy.GENERIC, Proxy.SURFACE)]
        return self.draw(st.sampled_from(able))

    def generic(self) -> isa.Variable:
        return isa.Variable(self.draw(st.sampled_from([v.name for v in self.variables if v.proxy is Proxy.GENERIC])))

    def access(self, orders: tuple[Order, ...], proxy: Proxy) -> Access:
        if not self.vocabulary.orders:
            return Access(S32, cache=CacheOperator.CG)
        order = self.draw(st.sampled_from(orders))
        return Access(S32, order, self.draw(st.sampled_from(SCOPES)) if order.takes_scope else None, proxy=proxy)

    def strong(self, operation: isa.AtomicOperation) -> Access:
        type = S32 if operation is isa.AtomicOperation.ADD else B32
        orders = [Order.RELAXED, Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL] if self.vocabulary.orders else []
        order = self.draw(st.sampled_from(orders or [Order.RELAXED]))
        return Access(type, order, self.draw(st.sampled_from(SCOPES)) if orders else Scope.GPU)
