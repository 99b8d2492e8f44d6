"""Build the tests that check a lock."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from gpudiy.litmus import condition as logic
from gpudiy.litmus.access import Space
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.condition import observables
from gpudiy.litmus.instruction import Instruction, address_of
from gpudiy.litmus.memory_map import MappedVariable, MemoryMap
from gpudiy.litmus.test import InitialMemory, Test
from gpudiy.locks.lock import Lock
from gpudiy.locks.path import LockPath
from gpudiy.locks.placement import Setting, ThreadPlacement, list_settings
from gpudiy.locks.question import PASSING, SCENARIOS, Part, Question, Scenario
from gpudiy.locks.thread_code import Infeasible, LockThreadCode, LockUse, write_thread_code


@dataclass(frozen=True, slots=True)
class Case:
    """A question about a lock in one setting; `retry` is the number of a path with a failed attempt, or 0.

    `ways` are the numbers of the ways that the threads take, 0 for the direct one; empty if all take the direct one.
    """

    lock: Lock
    scenario: Scenario
    setting: Setting
    retry: int = 0
    ways: tuple[int, ...] = ()

    @property
    def question(self) -> Question:
        return self.scenario.question

    @property
    def threads(self) -> int:
        return len(self.scenario.parts)

    @property
    def name(self) -> str:
        retry = f"+retry{self.retry}" if self.retry else "+early" if self.scenario.early else ""
        ways = f"+way{''.join(map(str, self.ways))}" if self.ways else ""
        return f"{self.lock.name}+{self.question}+{self.threads}+{self.setting.text}{retry}{ways}"

    @property
    def key(self) -> tuple[object, ...]:
        """What tells the cases of one lock apart."""
        return self.scenario, self.setting, self.retry, self.ways

    @property
    def plain(self) -> Case:
        """The same case for models that ignore warps, spaces and clusters that no instruction names."""
        placement = self.setting.placement
        if placement is ThreadPlacement.WARP:
            placement = ThreadPlacement.CTA
        if placement is ThreadPlacement.CLUSTER and not any(".cluster" in s.text for s in self.lock.program.statements):
            placement = ThreadPlacement.CTAS
        return replace(self, setting=Setting(placement))


@dataclass(frozen=True, slots=True)
class LockTest:
    """The test of a case. `lines` are the source lines of its instructions, by thread; 0 in the critical section."""

    case: Case
    test: Test
    lines: tuple[tuple[int, ...], ...]


def list_cases(lock: Lock) -> list[Case]:
    """All cases of a lock, question by question."""
    found = []
    for scenario in (*SCENARIOS, *(PASSING if lock.passers else ())):
        if scenario.undone and (not lock.release_variables() or any(gap.loud for gap in lock.gaps)):
            continue  # a failed attempt that is not over may have changed the lock
        for setting in list_settings(len(scenario.parts), lock.spaces, lock.placement):
            retries = len(lock.retries) if scenario.retries else 0
            if scenario not in PASSING:
                found += [Case(lock, scenario, setting, retry) for retry in range(retries + 1)]
            found += [Case(lock, scenario, setting, ways=ways) for ways in _combine_ways(lock, scenario)]
    return found


def _combine_ways(lock: Lock, scenario: Scenario) -> Iterator[tuple[int, ...]]:
    """The ways that threads take: any two; of three threads, one or all leave the direct way, and in the same way."""
    if scenario.early:
        return
    for ways in product(*(_list_ways(lock, part) for part in scenario.parts)):
        others = [way for way in ways if way]
        together = len(others) <= 1 or (len(others) == len(ways) and len(set(others)) == 1)
        if others and (len(ways) == 2 or together or scenario in PASSING):
            yield ways


def _list_ways(lock: Lock, part: Part) -> list[int]:
    """The numbers of the ways that a thread can take; a holder has taken the lock in the direct way.

    A thread that does not take another way may have entered in the direct one: only that one tells who stays out.
    """
    direct = lock.direct
    if part.enters is False:
        return [0]
    match part.use:
        case LockUse.PASSER:
            return list(range(1, len(lock.passers) + 1))
        case LockUse.HOLDER:
            return [0, *(n for n, way in enumerate(lock.ways, 1) if way.acquired == direct.acquired)]
        case LockUse.TAKER | LockUse.USER:
            return list(range(len(lock.ways) + 1))


def build_lock_tests(
    locks: Iterable[Lock],
    questions: Collection[Question] = tuple(Question),
    watch: Callable[[Sequence[Case]], Iterable[Case]] = iter,
) -> list[LockTest]:
    """Build the tests of these questions; `watch` yields every case when its test is built."""
    asked = [case for lock in locks for case in list_cases(lock) if case.question in questions]
    return [found for case in watch(asked) if (found := build_lock_test(case)) is not None]


def build_lock_test(case: Case) -> LockTest | None:
    """Build the test of a case; None if no thread can take its path."""
    spaces = _choose_spaces(case)
    shared = frozenset(name for name, space in spaces.items() if space is Space.SHARED)
    codes: list[LockThreadCode] = []
    for number, part in enumerate(case.scenario.parts):
        try:
            codes.append(_write_code(case, number, part, shared))
        except Infeasible:
            return None
    held = any(part.use is LockUse.HOLDER for part in case.scenario.parts)
    start = case.lock.turns[0].held if held else case.lock.turns[0].before
    expressions = list(_outcome_expressions(case, codes))
    used = {target for code in codes for instruction in code.instructions if (target := _target(instruction))}
    used |= {name for expression in expressions for name in _variables(expression)}
    spaces = {name: space for name, space in spaces.items() if name in used}
    test = Test(
        name=case.name,
        threads=tuple(tuple(code.instructions) for code in codes),
        registers=tuple(declaration for code in codes for declaration in code.declarations),
        init=tuple(InitialMemory(name, value) for name, value in start.items() if value and name in spaces),
        scope_tree=case.setting.placement.tree(case.threads),
        memory_map=MemoryMap(tuple(MappedVariable(name, space) for name, space in spaces.items())),
        condition=logic.Condition(
            logic.Quantifier.EXISTS, expressions[0] if len(expressions) == 1 else logic.And(tuple(expressions))
        ),
        doc=f"{case.question.what} ({case.setting.placement.what})",
    )
    return LockTest(case, test, tuple(tuple(code.lines) for code in codes))


def _write_code(case: Case, number: int, part: Part, shared: frozenset[str]) -> LockThreadCode:
    last = number == case.threads - 1
    path: LockPath | None = case.lock.retries[case.retry - 1] if case.retry and last else None
    if case.ways and case.ways[number]:
        path = (case.lock.passers if part.use is LockUse.PASSER else case.lock.ways)[case.ways[number] - 1]
    section = [replace(operation, variable=_data_name(case.lock, operation.variable)) for operation in part.section]
    return write_thread_code(
        case.lock, case.lock.turns[number], part.use, section, number, path, shared, case.scenario.early
    )


def _data_name(lock: Lock, name: str) -> str:
    """A name for a data variable that the lock does not use."""
    while name in lock.variables:
        name += "_data"
    return name


def _choose_spaces(case: Case) -> dict[str, Space]:
    """The space of every variable: the declared one, else that of the setting."""
    spaces = {}
    known = case.lock.known_spaces
    for name in case.lock.variables:
        spaces[name] = known.get(name, case.setting.lock)
    for part in case.scenario.parts:
        for operation in part.section:
            spaces[_data_name(case.lock, operation.variable)] = case.setting.data
    return spaces


def _outcome_expressions(case: Case, codes: Sequence[LockThreadCode]) -> Iterator[logic.Expression]:
    for number, (part, code) in enumerate(zip(case.scenario.parts, codes, strict=True)):
        if part.enters is not None:
            yield code.entered if part.enters else code.stayed_out
        for register, value in zip(code.reads, part.reads, strict=False):
            if value is not None:
                yield logic.Compare(Comparison.EQ, logic.FinalRegister(number, register), logic.Constant(value))
    if case.scenario.finals is not None:
        name, values = case.scenario.finals
        yield _one_of([_is(_data_name(case.lock, name), Comparison.EQ, value) for value in values])
    if case.scenario.undone:
        after = case.lock.turns[0].after
        yield _one_of([_is(name, Comparison.NE, after[name]) for name in case.lock.release_variables()])


def _target(instruction: Instruction) -> str | None:
    address = address_of(instruction)
    return None if address is None else address.name


def _variables(expression: logic.Expression) -> Iterator[str]:
    return (term.name for term in observables(expression) if isinstance(term, logic.FinalVariable))


def _is(name: str, comparison: Comparison, value: int) -> logic.Expression:
    return logic.Compare(comparison, logic.FinalVariable(name), logic.Constant(value))


def _one_of(expressions: list[logic.Expression]) -> logic.Expression:
    return expressions[0] if len(expressions) == 1 else logic.Or(tuple(expressions))
