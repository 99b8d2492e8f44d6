"""From the text of a PTX instruction to the instruction it is: opcodes and their modifiers, in any order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from gpudiy.errors import format_count, near_name
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import (
    ACCESS_SCOPES,
    MEMBAR_WORDS,
    Access,
    CacheOperator,
    Order,
    Proxy,
    ScalarType,
    Scope,
    Space,
)
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.grammar import RawInstruction, RawOperand, SyntaxProblem
from gpudiy.litmus.traits import ATOMIC, LOAD, REDUCE, STORE

Types = Mapping[str, ScalarType]
Kind = TypeVar("Kind")

TYPES = {type.value: type for type in ScalarType}
ORDERS = {order.value: order for order in Order}
LONG_ORDERS = tuple(order for order in Order if len(order.words) > 1)
SCOPES = {scope.word: scope for scope in ACCESS_SCOPES}
SPACES = {"global": Space.GLOBAL, "shared": Space.SHARED, "shared::cta": Space.SHARED}
CACHES = {cache.value: cache for cache in CacheOperator}
OPERATIONS = {operation.value: operation for operation in isa.AtomicOperation}
COMPARISONS = {comparison.value: comparison for comparison in Comparison}
FENCE_KINDS = {kind.value: kind for kind in isa.FenceKind if kind is not isa.FenceKind.MEMBAR}
PROXY_FENCES = {kind.value: kind for kind in isa.ProxyFenceKind}
MODES = {mode.value: mode for mode in isa.BarrierMode}

LOADS, STORES, ATOMICS, REDUCTIONS = (
    {word: proxy for proxy, word in traits.words.items()} for traits in (LOAD, STORE, ATOMIC, REDUCE)
)
ALU = {operation.value: operation for operation in isa.AluOperation}
OPCODES = (*LOADS, *STORES, *ATOMICS, *REDUCTIONS, *ALU, "membar", "fence", "bar", "barrier", "setp", "bra")

INSTANCE = re.compile(r"inst(\d{1,9})\Z", re.ASCII)
BITWISE_ATOMICS = frozenset({"cas", "exch", "and", "or", "xor"})
BITWISE_ALU = frozenset({"and", "or", "xor", "not", "shl"})


class Modifiers:
    """The dotted words after an opcode, taken out one kind at a time; what is left at the end is unknown."""

    def __init__(self, raw: RawInstruction) -> None:
        self.opcode = raw.opcode[0]
        self.words = list(raw.opcode[1:])
        self.text = ".".join(raw.opcode)

    def take(self, what: str, table: Mapping[str, Kind]) -> Kind | None:
        found = [word for word in self.words if word in table]
        if len(found) > 1:
            problem = f"{self.text} names two {what}s: .{found[0]} and .{found[1]}"
            raise SyntaxProblem(problem, token=found[1], occurrence=found[0] == found[1])
        if not found:
            return None
        self.words.remove(found[0])
        return table[found[0]]

    def drop(self, word: str) -> None:
        """Drop one redundant word."""
        if word in self.words:
            self.words.remove(word)

    def need(self, what: str, table: Mapping[str, Kind]) -> Kind:
        found = self.take(what, table)
        if found is None:
            word = self.words[0] if self.words else None
            problem = f"unknown {what} .{word} in {self.text}" if word else f"{self.opcode} needs a {what}"
            hint = (near_name(word, list(table)) if word else None) or f"{what}s: " + ", ".join(table)
            raise SyntaxProblem(problem, token=word, hint=hint)
        return found

    def finish(self, *tables: Mapping[str, object]) -> None:
        if self.words:
            word = self.words[0]
            known = word in EVERY_MODIFIER
            message = f"{self.opcode} cannot have .{word}" if known else f"unknown modifier .{word} in {self.text}"
            names = [name for table in tables for name in table]
            hint = None
            if names and not known:
                hint = near_name(word, names) or "modifiers: " + ", ".join(names)
            raise SyntaxProblem(message, token=word, hint=hint, occurrence=self.text.split(".").count(word) - 1)


EVERY_MODIFIER = frozenset((*TYPES, *ORDERS, *SCOPES, *SPACES, *CACHES, *OPERATIONS, *FENCE_KINDS))


def build_instruction(raw: RawInstruction, types: Types, variables: frozenset[str]) -> isa.Instruction:
    """The instruction of a PTX cell in a thread whose registers have these types."""
    modifiers = Modifiers(raw)
    opcode = modifiers.opcode
    guard = None if raw.guard is None else isa.Guard(isa.Register(raw.guard), raw.negated)
    resolver = Operands(raw, types, variables)
    if opcode in LOADS:
        access = _access(modifiers, resolver, LOADS[opcode], Order.WEAK)
        destination, address = resolver.take("register", "address")
        return isa.Load(resolver.register(destination), resolver.address(address), access, guard)
    if opcode in STORES:
        access = _access(modifiers, resolver, STORES[opcode], Order.WEAK)
        address, source = resolver.take("address", "value")
        return isa.Store(resolver.address(address), resolver.value(source), access, guard)
    if opcode in ATOMICS or opcode in REDUCTIONS:
        return _atomic(modifiers, resolver, guard)
    if opcode in ("membar", "fence"):
        return _fence(modifiers, resolver, guard)
    if opcode in ("bar", "barrier"):
        return _barrier(modifiers, resolver, guard)
    if opcode == "setp":
        return _set_predicate(modifiers, resolver, guard)
    if opcode == "bra":
        return _branch(modifiers, resolver, guard)
    if opcode in ALU:
        return _alu(modifiers, resolver, guard)
    hint = near_name(opcode, OPCODES) or "operators: " + ", ".join(OPCODES)
    raise SyntaxProblem(f"unknown operator {opcode!r}", token=opcode, hint=hint)


class Operands:
    """The operands of one instruction, and what the names in them are."""

    def __init__(self, raw: RawInstruction, types: Types, variables: frozenset[str]) -> None:
        self.opcode = raw.opcode[0]
        self.operands = raw.operands
        self.types = types
        self.variables = variables

    def take(self, *expected: str) -> tuple[RawOperand, ...]:
        if len(self.operands) != len(expected):
            listed = ", ".join(f"[{what}]" if what == "address" else what for what in expected) or "no operands"
            raise SyntaxProblem(f"{self.opcode} takes {listed}, not {format_count(len(self.operands), 'operand')}")
        return self.operands

    def register(self, operand: RawOperand) -> isa.Register:
        if operand.kind != "name" or (operand.text in self.variables and operand.text not in self.types):
            raise SyntaxProblem(
                f"{self.opcode} needs a register here, not {_operand_text(operand)}", token=operand.text
            )
        return isa.Register(operand.text)

    def address(self, operand: RawOperand) -> isa.Address:
        if operand.kind != "address":
            raise SyntaxProblem(
                f"{self.opcode} needs an address such as [x] here, not {_operand_text(operand)}", token=operand.text
            )
        return self.find_name(operand.text)

    def value(self, operand: RawOperand) -> isa.Operand:
        if operand.kind == "number":
            return isa.Immediate(operand.value)
        if operand.kind == "address":
            raise SyntaxProblem(f"{self.opcode} cannot take {_operand_text(operand)} here", token=operand.text)
        return isa.Variable(operand.text) if operand.kind == "address-of" else self.find_name(operand.text)

    def find_name(self, name: str) -> isa.Register | isa.Variable:
        if name in self.types or name not in self.variables:
            return isa.Register(name)
        return isa.Variable(name)

    def common_type(self) -> ScalarType:
        """The type an instruction without one has: that of its first register that is not a predicate."""
        for operand in self.operands:
            type = self.types.get(operand.text) if operand.kind == "name" else None
            if type is not None and type is not ScalarType.PRED:
                return type
        return ScalarType.S32


def _operand_text(operand: RawOperand) -> str:
    return f"[{operand.text}]" if operand.kind == "address" else operand.text


def _type(modifiers: Modifiers, operands: Operands) -> ScalarType:
    return modifiers.take("type", TYPES) or operands.common_type()


def _access(modifiers: Modifiers, operands: Operands, proxy: Proxy, default: Order) -> Access:
    order = _order(modifiers) or default
    scope = modifiers.take("scope", SCOPES)
    space = modifiers.take("space", SPACES)
    cache = modifiers.take("cache operator", CACHES)
    type = _type(modifiers, operands)
    modifiers.finish(ORDERS, SCOPES, SPACES, CACHES, TYPES)
    return Access(type, order, scope, space, cache, proxy)


def _order(modifiers: Modifiers) -> Order | None:
    for order in LONG_ORDERS:
        if order.value in modifiers.words:
            missing = [word for word in order.words if word not in modifiers.words]
            if missing:
                raise SyntaxProblem(f"{modifiers.text} must have {order.spelling}", token=order.value)
            for word in order.words:
                modifiers.words.remove(word)
            return order
    return modifiers.take("order", ORDERS)


def _atomic(modifiers: Modifiers, operands: Operands, guard: isa.Guard | None) -> isa.Instruction:
    """Without an order it is relaxed, without a scope its scope is gpu; its type is the one PTX has for it."""
    operation = modifiers.need("operation", OPERATIONS)
    returns = modifiers.opcode in ATOMICS
    proxy = (ATOMICS if returns else REDUCTIONS)[modifiers.opcode]
    access = _access(modifiers, operands, proxy, Order.RELAXED)
    scope = access.scope
    if scope is None and access.order.takes_scope:
        scope = Scope.GPU
    type = _atomic_type(operation, access.type)
    access = Access(type, access.order, scope, access.space, access.cache, access.proxy)
    values = ("value", "value") if operation is isa.AtomicOperation.CAS else ("value",)
    if returns:
        destination, address, *sources = operands.take("register", "address", *values)
        register = operands.register(destination)
        return isa.Atomic(
            operation, register, operands.address(address), tuple(map(operands.value, sources)), access, guard
        )
    address, *sources = operands.take("address", *values)
    return isa.Reduce(operation, operands.address(address), tuple(map(operands.value, sources)), access, guard)


def _atomic_type(operation: isa.AtomicOperation, type: ScalarType) -> ScalarType:
    if type is ScalarType.PRED:
        return type
    if operation in BITWISE_ATOMICS:
        return type.of_kind("b")
    if operation in ("inc", "dec"):
        return type.of_kind("u")
    return type.of_kind("s") if type[0] == "b" else type


def _fence(modifiers: Modifiers, operands: Operands, guard: isa.Guard | None) -> isa.Instruction:
    """Without an order a fence is acq_rel, as in PTX."""
    operands.take()
    if modifiers.opcode == "membar":
        scope = modifiers.need("scope", MEMBAR_WORDS)
        modifiers.finish()
        return isa.Fence(isa.FenceKind.MEMBAR, scope, guard)
    if modifiers.words[:1] == ["proxy"]:
        proxy = ".".join(modifiers.words[1:])
        if not proxy:
            raise SyntaxProblem("fence.proxy needs a proxy", token="proxy", hint="proxies: " + ", ".join(PROXY_FENCES))
        if proxy not in PROXY_FENCES:
            hint = near_name(proxy, list(PROXY_FENCES)) or "proxies: " + ", ".join(PROXY_FENCES)
            raise SyntaxProblem(f"unknown proxy {proxy!r}", token=proxy, hint=hint)
        return isa.ProxyFence(PROXY_FENCES[proxy], guard)
    unordered = all(word in SCOPES for word in modifiers.words)
    kind = isa.FenceKind.ACQ_REL if unordered else modifiers.need("order", FENCE_KINDS)
    scope = modifiers.need("scope", SCOPES)
    modifiers.finish()
    return isa.Fence(kind, scope, guard)


def _barrier(modifiers: Modifiers, operands: Operands, guard: isa.Guard | None) -> isa.Instruction:
    """bar.sync, bar.cta.sync, barrier.sync, …, and `.instN` for the statement a model may tell apart."""
    modifiers.drop("cta")
    modifiers.drop("aligned")
    mode = modifiers.need("mode", MODES)
    instance = 0
    if modifiers.words and (numbered := INSTANCE.match(modifiers.words[0])):
        instance = int(numbered[1])
        modifiers.words.pop(0)
    modifiers.finish(MODES)
    if not 1 <= len(operands.operands) <= 2:
        raise SyntaxProblem("a barrier takes an identifier and, perhaps, a count of threads")
    identifier, *count = map(operands.value, operands.operands)
    return isa.Barrier(mode, identifier, count[0] if count else None, instance, guard)


def _set_predicate(modifiers: Modifiers, operands: Operands, guard: isa.Guard | None) -> isa.Instruction:
    comparison = modifiers.need("comparison", COMPARISONS)
    type = _type(modifiers, operands)
    modifiers.finish(COMPARISONS, TYPES)
    destination, left, right = operands.take("register", "value", "value")
    type = type.of_kind("s") if not comparison.equates and type[0] == "b" else type
    sources = (operands.value(left), operands.value(right))
    return isa.SetPredicate(comparison, type, operands.register(destination), sources, guard)


def _branch(modifiers: Modifiers, operands: Operands, guard: isa.Guard | None) -> isa.Instruction:
    modifiers.drop("uni")
    modifiers.finish()
    (target,) = operands.take("label")
    if target.kind != "name":
        raise SyntaxProblem(f"bra needs a label, not {_operand_text(target)}", token=target.text)
    return isa.Branch(target.text, guard)


def _alu(modifiers: Modifiers, operands: Operands, guard: isa.Guard | None) -> isa.Instruction:
    operation = ALU[modifiers.opcode]
    if operation is isa.AluOperation.MUL:
        modifiers.drop("lo")
    source_type = None
    if operation is isa.AluOperation.CVT:
        words = [word for word in modifiers.words if word in TYPES]
        if len(words) != 2 or len(modifiers.words) != 2:
            raise SyntaxProblem("cvt needs two types, as in cvt.u64.u32")
        type, source_type = TYPES[words[0]], TYPES[words[1]]
    else:
        type = _type(modifiers, operands)
        modifiers.finish(TYPES)
    if type is not ScalarType.PRED:
        if operation in BITWISE_ALU:
            type = type.of_kind("b")
        elif operation not in ("mov", "selp", "shr", "cvt") and type[0] == "b":
            type = type.of_kind("u" if type.bits == 64 else "s")
    destination, *sources = operands.take("register", *["value"] * operation.arity)
    return isa.Alu(
        operation, type, operands.register(destination), tuple(map(operands.value, sources)), source_type, guard
    )
