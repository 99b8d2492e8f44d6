"""The check of kernels: from disassembled text and the tests it came from to findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gpudiy.litmus.access import Access
from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.litmus.test import Test
from optcheck.finding import Check, Cluster, Deviation, Finding, strongest
from optcheck.graph import Graph
from optcheck.linked_thread import LinkedThread
from optcheck.linking import Anchor, find_clusters
from optcheck.listing import SassFunction, read_listing
from optcheck.literal import TYPE_NAMES, cache_or_order
from optcheck.mapping import SassMapping, mapping_for
from optcheck.specification import AccessKind, ExpectedAccess, Specification, ThreadSpecification, specify
from optcheck.stress import check_stress
from optcheck.thread_check import ThreadCheck
from optcheck.values import Values

KINDS = {"ld": AccessKind.LOAD, "st": AccessKind.STORE, "atom": AccessKind.ATOMIC, "red": AccessKind.REDUCE}


def check_kernels(
    text: str, tests: Mapping[str, Test], architecture: str = "", path: str = "<text>"
) -> Iterator[Check]:
    """A finding on every kernel of a listing that is a test or carries literals; `tests` are by name of kernel.

    The architecture is that of the listing unless one is given. Raises `SassError` where the listing cannot be read.
    """
    return check_functions(read_listing(text, path), {name: (test,) for name, test in tests.items()}, architecture)


def check_functions(
    functions: Iterable[SassFunction], tests: Mapping[str, Sequence[Test]], architecture: str = ""
) -> Iterator[Check]:
    """A finding on every test of every function: tests that differ in their scope trees alone can share one."""
    left = dict(tests)
    known = _Known(architecture)
    for function in functions:
        asked = left.pop(function.name, None)
        if asked is not None:
            yield from known.checks(function, asked)
            continue
        check = check_literals(function, architecture) or check_stress(function)
        if check is not None:
            yield check
    for name, test in ((name, test) for name, lost in left.items() for test in lost):
        missing = Deviation(Finding.UNVERIFIABLE, f"there is no kernel {name} in the listing")
        yield Check(name, Finding.UNVERIFIABLE, (missing,), test=test.name)


class _Known:
    """Verdicts that are known already: of the same code, or of a test with the same threads in the same function."""

    def __init__(self, architecture: str) -> None:
        self.architecture = architecture
        self.unchanged: dict[object, tuple[Check, Specification]] = {}  # specifications live on: keys have their ids

    def checks(self, function: SassFunction, tests: Sequence[Test]) -> Iterator[Check]:
        code = _code_of(function)
        changed: dict[object, Check] = {}  # deviations show lines of this function and of the threads of a test
        for test in tests:
            specification = specify(test)
            key = (code, specification.problem, tuple(map(id, specification.threads)))
            if key in self.unchanged:
                same = self.unchanged[key][0]
                yield replace(same, kernel=function.name, test=test.name, clusters=_moved(same.clusters, function))
                continue
            shown = (test.threads, *key)
            if shown not in changed:
                changed[shown] = check_test(function, test, specification, self.architecture)
            check = replace(changed[shown], test=test.name)
            if check.finding is Finding.UNCHANGED:
                self.unchanged[key] = replace(check, clusters=_moved(check.clusters, function, -1)), specification
            yield check


def _code_of(function: SassFunction) -> object:
    """What a finding depends on: instructions are one object each, and places are counted from the start."""
    start = function.lines[0]
    return (
        tuple(map(id, function.instructions)),
        tuple([line - start for line in function.lines]),
        tuple((index, tuple(function.targets_of(index) or ())) for index in function.named_targets),
    )


def _moved(clusters: tuple[Cluster, ...], function: SassFunction, sign: int = 1) -> tuple[Cluster, ...]:
    """Clusters with lines that are counted from the start of a function, or from it again."""
    by = sign * function.lines[0]
    return tuple(
        replace(
            cluster,
            entries=tuple(
                (line + by, position, None if access is None else access + by)
                for line, position, access in cluster.entries
            ),
        )
        for cluster in clusters
    )


def check_test(function: SassFunction, test: Test, specification: Specification, architecture: str = "") -> Check:
    """The finding on the function that a test became."""
    if specification.problem:
        deviation = Deviation(Finding.UNVERIFIABLE, specification.problem)
        architecture = architecture or function.architecture
        return Check(function.name, Finding.UNVERIFIABLE, (deviation,), (), architecture, test.name)
    values = Values(Graph(function))
    return _compared(values, find_clusters(values), specification, architecture, test)


def check_literals(function: SassFunction, architecture: str = "") -> Check | None:
    """The finding on a function whose test nobody knows; None for one without literals."""
    if not function.literals:
        return None
    values = Values(Graph(function))
    clusters = find_clusters(values)
    return _compared(values, clusters, _spelt_out(clusters), architecture) if clusters else None


def _compared(
    values: Values,
    clusters: list[tuple[Anchor, ...]],
    specification: Specification,
    architecture: str,
    test: Test | None = None,
) -> Check:
    function = values.graph.function
    architecture = architecture or function.architecture
    deviations, shown = _compare(values, clusters, specification, mapping_for(architecture or "sm_35"), test)
    name = test.name if test is not None else ""
    return Check(function.name, strongest(deviations), tuple(deviations), tuple(shown), architecture, name)


def _compare(
    values: Values,
    clusters: list[tuple[Anchor, ...]],
    specification: Specification,
    mapping: SassMapping,
    test: Test | None,
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
            linked = LinkedThread(values, thread, cluster, others, mapping, _texts(thread, test))
            found = ThreadCheck(linked).deviations()
            deviations += found
            shown.append(_described(linked, found))
    return deviations, shown


def _texts(thread: ThreadSpecification, test: Test | None) -> Callable[[int], str]:
    if test is None:
        return lambda index: f"P{thread.thread}: access {index} ({thread.accesses[index].literal.type_name})"
    return lambda index: f"P{thread.thread}: {instruction_text(test.threads[thread.thread][index])}"


def _described(thread: LinkedThread, found: list[Deviation]) -> Cluster:
    lines, links = thread.function.lines, thread.links
    entries = tuple(
        (
            lines[anchor.index],
            anchor.literal.position,
            lines[links[anchor.literal.position].index] if anchor.literal.position in links else None,
        )
        for anchor in sorted(thread.cluster, key=lambda anchor: anchor.literal.position)
    )
    return Cluster(thread.cluster[0].literal.thread, entries, strongest(found))


def _spelt_out(clusters: list[tuple[Anchor, ...]]) -> Specification:
    """What literals alone say: the accesses of every thread and their types."""
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
