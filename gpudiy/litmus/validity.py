"""What makes a test valid: every rule that is not grammar, each with the message its violation gives."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from gpudiy.litmus.access import ScalarType, Space
from gpudiy.litmus.condition import (
    AddressOf,
    And,
    Compare,
    Expression,
    FinalRegister,
    FinalVariable,
    Implies,
    Not,
    Or,
    Value,
)
from gpudiy.litmus.errors import InvalidTest, Place, near_name
from gpudiy.litmus.flow import Use, memory_uses
from gpudiy.litmus.instruction import Branch, Label, Register, Variable, operands_of
from gpudiy.litmus.instruction_validity import check_instruction

if TYPE_CHECKING:
    from gpudiy.litmus.test import Test, Thread

NAME = re.compile(r"[A-Za-z_$%][\w$]*\Z", re.ASCII)
Types = dict[str, ScalarType]
Spaces = dict[str, Space]


def validate(test: Test) -> None:
    """Raise `InvalidTest` for the first rule that `test` breaks."""
    if not test.name or test.name.split() != [test.name]:
        raise InvalidTest("a test needs a name of one word", Place("test"))
    if not test.threads:
        raise InvalidTest("a test needs at least one thread", Place("test"))
    count = len(test.scope_tree.placements)
    if count != len(test.threads):
        problem = f"the scope tree places {count} threads, the test has {len(test.threads)}"
        raise InvalidTest(problem, Place("scope tree"))
    spaces = _check_memory_map(test)
    types = _check_registers(test, spaces)
    if test.init:
        _check_init(test, spaces)
    for number, thread in enumerate(test.threads):
        _check_thread(number, thread, types[number], spaces)
    uses = memory_uses(test)
    _check_addresses(uses, types, spaces)
    _check_spaces(test, uses, spaces)
    _check_widths(test, uses)
    _check_expression(test.condition.expression, "condition", types, spaces)
    if test.filter is not None:
        _check_expression(test.filter, "filter", types, spaces)
    for observable in test.locations:
        _check_observable(observable, "locations", types, spaces)


@lru_cache(1 << 14)
def is_name(text: str) -> bool:
    return NAME.match(text) is not None


def _check_memory_map(test: Test) -> Spaces:
    spaces: Spaces = {}
    aliases = False
    for variable in test.memory_map.variables:
        if variable.name in spaces or not is_name(variable.name):
            place = Place("memory map", variable.name, variable.name, last=True)
            if variable.name in spaces:
                raise InvalidTest(f"{variable.name} stands twice in the memory map", place)
            raise InvalidTest(f"{variable.name!r} is not a name for a variable", place)
        spaces[variable.name] = variable.space
        aliases = aliases or variable.aliases is not None
    if aliases:
        _check_aliases(test, spaces)
    return spaces


def _check_aliases(test: Test, spaces: Spaces) -> None:
    targets = {variable.name: variable.aliases for variable in test.memory_map.variables}
    for variable in test.memory_map.variables:
        if variable.aliases is None:
            continue
        place = Place("memory map", variable.name, variable.aliases)
        if variable.aliases not in spaces:
            raise InvalidTest(f"{variable.name} aliases {variable.aliases}, which is not there", place)
        if spaces[variable.aliases] is not variable.space:
            raise InvalidTest(f"{variable.name} and {variable.aliases} are aliases in different spaces", place)
        if targets.get(test.memory_map.location_of(variable.name)) is not None:
            raise InvalidTest(f"{variable.name} is an alias of itself", place)


def _check_registers(test: Test, spaces: Spaces) -> list[Types]:
    types: list[Types] = [{} for _ in test.threads]
    for declaration in test.registers:
        thread, name = declaration.thread, declaration.name
        if not 0 <= thread < len(types) or name in types[thread] or name in spaces or not is_name(name):
            raise _bad_register(thread, name, types, spaces)
        types[thread][name] = declaration.type
        if declaration.initial != 0:
            _check_value(declaration.type, declaration.initial, spaces, Place("register", (thread, name), name))
    return types


def _bad_register(thread: int, name: str, types: list[Types], spaces: Spaces) -> InvalidTest:
    place = Place("register", (thread, name), name)
    if not 0 <= thread < len(types):
        return InvalidTest(f"register {name} of thread P{thread}, which is not there", place)
    if name in types[thread]:
        return InvalidTest(f"register {name} of P{thread} is declared twice", place)
    if name in spaces:
        return InvalidTest(f"{name} is both a register and a variable", place)
    return InvalidTest(f"{name!r} is not a name for a register", place)


def _check_value(type: ScalarType, value: Value, spaces: Spaces, place: Place) -> None:
    """An initial value must fit its type; an address needs 64 bits, in shared space 32 will do."""
    if isinstance(value, AddressOf):
        _need_space(value.variable, spaces, replace(place, token=value.variable))
        if not _holds_address(type, spaces[value.variable]):
            raise InvalidTest(f"type mismatch: an address needs .b64, {place.token} is .{type}", place)
    elif not type.minimum <= value <= type.maximum:
        raise InvalidTest(f"{value} does not fit .{type}", place)


def _holds_address(type: ScalarType, space: Space) -> bool:
    return type.bits == 64 or (type.bits == 32 and space is Space.SHARED)


def _need_space(name: str, spaces: Spaces, place: Place) -> None:
    if name not in spaces:
        hint = f"add `{name}: global` or `{name}: shared` to the memory map"
        raise InvalidTest(f"variable {name} has no space", place, hint)


def _check_init(test: Test, spaces: Spaces) -> None:
    seen: set[str] = set()
    for entry in test.init:
        place = Place("init", entry.variable, entry.variable)
        _need_space(entry.variable, spaces, place)
        if entry.variable in seen:
            raise InvalidTest(f"{entry.variable} is initialised twice", place)
        if test.memory_map.location_of(entry.variable) != entry.variable:
            raise InvalidTest(f"{entry.variable} is an alias: initialise what it aliases", place)
        seen.add(entry.variable)
        _check_value(ScalarType.B64, entry.value, spaces, place)


def _check_thread(number: int, thread: Thread, types: Types, spaces: Spaces) -> None:
    labels: set[str] = set()
    branches = []
    for index, instruction in enumerate(thread):
        if isinstance(instruction, Label):
            if instruction.name in labels:
                place = Place("instruction", (number, index), instruction.name)
                raise InvalidTest(f"label {instruction.name} stands twice in P{number}", place)
            labels.add(instruction.name)
            continue
        problem = check_instruction(instruction, types)
        if problem is not None:
            place = Place("instruction", (number, index), problem.token)
            raise InvalidTest(problem.message.replace("{thread}", f"P{number}"), place, problem.hint)
        for operand in operands_of(instruction):
            if isinstance(operand, Variable):
                _need_space(operand.name, spaces, Place("instruction", (number, index), operand.name))
        if isinstance(instruction, Branch):
            branches.append((index, instruction.target))
    for index, target in branches:
        if target not in labels:
            place = Place("instruction", (number, index), target)
            raise InvalidTest(f"there is no label {target} in P{number}", place, near_name(target, sorted(labels)))


def _check_addresses(uses: list[Use], types: list[Types], spaces: Spaces) -> None:
    for number, index, instruction, targets in uses:
        address = instruction.address
        if not targets:
            place = Place("instruction", (number, index), address.name)
            raise InvalidTest(f"register {address.name} of P{number} holds no address", place)
        for name in targets:
            if name not in spaces:
                _need_space(name, spaces, Place("instruction", (number, index), address.name))
            if isinstance(address, Register) and not _holds_address(types[number][address.name], spaces[name]):
                problem = f"type mismatch: an address needs .b64, {address.name} is .{types[number][address.name]}"
                raise InvalidTest(problem, Place("instruction", (number, index), address.name))


def _check_spaces(test: Test, uses: list[Use], spaces: Spaces) -> None:
    """Instructions must agree with the memory map, and a shared variable belongs to one CTA."""
    if test.memory_map.symbolic:
        return
    users: dict[str, int] = {}
    for number, index, instruction, targets in uses:
        named = instruction.access.space
        for name in targets:
            space = spaces[name]
            if named is not None and named is not space:
                place = Place("instruction", (number, index), instruction.address.name)
                raise InvalidTest(f"a .{named} access to {name}, which the memory map puts in {space} space", place)
            cta = test.scope_tree.placements[number].cta
            if space is Space.SHARED and users.setdefault(name, cta) != cta:
                place = Place("instruction", (number, index), instruction.address.name)
                hint = "every CTA has shared memory of its own: put the threads in one CTA, or use global space"
                raise InvalidTest(f"{name} is in shared space but threads of two CTAs use it", place, hint)


def _check_widths(test: Test, uses: list[Use]) -> None:
    """A location has one width: models and harness would both misjudge accesses that overlap in part."""
    if len({instruction.access.type.bits for _, _, instruction, _ in uses}) < 2:
        return
    widths: dict[str, int] = {}
    for number, index, instruction, targets in uses:
        bits = instruction.access.type.bits
        for name in targets:
            width = widths.setdefault(test.memory_map.location_of(name), bits)
            if width != bits:
                place = Place("instruction", (number, index), instruction.access.type)
                raise InvalidTest(f"type mismatch: {name} is accessed both as {width} and as {bits} bits", place)


def _check_expression(expression: Expression, part: str, types: list[Types], spaces: Spaces) -> None:
    match expression:
        case Compare():
            for term in (expression.left, expression.right):
                if isinstance(term, (FinalRegister, FinalVariable)):
                    _check_observable(term, part, types, spaces)
                elif isinstance(term, AddressOf) and term.variable not in spaces:
                    place = Place(part, None, term.variable)
                    raise InvalidTest(f"the {part} names {term.variable}, which is not there", place)
        case Not():
            _check_expression(expression.inner, part, types, spaces)
        case And() | Or():
            if len(expression.parts) == 1:
                raise InvalidTest(f"/\\ and \\/ of a {part} join two parts or more", Place(part))
            for inner in expression.parts:
                _check_expression(inner, part, types, spaces)
        case Implies():
            _check_expression(expression.premise, part, types, spaces)
            _check_expression(expression.conclusion, part, types, spaces)


def _check_observable(term: FinalRegister | FinalVariable, part: str, types: list[Types], spaces: Spaces) -> None:
    if isinstance(term, FinalVariable):
        if term.name not in spaces:
            hint = _owner_hint(term.name, types) or near_name(term.name, list(spaces))
            problem = f"the {part} names {term.name}, which is not a variable of the test"
            raise InvalidTest(problem, Place(part, None, term.name), hint)
        return
    place = Place(part, None, f"{term.thread}:{term.name}")
    if not 0 <= term.thread < len(types):
        raise InvalidTest(f"the {part} names thread P{term.thread}, which is not there", place)
    if term.name not in types[term.thread]:
        problem = f"the {part} names {term.name}, which is not a register of P{term.thread}"
        raise InvalidTest(problem, place, near_name(term.name, sorted(types[term.thread])))


def _owner_hint(name: str, types: list[Types]) -> str | None:
    owners = [number for number, registers in enumerate(types) if name in registers]
    return "for a register name its thread: " + " or ".join(f"{number}:{name}" for number in owners) if owners else None
