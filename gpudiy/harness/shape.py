"""`Shape`: what a harness must know about a test: its places in the scope tree, its variables, what is observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpudiy.harness.cta_barriers import obstacle_of_barriers, uses_barriers
from gpudiy.harness.inline_ptx import BodyClock
from gpudiy.harness.loop_bounds import bound_loops, count_cut_flags
from gpudiy.litmus.access import ScalarType, Space
from gpudiy.litmus.condition import AddressOf, FinalRegister, Value
from gpudiy.litmus.flow import Use, memory_uses
from gpudiy.litmus.instruction import Alu, Store, Variable, operands_of
from gpudiy.litmus.test import Test

THREADS, VARIABLES, OBSERVED, PLACES, CONSTANTS, ZEROS = 8, 16, 32, 128, 32, 32  # the sizes of the arrays of a launch
TIMES = 2  # words that a thread writes about its times: when it began, and when it ended
FIRST_TIMED = 70  # the first architecture whose bodies are timed


@dataclass(frozen=True, slots=True)
class ThreadPlace:
    """Where a thread of the test is: the number of its kernel, then its number at each level inside the level above."""

    kernel: int
    cluster: int
    cta: int
    warp: int
    lane: int


@dataclass(frozen=True, slots=True)
class ObservedValue:
    """A value of an outcome: a row of the results, or a variable in global memory."""

    type: ScalarType
    row: int | None = None
    variable: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """`places` by thread; `clusters`, `ctas`, `warps`, `lanes` are the most places of a level inside the level above.

    `variables` lie in global, `shared` in shared memory; `observed` are the values of an outcome in the order of
    `test.observed`. The results of an instance are `rows` words: those of thread t begin at `first_rows[t]`, with its
    times if there is a `clock`, and those of shared variables are the last ones.
    """

    places: tuple[ThreadPlace, ...]
    kernels: int
    devices: tuple[int, ...]  # the device of each kernel
    host: int | None  # the device that is the host; each of its threads counts as a kernel
    clusters: int
    ctas: int
    warps: int
    lanes: int
    variables: tuple[str, ...]
    shared: tuple[str, ...]
    shared_homes: tuple[int, ...]
    observed: tuple[ObservedValue, ...]
    first_rows: tuple[int, ...]
    rows: int
    wide: bool
    addresses: bool
    clock: BodyClock | None
    cut_flags: int = 0  # observed values, the last ones, that say whether a loop of a thread was cut
    barriers: bool = False  # threads wait at barriers of their CTA, in which no other instance may run

    @property
    def timed(self) -> bool:
        """Whether the threads say when they begin and end."""
        return self.clock is not None

    @property
    def interleaves(self) -> bool:
        """Whether threads of the test are lanes of one warp, which run in turns."""
        return self.lanes > 1

    @property
    def threads(self) -> int:
        return len(self.places)

    @property
    def host_kernels(self) -> tuple[int, ...]:
        """The kernels that are threads of the host."""
        return tuple(kernel for kernel, device in enumerate(self.devices) if device == self.host)

    @property
    def gpu_devices(self) -> tuple[int, ...]:
        """The device of each kernel that runs on a GPU."""
        return tuple(device for device in self.devices if device != self.host)

    @property
    def word_bytes(self) -> int:
        """The size of a location, and of a result."""
        return 8 if self.wide else 4

    def home(self, place: ThreadPlace) -> int:
        """The number of the CTA of a place."""
        return (place.kernel * self.clusters + place.cluster) * self.ctas + place.cta

    def place_number(self, place: ThreadPlace) -> int:
        return (self.home(place) * self.warps + place.warp) * self.lanes + place.lane


def obstacle_of_shape(test: Test, shape: Shape) -> str | None:
    """Why no harness can run the test; None if one can."""
    for number, most, what in (
        (shape.threads, THREADS, "threads"),
        (len(shape.variables) + len(shape.shared), VARIABLES, "variables"),
        (len(shape.observed), OBSERVED, "observed values"),
        (shape.kernels * shape.clusters * shape.ctas * shape.warps * shape.lanes, PLACES, "places"),
    ):
        if number > most:
            return f"it has {number} {what}, a harness takes at most {most}"
    if test.memory_map.symbolic:
        return "its memory map contradicts its instructions"
    if any(variable.aliases is not None for variable in test.memory_map.variables):
        return "two of its variables are names of one location"
    if shape.barriers:
        found = obstacle_of_barriers(test, shape.warps, lanes=shape.lanes, shared=bool(shape.shared))
        if found is not None:
            return found
    if _shared_addresses(test):
        return "it stores or observes the address of a shared variable"
    return None


def is_timed(architecture: str) -> bool:
    """Whether code for the architecture reads clocks: before sm_70 the compiler moves them among the accesses."""
    return int(architecture.strip("sm_af")) >= FIRST_TIMED


def shape_of(test: Test, *, timed: bool = True, bounded: bool = True) -> Shape:
    """The shape of a test; `obstacle_of_shape` says whether a harness can run it.

    `timed`: the harness has a clock. Threads on two devices have no clock in common. `bounded`: the test runs with
    bounds on its loops that are part of it; WGSL has others.
    """
    flags = count_cut_flags(test) if bounded else 0
    test = bound_loops(test) if bounded else test
    places = _places(test)
    devices = _devices(test)
    clock = _common_clock(places) if timed and len(set(devices)) == 1 else None
    spaces = {variable.name: variable.space for variable in test.memory_map.variables}
    variables = tuple(name for name, space in spaces.items() if space is Space.GLOBAL)
    shared = tuple(name for name, space in spaces.items() if space is Space.SHARED)
    uses = memory_uses(test)
    types = {name: _type_for_value(test.initial_value(name)) for name in spaces} | _types(uses)
    observed, first_rows, rows = _rows(test, variables, types, 0 if clock is None else TIMES)
    used = [*(types[name] for name in variables), *(row.type for row in observed)]
    shape = Shape(
        places=places,
        kernels=1 + max(place.kernel for place in places),
        devices=devices,
        host=test.scope_tree.host,
        clusters=1 + max(place.cluster for place in places),
        ctas=1 + max(place.cta for place in places),
        warps=1 + max(place.warp for place in places),
        lanes=1 + max(place.lane for place in places),
        variables=variables,
        shared=shared,
        shared_homes=(),
        observed=observed,
        first_rows=first_rows,
        rows=rows,
        wide=any(type.bits == 64 for type in used),
        addresses=any(value.type.bits == 64 for value in observed) and _mentions_addresses(test),
        clock=clock,
        cut_flags=flags,
        barriers=uses_barriers(test),
    )
    return _with_homes(uses, shape) if shared else shape


def _with_homes(uses: Sequence[Use], shape: Shape) -> Shape:
    homes = dict.fromkeys(shape.shared, 0)
    for use in uses:
        for name in use.targets:
            if name in homes:
                homes[name] = shape.home(shape.places[use.thread])
    return replace(shape, shared_homes=tuple(homes.values()))


def _places(test: Test) -> tuple[ThreadPlace, ...]:
    """The places of the threads; at each level numbers start at 0 inside every unit of the level above."""
    inside: dict[tuple[int, ...], dict[int, int]] = {}

    def number_unit(around: tuple[int, ...], unit: int) -> int:
        units = inside.setdefault(around, {})
        return units.setdefault(unit, len(units))

    places = []
    for thread, placement in enumerate(test.scope_tree.placements):
        kernel = placement.kernel
        cluster = number_unit((kernel,), placement.cluster)
        cta = number_unit((kernel, placement.cluster), placement.cta)
        warp = number_unit((kernel, placement.cluster, placement.cta), placement.warp)
        lane = number_unit((kernel, placement.cluster, placement.cta, placement.warp), thread)
        places.append(ThreadPlace(kernel, cluster, cta, warp, lane))
    return tuple(places)


def _devices(test: Test) -> tuple[int, ...]:
    devices = {placement.kernel: placement.device for placement in test.scope_tree.placements}
    return tuple(devices[kernel] for kernel in sorted(devices))


def variable_types(test: Test) -> dict[str, ScalarType]:
    """The type of each location: the width of its accesses, unsigned if all of them are."""
    return _types(memory_uses(test))


def _type_for_value(initial: Value) -> ScalarType:
    """The type of a location that no instruction accesses: wide enough for its initial value."""
    fits = isinstance(initial, int) and -(1 << 31) <= initial < 1 << 31
    return ScalarType.S32 if fits else ScalarType.S64


def _types(uses: Sequence[Use]) -> dict[str, ScalarType]:
    types: dict[str, ScalarType] = {}
    for use in uses:
        type = use.instruction.access.type
        for name in use.targets:
            before = types.get(name, type)
            types[name] = type if before[0] == type[0] == "u" else type.of_kind("s")
    return types


def _common_clock(places: Sequence[ThreadPlace]) -> BodyClock:
    """The clock of an SM counts for the threads of one CTA, that of the GPU for all others."""
    ctas = {(place.kernel, place.cluster, place.cta) for place in places}
    return BodyClock.CYCLES if len(ctas) == 1 else BodyClock.NANOSECONDS


def _rows(
    test: Test, variables: tuple[str, ...], types: dict[str, ScalarType], times: int
) -> tuple[tuple[ObservedValue, ...], tuple[int, ...], int]:
    """The observed values; for each thread its first row, where its `times` are; and the number of rows."""
    registers = {(found.thread, found.name): found.type for found in test.registers}
    counts = [times] * len(test.threads)
    for item in test.observed:
        if isinstance(item, FinalRegister):
            counts[item.thread] += 1
    first_rows = [sum(counts[:thread]) for thread in range(len(counts))]
    following = [row + times for row in first_rows]
    rows = sum(counts)
    observed = []
    for item in test.observed:
        if isinstance(item, FinalRegister):
            observed.append(ObservedValue(registers[item.thread, item.name], row=following[item.thread]))
            following[item.thread] += 1
        elif item.name in variables:
            observed.append(ObservedValue(types[item.name], variable=variables.index(item.name)))
        else:
            observed.append(ObservedValue(types[item.name], row=rows))
            rows += 1
    return tuple(observed), tuple(first_rows), rows


def _mentions_addresses(test: Test) -> bool:
    """Whether a register or a location may hold an address at the end."""
    operands = (operand for thread in test.threads for instruction in thread for operand in operands_of(instruction))
    return (
        any(isinstance(found.initial, AddressOf) for found in test.registers)
        or any(isinstance(entry.value, AddressOf) for entry in test.init)
        or any(isinstance(operand, Variable) for operand in operands)
    )


def _shared_addresses(test: Test) -> bool:
    shared = {variable.name for variable in test.memory_map.variables if variable.space is Space.SHARED}
    if any(isinstance(entry.value, AddressOf) and (entry.value.variable in shared) for entry in test.init):
        return True
    if any(entry.variable in shared and isinstance(entry.value, AddressOf) for entry in test.init):
        return True
    holders = {
        (found.thread, found.name)
        for found in test.registers
        if isinstance(found.initial, AddressOf) and found.initial.variable in shared
    }
    if any(isinstance(item, FinalRegister) and (item.thread, item.name) in holders for item in test.observed):
        return True
    return any(
        isinstance(instruction, (Store, Alu))
        and any(isinstance(operand, Variable) and operand.name in shared for operand in operands_of(instruction))
        for thread in test.threads
        for instruction in thread
    )
