"""What makes a test valid: every rule that is not grammar, each with the message its violation gives."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from gpudiy.errors import near_name
from gpudiy.litmus import condition as logic
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import ScalarType, Space
from gpudiy.litmus.errors import InvalidTest, SourcePlace
from gpudiy.litmus.flow import Use, memory_uses
from gpudiy.litmus.host_validity import check_host_instruction, check_host_target
from gpudiy.litmus.instruction import operand_type, operands_of
from gpudiy.litmus.instruction_validity import Problem, check_instruction

if TYPE_CHECKING:
    from gpudiy.litmus.test import InitialMemory, Test, Thread

NAME = re.compile(r"(?:[A-Za-z_$]|%[A-Za-z_$])[\w$]*\Z", re.ASCII)
RESERVED = re.compile(r"\b(?:exists|forall|final|observed|not|true|false|scopeTree|locations|filter|P\d+)\b", re.ASCII)
Types = dict[str, ScalarType]
Spaces = dict[str, Space]


def validate(test: Test) -> None:
    """Raise `InvalidTest` for the first rule that `test` breaks."""
    _check_texts(test)
    if not test.threads:
        raise InvalidTest("a test needs at least one thread", SourcePlace("test"))
    count = len(test.scope_tree.placements)
    if count != len(test.threads):
        problem = f"the scope tree places {count} threads, the test has {len(test.threads)}"
        raise InvalidTest(problem, SourcePlace("scope tree"))
    if all(map(test.scope_tree.is_on_host, range(count))):
        hint = "put a thread on a device: `(host P0) (device P1)`"
        raise InvalidTest("all threads are on the host", SourcePlace("scope tree", None, "host"), hint)
    spaces = _check_memory_map(test)
    types = _check_registers(test, spaces)
    if test.init:
        _check_init(test, spaces)
    for number, thread in enumerate(test.threads):
        _check_thread(number, thread, types[number], spaces)
    uses = memory_uses(test)
    locations = test.memory_map.locations()
    _check_addresses(uses, types, spaces)
    if test.scope_tree.host is not None:
        _check_host(test, uses)
    _check_spaces(test, uses, spaces, locations)
    widths = _check_widths(uses, locations)
    for entry in test.init:
        _check_initial_width(entry, widths.get(entry.variable), spaces)
    conditions = _ConditionCheck(types, spaces, locations, widths)
    conditions.check(test.condition.expression, "condition")
    if test.filter is not None:
        conditions.check(test.filter, "filter")
    for observable in test.locations:
        conditions.check_observable(observable, "locations")


def _check_texts(test: Test) -> None:
    """Name, doc and cycle must be what a reader can give back."""
    if test.name.split() != [test.name] or not test.name.isprintable() or '"' in test.name or "(*" in test.name:
        raise InvalidTest("a test needs a name of one word, without quotes and comments", SourcePlace("test"))
    if "\r" in test.doc or "\0" in test.doc:
        raise InvalidTest("a doc has no carriage returns and no zeros", SourcePlace("test"))
    if test.cycle and not _is_cycle(test.cycle):
        raise InvalidTest("a cycle is one line of edges, separated by single blanks", SourcePlace("test"))


def _is_cycle(text: str) -> bool:
    one_line = text == " ".join(text.split()) and text.isprintable()
    return one_line and '"' not in text and "(*" not in text and not text.endswith(";")


@lru_cache(1 << 14)
def is_name(text: str) -> bool:
    """Whether a variable or a register may be called so: a PTX name that the formats do not use for themselves."""
    return NAME.match(text) is not None and RESERVED.search(text) is None


def _bad_name(text: str, what: str) -> str:
    reason = ": the formats use this word" if RESERVED.search(text) else ""
    return f"{text!r} is not a name for a {what}{reason}"


def _check_memory_map(test: Test) -> Spaces:
    spaces: Spaces = {}
    aliases = False
    for variable in test.memory_map.variables:
        if variable.name in spaces or not is_name(variable.name):
            place = SourcePlace("memory map", variable.name, variable.name, last=True)
            if variable.name in spaces:
                raise InvalidTest(f"{variable.name} occurs twice in the memory map", place)
            raise InvalidTest(_bad_name(variable.name, "variable"), place)
        spaces[variable.name] = variable.space
        aliases = aliases or variable.aliases is not None
    if aliases:
        _check_aliases(test, spaces)
    return spaces


def _check_aliases(test: Test, spaces: Spaces) -> None:
    targets = {variable.name: variable.aliases for variable in test.memory_map.variables}
    locations = test.memory_map.locations()
    for variable in test.memory_map.variables:
        if variable.aliases is None:
            continue
        place = SourcePlace("memory map", variable.name, variable.aliases)
        if variable.aliases not in spaces:
            raise InvalidTest(f"{variable.name} aliases {variable.aliases}, which is not there", place)
        if spaces[variable.aliases] is not variable.space:
            raise InvalidTest(f"{variable.name} and {variable.aliases} are aliases in different spaces", place)
        if targets.get(locations[variable.name]) is not None:
            raise InvalidTest(f"{variable.name} is an alias of itself", place)


def _check_registers(test: Test, spaces: Spaces) -> list[Types]:
    types: list[Types] = [{} for _ in test.threads]
    for declaration in test.registers:
        thread, name = declaration.thread, declaration.name
        if not 0 <= thread < len(types) or name in types[thread] or name in spaces or not is_name(name):
            raise _bad_register(thread, name, types, spaces)
        types[thread][name] = declaration.type
        if declaration.initial != 0:
            _check_value(declaration.type, declaration.initial, spaces, SourcePlace("register", (thread, name), name))
    return types


def _bad_register(thread: int, name: str, types: list[Types], spaces: Spaces) -> InvalidTest:
    place = SourcePlace("register", (thread, name), name)
    if not 0 <= thread < len(types):
        return InvalidTest(f"register {name} of thread P{thread}, which is not there", place)
    if name in types[thread]:
        return InvalidTest(f"register {name} of P{thread} is declared twice", place)
    if name in spaces:
        return InvalidTest(f"{name} is both a register and a variable", place)
    return InvalidTest(_bad_name(name, "register"), place)


def _check_value(type: ScalarType, value: logic.Value, spaces: Spaces, place: SourcePlace) -> None:
    """An initial value must fit its type; an address needs 64 bits, in shared space 32 will do."""
    if isinstance(value, logic.AddressOf):
        _need_space(value.variable, spaces, replace(place, token=value.variable))
        if not _holds_address(type, spaces[value.variable]):
            raise InvalidTest(f"type mismatch: an address needs .b64, {place.token} is .{type}", place)
    elif not type.minimum <= value <= type.maximum:
        raise InvalidTest(f"{value} does not fit .{type}", place)


def _holds_address(type: ScalarType, space: Space) -> bool:
    return type.bits == 64 or (type.bits == 32 and space is Space.SHARED)


def _need_space(name: str, spaces: Spaces, place: SourcePlace) -> None:
    if name not in spaces:
        hint = f"add `{name}: global` or `{name}: shared` to the memory map"
        raise InvalidTest(f"variable {name} has no space", place, hint)


def _check_init(test: Test, spaces: Spaces) -> None:
    seen: set[str] = set()
    aliases = {variable.name for variable in test.memory_map.variables if variable.aliases is not None}
    for entry in test.init:
        place = SourcePlace("init", entry.variable, entry.variable)
        _need_space(entry.variable, spaces, place)
        if entry.variable in seen:
            raise InvalidTest(f"{entry.variable} is initialised twice", place)
        if entry.variable in aliases:
            raise InvalidTest(f"{entry.variable} is an alias: initialise what it aliases", place)
        seen.add(entry.variable)
        _check_value(ScalarType.B64, entry.value, spaces, place)


def _check_thread(number: int, thread: Thread, types: Types, spaces: Spaces) -> None:
    labels: set[str] = set()
    branches = []
    for index, instruction in enumerate(thread):
        if isinstance(instruction, isa.Label):
            if instruction.name in labels or instruction.name.startswith("%") or not is_name(instruction.name):
                place = SourcePlace("instruction", (number, index), instruction.name, last=True)
                if instruction.name not in labels:
                    raise InvalidTest(_bad_name(instruction.name, "label"), place)
                raise InvalidTest(f"label {instruction.name} occurs twice in P{number}", place)
            labels.add(instruction.name)
            continue
        problem = check_instruction(instruction, types)
        if problem is not None:
            raise _bad_instruction(problem, number, index)
        for operand in operands_of(instruction):
            if isinstance(operand, isa.Variable):
                place = SourcePlace("instruction", (number, index), operand.name, last=True)
                _need_space(operand.name, spaces, place)
                _check_address_width(instruction, operand, spaces, place)
        if isinstance(instruction, isa.Branch):
            branches.append((index, instruction.target))
    for index, target in branches:
        if target not in labels:
            place = SourcePlace("instruction", (number, index), target)
            raise InvalidTest(f"P{number} has no label {target}", place, near_name(target, sorted(labels)))


def _bad_instruction(problem: Problem, number: int, index: int) -> InvalidTest:
    place = SourcePlace("instruction", (number, index), problem.token, problem.last)
    return InvalidTest(problem.message.replace("{thread}", f"P{number}"), place, problem.hint)


def _check_address_width(
    instruction: isa.Instruction, operand: isa.Variable, spaces: Spaces, place: SourcePlace
) -> None:
    """An address that is a value must fit the type of the instruction."""
    type = operand_type(instruction)
    if type is None:
        return
    if not _holds_address(type, spaces[operand.name]):
        raise InvalidTest(f"type mismatch: the address of {operand.name} needs .b64, this is .{type}", place)


def _check_addresses(uses: list[Use], types: list[Types], spaces: Spaces) -> None:
    for number, index, instruction, targets in uses:
        address = instruction.address
        if not targets:
            hint = f"if {address.name} is a variable, add `{address.name}: global` to the memory map"
            place = _address_place(number, index, instruction)
            raise InvalidTest(f"register {address.name} of P{number} holds no address", place, hint)
        for name in targets:
            if name not in spaces:
                _need_space(name, spaces, _address_place(number, index, instruction))
            if isinstance(address, isa.Register) and not _holds_address(types[number][address.name], spaces[name]):
                problem = f"type mismatch: an address needs .b64, {address.name} is .{types[number][address.name]}"
                raise InvalidTest(problem, _address_place(number, index, instruction))


def _address_place(thread: int, index: int, instruction: isa.MemoryInstruction) -> SourcePlace:
    """The address of an instruction: in brackets, or what a load names last."""
    return SourcePlace(
        "instruction", (thread, index), f"[{instruction.address.name}]", last=isinstance(instruction, isa.Load)
    )


def _check_host(test: Test, uses: list[Use]) -> None:
    """Threads on the host have fewer instructions, and reach fewer variables."""
    for number, thread in enumerate(test.threads):
        for index, instruction in enumerate(thread):
            if test.scope_tree.is_on_host(number) and (problem := check_host_instruction(instruction)) is not None:
                raise _bad_instruction(problem, number, index)
    variables = {variable.name: variable for variable in test.memory_map.variables}
    for number, index, instruction, targets in uses:
        for name in sorted(targets) if test.scope_tree.is_on_host(number) else ():
            found = check_host_target(instruction.access, variables[name])
            if found is not None:
                problem = replace(found, token=f"[{instruction.address.name}]", last=isinstance(instruction, isa.Load))
                raise _bad_instruction(problem, number, index)


def _check_spaces(test: Test, uses: list[Use], spaces: Spaces, locations: dict[str, str]) -> None:
    """Instructions must agree with the memory map, and a shared variable belongs to one CTA."""
    if test.memory_map.symbolic:
        return
    users: dict[str, int] = {}
    for number, index, instruction, targets in uses:
        named = instruction.access.space
        for name in targets:
            space = spaces[name]
            if named is not None and named is not space:
                place = _address_place(number, index, instruction)
                raise InvalidTest(f"a .{named} access to {name}, which the memory map puts in {space} space", place)
            if not instruction.access.order.reaches(space):
                place = _address_place(number, index, instruction)
                raise InvalidTest(f"an access that is .{instruction.access.order} cannot be to {space} memory", place)
            cta = test.scope_tree.placements[number].cta
            if space is Space.SHARED and users.setdefault(locations[name], cta) != cta:
                place = _address_place(number, index, instruction)
                hint = "every CTA has shared memory of its own: put the threads in one CTA, or use global space"
                raise InvalidTest(f"{name} is in shared space but threads of two CTAs use it", place, hint)


def _check_widths(uses: list[Use], locations: dict[str, str]) -> Types:
    """A location has one width: models and harness would both misjudge accesses that overlap in part."""
    widths: Types = {}
    for number, index, instruction, targets in uses:
        type = instruction.access.type
        for name in targets:
            width = widths.setdefault(locations[name], type).bits
            if width != type.bits:
                place = SourcePlace("instruction", (number, index), type)
                raise InvalidTest(f"type mismatch: {name} is accessed both as {width} and as {type.bits} bits", place)
    return widths


def _check_initial_width(entry: InitialMemory, type: ScalarType | None, spaces: Spaces) -> None:
    """What memory holds at the start must fit the width in which it is accessed."""
    if type is None:
        return
    place = SourcePlace("init", entry.variable, entry.variable)
    if isinstance(entry.value, logic.AddressOf):
        if not _holds_address(type, spaces[entry.value.variable]):
            raise InvalidTest(f"type mismatch: an address needs .b64, {entry.variable} is accessed as .{type}", place)
    elif not -(1 << (type.bits - 1)) <= entry.value <= type.maximum:
        raise InvalidTest(f"{entry.value} does not fit {entry.variable}, which is accessed as .{type}", place)


class _ConditionCheck:
    """The rules for conditions, filters and locations. `widths` are the types in which locations are accessed."""

    def __init__(self, types: list[Types], spaces: Spaces, locations: dict[str, str], widths: Types) -> None:
        self.types = types
        self.spaces = spaces
        self.locations = locations
        self.widths = widths

    def check(self, expression: logic.Expression, part: str, depth: int = 1) -> None:
        """`depth` counts what a reader has open when it meets the expression."""
        if depth > logic.DEEPEST:
            raise InvalidTest(f"nested more than {logic.DEEPEST} deep", SourcePlace(part))
        match expression:
            case logic.Compare():
                self.check_comparison(expression, part)
            case logic.Not():
                self.check(expression.inner, part, depth + 2)
            case logic.And() | logic.Or():
                if len(expression.parts) == 1:
                    raise InvalidTest(f"/\\ and \\/ of a {part} join two parts or more", SourcePlace(part))
                for inner in expression.parts:
                    self.check(inner, part, depth + 1)
            case logic.Implies():
                self.check(expression.premise, part, depth + 1)
                self.check(expression.conclusion, part, depth + 2)

    def check_comparison(self, compare: logic.Compare, part: str) -> None:
        for term, other in ((compare.left, compare.right), (compare.right, compare.left)):
            if isinstance(term, (logic.FinalRegister, logic.FinalVariable)):
                self.check_observable(term, part)
            elif isinstance(term, logic.Constant):
                if not ScalarType.S64.minimum <= term.value <= ScalarType.S64.maximum:
                    raise InvalidTest(f"{term.value} does not fit 64 bits", SourcePlace(part, None, str(term.value)))
            else:
                self.check_address(compare, term, other, part)

    def check_address(self, compare: logic.Compare, term: logic.AddressOf, other: logic.Term, part: str) -> None:
        place = SourcePlace(part, None, f"&{term.variable}")
        if term.variable not in self.spaces:
            raise InvalidTest(f"the {part} names {term.variable}, which is not there", place)
        if not compare.comparison.equates:
            raise InvalidTest("an address is only ever equal to another or different from it", place)
        type = None
        if isinstance(other, logic.FinalVariable):
            type = self.widths.get(self.locations.get(other.name, ""))
        elif isinstance(other, logic.FinalRegister) and 0 <= other.thread < len(self.types):
            type = self.types[other.thread].get(other.name)
        if type is not None and not _holds_address(type, self.spaces[term.variable]):
            raise InvalidTest(f"type mismatch: an address needs .b64, it is compared with .{type}", place)

    def check_observable(self, term: logic.Observable, part: str) -> None:
        if isinstance(term, logic.FinalVariable):
            if term.name not in self.spaces:
                hint = _owner_hint(term.name, self.types) or near_name(term.name, list(self.spaces))
                problem = f"the {part} names {term.name}, which is not a variable of the test"
                raise InvalidTest(problem, SourcePlace(part, None, term.name), hint)
            return
        place = SourcePlace(part, None, f"{term.thread}:{term.name}")
        if not 0 <= term.thread < len(self.types):
            raise InvalidTest(f"the {part} names thread P{term.thread}, which is not there", place)
        if term.name not in self.types[term.thread]:
            problem = f"the {part} names {term.name}, which is not a register of P{term.thread}"
            raise InvalidTest(problem, place, near_name(term.name, sorted(self.types[term.thread])))


def _owner_hint(name: str, types: list[Types]) -> str | None:
    owners = [number for number, registers in enumerate(types) if name in registers]
    return "for a register name its thread: " + " or ".join(f"{number}:{name}" for number in owners) if owners else None
