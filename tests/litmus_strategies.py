"""Random valid tests for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from gpudiy.litmus import condition as logic
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import (
    ACCESS_SCOPES,
    MEMBAR_SCOPES,
    Access,
    CacheOperator,
    Order,
    Proxy,
    ScalarType,
    Scope,
    Space,
)
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.memory_map import MappedVariable, MemoryMap
from gpudiy.litmus.scope_tree import ScopeTree
from gpudiy.litmus.test import InitialMemory, RegisterDeclaration, Test
from gpudiy.litmus.traits import ATOMIC, LOAD, REDUCE, STORE

TRAITS = {isa.Load: LOAD, isa.Store: STORE, isa.Atomic: ATOMIC, isa.Reduce: REDUCE}

S32 = ScalarType.S32
DATA = ("r0", "r1", "r2")
PREDICATES = ("p0", "p1")
LABELS = ("L0", "LC01")
VALUES = st.integers(0, 3) | st.sampled_from([-1, 70000, 2**31 - 1])
BITWISE = ("cas", "exch", "and", "or", "xor")
HOST = -1  # the device of threads on the host


@st.composite
def scope_trees(draw: st.DrawFn, threads: int, hosts: bool = False) -> ScopeTree:
    """Any tree: each thread joins an earlier one up to some level, or starts groups of its own.

    With `hosts`, some threads may be on the host, but not all.
    """
    numbers = st.integers(0, threads - 1)
    on_host = draw(st.sets(numbers, max_size=threads - 1)) if hosts and draw(st.booleans()) else set()
    placements: list[list[int]] = []
    for number in range(threads):
        own = [number * 10 + level for level in range(5)]
        others = [placement for placement in placements if placement[4] != HOST]
        if number in on_host:
            own[4] = HOST
        elif others and draw(st.booleans()):
            like, shared = draw(st.sampled_from(others)), draw(st.integers(0, 4))
            own[shared:] = like[shared:]
        placements.append(own)
    return ScopeTree.of(placements, HOST if on_host else None)


@st.composite
def expressions(
    draw: st.DrawFn, terms: list[logic.FinalRegister | logic.FinalVariable], depth: int = 2
) -> logic.Expression:
    kind = draw(st.sampled_from(["compare"] * 3 + ["and", "or", "not", "implies", "true"])) if depth else "compare"
    inner = expressions(terms, depth - 1)
    if kind == "and":
        return logic.And(tuple(draw(st.lists(inner, min_size=2, max_size=3))))
    if kind == "or":
        return logic.Or(tuple(draw(st.lists(inner, min_size=2, max_size=3))))
    if kind == "not":
        return logic.Not(draw(inner))
    if kind == "implies":
        return logic.Implies(draw(inner), draw(inner))
    if kind == "true":
        return draw(st.sampled_from([logic.And(()), logic.Or(())]))
    right = draw(st.sampled_from(terms) | VALUES.map(logic.Constant))
    return logic.Compare(draw(st.sampled_from(Comparison)), draw(st.sampled_from(terms)), right)


def accesses(kind: type, space: Space, on_host: bool = False) -> st.SearchStrategy[Access]:
    """Attributes that an instruction of this kind can have for a variable of this space."""

    @st.composite
    def access(draw: st.DrawFn) -> Access:
        orders = [order for order in TRAITS[kind].orders if order.reaches(space)]
        if on_host:
            order = draw(st.sampled_from([order for order in orders if order is not Order.MMIO]))
            return Access(S32, order, Scope.SYS if order.takes_scope else None, draw(st.sampled_from([None, space])))
        order = draw(st.sampled_from(orders))
        scope = draw(st.sampled_from(ACCESS_SCOPES)) if order.takes_scope else None
        cache = None
        if order is Order.WEAK and kind in (isa.Load, isa.Store):
            words = ["ca", "cg", "cs", "cv", "lu"] if kind is isa.Load else ["wb", "cg", "cs", "wt"]
            cache = draw(st.sampled_from([None, *map(CacheOperator, words)]))
        proxy = Proxy.GENERIC
        if space is Space.GLOBAL and cache is None and kind is isa.Load:
            proxy = draw(st.sampled_from([Proxy.GENERIC] * 4 + list(Proxy)))
        return Access(S32, order, scope, draw(st.sampled_from([None, space])), cache, proxy)

    return access()


@st.composite
def instructions(draw: st.DrawFn, addresses: dict[str, Space], on_host: bool = False) -> isa.Instruction:
    """Any instruction but labels and branches; `addresses` are variables and registers that hold an address."""
    data = st.sampled_from(DATA).map(isa.Register)
    operand = data | VALUES.map(isa.Immediate)
    guard = draw(st.none() | st.builds(isa.Guard, st.sampled_from(PREDICATES).map(isa.Register), st.booleans()))
    kinds = [
        isa.Load,
        isa.Store,
        isa.Load,
        isa.Store,
        isa.Atomic,
        isa.Reduce,
        isa.Fence,
        isa.ProxyFence,
        isa.Barrier,
        isa.Alu,
        isa.SetPredicate,
    ]
    kind = draw(st.sampled_from([kind for kind in kinds if not on_host or kind not in (isa.ProxyFence, isa.Barrier)]))
    if kind in (isa.Load, isa.Store, isa.Atomic, isa.Reduce):
        name = draw(st.sampled_from(sorted(addresses)))
        address = isa.Register(name) if name.startswith("a") else isa.Variable(name)
        access = draw(accesses(kind, addresses[name], on_host))
        if kind is isa.Load:
            return isa.Load(draw(data), address, access, guard)
        if kind is isa.Store:
            return isa.Store(address, draw(operand), access, guard)
        return _atomic(draw, kind, address, access, guard)
    if kind is isa.Fence:
        fence = draw(st.sampled_from(isa.FenceKind))
        scopes = MEMBAR_SCOPES if fence is isa.FenceKind.MEMBAR else ACCESS_SCOPES
        return isa.Fence(fence, Scope.SYS if on_host else draw(st.sampled_from(scopes)), guard)
    if kind is isa.ProxyFence:
        return isa.ProxyFence(draw(st.sampled_from(isa.ProxyFenceKind)), guard)
    if kind is isa.Barrier:
        small = st.integers(0, 3).map(isa.Immediate)
        count = draw(st.none() | small)
        return isa.Barrier(
            draw(st.sampled_from(isa.BarrierMode)), draw(small | data), count, draw(st.integers(0, 2)), guard
        )
    if kind is isa.Alu:
        return _alu(draw, operand, guard)
    comparison = draw(st.sampled_from(Comparison))
    predicate = isa.Register(draw(st.sampled_from(PREDICATES)))
    return isa.SetPredicate(comparison, S32, predicate, (draw(operand), draw(operand)), guard)


def _atomic(draw, kind, address, access, guard):  # type: ignore[no-untyped-def]
    operations = [op for op in isa.AtomicOperation if kind is isa.Atomic or op not in ("cas", "exch")]
    operation = draw(st.sampled_from(operations))
    word = "b32" if operation in BITWISE else "u32" if operation in ("inc", "dec") else "s32"
    access = Access(ScalarType(word), access.order, access.scope, access.space, None, Proxy.GENERIC)
    value = st.integers(0, 3).map(isa.Immediate) | st.sampled_from(DATA).map(isa.Register)
    sources = tuple(draw(value) for _ in range(2 if operation == "cas" else 1))
    if kind is isa.Reduce:
        return isa.Reduce(operation, address, sources, access, guard)
    return isa.Atomic(operation, isa.Register(draw(st.sampled_from(DATA))), address, sources, access, guard)


def _alu(draw, operand, guard):  # type: ignore[no-untyped-def]
    operation = draw(st.sampled_from([op for op in isa.AluOperation if op is not isa.AluOperation.CVT]))
    sources = [draw(operand) for _ in range(operation.arity)]
    if operation is isa.AluOperation.SELP:
        sources[2] = isa.Register(draw(st.sampled_from(PREDICATES)))
    type = ScalarType.B32 if operation in ("and", "or", "xor", "not", "shl") else S32
    return isa.Alu(operation, type, isa.Register(draw(st.sampled_from(DATA))), tuple(sources), None, guard)


@st.composite
def threads(draw: st.DrawFn, addresses: dict[str, Space], on_host: bool = False) -> tuple[isa.Instruction, ...]:
    body = draw(st.lists(instructions(addresses, on_host), max_size=5))
    labels = draw(st.sets(st.sampled_from(LABELS)))
    for label in sorted(labels):
        body.insert(draw(st.integers(0, len(body))), isa.Label(label))
        guard = draw(st.none() | st.builds(isa.Guard, st.sampled_from(PREDICATES).map(isa.Register), st.booleans()))
        body.insert(draw(st.integers(0, len(body))), isa.Branch(label, guard))
    return tuple(body)


@st.composite
def litmus_tests(draw: st.DrawFn) -> Test:
    """A valid test of one to four threads over at most three variables."""
    count = draw(st.integers(1, 4))
    tree = draw(scope_trees(count, hosts=True))
    one_cta = len({placement.cta for placement in tree.placements}) == 1
    names = ["x", "y", "z"][: draw(st.integers(1, 3))]
    spaces = {name: draw(st.sampled_from(Space)) if one_cta else Space.GLOBAL for name in names}
    variables = [MappedVariable(name, spaces[name]) for name in names]
    if spaces["x"] is Space.GLOBAL and draw(st.booleans()):
        variables.append(MappedVariable("t", Space.GLOBAL, "x", draw(st.sampled_from(Proxy))))
    registers: list[RegisterDeclaration] = []
    bodies = []
    for number in range(count):
        held = {f"a{index}": draw(st.sampled_from(names)) for index in range(draw(st.integers(0, 2)))}
        registers += [RegisterDeclaration(number, name, S32, draw(st.just(0) | VALUES)) for name in DATA]
        registers += [
            RegisterDeclaration(number, name, ScalarType.B64, logic.AddressOf(to)) for name, to in held.items()
        ]
        registers += [RegisterDeclaration(number, name, ScalarType.PRED) for name in PREDICATES]
        on_host = tree.is_on_host(number)
        addresses = {variable.name: variable.space for variable in variables if not (on_host and variable.aliases)}
        addresses |= {name: spaces[to] for name, to in held.items()}
        bodies.append(draw(threads(addresses, on_host)))
    terms = [logic.FinalRegister(number, name) for number in range(count) for name in DATA] + list(
        map(logic.FinalVariable, names)
    )
    text = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs", "S"]), max_size=12)
    return Test(
        name=draw(st.sampled_from(["SB", "MP+membar.gl", "2+2W"])),
        threads=tuple(bodies),
        registers=tuple(registers),
        init=tuple(InitialMemory(name, draw(st.integers(1, 5))) for name in names if draw(st.booleans())),
        scope_tree=tree,
        memory_map=MemoryMap(tuple(variables)),
        condition=logic.Condition(draw(st.sampled_from(logic.Quantifier)), draw(expressions(terms))),
        doc=draw(text | st.just("Rfe Fre") | st.just('two\nlines "quoted" \\ /\\')),
        cycle=draw(st.sampled_from(["", "PodWR Fre PodWR Fre"])),
        filter=draw(st.none() | expressions(terms, 1)),
        locations=tuple(draw(st.lists(st.sampled_from(terms), max_size=2, unique=True))),
    )


__all__ = ["Scope", "litmus_tests", "scope_trees"]
