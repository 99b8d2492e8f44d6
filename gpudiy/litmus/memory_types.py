"""The types of locations: they decide how a bit pattern in memory is printed as a number."""

from __future__ import annotations

from gpudiy.litmus import arithmetic
from gpudiy.litmus import condition as logic
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.condition import comparisons, map_terms
from gpudiy.litmus.flow import memory_uses
from gpudiy.litmus.test import Test

_recent: list[
    tuple[Test, dict[str, ScalarType]]
] = []  # of the last test only: hashing tests for a larger cache costs more


def location_types(test: Test) -> dict[str, ScalarType]:
    """The type of each location: the width of its accesses, unsigned if all of them are."""
    if not _recent or _recent[0][0] is not test:
        _recent[:] = [(test, _location_types(test))]
    return _recent[0][1]


def _location_types(test: Test) -> dict[str, ScalarType]:
    locations = test.memory_map.locations()
    kinds: dict[str, set[ScalarType]] = {}
    for use in memory_uses(test):
        for name in use.targets:
            kinds.setdefault(locations[name], set()).add(use.instruction.access.type)
    return {
        location: next(iter(types)).of_kind("u" if all(type[0] == "u" for type in types) else "s")
        for location, types in kinds.items()
    }


def initial_memory(test: Test, location: str) -> logic.Value:
    """The initial value of a location, as its accesses read it."""
    value = test.initial_value(location)
    return value if _is_same_in_all_types(value) else wrap_value(value, _type_of_location(test, location))


def shown_memory(test: Test, location: str, value: logic.Value) -> logic.Value:
    """The final value of a location as it is printed."""
    return value if _is_same_in_all_types(value) else show_value(value, _type_of_location(test, location))


def _is_same_in_all_types(value: logic.Value) -> bool:
    """Whether a value is an address, or a number that every type of memory can hold, signed or not."""
    return isinstance(value, logic.AddressOf) or 0 <= value < 1 << 15


def _type_of_location(test: Test, location: str) -> ScalarType:
    return location_types(test).get(location, ScalarType.S64)


def wrap_value(value: logic.Value, type: ScalarType) -> logic.Value:
    """A value as the bit pattern of this type, read as a signed number."""
    return value if isinstance(value, logic.AddressOf) else arithmetic.wrap_value(value, type)


def show_value(value: logic.Value, type: ScalarType) -> logic.Value:
    """A final value as it is printed: unsigned types print unsigned numbers."""
    return arithmetic.read_as_type(value, type) if isinstance(value, int) and type[0] == "u" else value


def with_shown_constants(test: Test, expression: logic.Expression) -> logic.Expression:
    """The expression with every number printed like the term it is compared with: 0xffffffff is -1 for .s32."""
    if all(_small(term) for item in comparisons(expression) for term in (item.left, item.right)):
        return expression
    return _renumber_constants(test, expression)


def _small(term: logic.Term) -> bool:
    return not isinstance(term, logic.Constant) or _is_same_in_all_types(term.value)


def _renumber_constants(test: Test, expression: logic.Expression) -> logic.Expression:
    if isinstance(expression, logic.Compare):
        types = [kind for term in (expression.left, expression.right) if (kind := _type_of(test, term)) is not None]
        if not types:
            return expression

        def renumber(term: logic.Term) -> logic.Term:
            if not isinstance(term, logic.Constant):
                return term
            value = show_value(wrap_value(term.value, types[0]), types[0])
            assert isinstance(value, int)
            return logic.Constant(value)

        return map_terms(expression, renumber)
    match expression:
        case logic.Not(inner=inner):
            return logic.Not(_renumber_constants(test, inner))
        case logic.Implies(premise=premise, conclusion=conclusion):
            return logic.Implies(_renumber_constants(test, premise), _renumber_constants(test, conclusion))
        case logic.And(parts=parts) | logic.Or(parts=parts):
            return type(expression)(tuple(_renumber_constants(test, part) for part in parts))


def _type_of(test: Test, term: logic.Term) -> ScalarType | None:
    if isinstance(term, logic.FinalRegister):
        return next(d.type for d in test.registers_of(term.thread) if d.name == term.name)
    if isinstance(term, logic.FinalVariable):
        return location_types(test).get(test.memory_map.location_of(term.name), ScalarType.S64)
    return None
