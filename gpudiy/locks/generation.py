"""Build the tests that check a lock."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

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
from gpudiy.locks.question import SCENARIOS, Part, Question, Scenario
from gpudiy.locks.thread_code import Infeasible, LockThreadCode, LockUse, write_thread_code


@dataclass(frozen=True, slots=True)
class Case:
    """A question about a lock in one setting; `retry` is the number of a path with a failed attempt, or 0."""

    lock: Lock
    scenario: Scenario
    setting: Setting
    retry: int = 0

    @property
    def question(self) -> Question:
        return self.scenario.question

    @property
    def threads(self) -> int:
        return len(self.scenario.parts)

    @property
    def name(self) -> str:
        retry = f"+retry{self.retry}" if self.retry else "+early" if self.scenario.early else ""
        return f"{self.lock.name}+{self.question}+{self.threads}+{self.setting.text}{retry}"

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
    spaces = lock.spaces
    found = []
    for scenario in SCENARIOS:
        for setting in list_settings(len(scenario.parts), spaces):
            if Space.GLOBAL not in spaces and not setting.placement.one_cta:
                continue
            retries = len(lock.retries) if scenario.retries else 0
            found += [Case(lock, scenario, setting, retry) for retry in range(retries + 1)]
    return found


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
    for name in case.lock.variables:
        declared = case.lock.program.variables.get(name)
        declared_space = None if declared is None else declared.space
        spaces[name] = declared_space or case.setting.lock
        if declared_space is Space.SHARED and not case.setting.placement.one_cta:
            spaces[name] = Space.GLOBAL
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
