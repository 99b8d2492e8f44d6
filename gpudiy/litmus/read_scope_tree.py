"""Written scope trees, with any level left out, to complete ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from gpudiy.errors import near_name
from gpudiy.litmus.access import Scope
from gpudiy.litmus.grammar import SyntaxProblem, parse_scope_tree
from gpudiy.litmus.scope_tree import ScopeTree

LEVELS = {
    "system": Scope.SYS,
    "sys": Scope.SYS,
    "device": Scope.GPU,
    "gpu": Scope.GPU,
    "kernel": Scope.KERNEL,
    "grid": Scope.KERNEL,
    "cluster": Scope.CLUSTER,
    "cta": Scope.CTA,
    "block": Scope.CTA,
    "work_group": Scope.CTA,
    "warp": Scope.WARP,
    "sub_group": Scope.WARP,
}

HOST = "host"
HINT = "levels, outermost first: system, device, kernel, cluster, cta, warp; host stands beside device"


@lru_cache(1 << 14)
def read_scope_tree(text: str, threads: int) -> ScopeTree:
    """The tree that `text` describes, which must place each of the threads once.

    Groups outside a device are in one device, groups outside a kernel in one kernel. Any other missing level is a
    separate group: threads without a warp are in different warps, warps without a CTA in different CTAs. The group
    `host`, beside the devices, has threads only.
    """
    placed: dict[int, tuple[int, ...]] = {}
    completion = _Completion()
    for thread, placement in completion.walk(parse_scope_tree(text), Scope.SYS, {}):
        if thread in placed:
            raise SyntaxProblem(f"P{thread} occurs twice in the scope tree", _last(text, thread))
        if thread >= threads:
            raise SyntaxProblem(f"the scope tree places P{thread}, which is not there", _last(text, thread))
        placed[thread] = placement
    for thread in range(threads):
        if thread not in placed:
            raise SyntaxProblem(f"P{thread} is missing from the scope tree")
    return ScopeTree.of((placed[thread] for thread in range(threads)), completion.host)


def _last(text: str, thread: int) -> int:
    return [found.start() for found in re.finditer(rf"P0*{thread}(?!\d)", text)][-1]


class _Completion:
    """Numbers for the groups of every level."""

    def __init__(self) -> None:
        self.groups = 0
        self.host: int | None = None  # the device-level group of the threads on the host
        self.words: Counter[str] = Counter()  # how often each level was met, to point at the right one

    def fresh(self) -> int:
        self.groups += 1
        return self.groups

    def walk(
        self, nodes: tuple[Any, ...], inside: Scope, groups: dict[Scope, int]
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        common: dict[Scope, int] = {}  # the device and the kernel for what is not in one
        for node in nodes:
            if isinstance(node, str):
                yield int(node[1:]), self.complete(groups, inside, common)
                continue
            if node[0].lower() == HOST:
                yield from self.walk_host(node, inside)
                continue
            scope = self.scope_of(node[0], inside)
            outer = dict(groups)
            for level in range(scope + 1, inside):
                outer[Scope(level)] = self.missing(Scope(level), common)
            outer[scope] = self.fresh()
            yield from self.walk(node[1:], scope, outer)

    def walk_host(self, node: tuple[Any, ...], inside: Scope) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Every thread of the host is alone in its groups, but for the one that stands for the host itself."""
        word, *members = node
        if self.host is not None:
            hint = "write all threads of the host in one group, such as `(host P0 P1)`"
            raise SyntaxProblem(f"{word} occurs twice", token=word, hint=hint, occurrence=self.words[word])
        if inside is not Scope.SYS:
            hint = f"{HOST} stands beside device: `(system (host P0) (device P1))`"
            problem = f"{word} cannot be inside {inside.word}"
            raise SyntaxProblem(problem, token=word, hint=hint, occurrence=self.words[word])
        self.words[word] += 1
        self.host = self.fresh()
        for member in members:
            if not isinstance(member, str):
                hint = "a host has threads only: `(host P0 P1)`"
                problem = f"{member[0]} cannot be inside {word}"
                raise SyntaxProblem(problem, token=member[0], hint=hint, occurrence=self.words[member[0]])
            yield int(member[1:]), self.complete({Scope.GPU: self.host}, Scope.GPU, {})

    def scope_of(self, word: str, inside: Scope) -> Scope:
        scope = LEVELS.get(word.lower())
        if scope is None:
            hint = near_name(word, [*LEVELS, HOST]) or HINT
            raise SyntaxProblem(f"unknown level {word!r}", token=word, hint=hint)
        if scope is Scope.SYS and self.groups:
            problem = f"{word} must be the outermost level, and occur once"
            raise SyntaxProblem(problem, token=word, hint=HINT, occurrence=self.words[word])
        if scope >= inside and scope is not Scope.SYS:
            problem = f"{word} cannot be inside {inside.word}"
            raise SyntaxProblem(problem, token=word, hint=HINT, occurrence=self.words[word])
        self.words[word] += 1
        return scope

    def complete(self, groups: dict[Scope, int], inside: Scope, common: dict[Scope, int]) -> tuple[int, ...]:
        filled = dict(groups)
        for level in range(inside):
            filled[Scope(level)] = self.missing(Scope(level), common)
        return tuple(filled[Scope(level)] for level in range(Scope.SYS))

    def missing(self, scope: Scope, common: dict[Scope, int]) -> int:
        if scope in (Scope.KERNEL, Scope.GPU):
            return common.setdefault(scope, self.fresh())
        return self.fresh()
