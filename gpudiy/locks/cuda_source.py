"""Find the device functions of a CUDA C source, and write a kernel that calls the lock."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpudiy.errors import InputError
from gpudiy.locks.lock_program import source_error
from gpudiy.locks.names import Pair, choose_pair
from gpudiy.locks.ptx_source import MARK, SECOND_HOLE

KERNEL, OBJECT, RESULT = "gpudiy_lock_probe", "gpudiy_lock", "gpudiy_result"
HOLE_CODE = f'asm volatile("// {MARK}" ::: "memory");'
HOLE_MARK = re.compile(
    r"//[ \t]*critical[ \t]+section[^\n]*|/\*\s*critical\s+section[^*]*\*/|#[ \t]*critical[ \t]+section[^\n]*"
    r"|\bCRITICAL_SECTION\s*\(\s*\)\s*;?",
    re.IGNORECASE,
)
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.DOTALL)
CALLED = re.compile(r"(?<![\w:])((?:\w+::)*+~?\w++)\s*+\(")
BODY = re.compile(r"\s*(?:(?:const|noexcept|override|final)\b\s*)*\{")
TEMPLATE = re.compile(r"template\s*<([^<>]*)>")
TYPE_NAME = re.compile(r"(?:typename|class)\s+(\w+)")
KEYWORDS = frozenset(("if", "while", "for", "switch", "catch", "return", "sizeof", "asm", "do", "else"))
HOST_HEADER = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:std\w+|string|math|assert|time|cuda_runtime\w*|cuda|device_launch_parameters|"
    r"device_functions|device_atomic_functions|iostream|cstdio|cstdlib|cstdint|vector|cassert|chrono)(?:\.h)?[>\"]",
    re.MULTILINE,
)
LONGEST_HEAD, LONGEST_PARAMETERS = 400, 4000  # characters before the name of a function, and between its parentheses
CLASS = re.compile(r"\b(?:struct|class)\s+(?:__align__\s*\([^)]*\)\s*)?(\w+)[^;{()]*\{")
PARAMETER = re.compile(r"^(.*?)(\w+)\s*(?:\[\s*\])?$", re.DOTALL)
NOT_PART_OF_TYPE = (
    "__device__",
    "__forceinline__",
    "__noinline__",
    "inline",
    "static",
    "__host__",
    "extern",
    "constexpr",
)


@dataclass(frozen=True, slots=True)
class FunctionParameter:
    """A parameter of a device function."""

    type: str
    name: str


@dataclass(frozen=True, slots=True)
class DeviceFunction:
    """A function with a body; `owner` is its class. `start`, `body` and `end` are offsets in the source."""

    name: str
    owner: str | None
    result: str
    parameters: tuple[FunctionParameter, ...]
    device: bool
    kernel: bool
    start: int
    body: int
    end: int

    @property
    def full_name(self) -> str:
        return f"{self.owner}::{self.name}" if self.owner else self.name


@dataclass(frozen=True, slots=True)
class Probe:
    """The text to compile: the source with its hole filled, followed by a kernel that calls the lock.

    `entry` and `exit` are the offsets of the start and the end of the critical section in the source.
    """

    text: str
    parameters: tuple[str, ...]
    entry: int
    exit: int


def make_probes(source: str, path: str, names: Pair) -> Iterator[Probe]:
    """The ways to call the lock of a source, the likelier first; raise `InputError` unless there is one lock."""
    marks = list(HOLE_MARK.finditer(source))
    functions = list(find_device_functions(source))
    if names == (None, None):
        inside = [(m, f) for m in marks for f in functions if f.body <= m.start() < f.end]
        if len(inside) > 1:
            raise _offset_error(source, path, SECOND_HOLE, inside[1][0].start())
        if inside:
            yield from _fill_hole(source, *inside[0])
            return
        if marks:
            raise _offset_error(source, path, "this critical section is not in a device function", marks[0].start())
    callable_ = [function for function in functions if not function.kernel]
    lines = {function.full_name: source.count("\n", 0, function.start) + 1 for function in callable_}
    acquire, release = choose_pair(
        list(dict.fromkeys(function.full_name for function in callable_)), names, path, source, lines
    )
    by_name = {function.full_name: function for function in callable_}
    yield from _call_pair(source, path, by_name[acquire], by_name[release])


def find_device_functions(source: str) -> Iterator[DeviceFunction]:
    """Every function with a body that runs on a device, in the order of the source."""
    return (function for function in _find_functions(source) if function.device or function.kernel)


def _find_functions(source: str) -> Iterator[DeviceFunction]:
    text = blank_comments(source)
    classes = [(match[1], match.end(), _find_closing_brace(text, match.end())) for match in CLASS.finditer(text)]
    inside = 0  # the end of the function that was found last
    for match in CALLED.finditer(text):
        if match.start() < inside or match[1] in KEYWORDS:
            continue
        close = _find_closing_parenthesis(text, match.end())
        body = None if close is None else BODY.match(text, close + 1)
        if close is None or body is None:
            continue
        inside = _find_closing_brace(text, body.end())
        head = text[max(0, match.start() - LONGEST_HEAD) : match.start()]
        head = re.split(r"[;{}]|^[ \t]*#[^\n]*$|\b(?:public|private|protected)\s*:", head, flags=re.MULTILINE)[-1]
        owner, _, name = match[1].rpartition("::")
        around = [known for known, start, end in classes if start <= match.start() < end]
        yield DeviceFunction(
            name, owner or (around[-1] if around else None),
            " ".join(word for word in TEMPLATE.sub("", head).split() if word not in NOT_PART_OF_TYPE),
            tuple(_read_parameters(source[match.end() : close], TYPE_NAME.findall(head))),
            "__device__" in head, "__global__" in head, match.start(1), body.end(), inside,
        )  # fmt: skip


def remove_host_code(source: str) -> str:
    """The source without host code: its headers and the bodies of its functions."""
    text = HOST_HEADER.sub(lambda match: " " * len(match[0]), source)
    for function in _find_functions(source):
        if not function.device and not function.kernel:
            empty = re.sub(r"[^\n]", " ", text[function.body : function.end])
            text = text[: function.body] + empty + text[function.end :]
    return text


def _find_closing_parenthesis(text: str, start: int) -> int | None:
    depth = 1
    for match in re.compile(r"[()]").finditer(text, start, start + LONGEST_PARAMETERS):
        depth += 1 if match[0] == "(" else -1
        if not depth:
            return match.start()
    return None


def blank_comments(source: str) -> str:
    """The source with blanks in place of comments and strings."""
    return NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)


def _find_closing_brace(text: str, start: int) -> int:
    """The offset of the brace that closes the block that was opened before `start`."""
    depth = 1
    for match in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return match.start()
    return len(text)


def _read_parameters(text: str, types: list[str]) -> Iterator[FunctionParameter]:
    """The parameters between two parentheses; a template parameter becomes int."""
    text = re.sub(rf"\b(?:{'|'.join(types)})\b", "int", text) if types else text
    for number, piece in enumerate(re.split(r",(?![^<]*>)", blank_comments(text))):
        piece = " ".join(piece.partition("=")[0].split())
        if not piece or piece == "void":
            continue
        match = PARAMETER.match(piece)
        if match is None or not match[1].strip():
            yield FunctionParameter(piece, f"argument{number}")
        else:
            array = "*" if piece.endswith("]") else ""
            yield FunctionParameter(f"{match[1].strip()}{array}", match[2])


def _fill_hole(source: str, mark: re.Match[str], function: DeviceFunction) -> Iterator[Probe]:
    """Fill the hole of a function and call the function."""
    code = HOLE_CODE if "\n" not in mark[0] else HOLE_CODE + "\n" * mark[0].count("\n")
    filled = source[: mark.start()] + code + source[mark.end() :]
    yield from _make_kernels(source, filled, [function], mark.start(), mark.end(), hole=False)


def _call_pair(source: str, path: str, acquire: DeviceFunction, release: DeviceFunction) -> Iterator[Probe]:
    if acquire.owner != release.owner:
        problem = f"{acquire.full_name} and {release.full_name} do not belong together"
        raise _offset_error(source, path, problem, release.start, "choose with --lock and --unlock")
    yield from _make_kernels(source, source, [acquire, release], acquire.end, release.body, hole=True)


def _make_kernels(
    source: str, filled: str, functions: list[DeviceFunction], entry: int, exit: int, hole: bool
) -> Iterator[Probe]:
    """Write kernels that call the lock; an object is a parameter, or a parameter points to it."""
    filled = remove_host_code(filled)
    first = functions[0]
    if first.kernel:
        yield Probe(filled, tuple(parameter.name for parameter in first.parameters), entry, exit)
        return
    for object_type in [""] if first.owner is None else [first.owner, f"{first.owner}*"]:
        parameters = {OBJECT: object_type} if object_type else {}
        access = "" if not object_type else f"{OBJECT}->" if object_type.endswith("*") else f"{OBJECT}."
        calls = [
            f"{access}{function.name}({', '.join(_choose_arguments(function, first, parameters))})"
            for function in functions
        ]
        listed = ", ".join(f"{type} {name}" for name, type in parameters.items())
        kernel = f'\nextern "C" __global__ void {KERNEL}({listed}) {{ {_write_body(calls, first, hole)} }}\n'
        yield Probe(filled + kernel, tuple("lock" if name == OBJECT else name for name in parameters), entry, exit)


def _write_body(calls: list[str], first: DeviceFunction, hole: bool) -> str:
    if not hole:
        return f"{calls[0]};"
    acquire, release = calls
    if first.result == "bool" or (first.result != "void" and re.search("try", first.name, re.IGNORECASE)):
        return f"if ({acquire}) {{ {HOLE_CODE} {release}; }}"  # the result says whether it acquired the lock
    if first.result not in ("", "void"):
        return f"auto {RESULT} = {acquire}; (void){RESULT}; {HOLE_CODE} {release};"
    return f"{acquire}; {HOLE_CODE} {release};"


def _choose_arguments(function: DeviceFunction, first: DeviceFunction, parameters: dict[str, str]) -> Iterator[str]:
    """The arguments of a call: parameters of the kernel, if possible existing ones of the same name or type."""
    later = function is not first
    used: set[str] = set()
    known = dict(parameters)
    for parameter in function.parameters:
        if later and parameter.name not in known and parameter.type == first.result:
            yield RESULT
            continue
        same = [name for name, type in known.items() if type == parameter.type and name not in used]
        name = parameter.name if not later or parameter.name in known or not same else same[0]
        parameters.setdefault(name, parameter.type)
        used.add(name)
        yield name


def _offset_error(source: str, path: str, message: str, offset: int, hint: str | None = None) -> InputError:
    line = source.count("\n", 0, offset) + 1
    return source_error(path, source, message, line, offset - source.rfind("\n", 0, offset), hint)
