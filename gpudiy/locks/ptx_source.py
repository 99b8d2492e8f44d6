"""Read the program of a lock from PTX: one kernel with a hole, or two functions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from gpudiy.litmus.access import Space
from gpudiy.locks.lock_program import (
    HOLE,
    NOWHERE,
    LockProgram,
    LockVariable,
    ends_thread,
    hole_statement,
    is_hole,
    read_statement,
    source_error,
    split_statement,
    widen,
)
from gpudiy.locks.names import Pair, choose_pair
from gpudiy.ptx import CodePlace, PtxKernel, PtxModule, PtxStatement, PtxVariable, read_module
from gpudiy.ptx.declarations import type_bytes

SECOND_HOLE = "this is a second critical section: a lock must have exactly one"
MARK = "gpudiy critical section"
PROBE_FILE = "lock.cu"  # the file name that the compiler sees
HOLE_COMMENT = re.compile(r"//[^\n]*\bcritical section\b[^\n]*|/\*[^*]*\bcritical section\b[^*]*\*/", re.IGNORECASE)
END_OF_ACQUIRE = "%hole"  # a label
WORD = re.compile(r"(?<![\w.])[%$]?[A-Za-z_][\w$.]*")
SPECIAL = ("%laneid", "%warpid", "%smid", "%clock", "%clock64", "%globaltimer")
SPACES = {space.value: space for space in Space}


def read_compiled_program(ptx: str, path: str, source: str, names: tuple[str, ...], kernel: str | None) -> LockProgram:
    """Read the kernel that a compiler made from `source`: the named one, or the one with the hole.

    `names` are the names of its parameters in the source.
    """
    module = _read(ptx, path)
    with_hole = [body for body in module.kernels if any(map(is_hole, body.body))]
    named = [body for body in module.kernels if body.name == kernel]
    body = (named or with_hole or list(module.kernels) or [PtxKernel("", True, (), (), (), (), ())])[0]
    parameters = [parameter.name for parameter in body.parameters]
    called = dict(zip(parameters, names if len(names) == len(parameters) else parameters, strict=True))
    lines = source.count("\n") + 1
    statements = tuple(
        widen(replace(statement, place=_source_place(statement.place, lines))) for statement in body.body
    )
    return LockProgram(statements, body.labels, path, source, _variables(module), called)


def read_ptx(text: str, path: str, names: Pair) -> LockProgram:
    """Read a PTX file: one function with a hole, or an acquire and a release function."""
    module = _read(text, path)
    variables = _variables(module)
    holes = [(body, s) for body in module.kernels for s in body.body if is_hole(s)]
    if len(holes) > 1:
        raise source_error(path, text, SECOND_HOLE, holes[1][1].place.line, 1)
    if holes:
        body = holes[0][0]
        return LockProgram(tuple(map(widen, body.body)), body.labels, path, text, variables, _same_names(body))
    by_name = {body.name: body for body in module.kernels}
    lines = {body.name: next((s.place.line for s in body.body), 0) for body in module.kernels}
    acquire, release = choose_pair(list(by_name), names, path, text, lines)
    joined = _join(by_name[acquire], by_name[release], variables)
    return LockProgram(joined.statements, joined.labels, path, text, variables, joined.parameters)


def _read(text: str, path: str) -> PtxModule:
    return read_module(HOLE_COMMENT.sub(lambda match: _fill(f"{HOLE};", match[0]), text), path)


def _fill(new: str, old: str) -> str:
    """Pad a text to the length and the lines of the text it replaces, so that all other places stay right."""
    return new.ljust(len(old)) if "\n" not in old else new + re.sub(r"[^\n]", " ", old[len(new) :])


def _source_place(place: CodePlace, lines: int) -> CodePlace:
    """The place in a source of so many lines; nowhere for the code of a header or of the kernel that calls the lock."""
    source = place.source
    if source is None or source.file.rpartition("/")[2] != PROBE_FILE or source.line > lines:
        return NOWHERE
    return CodePlace(source.line, source.column)


def _variables(module: PtxModule) -> dict[str, LockVariable]:
    inside = [variable for kernel in module.kernels for variable in kernel.variables]
    return dict(_lock_variables([*module.variables, *inside]))


def _lock_variables(variables: Iterable[PtxVariable]) -> Iterable[tuple[str, LockVariable]]:
    for variable in variables:
        space = SPACES.get(variable.space)
        single = variable.bytes == type_bytes(variable.type)
        if space is not None and (single or not variable.initial):
            initial = variable.initial[0] if variable.initial else None
            yield variable.name, LockVariable(space, initial if isinstance(initial, int) else None)


def _same_names(kernel: PtxKernel) -> dict[str, str]:
    return {parameter.name: parameter.name for parameter in kernel.parameters}


@dataclass(frozen=True, slots=True)
class _JoinedCode:
    statements: tuple[PtxStatement, ...]
    labels: dict[str, int]
    parameters: dict[str, str]


def _join(acquire: PtxKernel, release: PtxKernel, variables: Iterable[str]) -> _JoinedCode:
    """Join two functions into one program; their parameters are the same, by position."""
    end = len(acquire.body)
    first = [_lead_to_hole(widen(statement)) for statement in acquire.body]
    taken, given = list(_same_names(acquire)), list(_same_names(release))
    kept = {name: name for name in variables} | dict(zip(given, taken, strict=False))
    second = [_rename(statement, kept) for statement in release.body]
    labels = {**acquire.labels, END_OF_ACQUIRE: end}
    labels |= {f"{name}%": target + end + 1 for name, target in release.labels.items()}
    parameters = {name: name for name in (*taken, *given[len(taken) :])}
    return _JoinedCode((*first, hole_statement(), *second), labels, parameters)


def _lead_to_hole(statement: PtxStatement) -> PtxStatement:
    """The statement; a `ret` or `exit` becomes a branch to the critical section."""
    if not ends_thread(statement):
        return statement
    guard, _, _ = split_statement(statement.text)
    return read_statement(f"{guard}bra {END_OF_ACQUIRE}", statement.place)


def _rename(statement: PtxStatement, kept: dict[str, str]) -> PtxStatement:
    """A statement of the second function: registers and labels get new names, parameters those of the first."""

    def change(match: re.Match[str]) -> str:
        word = match[0]
        return kept.get(word) or (word if "." in word or word in SPECIAL else f"{word}%")

    guard, opcode, operands = split_statement(statement.text)
    return read_statement(f"{WORD.sub(change, guard)}{opcode}{WORD.sub(change, operands)}", statement.place)
