"""The device functions of a CUDA C source, and the kernel that makes a lock of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpudiy.litmus.errors import LitmusError
from gpudiy.locks.names import Pair, chosen_pair
from gpudiy.locks.program import source_error
from gpudiy.locks.read_ptx import MARK

KERNEL = "gpudiy_lock_probe"
HOLE_CODE = f'asm volatile("// {MARK}" ::: "memory");'
HOLE_MARK = re.compile(
    r"//[ \t]*critical[ \t]+section[^\n]*|/\*\s*critical\s+section[^*]*\*/|#[ \t]*critical[ \t]+section[^\n]*"
    r"|\bCRITICAL_SECTION\s*\(\s*\)\s*;?",
    re.IGNORECASE,
)
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.DOTALL)
FUNCTION = re.compile(r"([\w:<>,*&\s]*?)\b((?:\w+::)*~?\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*(?:const\s*|noexcept\s*)*\{")
CLASS = re.compile(r"\b(?:struct|class)\s+(?:__align__\s*\([^)]*\)\s*)?(\w+)[^;{()]*\{")
PARAMETER = re.compile(r"^(.*?)(\w+)\s*(?:\[\s*\])?$", re.DOTALL)
WORDS_OF_NO_TYPE = ("__device__", "__forceinline__", "__noinline__", "inline", "static", "__host__", "extern", "constexpr")


@dataclass(frozen=True, slots=True)
class Parameter:
    type: str
    name: str


@dataclass(frozen=True, slots=True)
class DeviceFunction:
    """A function with a body; `owner` is the class it belongs to. Offsets are those of its name and its body."""

    name: str
    owner: str | None
    result: str
    parameters: tuple[Parameter, ...]
    kernel: bool
    start: int
    body: int
    end: int

    @property
    def full_name(self) -> str:
        return f"{self.owner}::{self.name}" if self.owner else self.name


@dataclass(frozen=True, slots=True)
class Probe:
    """What is compiled: the source with its hole filled, and a kernel that goes through the lock behind it.

    `entry` and `exit` are the offsets in the source before and after which the critical section stands.
    """

    text: str
    parameters: tuple[str, ...]
    entry: int
    exit: int


def probes(source: str, path: str, names: Pair) -> Iterator[Probe]:
    """The ways to call the lock of a source, the likelier first; raises where no lock is found or several are."""
    marks = list(HOLE_MARK.finditer(source))
    functions = list(device_functions(source))
    if names == (None, None):
        inside = [(m, f) for m in marks for f in functions if f.body <= m.start() < f.end]
        if len(inside) > 1:
            raise _error_at(source, path, "a second critical section: a lock has one", inside[1][0].start())
        if inside:
            yield from _around_hole(source, *inside[0])
            return
        if marks:
            raise _error_at(source, path, "this critical section stands in no device function", marks[0].start())
    callable_ = [function for function in functions if not function.kernel]
    lines = {function.full_name: source.count("\n", 0, function.start) + 1 for function in callable_}
    acquire, release = chosen_pair(
        list(dict.fromkeys(function.full_name for function in callable_)), names, path, source, lines
    )
    by_name = {function.full_name: function for function in callable_}
    yield from _around_call(source, path, by_name[acquire], by_name[release])


def device_functions(source: str) -> Iterator[DeviceFunction]:
    """Every function with a body that runs on a device, in order."""
    text = blanked(source)
    classes = [(match[1], match.end(), _closing(text, match.end())) for match in CLASS.finditer(text)]
    for match in FUNCTION.finditer(text):
        before = match[1]
        head = before[max(before.rfind(end) for end in ";}{") + 1 :] if re.search(r"[;{}]", before) else before
        if "__device__" not in head and "__global__" not in head:
            continue
        words = [word for word in head.split() if word not in WORDS_OF_NO_TYPE]
        owner, _, name = match[2].rpartition("::")
        inner = [known for known, start, end in classes if start <= match.start(2) < end]
        yield DeviceFunction(
            name,
            owner or (inner[-1] if inner else None),
            " ".join(words),
            tuple(_parameters(source[match.start(3) : match.end(3)])),
            "__global__" in head,
            match.start(2),
            match.end(),
            _closing(text, match.end()),
        )


def blanked(source: str) -> str:
    """The source without comments and strings, everything else at its place."""
    return NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)


def _closing(text: str, start: int) -> int:
    """The offset of the brace that closes what was opened before `start`."""
    depth = 1
    for match in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return match.start()
    return len(text)


def _parameters(text: str) -> Iterator[Parameter]:
    for number, piece in enumerate(re.split(r",(?![^<]*>)", blanked(text))):
        piece = " ".join(piece.partition("=")[0].split())
        if not piece or piece == "void":
            continue
        match = PARAMETER.match(piece)
        if match is None or not match[1].strip():
            yield Parameter(piece, f"argument{number}")
        else:
            array = "*" if piece.endswith("]") else ""
            yield Parameter(f"{match[1].strip()}{array}", match[2])


def _around_hole(source: str, mark: re.Match[str], function: DeviceFunction) -> Iterator[Probe]:
    """One function with a hole: fill it, and call the function."""
    code = HOLE_CODE if "\n" not in mark[0] else HOLE_CODE + "\n" * mark[0].count("\n")
    filled = source[: mark.start()] + code + source[mark.end() :]
    yield from _kernels(source, filled, [function], mark.start(), mark.end(), hole=False)


def _around_call(source: str, path: str, acquire: DeviceFunction, release: DeviceFunction) -> Iterator[Probe]:
    if acquire.owner != release.owner:
        problem = f"{acquire.full_name} and {release.full_name} do not belong together"
        raise _error_at(source, path, problem, release.start, "choose with --lock and --unlock")
    yield from _kernels(source, source, [acquire, release], acquire.end, release.body, hole=True)


def _kernels(
    source: str, filled: str, functions: list[DeviceFunction], entry: int, exit: int, hole: bool
) -> Iterator[Probe]:
    owner = functions[0].owner
    if functions[0].kernel:
        yield Probe(filled, tuple(parameter.name for parameter in functions[0].parameters), entry, exit)
        return
    objects = [None] if owner is None else [f"{owner} ", f"{owner}* "]
    for object_ in objects:
        parameters: dict[str, str] = {}
        if object_ is not None:
            parameters["lock_object"] = object_.strip()
        access = "" if object_ is None else "lock_object->" if "*" in object_ else "lock_object."
        calls = []
        for function in functions:
            known = list(parameters)
            result = calls and functions[0].result not in ("", "void")
            arguments = []
            for parameter in function.parameters:
                if parameter.name not in parameters and result and parameter.type == functions[0].result:
                    arguments.append("gpudiy_result")
                    continue
                same = [name for name in known if parameters[name] == parameter.type and name not in arguments]
                if parameter.name in parameters:
                    arguments.append(parameter.name)
                elif calls and same:
                    arguments.append(same[0])
                else:
                    parameters[parameter.name] = parameter.type
                    arguments.append(parameter.name)
            call = f"{access}{function.name}({', '.join(arguments)});"
            if not calls and len(functions) > 1 and function.result not in ("", "void"):
                call = f"auto gpudiy_result = {call} (void)gpudiy_result;"
            calls.append(call)
        body = f" {HOLE_CODE} ".join(calls) if hole else calls[0]
        listed = ", ".join(f"{type} {name}" for name, type in parameters.items())
        kernel = f'\nextern "C" __global__ void {KERNEL}({listed}) {{ {body} }}\n'
        names = tuple("lock" if name == "lock_object" else name for name in parameters)
        yield Probe(filled + kernel, names, entry, exit)


def kernel_name(source: str, probe: Probe) -> str:
    """The kernel to look at: the one that was added, or the one that had the hole."""
    if KERNEL in probe.text:
        return KERNEL
    found = next(f for f in device_functions(source) if f.kernel and f.body <= probe.entry < f.end)
    return found.name


def _error_at(source: str, path: str, message: str, offset: int, hint: str | None = None) -> LitmusError:
    line = source.count("\n", 0, offset) + 1
    return source_error(path, source, message, line, offset - source.rfind("\n", 0, offset), hint)
