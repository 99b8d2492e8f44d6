"""The values that may get into each location: a first guess, from which the search goes on to a fixed point."""

from __future__ import annotations

from gpudiy.litmus.condition import AddressOf, Value
from gpudiy.litmus.instruction import Alu, AluOperation, Immediate, Store, Variable
from gpudiy.litmus.test import Test
from gpudiy.models.trace import Domain


def first_domain(test: Test) -> Domain:
    """Initial values and the literals that are stored, directly or through a mov.

    A value too many does no harm: no write has it, so no read can get it. A good guess saves a round.
    """
    locations = {name: test.memory_map.location_of(name) for name in test.memory_map.names}
    values: dict[str, dict[Value, None]] = {
        location: {test.initial_value(location): None} for location in locations.values()
    }
    addresses = {
        (declaration.thread, declaration.name): declaration.initial.variable
        for declaration in test.registers
        if isinstance(declaration.initial, AddressOf)
    }
    for number, thread in enumerate(test.threads):
        moved: dict[str, int] = {}
        for instruction in thread:
            if isinstance(instruction, Alu) and instruction.operation is AluOperation.MOV:
                (source,) = instruction.sources
                if isinstance(source, Immediate):
                    moved[instruction.destination.name] = source.value
            elif isinstance(instruction, Store):
                address = instruction.address
                known = address.name if isinstance(address, Variable) else addresses.get((number, address.name))
                source = instruction.source
                value = source.value if isinstance(source, Immediate) else moved.get(source.name)
                if known is not None and value is not None:
                    values[locations[known]][value] = None
    return {location: tuple(held) for location, held in values.items()}
