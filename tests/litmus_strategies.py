"""Random valid tests for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from gpudiy.litmus.access import ACCESS_SCOPES, Access, CacheOperator, Order, Proxy, ScalarType, Scope, Space
from gpudiy.litmus.condition import (
    AddressOf,
    And,
    Compare,
    Condition,
    Constant,
    Expression,
    FinalRegister,
    FinalVariable,
    Implies,
    Not,
    Or,
    Quantifier,
)
from gpudiy.litmus.instruction import (
    Alu,
    AluOperation,
    Atomic,
    AtomicOperation,
    Barrier,
    BarrierMode,
    Branch,
    Comparison,
    Fence,
    FenceKind,
    Guard,
    Immediate,
    Instruction,
    Label,
    Load,
    ProxyFence,
    ProxyFenceKind,
    Reduce,
    Register,
    SetPredicate,
    Store,
    Variable,
)
from gpudiy.litmus.instruction_validity import MEMBAR_SCOPES
from gpudiy.litmus.memory_map import MappedVariable, MemoryMap
from gpudiy.litmus.scope_tree import ScopeTree
from gpudiy.litmus.test import InitialMemory, RegisterDeclaration, Test
from gpudiy.litmus.traits import ATOMIC, LOAD, REDUCE, STORE

TRAITS = {Load: LOAD, Store: STORE, Atomic: ATOMIC, Reduce: REDUCE}

S32 = ScalarType.S32
DATA = ("r0", "r1", "r2")
PREDICATES = ("p0", "p1")
LABELS = ("L0", "LC01")
VALUES = st.integers(0, 3) | st.sampled_from([-1, 70000, 2**31 - 1])
BITWISE = ("cas", "exch", "and", "or", "xor")


@st.composite
def scope_trees(draw: st.DrawFn, threads: int) -> ScopeTree:
    """Any tree: each thread joins an earlier one up to some level, or starts groups of its own."""
    placements: list[list[int]] = []
    for number in range(threads):
        own = [number * 10 + level for level in range(5)]
        if placements and draw(st.booleans()):
            like, shared = draw(st.sampled_from(placements)), draw(st.integers(0, 4))
            own[shared:] = like[shared:]
        placements.append(own)
    return ScopeTree.of(placements)


@st.composite
def expressions(draw: st.DrawFn, terms: list[FinalRegister | FinalVariable], depth: int = 2) -> Expression:
    kind = draw(st.sampled_from(["compare"] * 3 + ["and", "or", "not", "implies", "true"])) if depth else "compare"
    inner = expressions(terms, depth - 1)
    if kind == "and":
        return And(tuple(draw(st.lists(inner, min_size=2, max_size=3))))
    if kind == "or":
        return Or(tuple(draw(st.lists(inner, min_size=2, max_size=3))))
    if kind == "not":
        return Not(draw(inner))
    if kind == "implies":
        return Implies(draw(inner), draw(inner))
    if kind == "true":
        return draw(st.sampled_from([And(()), Or(())]))
    right = draw(st.sampled_from(terms) | VALUES.map(Constant))
    return Compare(draw(st.sampled_from(Comparison)), draw(st.sampled_from(terms)), right)


def accesses(kind: type, space: Space) -> st.SearchStrategy[Access]:
    """Attributes that an instruction of this kind can have for a variable of this space."""

    @st.composite
    def access(draw: st.DrawFn) -> Access:
        order = draw(st.sampled_from([order for order in TRAITS[kind].orders if order.reaches(space)]))
        scope = draw(st.sampled_from(ACCESS_SCOPES)) if order.takes_scope else None
        cache = None
        if order is Order.WEAK and kind in (Load, Store):
            words = ["ca", "cg", "cs", "cv", "lu"] if kind is Load else ["wb", "cg", "cs", "wt"]
            cache = draw(st.sampled_from([None, *map(CacheOperator, words)]))
        proxy = Proxy.GENERIC
        if space is Space.GLOBAL and cache is None and kind is Load:
            proxy = draw(st.sampled_from([Proxy.GENERIC] * 4 + list(Proxy)))
        return Access(S32, order, scope, draw(st.sampled_from([None, space])), cache, proxy)

    return access()


@st.composite
def instructions(draw: st.DrawFn, addresses: dict[str, Space]) -> Instruction:
    """Any instruction but labels and branches; `addresses` are variables and registers that hold an address."""
    data = st.sampled_from(DATA).map(Register)
    operand = data | VALUES.map(Immediate)
    guard = draw(st.none() | st.builds(Guard, st.sampled_from(PREDICATES).map(Register), st.booleans()))
    kind = draw(
        st.sampled_from([Load, Store, Load, Store, Atomic, Reduce, Fence, ProxyFence, Barrier, Alu, SetPredicate])
    )
    if kind in (Load, Store, Atomic, Reduce):
        name = draw(st.sampled_from(sorted(addresses)))
        address = Register(name) if name.startswith("a") else Variable(name)
        access = draw(accesses(kind, addresses[name]))
        if kind is Load:
            return Load(draw(data), address, access, guard)
        if kind is Store:
            return Store(address, draw(operand), access, guard)
        return _atomic(draw, kind, address, access, guard)
    if kind is Fence:
        fence = draw(st.sampled_from(FenceKind))
        scopes = MEMBAR_SCOPES if fence is FenceKind.MEMBAR else ACCESS_SCOPES
        return Fence(fence, draw(st.sampled_from(scopes)), guard)
    if kind is ProxyFence:
        return ProxyFence(draw(st.sampled_from(ProxyFenceKind)), guard)
    if kind is Barrier:
        small = st.integers(0, 3).map(Immediate)
        count = draw(st.none() | small)
        return Barrier(draw(st.sampled_from(BarrierMode)), draw(small | data), count, draw(st.integers(0, 2)), guard)
    if kind is Alu:
        return _alu(draw, operand, guard)
    comparison = draw(st.sampled_from(Comparison))
    predicate = Register(draw(st.sampled_from(PREDICATES)))
    return SetPredicate(comparison, S32, predicate, (draw(operand), draw(operand)), guard)


def _atomic(draw, kind, address, access, guard):  # type: ignore[no-untyped-def]
    operations = [op for op in AtomicOperation if kind is Atomic or op not in ("cas", "exch")]
    operation = draw(st.sampled_from(operations))
    word = "b32" if operation in BITWISE else "u32" if operation in ("inc", "dec") else "s32"
    access = Access(ScalarType(word), access.order, access.scope, access.space, None, Proxy.GENERIC)
    value = st.integers(0, 3).map(Immediate) | st.sampled_from(DATA).map(Register)
    sources = tuple(draw(value) for _ in range(2 if operation == "cas" else 1))
    if kind is Reduce:
        return Reduce(operation, address, sources, access, guard)
    return Atomic(operation, Register(draw(st.sampled_from(DATA))), address, sources, access, guard)


def _alu(draw, operand, guard):  # type: ignore[no-untyped-def]
    operation = draw(st.sampled_from([op for op in AluOperation if op is not AluOperation.CVT]))
    sources = [draw(operand) for _ in range(operation.arity)]
    if operation is AluOperation.SELP:
        sources[2] = Register(draw(st.sampled_from(PREDICATES)))
    type = ScalarType.B32 if operation in ("and", "or", "xor", "not", "shl") else S32
    return Alu(operation, type, Register(draw(st.sampled_from(DATA))), tuple(sources), None, guard)


@st.composite
def threads(draw: st.DrawFn, addresses: dict[str, Space]) -> tuple[Instruction, ...]:
    body = draw(st.lists(instructions(addresses), max_size=5))
    labels = draw(st.sets(st.sampled_from(LABELS)))
    for label in sorted(labels):
        body.insert(draw(st.integers(0, len(body))), Label(label))
        guard = draw(st.none() | st.builds(Guard, st.sampled_from(PREDICATES).map(Register), st.booleans()))
        body.insert(draw(st.integers(0, len(body))), Branch(label, guard))
    return tuple(body)


@st.composite
def litmus_tests(draw: st.DrawFn) -> Test:
    """A valid test of one to four threads over at most three variables."""
    count = draw(st.integers(1, 4))
    tree = draw(scope_trees(count))
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
        registers += [RegisterDeclaration(number, name, ScalarType.B64, AddressOf(to)) for name, to in held.items()]
        registers += [RegisterDeclaration(number, name, ScalarType.PRED) for name in PREDICATES]
        addresses = {variable.name: variable.space for variable in variables}
        addresses |= {name: spaces[to] for name, to in held.items()}
        bodies.append(draw(threads(addresses)))
    terms = [FinalRegister(number, name) for number in range(count) for name in DATA] + list(map(FinalVariable, names))
    text = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs", "S"]), max_size=12)
    return Test(
        name=draw(st.sampled_from(["SB", "MP+membar.gl", "2+2W"])),
        threads=tuple(bodies),
        registers=tuple(registers),
        init=tuple(InitialMemory(name, draw(st.integers(1, 5))) for name in names if draw(st.booleans())),
        scope_tree=tree,
        memory_map=MemoryMap(tuple(variables)),
        condition=Condition(draw(st.sampled_from(Quantifier)), draw(expressions(terms))),
        doc=draw(text | st.just("Rfe Fre") | st.just('two\nlines "quoted" \\ /\\')),
        cycle=draw(st.sampled_from(["", "PodWR Fre PodWR Fre"])),
        filter=draw(st.none() | expressions(terms, 1)),
        locations=tuple(draw(st.lists(st.sampled_from(terms), max_size=2, unique=True))),
    )


__all__ = ["Scope", "litmus_tests", "scope_trees"]
