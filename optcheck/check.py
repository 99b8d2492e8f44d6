"""Checks the kernels of a listing against their tests."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpudiy.litmus.access import Access
from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.litmus.test import RegisterDeclaration, Test
from optcheck.expected_function import Disproved
from optcheck.finding import Check, Cluster, Deviation, Finding, strongest_finding
from optcheck.frame import Frame
from optcheck.graph import Graph
from optcheck.linked_thread import LinkedThread
from optcheck.linking import Anchor, find_clusters
from optcheck.listing import SassFunction, read_listing
from optcheck.literal import TYPE_NAMES, cache_or_order
from optcheck.mapping import SassMapping, mapping_for
from optcheck.path_check import check_paths
from optcheck.proof import FunctionProof
from optcheck.specification import AccessKind, ExpectedAccess, Specification, ThreadSpecification, specify
from optcheck.stress import check_stress
from optcheck.thread_check import ThreadCheck
from optcheck.values import Values

FrameSource = Callable[[str, Test], Frame | None]  # from the name of a function and its test
KINDS = {"ld": AccessKind.LOAD, "st": AccessKind.STORE, "atom": AccessKind.ATOMIC, "red": AccessKind.REDUCE}


def no_frame(function: str, test: Test) -> Frame | None:
    """The frame of a function that is not known."""
    return None


def check_kernels(
    text: str, tests: Mapping[str, Test], architecture: str = "", path: str = "<text>", frames: FrameSource = no_frame
) -> Iterator[Check]:
    """Check every kernel of a listing that has a test in `tests` (by name of kernel) or contains literals.

    The architecture is that of the listing unless one is given. Raises `SassError` if the listing cannot be read.
    """
    named = {name: (test,) for name, test in tests.items()}
    return check_functions(read_listing(text, path), named, architecture, frames)


def check_functions(
    functions: Iterable[SassFunction],
    tests: Mapping[str, Sequence[Test]],
    architecture: str = "",
    frames: FrameSource = no_frame,
) -> Iterator[Check]:
    """Check every test of every function; tests that differ only in their scope trees can share a function.

    `frames` gives the frame of a function that a harness wrote: then all that the function does is compared.
    """
    left = dict(tests)
    cache = _FindingCache(architecture, frames)
    for function in functions:
        function_tests = left.pop(function.name, None)
        if function_tests is not None:
            yield from (_expect_end(check, function) for check in cache.check_tests(function, function_tests))
            continue
        check = check_literals(function, architecture) or check_stress(function)
        if check is not None:
            yield _expect_end(check, function)
    for name, test in ((name, test) for name, lost in left.items() for test in lost):
        missing = Deviation(Finding.UNVERIFIABLE, f"the listing has no kernel {name}")
        yield Check(name, Finding.UNVERIFIABLE, (missing,), test=test.name)


def _expect_end(check: Check, function: SassFunction) -> Check:
    """A function whose code breaks off may go on in any way: it is not unchanged."""
    if check.finding is not Finding.UNCHANGED or not function.breaks_off:
        return check
    last = (function.show_instruction(len(function.instructions) - 1),)
    why = "the code breaks off: its last instruction is neither EXIT, RET nor a jump"
    deviation = Deviation(Finding.UNVERIFIABLE, why, last)
    return replace(check, finding=Finding.UNVERIFIABLE, deviations=(deviation,))


class _Unchanged(NamedTuple):
    """A test that was found unchanged, with its declarations; its specification is kept because keys name it by id."""

    check: Check
    registers: tuple[RegisterDeclaration, ...]
    specification: Specification


class _FindingCache:
    """Findings on the same code, or on a test with the same threads in the same function."""

    def __init__(self, architecture: str, frames: FrameSource) -> None:
        self.architecture = architecture
        self.frames = frames
        self.unchanged: dict[object, _Unchanged] = {}

    def check_tests(self, function: SassFunction, tests: Sequence[Test]) -> Iterator[Check]:
        code = _code_of(function)
        changed: dict[object, Check] = {}  # deviations quote lines of this function and of the test
        previous: tuple[Test, Specification] | None = None
        for asked in tests:
            frame = self.frames(function.name, asked)
            test = asked if frame is None or frame.test is None else frame.test
            same = previous is not None and _has_same_code(test, previous[0])
            specification = previous[1] if previous is not None and same else specify(test)
            previous = test, specification
            key = (code, specification.problem, tuple(map(id, specification.threads)), frame)
            found = self.unchanged.get(key)
            if found is not None and found.registers == test.registers:
                clusters = _map_lines(found.check.clusters, function.lines.__getitem__)
                yield replace(found.check, kernel=function.name, test=test.name, clusters=clusters)
                continue
            shown = (test.threads, *key)
            if shown not in changed:
                changed[shown] = check_test(function, test, specification, self.architecture, frame)
            check = replace(changed[shown], test=test.name)
            if check.finding is Finding.UNCHANGED:
                kept = replace(check, clusters=_number_lines(check.clusters, function))
                self.unchanged[key] = _Unchanged(kept, test.registers, specification)
            yield check


def _has_same_code(one: Test, other: Test) -> bool:
    """Whether two tests have the same specification: they differ only in names, scope trees and conditions."""
    if one.threads != other.threads or one.registers != other.registers:
        return False
    return one.init == other.init and one.memory_map == other.memory_map


def _code_of(function: SassFunction) -> object:
    """What a finding depends on: equal instructions are one object."""
    return (
        function.identities,
        tuple([(index, *(function.targets_of(index) or ())) for index in function.named_targets]),
        function.bank,
    )


def _number_lines(clusters: tuple[Cluster, ...], function: SassFunction) -> tuple[Cluster, ...]:
    """Clusters with the indexes of instructions instead of their lines."""
    return _map_lines(clusters, lambda line: bisect_left(function.lines, line))


def _map_lines(clusters: tuple[Cluster, ...], change: Callable[[int], int]) -> tuple[Cluster, ...]:
    return tuple(
        replace(
            cluster,
            entries=tuple(
                [
                    (change(line), position, None if access is None else change(access))
                    for line, position, access in cluster.entries
                ]
            ),
        )
        for cluster in clusters
    )


def check_test(
    function: SassFunction,
    test: Test,
    specification: Specification,
    architecture: str = "",
    frame: Frame | None = None,
) -> Check:
    """Check one test against its function.

    In a frame, the function is proved to be the test, or not; what is wrong is then explained by its literals.
    """
    if specification.problem:
        deviation = Deviation(Finding.UNVERIFIABLE, specification.problem)
        architecture = architecture or function.architecture
        return Check(function.name, Finding.UNVERIFIABLE, (deviation,), (), architecture, test.name)
    graph = Graph(function)
    failure = None
    if frame is not None:
        proof = FunctionProof(graph, test, specification, frame, mapping_for(architecture or function.architecture))
        failure = proof.find_failure()
        if failure is None:
            clusters = proof.clusters()
            named = architecture or function.architecture
            return Check(function.name, Finding.UNCHANGED, (), clusters, named, test.name)
    values = Values(graph)
    check = _check_clusters(values, find_clusters(values), specification, architecture, test, paths=frame is None)
    loops = any(thread.loops for thread in specification.threads)  # after a loop, literals explain wrongly
    if failure is None or (check.finding is not Finding.UNCHANGED and not loops):
        return check
    return replace(check, finding=failure.finding, deviations=(_describe_failure(failure, function, test),))


def _describe_failure(failure: Disproved, function: SassFunction, test: Test) -> Deviation:
    who = "" if failure.thread is None else f"P{failure.thread}: "
    ptx = (
        ()
        if failure.thread is None
        else tuple(
            f"P{failure.thread}: {instruction_text(test.threads[failure.thread][index])}" for index in failure.ptx
        )
    )
    sass = tuple(function.show_instruction(index) for index in failure.sass)
    return Deviation(failure.finding, f"{who}{failure.why}", sass, ptx)


def check_literals(function: SassFunction, architecture: str = "") -> Check | None:
    """Check a function whose test is not known by its literals alone; None if it has none."""
    if not function.literals:
        return None
    values = Values(Graph(function))
    clusters = find_clusters(values)
    if not clusters:
        return None
    found = _check_clusters(values, clusters, _specify_from_literals(clusters), architecture)
    check = replace(found, accesses_only=True)
    gaps = tuple(_find_gaps(clusters))
    if not gaps:
        return check
    deviations = (*check.deviations, *gaps)
    return replace(check, finding=strongest_finding(deviations), deviations=deviations)


def _find_gaps(clusters: list[tuple[Anchor, ...]]) -> Iterator[Deviation]:
    """Accesses whose literals are missing, although there are literals of later ones."""
    threads: dict[int, set[int]] = {}
    for anchor in (one for cluster in clusters for one in cluster):
        threads.setdefault(anchor.literal.thread, set()).add(anchor.literal.position)
    for thread, positions in sorted(threads.items()):
        for position in sorted({*range(max(positions))} - positions):
            yield Deviation(Finding.REMOVED, f"P{thread}: access {position} and its literal are gone")


def _check_clusters(
    values: Values,
    clusters: list[tuple[Anchor, ...]],
    specification: Specification,
    architecture: str,
    test: Test | None = None,
    paths: bool = True,
) -> Check:
    """Compare the threads with their specifications; with `paths`, on all paths of the function."""
    function = values.graph.function
    architecture = architecture or function.architecture
    mapping = mapping_for(architecture or "sm_35")
    deviations, shown = _compare_threads(values, clusters, specification, mapping, test, paths)
    name = test.name if test is not None else ""
    return Check(function.name, strongest_finding(deviations), tuple(deviations), tuple(shown), architecture, name)


def _compare_threads(
    values: Values,
    clusters: list[tuple[Anchor, ...]],
    specification: Specification,
    mapping: SassMapping,
    test: Test | None,
    paths: bool,
) -> tuple[list[Deviation], list[Cluster]]:
    deviations: list[Deviation] = []
    shown: list[Cluster] = []
    for thread in specification.threads:
        own = [cluster for cluster in clusters if cluster[0].literal.thread == thread.thread]
        if not own and thread.accesses:
            why = f"P{thread.thread}: its specification is not in the SASS"
            deviations.append(Deviation(Finding.UNVERIFIABLE, why))
        for cluster in own:
            others = [other for other in own if other is not cluster]
            linked = LinkedThread(values, thread, cluster, others, mapping, _choose_description(thread, test))
            found = ThreadCheck(linked).deviations()
            if paths and not found:
                found = list(check_paths(linked, test))
            deviations += found
            shown.append(_describe_cluster(linked, found))
    return deviations, shown


def _choose_description(thread: ThreadSpecification, test: Test | None) -> Callable[[int], str]:
    if test is None:
        names = {access.index: access.literal.type_name for access in thread.accesses}
        return lambda index: f"P{thread.thread}: access {index} ({names[index]})"
    return lambda index: f"P{thread.thread}: {instruction_text(test.threads[thread.thread][index])}"


def _describe_cluster(thread: LinkedThread, found: list[Deviation]) -> Cluster:
    lines, links = thread.function.lines, thread.links
    entries = tuple(
        (
            lines[anchor.index],
            anchor.literal.position,
            lines[links[anchor.literal.position].index] if anchor.literal.position in links else None,
        )
        for anchor in sorted(thread.cluster, key=lambda anchor: anchor.literal.position)
    )
    return Cluster(thread.cluster[0].literal.thread, entries, strongest_finding(found))


def _specify_from_literals(clusters: list[tuple[Anchor, ...]]) -> Specification:
    """The accesses of every thread and their types, as the literals state them."""
    threads: dict[int, dict[int, ExpectedAccess]] = {}
    for cluster in clusters:
        for anchor in cluster:
            literal = anchor.literal
            name = TYPE_NAMES[literal.type] if literal.type < len(TYPE_NAMES) else "ld"
            access = cache_or_order(name) or Access()
            threads.setdefault(literal.thread, {})[literal.position] = ExpectedAccess(
                literal.position, literal.position, KINDS[name.split(".")[0]], None, access, None, False, literal
            )
    return Specification(
        tuple(
            ThreadSpecification(thread, tuple(accesses[position] for position in sorted(accesses)), (), (), False, True)
            for thread, accesses in sorted(threads.items())
        )
    )
