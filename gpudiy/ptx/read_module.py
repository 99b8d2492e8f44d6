"""Read a PTX file: its functions, and the declarations outside them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudiy.errors import InputError
from gpudiy.ptx.declarations import read_parameters, read_variable
from gpudiy.ptx.kernel import PtxKernel, PtxModule, PtxVariable
from gpudiy.ptx.line_index import LineIndex
from gpudiy.ptx.read_body import BodyReader

COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d+)[ \t]+"([^"\n]*)"', re.MULTILINE)
TOP = re.compile(
    r"""\s+ | ;
    | \.(?P<line>version|target|address_size|file|loc)\b(?P<rest>[^\n;]*)
    | (?P<section>\.section\b[^{;]*\{[^}]*\}) | @@DWARF[^\n]*
    | (?P<head>(?:\.(?:visible|extern|weak|common)\s+)*\.(?P<kind>entry|func)\b[^{};]*)(?P<open>[{;])
    | (?P<variable>\.[^;]*);""",
    re.VERBOSE,
)
HEAD = re.compile(
    r"\.(?:entry|func)\b\s*(?:\.noreturn\s*|\.attribute\s*\([^)]*\)\s*)*(?:\(([^)]*)\)\s*)?([\w$%]+)\s*(?:\(([^)]*)\))?"
)


def read_module(text: str, path: str | None = None) -> PtxModule:
    """Read a PTX text; raise `InputError` at a place that is not PTX."""
    return _ModuleReader(text, path).read()


class _ModuleReader:
    def __init__(self, text: str, path: str | None) -> None:
        self.path = path
        self.original = text
        self.text = COMMENT.sub(_blank_comment, text)
        self.lines = LineIndex(text)
        self.files = {int(number): name for number, name in FILE.findall(self.text)}
        self.settings: dict[str, str] = {}
        self.variables: list[PtxVariable] = []

    def read(self) -> PtxModule:
        kernels = tuple(self._kernels())
        version, target = self.settings.get("version", ""), self.settings.get("target", "")
        return PtxModule(kernels, tuple(self.variables), version, target)

    def _kernels(self) -> Iterator[PtxKernel]:
        offset = 0
        while offset < len(self.text):
            match = TOP.match(self.text, offset)
            if match is None:
                raise self.error("this is not PTX", offset)
            offset = match.end()
            if match["line"]:
                self.settings.setdefault(match["line"], match["rest"].strip())
            elif match["variable"]:
                variable = read_variable(match["variable"])
                self.variables += [] if variable is None else [variable]
            elif match["open"] == "{":
                kernel, offset = self._kernel(match)
                yield kernel

    def _kernel(self, match: re.Match[str]) -> tuple[PtxKernel, int]:
        head = HEAD.search(match["head"])
        if head is None:
            raise self.error("this function has no name", match.start("head"))
        body = BodyReader(self.text, self.lines, self.files)
        end = body.read(match.end())
        if end is None:
            raise self.error(f"the function {head[2]} has no closing brace", match.start("head"))
        parameters, results = tuple(read_parameters(head[3] or "")), tuple(read_parameters(head[1] or ""))
        return body.kernel(head[2], match["kind"] == "entry", parameters, results), end

    def error(self, message: str, offset: int) -> InputError:
        line, column = self.lines.find(offset)
        source = self.original.split("\n")[line - 1]
        return InputError(message, path=self.path, line=line, column=column, source=source)


def _blank_comment(match: re.Match[str]) -> str:
    """Replace a comment by blanks, so that all other text keeps its place; strings stay."""
    text = match[0]
    if text[0] == '"':
        return text
    return " " * len(text) if "\n" not in text else re.sub(r"[^\n]", " ", text)
