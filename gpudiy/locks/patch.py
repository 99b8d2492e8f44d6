"""Write the changes of a lock into its source, in the language of the source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING

from gpudiy.litmus.access import Scope
from gpudiy.litmus.instruction import Branch
from gpudiy.locks.cuda_source import blank_comments
from gpudiy.locks.lock_program import LockProgram
from gpudiy.locks.ptx_source import END_OF_ACQUIRE
from gpudiy.locks.strength import UNUSED, Strength, StrengthKind, fence_text, strengthen
from gpudiy.ptx import PtxStatement

if TYPE_CHECKING:
    from gpudiy.locks.repair import Change

SCOPE_NAMES = {Scope.CTA: "BLOCK", Scope.CLUSTER: "CLUSTER", Scope.GPU: "DEVICE", Scope.SYS: "SYSTEM"}
FENCES = {Scope.CTA: "__threadfence_block()", Scope.GPU: "__threadfence()", Scope.SYS: "__threadfence_system()"}
SUFFIXES = {Scope.CTA: "_block", Scope.GPU: "", Scope.SYS: "_system"}
BUILTINS = {
    "cas": r"__nv_atomic_compare_exchange(?:_n)?", "exch": r"__nv_atomic_exchange(?:_n)?",
    "add": r"__nv_atomic_(?:fetch_)?add", "ld": r"__nv_atomic_load(?:_n)?", "st": r"__nv_atomic_store(?:_n)?",
}  # fmt: skip
INTRINSICS = {
    "cas": "atomicCAS", "exch": "atomicExch", "add": "atomicAdd", "inc": "atomicInc", "dec": "atomicDec",
    "min": "atomicMin", "max": "atomicMax", "and": "atomicAnd", "or": "atomicOr", "xor": "atomicXor",
}  # fmt: skip
ANY_FENCE = re.compile(r"__threadfence(?:_block|_system)?\s*\(\s*\)|__nv_atomic_thread_fence\s*\([^)]*\)")
STORE = re.compile(r"(\*\s*)?([A-Za-z_][\w.\[\]>-]*)\s*=\s*([^=;][^;]*)")
LOAD = re.compile(r"\*\s*(?:\(\s*(?:const\s+)?volatile\b[^)]*\)\s*)?(&?[A-Za-z_][\w.>-]*)")


@dataclass(frozen=True, slots=True)
class Edit:
    """A piece of the source and its replacement."""

    start: int
    end: int
    text: str


class CannotRewrite(Exception):
    """A change that cannot be written in the source."""


def can_rewrite(program: LockProgram, position: int, inserted: bool, strength: Strength) -> bool:
    """Whether a change can be written in the source."""
    try:
        _make_edits(program, position, inserted, strength)
    except CannotRewrite:
        return False
    return True


def patch_source(program: LockProgram, changes: Sequence[Change]) -> str:
    """The source with the changes; raise `CannotRewrite` if one cannot be written."""
    edits: list[Edit] = []
    for change in changes:
        edits += _make_edits(program, change.site.position, change.site.inserted, change.strength)
    source = program.source
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        source = source[: edit.start] + edit.text + source[edit.end :]
    return source


def write_difference(old: str, new: str, path: str) -> str:
    """The change of a file as a unified diff."""
    lines = unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _make_edits(program: LockProgram, position: int, inserted: bool, strength: Strength) -> list[Edit]:
    if program.is_cuda:
        rewrite = _insert_cuda_fence if inserted else _change_cuda
    else:
        rewrite = _insert_ptx_fence if inserted else _change_ptx
    return rewrite(program, position, strength)


def _insert_ptx_fence(program: LockProgram, position: int, strength: Strength) -> list[Edit]:
    """Insert a line before a statement; at the critical section, before or after its mark."""
    hole = program.hole
    at = position
    if position == hole and not program.statements[hole].place.line:
        at = max((i for i in range(hole) if _leads_to_hole(program.statements[i])), default=hole)
    statement = program.statements[at]
    if not statement.place.line:
        raise CannotRewrite
    start, indent = _line_start(program.source, statement.place.line)
    model = next((s for s in program.statements[:hole] if s.place.line and s.opcode[0] != "ret"), None)
    if program.path.endswith(".lock") and model is not None:
        indent = _line_start(program.source, model.place.line)[1]
    end = ";" if program.path.endswith(".ptx") else ""
    return [Edit(start, start, f"{indent}{fence_text(strength)}{end}\n")]


def _change_ptx(program: LockProgram, position: int, strength: Strength) -> list[Edit]:
    statement = program.statements[position]
    if not statement.place.line:
        raise CannotRewrite
    new = strengthen(statement, strength)
    if strength.kind is StrengthKind.ATOMIC and program.path.endswith(".ptx") and statement.opcode[0] == "st":
        raise CannotRewrite  # its result needs a register that is not declared
    new_text = new.text.replace(UNUSED, "unused")
    start = _offset(program.source, statement)
    end = re.compile(r";|\s*(?:#|//)|\s*$", re.MULTILINE).search(program.source, start)
    assert end is not None
    return [Edit(start, end.start(), new_text)]


def _insert_cuda_fence(program: LockProgram, position: int, strength: Strength) -> list[Edit]:
    assert program.ends is not None
    entry, exit = program.ends
    fence = f"{_cuda_fence_text(strength)};"
    if position == program.hole:
        return [_insert_before(program.source, entry, fence)]
    if position == program.hole + 1:
        return [_insert_after(program.source, exit, fence)]
    statement = program.statements[position]
    if not statement.place.line:
        raise CannotRewrite
    start = _offset(program.source, statement)
    text = blank_comments(program.source)
    if text[:start].rstrip()[-1:] in (";", "{", "}"):
        return [_insert_before(program.source, start, fence)]
    end = text.find(";", start)
    if end < 0:
        raise CannotRewrite
    return [Edit(start, start, f"{{ {fence} "), Edit(end + 1, end + 1, " }")]


def _cuda_fence_text(strength: Strength) -> str:
    assert strength.scope is not None
    if strength.kind is StrengthKind.MEMBAR:
        return FENCES[strength.scope]
    order = "SEQ_CST" if strength.kind is StrengthKind.FENCE_SC else "ACQ_REL"
    return f"__nv_atomic_thread_fence(__NV_ATOMIC_{order}, __NV_THREAD_SCOPE_{SCOPE_NAMES[strength.scope]})"


def _insert_before(source: str, offset: int, text: str) -> Edit:
    """Insert a statement at an offset: on a new line if the offset is at the start of a line."""
    start = source.rfind("\n", 0, offset) + 1
    indent = source[start:offset]
    if indent.strip():
        return Edit(offset, offset, f"{text} ")
    indent += "    " if source[offset : offset + 1] == "}" else ""
    return Edit(start, start, f"{indent}{text}\n")


def _insert_after(source: str, offset: int, text: str) -> Edit:
    """Insert a statement after an offset: on a new line if the offset is at the end of a line."""
    end = source.find("\n", offset)
    rest = source[offset : end if end >= 0 else len(source)]
    if rest.strip() or end < 0:
        return Edit(offset, offset, f" {text}")
    following = re.compile(r"[ \t]*(?=\S)").match(source, end + 1)
    indent = following[0] if following else ""
    if source[end + 1 + len(indent) : end + 2 + len(indent)] == "}":
        indent += "    "
    return Edit(end + 1, end + 1, f"{indent}{text}\n")


def _change_cuda(program: LockProgram, position: int, strength: Strength) -> list[Edit]:
    statement = program.statements[position]
    if not statement.place.line or statement.place.line > program.source.count("\n") + 1:
        raise CannotRewrite
    start = _offset(program.source, statement)
    for rewrite in (
        _change_inline_assembly,
        _change_fence_call,
        _change_builtin,
        _change_intrinsic,
        _change_plain_access,
    ):
        edits = rewrite(program.source, start, statement, strength)
        if edits:
            return edits
    raise CannotRewrite


def _change_inline_assembly(source: str, start: int, statement: PtxStatement, strength: Strength) -> list[Edit]:
    """Change an opcode that is in the source as inline assembly."""
    opcode = ".".join(statement.opcode)
    found = source.find(opcode, start, start + 400)
    if found < 0 or strength.kind is StrengthKind.ATOMIC:
        return []
    return [Edit(found, found + len(opcode), ".".join(strengthen(statement, strength).opcode))]


def _change_fence_call(source: str, start: int, statement: PtxStatement, strength: Strength) -> list[Edit]:
    if statement.opcode[0] not in ("membar", "fence"):
        return []
    found = ANY_FENCE.search(blank_comments(source), start)
    return [Edit(found.start(), found.end(), _cuda_fence_text(strength))] if found else []


def _operation(statement: PtxStatement) -> str:
    if statement.opcode[0] in ("ld", "st"):
        return statement.opcode[0]
    return next((word for word in statement.opcode if word in INTRINSICS), "")


def _change_builtin(source: str, start: int, statement: PtxStatement, strength: Strength) -> list[Edit]:
    """Change the order and the scope among the arguments of `__nv_atomic_…`."""
    name = BUILTINS.get(_operation(statement))
    if name is None or strength.kind in (StrengthKind.VOLATILE, StrengthKind.ATOMIC) or strength.scope is None:
        return []
    text = blank_comments(source)
    call = _find_nearest(text, rf"\b{name}\s*\(", start)
    if call is None:
        return []
    end = text.find(";", call.end())
    order = re.compile(r"__NV_ATOMIC_\w+").search(text, call.end(), end)
    scope = re.compile(r"__NV_THREAD_SCOPE_\w+").search(text, call.end(), end)
    if order is None or scope is None:
        return []
    return [
        Edit(order.start(), order.end(), f"__NV_ATOMIC_{strength.kind.upper()}"),
        Edit(scope.start(), scope.end(), f"__NV_THREAD_SCOPE_{SCOPE_NAMES[strength.scope]}"),
    ]


def _change_intrinsic(source: str, start: int, statement: PtxStatement, strength: Strength) -> list[Edit]:
    """Change the scope in the name of `atomicCAS` and the like, which have no order."""
    name = INTRINSICS.get(_operation(statement))
    if name is None or strength.kind is not StrengthKind.RELAXED or strength.scope not in SUFFIXES:
        return []
    call = _find_nearest(blank_comments(source), rf"\b{name}(_block|_system)?(?=\s*\()", start)
    return [] if call is None else [Edit(call.start(), call.end(), f"{name}{SUFFIXES[strength.scope]}")]


def _find_nearest(text: str, pattern: str, start: int) -> re.Match[str] | None:
    """The first match after the place that the line information names, if it is near."""
    found = re.compile(pattern).search(text, start)
    return found if found is not None and found.start() - start < 600 else None


def _change_plain_access(source: str, start: int, statement: PtxStatement, strength: Strength) -> list[Edit]:
    text = blank_comments(source)
    end = text.find(";", start)
    if end < 0 or statement.opcode[0] not in ("ld", "st"):
        return []
    if statement.opcode[0] == "st":
        match = STORE.match(text, start)
        if match is None:
            return []
        place = match[2] if match[1] else f"&{match[2]}"
        arguments, name = f"{place}, {source[match.start(3) : match.end(3)].strip()}", "atomicExch"
        builtin = "__nv_atomic_store_n"
    else:
        match = LOAD.search(text, start, end)
        if match is None:
            return []
        arguments, name, builtin = match[1], "atomicAdd", "__nv_atomic_load_n"
    if strength.scope is None or strength.kind is StrengthKind.VOLATILE:
        return []
    if strength.kind is StrengthKind.ATOMIC:
        zero = ", 0" if statement.opcode[0] == "ld" else ""
        return [Edit(match.start(), match.end(), f"{name}{SUFFIXES[strength.scope]}({arguments}{zero})")]
    order = f"__NV_ATOMIC_{strength.kind.upper()}, __NV_THREAD_SCOPE_{SCOPE_NAMES[strength.scope]}"
    return [Edit(match.start(), match.end(), f"{builtin}({arguments}, {order})")]


def _leads_to_hole(statement: PtxStatement) -> bool:
    branch = statement.instruction
    return isinstance(branch, Branch) and branch.target == END_OF_ACQUIRE


def _line_start(source: str, line: int) -> tuple[int, str]:
    start = 0
    for _ in range(line - 1):
        start = source.find("\n", start) + 1
    match = re.compile(r"[ \t]*").match(source, start)
    return start, match[0] if match else ""


def _offset(source: str, statement: PtxStatement) -> int:
    return _line_start(source, statement.place.line)[0] + max(0, statement.place.column - 1)
