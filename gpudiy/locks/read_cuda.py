"""Read the program of a lock from CUDA C, through the real compiler."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gpudiy.errors import InputError
from gpudiy.locks.cuda_source import KERNEL, Probe, make_probes
from gpudiy.locks.lock_program import LockProgram, hole_statement, is_hole, source_error
from gpudiy.locks.names import Pair
from gpudiy.locks.ptx_source import PROBE_FILE, read_compiled_program
from gpudiy.ptx import CodePlace

ARCHITECTURE = "sm_75"  # the oldest that today's compiler supports
ERROR_WITH_LINE = re.compile(r"^[^\n(]*\((\d+)\): (?:catastrophic )?error[^:\n]*: ([^\n]*)", re.MULTILINE)
OTHER_ERROR = re.compile(r"error[^:\n]*: ([^\n]*)")


def read_cuda(
    source: str, path: str, names: Pair, architecture: str = ARCHITECTURE, includes: Sequence[str] = ()
) -> LockProgram:
    """Read the lock in a CUDA C source; raise `InputError`, or `MissingTool` without a compiler."""
    from gpudiy.harness.nvrtc import CompileError

    problem: InputError | None = None
    for probe in make_probes(source, path, names):
        try:
            ptx = _compile(probe, architecture, tuple(includes))
        except CompileError as error:
            problem = problem or _compiler_error(error.log, source, path)
            continue
        program = read_compiled_program(ptx, path, source, probe.parameters, KERNEL if KERNEL in probe.text else None)
        holes = [index for index, statement in enumerate(program.statements) if is_hole(statement)]
        if len(holes) == 1:
            return _place_hole(program, probe, source)
        if not holes:
            problem = problem or source_error(path, source, "the compiler removed the critical section as unreachable")
        else:
            line = source.count("\n", 0, probe.entry) + 1
            message = f"the compiler copied this critical section {len(holes)} times: such a lock is not supported"
            problem = problem or source_error(path, source, message, line, 1)
    assert problem is not None
    raise problem


def _place_hole(program: LockProgram, probe: Probe, source: str) -> LockProgram:
    """Move the hole from the generated kernel to its place in the source."""
    line = source.count("\n", 0, probe.entry) + 1
    column = probe.entry - source.rfind("\n", 0, probe.entry)
    named = program.exchange(program.hole, hole_statement(CodePlace(line, column)))
    return replace(named, ends=(probe.entry, probe.exit))


def _compile(probe: Probe, architecture: str, includes: tuple[str, ...]) -> str:
    from gpudiy.harness.nvrtc import Product, compiler_for

    compiler = compiler_for(architecture)
    options = ["-lineinfo", "--std=c++17", "-w", "-default-device", *(f"-I{folder}" for folder in includes)]
    return compiler.compile(probe.text, architecture, Product.PTX, options, PROBE_FILE).decode()


def _compiler_error(log: str, source: str, path: str) -> InputError:
    match = ERROR_WITH_LINE.search(log)
    if match is None:
        other = OTHER_ERROR.search(log)
        return InputError(f"the compiler reports: {other[1] if other else log.strip()}", path=path)
    line = int(match[1])
    text = source.split("\n")[line - 1] if line <= source.count("\n") + 1 else ""
    column = len(text) - len(text.lstrip()) + 1
    hint = None
    if "open source file" in match[2]:
        hint = "name its folder: -I FOLDER"
    return source_error(path, source, f"the compiler reports: {match[2]}", line, column, hint)
