"""Whether one instruction is legal: its order, scope, cache operator, operands and their types."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpudiy.errors import format_count
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import (
    ACCESS_SCOPES,
    MEMBAR_SCOPES,
    Access,
    Order,
    Proxy,
    ScalarType,
    Scope,
    Space,
)
from gpudiy.litmus.instruction import guard_of
from gpudiy.litmus.instruction_text import number_text
from gpudiy.litmus.traits import Traits, traits_of

Types = dict[str, ScalarType]

BARRIERS = 16  # of a CTA
PREDICATE_OPERATIONS = frozenset({"mov", "and", "or", "xor", "not"})


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of an instruction; `{thread}` in the message is replaced by its thread."""

    message: str
    token: str | None = None
    hint: str | None = None
    last: bool = False  # the token is the last of its kind in the text


def check_instruction(instruction: isa.Instruction, types: Types) -> Problem | None:
    """The first problem of an instruction in a thread whose registers have these types."""
    guard = guard_of(instruction)
    if guard is not None:
        problem = _register(guard.predicate, ScalarType.PRED, types)
        if problem is not None:
            return problem
    match instruction:
        case isa.Load() | isa.Store() | isa.Atomic() | isa.Reduce():
            return _access(instruction) or _memory_operands(instruction, types)
        case isa.Fence():
            return _fence(instruction)
        case isa.Barrier():
            return _barrier(instruction, types)
        case isa.Alu():
            return _alu(instruction, types)
        case isa.SetPredicate():
            return (
                _register(instruction.destination, ScalarType.PRED, types)
                or _integer_type(instruction.type)
                or _operand(instruction.sources[0], instruction.type, types)
                or _operand(instruction.sources[1], instruction.type, types)
            )
        case isa.ProxyFence() | isa.Branch() | isa.Label():
            return None


def _access(instruction: isa.MemoryInstruction) -> Problem | None:
    """Why the instruction cannot have the attributes of its access."""
    access, traits = instruction.access, traits_of(instruction)
    word = traits.words[Proxy.GENERIC]
    problem = _order(access, traits, word) or _cache(access, traits, word)
    if problem is not None:
        return problem
    if access.proxy not in traits.words:
        return Problem(f"{word} cannot go through the {access.proxy} proxy")
    if access.proxy is not Proxy.GENERIC and access.space is Space.SHARED:
        return Problem(f"an access through the {access.proxy} proxy cannot be .shared", "shared")
    if access.type is ScalarType.PRED:
        return Problem("a predicate cannot be accessed in memory", "pred")
    if isinstance(instruction, (isa.Atomic, isa.Reduce)) and access.type.bits == 16:
        return Problem(f"{word} cannot have type .{access.type}", access.type)
    return None


def _order(access: Access, traits: Traits, word: str) -> Problem | None:
    if access.order not in traits.orders:
        return Problem(f"{word} cannot be .{access.order}", access.order, _either("orders", traits.orders))
    if access.order.takes_scope:
        if access.scope is None:
            return Problem(f"{word}.{access.order} needs a scope", access.order, _scopes(ACCESS_SCOPES))
        if access.scope not in ACCESS_SCOPES:
            return Problem(f"{word} cannot have scope .{access.scope.word}", access.scope.word, _scopes(ACCESS_SCOPES))
    elif access.scope is not None:
        return Problem(f"an access that is .{access.order} takes no scope", access.scope.word)
    if access.space is not None and not access.order.reaches(access.space):
        return Problem(f"an access that is .{access.order} cannot be .{access.space}", access.space)
    return None


def _cache(access: Access, traits: Traits, word: str) -> Problem | None:
    if access.cache is None:
        return None
    if access.cache not in traits.cache_operators:
        return Problem(f"{word} cannot have cache operator .{access.cache}", access.cache)
    if access.order is not Order.WEAK:
        return Problem(f"an access that is .{access.order} takes no cache operator", access.cache)
    if access.proxy is not Proxy.GENERIC:
        return Problem(f"an access through the {access.proxy} proxy takes no cache operator", access.cache)
    return None


def _either(what: str, choices: tuple[str, ...]) -> str:
    return f"{what} it can have: " + ", ".join(choices)


def _scopes(scopes: tuple[Scope, ...]) -> str:
    return _either("scopes", tuple(scope.word for scope in scopes))


def _memory_operands(instruction: isa.MemoryInstruction, types: Types) -> Problem | None:
    needed = instruction.access.type
    problem = None
    if isinstance(instruction.address, isa.Register) and instruction.address.name not in types:
        name = instruction.address.name
        hint = f"if {name} is a variable, add `{name}: global` to the memory map"
        return replace(_undeclared_register(instruction.address), token=f"[{name}]", hint=hint)
    if isinstance(instruction, (isa.Load, isa.Atomic)):
        problem = _register(instruction.destination, needed, types)
    if isinstance(instruction, isa.Store):
        return _source(instruction.source, needed, types)
    if isinstance(instruction, (isa.Atomic, isa.Reduce)):
        expected = 2 if instruction.operation is isa.AtomicOperation.CAS else 1
        if len(instruction.sources) != expected:
            return Problem(f"{instruction.operation} takes {format_count(expected, 'value')}", instruction.operation)
        if isinstance(instruction, isa.Reduce) and instruction.operation in (
            isa.AtomicOperation.CAS,
            isa.AtomicOperation.EXCH,
        ):
            return Problem(f"red has no {instruction.operation}: it returns nothing", instruction.operation)
        for source in instruction.sources:
            problem = problem or _source(source, needed, types)
    return problem


def _fence(fence: isa.Fence) -> Problem | None:
    scopes = MEMBAR_SCOPES if fence.kind is isa.FenceKind.MEMBAR else ACCESS_SCOPES
    if fence.scope not in scopes:
        word = "membar" if fence.kind is isa.FenceKind.MEMBAR else "fence"
        return Problem(f"{word} cannot have scope .{fence.scope.word}", fence.scope.word, _scopes(scopes))
    return None


def _barrier(barrier: isa.Barrier, types: Types) -> Problem | None:
    for operand in (barrier.identifier, barrier.count):
        if isinstance(operand, isa.Immediate) and operand.value < 0:
            return Problem("a barrier takes no negative number", number_text(operand.value))
        if isinstance(operand, isa.Variable):
            return Problem(f"a barrier takes numbers and registers, not {operand.name}", operand.name)
        if operand is not None:
            problem = _operand(operand, ScalarType.B32, types)
            if problem is not None:
                return problem
    if isinstance(barrier.identifier, isa.Immediate) and barrier.identifier.value >= BARRIERS:
        token = number_text(barrier.identifier.value)
        return Problem(f"a CTA has barriers 0 to {BARRIERS - 1}, not {barrier.identifier.value}", token)
    return Problem("a barrier instance is a number from 0 on") if barrier.instance < 0 else None


def _alu(alu: isa.Alu, types: Types) -> Problem | None:
    operation = alu.operation
    if len(alu.sources) != operation.arity:
        return Problem(f"{operation} takes {operation.arity} source operands", operation)
    if (alu.source_type is not None) != (operation is isa.AluOperation.CVT):
        return Problem("cvt, and no other instruction, names two types", operation)
    if ScalarType.PRED in (alu.type, alu.source_type) and operation not in PREDICATE_OPERATIONS:
        return Problem(f"{operation} cannot have type .pred", "pred")
    needed = [alu.source_type or alu.type] * operation.arity
    if operation in (isa.AluOperation.SHL, isa.AluOperation.SHR):
        needed[1] = ScalarType.B32
    if operation is isa.AluOperation.SELP:
        needed[2] = ScalarType.PRED
    problem = _register(alu.destination, alu.type, types)
    for source, type in zip(alu.sources, needed, strict=True):
        problem = problem or _source(source, type, types)
    return problem


def _integer_type(type: ScalarType) -> Problem | None:
    return Problem("predicates cannot be compared", "pred") if type is ScalarType.PRED else None


def _source(operand: isa.Operand, needed: ScalarType, types: Types) -> Problem | None:
    """What is wrong with an operand behind which no other one of the same name is looked at."""
    problem = _operand(operand, needed, types)
    return None if problem is None else replace(problem, last=True)


def _operand(operand: isa.Operand, needed: ScalarType, types: Types) -> Problem | None:
    if isinstance(operand, isa.Register):
        return _register(operand, needed, types)
    if isinstance(operand, isa.Immediate):
        if not -(1 << (needed.bits - 1)) <= operand.value <= needed.maximum:
            return Problem(f"{operand.value} does not fit .{needed}", number_text(operand.value))
        return None
    if needed.bits < 32:
        return Problem(f"type mismatch: the address of {operand.name} does not fit .{needed}", operand.name)
    return None


def _register(register: isa.Register, needed: ScalarType, types: Types) -> Problem | None:
    declared = types.get(register.name)
    if declared is None:
        return _undeclared_register(register)
    if declared.bits != needed.bits:
        return Problem(f"type mismatch: {register.name} is .{declared}, the instruction needs .{needed}", register.name)
    return None


def _undeclared_register(register: isa.Register) -> Problem:
    return Problem(f"register {register.name} of {{thread}} is not declared", register.name)
