"""Tests to the source of a module: the shared part of the harness once, then one function a test that plays its roles.

One kernel, `run`, calls the function of a test through the table `plays`, so that compiling a test costs only its own
code; in OpenCL, which has no such tables, every test has a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from gpudiy.harness import c11_role as c11
from gpudiy.harness.c11_role import c11_role, variable_name
from gpudiy.harness.host_side import BUFFERS, COUNTERS, LAUNCH_FIELDS
from gpudiy.harness.ptx_role import InputKind, PtxRole, Unrealisable, ptx_roles
from gpudiy.harness.shape import CONSTANTS, Shape, obstacle_of_shape, shape_of
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.condition import FinalRegister
from gpudiy.litmus.condition_text import term_text
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.printer import print_test
from gpudiy.litmus.test import Test
from gpudiy.shipped import find_shipped

if TYPE_CHECKING:
    from jinja2 import Environment, Template

Rows = list[list[tuple[int, ScalarType]]]

C_TYPES = {"r": "u32", "l": "u64", "h": "u16"}  # of the operands of inline PTX


class Dialect(StrEnum):
    CUDA = "cuda"
    OPENCL = "opencl"
    HOST = "host"


OBSTACLES: dict[Dialect, Callable[[Test], str | None]] = {
    Dialect.CUDA: lambda test: None,  # its blocks are asked when they are written
    Dialect.OPENCL: c11.obstacle,
    Dialect.HOST: c11.obstacle_on_host,
}


class NotRunnable(Exception):
    """No harness of this dialect keeps the meaning of the test; the message says why, and where if it is one place."""

    def __init__(self, message: str, thread: int | None = None, index: int | None = None) -> None:
        super().__init__(message)
        self.thread = thread
        self.index = index


@dataclass(frozen=True, slots=True)
class RoleSource:
    """What one thread of the test does in an instance."""

    thread: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlaySource:
    """The code of one test. `constants` go into the launch; `kernel` is what to launch for it.

    `blocks` is the inline PTX of each thread, in CUDA.
    """

    test: Test
    shape: Shape
    play: str
    kernel: str
    text: str
    constants: tuple[int, ...] = ()
    blocks: tuple[PtxRole, ...] = ()


def obstacle(test: Test, dialect: Dialect) -> str | None:
    """Why the test cannot be run as it is meant, if it cannot."""
    try:
        play_source(test, dialect)
    except NotRunnable as problem:
        return str(problem)
    return None


def play_source(test: Test, dialect: Dialect) -> PlaySource:
    """The code of a test; raises `NotRunnable`."""
    shape = shape_of(test)
    found = obstacle_of_shape(test, shape) or OBSTACLES[dialect](test)
    if found is not None:
        raise NotRunnable(found)
    return cuda_play(test, shape) if dialect is Dialect.CUDA else _c11_play(test, shape, dialect)


def module_source(plays: Sequence[PlaySource], dialect: Dialect) -> str:
    """A whole module: the shared part, the code of the tests, and the kernels."""
    parts = [prelude(dialect), *(play.text for play in plays)]
    if dialect is not Dialect.OPENCL:
        clusters = sorted({play.shape.ctas for play in plays} - {1})
        parts.append(run_kernel([play.play for play in plays], dialect, clusters))
    return "\n".join(parts)


@cache
def prelude(dialect: Dialect) -> str:
    """What all tests of a module share, with the kernels `reset` and `reduce`."""
    text = template("module.j2").render(
        dialect=str(dialect),
        launch_fields=LAUNCH_FIELDS,
        buffers=BUFFERS,
        counters=COUNTERS,
        play_extra=", const u64 specification" if dialect is Dialect.CUDA else "",
    )
    if dialect is Dialect.HOST:
        text += "\n\n" + "\n".join(map(_entry, ("reset", "reduce")))
    return tidy(text)


@cache
def prelude_of_plays() -> str:
    """What the plays of CUDA need, and no more."""
    return tidy(
        template("plays_module.j2").render(
            launch_fields=LAUNCH_FIELDS, buffers=BUFFERS, counters=COUNTERS, play_extra=", const u64 specification"
        )
    )


def run_kernel(plays: Sequence[str], dialect: Dialect, clusters: Iterable[int] = ()) -> str:
    """The table of the tests of a module, which may lie in another one, and the kernels that run one of them.

    The size of a cluster is a property of the kernel: `clusters` are those there is a kernel for, besides 1.
    """
    extra = ", specification" if dialect is Dialect.CUDA else ""
    parts = [template("table.j2").render(plays=plays)]
    for cluster in (1, *clusters):
        name = kernel_name(cluster)
        parts.append(
            template("run.j2").render(
                what="the test of that number" + (f", in clusters of {cluster} CTAs" if cluster > 1 else ""),
                kernel=name,
                cluster=cluster,
                play="plays[test]",
                shared="asked",
                extra_parameters=f", const u32 test{', const u64 specification' if extra else ''}",
                extra_arguments=extra,
            )
        )
        if dialect is Dialect.HOST:
            parts.append(_entry(name, ", *(u32 *)arguments[8]"))
    return "\n".join(parts)


def kernel_name(cluster: int) -> str:
    """The kernel that runs tests in clusters of so many CTAs."""
    return "run" if cluster == 1 else f"run_cluster_{cluster}"


def play_name(test: Test) -> str:
    """The same only for tests of the same meaning whose variables and results also stand in the same order.

    A condition that is spelt in another order means the same, but its outcomes are not told in the same order.
    """
    registers = [f"{found.thread}:{found.name} {found.type}" for found in test.registers]
    order = ",".join((*test.memory_map.names, *map(term_text, test.observed), *registers))
    return f"play_{content_hash(test)}_{sha256(order.encode()).hexdigest()[:8]}"


@cache
def templates_hash() -> str:
    """Changes when any template does, or what the host tells the kernels."""
    digest = sha256(repr((LAUNCH_FIELDS, BUFFERS, COUNTERS)).encode())
    for path in sorted(find_shipped("harness_templates").iterdir()):
        if path.suffix in (".h", ".j2"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def tidy(text: str) -> str:
    """No blanks at the ends of lines, never two empty lines, one newline at the end."""
    lines: list[str] = []
    for line in map(str.rstrip, text.split("\n")):
        if line or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines).strip("\n") + "\n"


@cache
def template(name: str) -> Template:
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(find_shipped("harness_templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def cuda_play(test: Test, shape: Shape) -> PlaySource:
    """The code of a test with its litmus code as inline PTX."""
    blocks = ptx_blocks(test)
    constants = constants_of(blocks)
    name = play_name(test)
    lines = [[f'    "{line.text}\\n"' for line in block.lines] for block in blocks]
    roles = cuda_roles(shape, result_rows(test, shape), blocks, lines)
    text = play_text(
        _title(test), name, shape, roles, blocks, used_variables(blocks), Dialect.CUDA, _text_array(test, name)
    )
    return PlaySource(test, shape, name, "run", text, constants, tuple(blocks))


def cuda_roles(shape: Shape, rows: Rows, blocks: Sequence[PtxRole], lines: Sequence[Sequence[str]]) -> list[RoleSource]:
    """The roles as `asm` statements around the given lines, and what becomes of their results."""
    roles, number = [], 0
    for block, inside in zip(blocks, lines, strict=True):
        names = [f"result_{k}" for k in range(len(block.outputs))]
        outputs = [f'"={output.constraint}"({name})' for output, name in zip(block.outputs, names, strict=True)]
        inputs = []
        for entry in block.inputs:
            if entry.kind is InputKind.VALUE:
                value = f"constant_{number}"
                number += 1
            else:
                value = f"at_{variable_name(entry.variable)}" if entry.variable else "specification"
            inputs.append(f'"{entry.constraint}"({value})')
        roles.append(
            RoleSource(
                block.thread,
                (
                    *(f"{C_TYPES[o.constraint]} {name};" for o, name in zip(block.outputs, names, strict=True)),
                    "asm volatile(",
                    *inside,
                    f"    :{' ' * bool(outputs)}{', '.join(outputs)}",
                    f"    :{' ' * bool(inputs)}{', '.join(inputs)}",
                    '    : "memory");',
                    *_stores(shape, rows[block.thread], names),
                ),
            )
        )
    return roles


def _c11_play(test: Test, shape: Shape, dialect: Dialect) -> PlaySource:
    rows = result_rows(test, shape)
    roles: list[RoleSource] = []
    used: set[str] = set()
    for thread in range(len(test.threads)):
        role = c11_role(test, thread)
        used |= set(role.variables)
        roles.append(RoleSource(thread, (*role.lines, *_stores(shape, rows[thread], role.results))))
    name = play_name(test)
    text = play_text(_title(test), name, shape, roles, (), used, dialect)
    if dialect is Dialect.HOST:
        return PlaySource(test, shape, name, "run", text)
    kernel = name.replace("play", "test")
    text += "\n" + template("run.j2").render(
        what=_title(test),
        kernel=kernel,
        cluster=1,
        play=name,
        shared="yes" if shape.shared else "no",
        extra_parameters="",
        extra_arguments="",
    )
    return PlaySource(test, shape, name, kernel, text)


def play_text(
    title: str,
    name: str,
    shape: Shape,
    roles: Sequence[RoleSource],
    blocks: Sequence[PtxRole],
    used: Collection[str],
    dialect: Dialect,
    text_array: str = "",
) -> str:
    """The function that plays the roles of a test; `used` are the variables whose addresses they need."""
    types = [C_TYPES[e.constraint] for block in blocks for e in block.inputs if e.kind is InputKind.VALUE]
    return template("play.j2").render(
        title=title,
        text_array=text_array,
        play=name,
        before=[*_before(shape, used), *_constants(types)],
        addresses=_addresses(shape, used, dialect),
        roles=roles,
        after=["slot += nearby_teams;"] if shape.shared else [],
    )


def result_rows(test: Test, shape: Shape) -> Rows:
    """Of each thread: which of the results its observed registers are, in the order of `test.observed`."""
    rows: Rows = [[] for _ in test.threads]
    for item, row in zip(test.observed, shape.observed, strict=True):
        if isinstance(item, FinalRegister) and row.row is not None:
            rows[item.thread].append((row.row, row.type))
    return rows


def _constants(types: Sequence[str]) -> list[str]:
    return [
        f"const {type} constant_{number} = ({type})launch->constants[{number}];" for number, type in enumerate(types)
    ]


def _entry(kernel: str, extra: str = "") -> str:
    return template("entry.j2").render(kernel=kernel, buffers=BUFFERS, extra=extra)


def _title(test: Test) -> str:
    return "".join(character if character.isprintable() and character != "\\" else "?" for character in test.name)


def _text_array(test: Test, name: str) -> str:
    """The test itself, as data of the module: a binary tells what it is."""
    lines = print_test(test).replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?").rstrip("\n").split("\n")
    quoted = "\n".join(f'    "{line}\\n"' for line in lines)
    return f'extern "C" __device__ const char {name}_text[] =\n{quoted};\n\n'


def constants_of(blocks: Sequence[PtxRole]) -> tuple[int, ...]:
    """What the launch hands to the threads, in the order in which they take it."""
    constants = tuple(value for block in blocks for value in block.values)
    if len(constants) > CONSTANTS:
        raise NotRunnable(f"it stores {len(constants)} constants, a harness takes {CONSTANTS}")
    return constants


def ptx_blocks(test: Test) -> list[PtxRole]:
    try:
        return list(ptx_roles(test))
    except Unrealisable as problem:
        raise NotRunnable(f"P{problem.thread}: {problem}", problem.thread, problem.index) from None


def used_variables(blocks: Sequence[PtxRole]) -> set[str]:
    return {entry.variable for block in blocks for entry in block.inputs if entry.variable}


def _before(shape: Shape, used: Collection[str]) -> list[str]:
    """What is the same for all instances of a batch."""
    lines = ["const u32 pitch = launch->pitch;"] if any(name in used for name in shape.variables) else []
    for number, name in enumerate(shape.variables):
        if name not in used:
            continue
        lines.append(f"const u32 mask_{variable_name(name)} = launch->masks[{number}];")
        offset = f" + {number} * (u64)launch->location_bytes" if number else ""
        lines.append(f"const u64 base_{variable_name(name)} = (u64)locations{offset};")
    if shape.shared:
        lines.append("const u32 nearby_teams = launch->warp_teams * launch->lane_teams;")
        lines.append("const u32 shared_stride = launch->shared_stride;")
        lines.append("u32 slot = nearby;")
    return lines


def _addresses(shape: Shape, used: Collection[str], dialect: Dialect) -> list[str]:
    lines = []
    for name in (variable_name(name) for name in shape.variables if name in used):
        lines.append(f"const u64 at_{name} = base_{name} + (u64)(instance ^ mask_{name}) * pitch;")
    for number, name in enumerate(map(variable_name, shape.shared)):
        if shape.shared[number] not in used:
            continue
        place = f"shared + (slot * {len(shape.shared)} + {number}) * shared_stride"
        if dialect is Dialect.CUDA:
            lines.append(f"const u32 at_{name} = (u32)__cvta_generic_to_shared({place});")
        else:
            lines.append(f"const u64 at_{name} = (u64)({place});")
    if shape.rows:
        word = "u64" if shape.wide else "u32"
        lines.append(f"GLOBAL {word} *const result = (GLOBAL {word} *)results + (u64)instance * {shape.rows};")
    return lines


def _stores(shape: Shape, rows: Sequence[tuple[int, ScalarType]], names: Sequence[str]) -> list[str]:
    return [
        f"result[{row}] = ({'u32' if type is ScalarType.PRED else f'u{type.bits}'}){name};"
        for (row, type), name in zip(rows, names, strict=True)
    ]
