"""What makes a test valid: every rule that is not grammar, each with the message its violation gives."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudiy.litmus.access import ScalarType, Space
from gpudiy.litmus.condition import AddressOf, Expression, FinalRegister, FinalVariable, Value, comparisons
from gpudiy.litmus.errors import InvalidTest, Place, near_name
from gpudiy.litmus.flow import Targets, touched
from gpudiy.litmus.instruction import (
    Atomic,
    Branch,
    Label,
    Load,
    Reduce,
    Register,
    Store,
    Variable,
    address_of,
    operands_of,
)
from gpudiy.litmus.instruction_validity import check_instruction

if TYPE_CHECKING:
    from gpudiy.litmus.test import Test, Thread

NAME = re.compile(r"[A-Za-z_$%][\w$]*\Z")
Types = dict[str, ScalarType]


def validate(test: Test) -> None:
    """Raise `InvalidTest` for the first rule that `test` breaks."""
    if not test.name or any(character.isspace() for character in test.name):
        raise InvalidTest("a test needs a name of one word", Place("test"))
    if not test.threads:
        raise InvalidTest("a test needs at least one thread", Place("test"))
    _check_scope_tree(test)
    _check_memory_map(test)
    types = _check_registers(test)
    _check_init(test)
    for number, thread in enumerate(test.threads):
        _check_thread(test, number, thread, types[number])
    targets = touched(test)
    _check_addresses(test, types, targets)
    if not test.memory_map.symbolic:
        check_spaces(test, targets)
    _check_widths(test, targets)
    _check_expression(test, types, test.condition.expression, "condition")
    if test.filter is not None:
        _check_expression(test, types, test.filter, "filter")
    for observable in test.locations:
        _check_observable(test, types, observable, "locations")


def check_spaces(test: Test, targets: tuple[tuple[Targets, ...], ...]) -> None:
    """Instructions must agree with the memory map, and a shared variable belongs to one CTA."""
    spaces = {variable.name: variable.space for variable in test.memory_map.variables}
    users: dict[str, int] = {}
    for number, thread in enumerate(test.threads):
        cta = test.scope_tree.placements[number].cta
        for index, instruction in enumerate(thread):
            if not isinstance(instruction, (Load, Store, Atomic, Reduce)):
                continue
            named = instruction.access.space
            place = Place("instruction", (number, index), instruction.address.name)
            for name in targets[number][index]:
                space = spaces[name]
                if named is not None and named is not space:
                    raise InvalidTest(f"a .{named} access to {name}, which the memory map puts in {space} space", place)
                if space is Space.SHARED and users.setdefault(name, cta) != cta:
                    raise InvalidTest(
                        f"{name} is in shared space but threads of two CTAs use it",
                        place,
                        hint="every CTA has shared memory of its own: put the threads in one CTA, or use global space",
                    )


def _check_scope_tree(test: Test) -> None:
    count = len(test.scope_tree.placements)
    if count != len(test.threads):
        raise InvalidTest(
            f"the scope tree places {count} threads, the test has {len(test.threads)}", Place("scope tree")
        )


def _check_memory_map(test: Test) -> None:
    spaces: dict[str, Space] = {}
    for variable in test.memory_map.variables:
        place = Place("memory map", variable.name, variable.name)
        if not NAME.match(variable.name):
            raise InvalidTest(f"{variable.name!r} is not a name for a variable", place)
        if variable.name in spaces:
            raise InvalidTest(f"{variable.name} stands twice in the memory map", replace(place, last=True))
        spaces[variable.name] = variable.space
    for variable in test.memory_map.variables:
        if variable.aliases is None:
            continue
        place = Place("memory map", variable.name, variable.aliases)
        if variable.aliases not in spaces:
            raise InvalidTest(f"{variable.name} aliases {variable.aliases}, which is not there", place)
        if spaces[variable.aliases] is not variable.space:
            raise InvalidTest(f"{variable.name} and {variable.aliases} are aliases in different spaces", place)
        if test.memory_map.location_of(variable.name) == variable.name or _aliases_in_a_ring(test, variable.name):
            raise InvalidTest(f"{variable.name} is an alias of itself", place)


def _aliases_in_a_ring(test: Test, name: str) -> bool:
    end = test.memory_map.location_of(name)
    return any(variable.name == end and variable.aliases is not None for variable in test.memory_map.variables)


def _check_registers(test: Test) -> list[Types]:
    types: list[Types] = [{} for _ in test.threads]
    names = set(test.memory_map.names)
    for declaration in test.registers:
        place = Place("register", (declaration.thread, declaration.name), declaration.name)
        if not 0 <= declaration.thread < len(test.threads):
            raise InvalidTest(f"register {declaration.name} of thread P{declaration.thread}, which is not there", place)
        if not NAME.match(declaration.name):
            raise InvalidTest(f"{declaration.name!r} is not a name for a register", place)
        if declaration.name in types[declaration.thread]:
            raise InvalidTest(f"register {declaration.name} of P{declaration.thread} is declared twice", place)
        if declaration.name in names:
            raise InvalidTest(f"{declaration.name} is both a register and a variable", place)
        types[declaration.thread][declaration.name] = declaration.type
        _check_value(test, declaration.type, declaration.initial, place)
    return types


def _check_value(test: Test, type: ScalarType, value: Value, place: Place) -> None:
    """An initial value must fit its type; an address needs 64 bits, in shared space 32 will do."""
    if isinstance(value, AddressOf):
        _need_variable(test, value.variable, Place(place.part, place.key, value.variable))
        wide_enough = type.bits == 64 or (
            type.bits == 32 and test.memory_map.space_of(value.variable) in (Space.SHARED, None)
        )
        if not wide_enough:
            raise InvalidTest(f"type mismatch: an address needs .b64, {place.token} is .{type}", place)
    elif not type.minimum <= value <= type.maximum:
        raise InvalidTest(f"{value} does not fit .{type}", place)


def _check_init(test: Test) -> None:
    seen: set[str] = set()
    for entry in test.init:
        place = Place("init", entry.variable, entry.variable)
        _need_variable(test, entry.variable, place)
        if entry.variable in seen:
            raise InvalidTest(f"{entry.variable} is initialised twice", place)
        if test.memory_map.location_of(entry.variable) != entry.variable:
            raise InvalidTest(f"{entry.variable} is an alias: initialise what it aliases", place)
        seen.add(entry.variable)
        _check_value(test, ScalarType.B64, entry.value, place)


def _need_variable(test: Test, name: str, place: Place) -> None:
    if name not in test.memory_map.names:
        raise InvalidTest(
            f"variable {name} has no space", place, hint=f"add `{name}: global` or `{name}: shared` to the memory map"
        )


def _check_thread(test: Test, number: int, thread: Thread, types: Types) -> None:
    labels: set[str] = set()
    for index, instruction in enumerate(thread):
        if isinstance(instruction, Label):
            if instruction.name in labels:
                raise InvalidTest(
                    f"label {instruction.name} stands twice in P{number}",
                    Place("instruction", (number, index), instruction.name),
                )
            labels.add(instruction.name)
            continue
        problem = check_instruction(instruction, types)
        if problem is not None:
            raise InvalidTest(
                problem.message.replace("{thread}", f"P{number}"),
                Place("instruction", (number, index), problem.token),
                hint=problem.hint,
            )
    for index, instruction in enumerate(thread):
        if isinstance(instruction, Branch) and instruction.target not in labels:
            raise InvalidTest(
                f"there is no label {instruction.target} in P{number}",
                Place("instruction", (number, index), instruction.target),
                hint=near_name(instruction.target, sorted(labels)),
            )


def _check_addresses(test: Test, types: list[Types], targets: tuple[tuple[Targets, ...], ...]) -> None:
    names = frozenset(test.memory_map.names)
    for number, thread in enumerate(test.threads):
        for index, instruction in enumerate(thread):
            for operand in operands_of(instruction):
                if isinstance(operand, Variable):
                    _need_variable(test, operand.name, Place("instruction", (number, index), operand.name))
            address = address_of(instruction)
            if address is None:
                continue
            place = Place("instruction", (number, index), address.name)
            reached = targets[number][index]
            if not reached:
                raise InvalidTest(f"register {address.name} of P{number} holds no address", place)
            if not reached <= names:
                _need_variable(test, min(reached - names), place)
            if isinstance(address, Register) and types[number][address.name].bits != 64:
                narrow = types[number][address.name].bits < 32
                if narrow or any(test.memory_map.space_of(name) is not Space.SHARED for name in reached):
                    raise InvalidTest(
                        f"type mismatch: an address needs .b64, {address.name} is .{types[number][address.name]}", place
                    )


def _check_widths(test: Test, targets: tuple[tuple[Targets, ...], ...]) -> None:
    """A location has one width: models and harness would both misjudge accesses that overlap in part."""
    widths: dict[str, int] = {}
    for number, thread in enumerate(test.threads):
        for index, instruction in enumerate(thread):
            for name in targets[number][index]:
                assert isinstance(instruction, (Load, Store, Atomic, Reduce))
                bits = instruction.access.type.bits
                width = widths.setdefault(test.memory_map.location_of(name), bits)
                if width != bits:
                    raise InvalidTest(
                        f"type mismatch: {name} is accessed both as {width} and as {bits} bits",
                        Place("instruction", (number, index), instruction.access.type),
                    )


def _check_expression(test: Test, types: list[Types], expression: Expression, part: str) -> None:
    for comparison in comparisons(expression):
        for term in (comparison.left, comparison.right):
            if isinstance(term, (FinalRegister, FinalVariable)):
                _check_observable(test, types, term, part)
            elif isinstance(term, AddressOf) and term.variable not in test.memory_map.names:
                raise InvalidTest(
                    f"the {part} names {term.variable}, which is not there", Place(part, None, term.variable)
                )


def _owner_hint(name: str, types: list[Types]) -> str | None:
    owners = [number for number, registers in enumerate(types) if name in registers]
    return "for a register name its thread: " + " or ".join(f"{number}:{name}" for number in owners) if owners else None


def _check_observable(test: Test, types: list[Types], term: FinalRegister | FinalVariable, part: str) -> None:
    if isinstance(term, FinalVariable):
        place = Place(part, None, term.name)
        if term.name not in test.memory_map.names:
            raise InvalidTest(
                f"the {part} names {term.name}, which is not a variable of the test",
                place,
                hint=_owner_hint(term.name, types) or near_name(term.name, test.memory_map.names),
            )
        return
    place = Place(part, None, f"{term.thread}:{term.name}")
    if not 0 <= term.thread < len(test.threads):
        raise InvalidTest(f"the {part} names thread P{term.thread}, which is not there", place)
    if term.name not in types[term.thread]:
        raise InvalidTest(
            f"the {part} names {term.name}, which is not a register of P{term.thread}",
            place,
            hint=near_name(term.name, sorted(types[term.thread])),
        )
