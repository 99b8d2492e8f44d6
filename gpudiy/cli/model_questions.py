"""`gpudiy model --races` and `gpudiy model --progress`: other questions than the one a test asks."""

from __future__ import annotations

import csv
import json
import sys
from argparse import Namespace

from gpudiy.cli.answer_table import AnswerTable
from gpudiy.cli.progress import progress, say
from gpudiy.errors import ExitCode, InputError
from gpudiy.litmus.dependencies import DependencyRule, choose_kinds
from gpudiy.litmus.sources import load_tests
from gpudiy.models.asking import AnswerRow, AskedTest, Asker, ask_files
from gpudiy.models.deciding import HowToDecide
from gpudiy.models.exploration import Engine
from gpudiy.models.progress.guarantee import ProgressGuarantee
from gpudiy.models.progress.report import picture_of_hang
from gpudiy.models.race_report import picture_of_race
from gpudiy.models.verdict import label_model
from gpudiy.pictures.writing import write_picture


def ask(arguments: Namespace, sources: list[str], models: list[str]) -> int:
    """Answer for all tests under all models, and print the answers."""
    if arguments.expect or arguments.all_outcomes:
        raise InputError("--races and --progress go with neither --expect nor --all-outcomes")
    kinds = choose_kinds(arguments.dependencies)
    if len(kinds) > 1 or (arguments.progress is not None and kinds != (DependencyRule.SYNTACTIC,)):
        raise InputError("--races takes one kind of dependencies, --progress only syntactic ones")
    how = HowToDecide(Engine(arguments.engine), arguments.unroll, arguments.limit, dependencies=kinds[0])
    guarantee = None if arguments.progress is None else ProgressGuarantee(arguments.progress)
    asker = Asker(tuple(models), how, guarantee)
    if arguments.witness is not None:
        return _draw(asker, sources, arguments.witness)
    printer = _AnswerPrinter(arguments, [label_model(model, how.dependencies) for model in models])
    code = 0
    assumptions: dict[object, None] = {}
    for tests in progress(ask_files(sources, asker, arguments.jobs), "files looked at", arguments.quiet, len(sources)):
        for asked in tests:
            if asked.error:
                say(asked.error)
                code = max(code, 2)
            else:
                printer.show(asked)
                code = max(code, *(row.exit_code for row in asked.rows))
                assumptions |= dict.fromkeys(row.facts["assumption"] for row in asked.rows if "assumption" in row.facts)
    for assumption in assumptions:
        say(f"note: {assumption}")
    return code


def _draw(asker: Asker, sources: list[str], file: str) -> int:
    tests = [test for source in sources for test in load_tests(source)]
    if len(tests) != 1 or len(asker.models) != 1:
        count = len(asker.models)
        raise InputError(f"a witness is drawn of one test under one model, not of {len(tests)} under {count}")
    (test,), (model,) = tests, asker.models
    if asker.progress is None:
        race = asker.find_race(test, model)
        answer, reason = race.answer, race.reason
        picture = None if race.execution is None else picture_of_race(race)
    else:
        verdict = asker.decide_progress(test, model)
        answer, reason = str(verdict.answer), verdict.reason
        picture = None if verdict.hang is None else picture_of_hang(verdict)
    if reason:
        raise InputError(reason, path=sources[0])
    if picture is None:
        say(f"{test.name}: {answer} by {model}, there is nothing to draw")
        return ExitCode.FINE
    write_picture(picture, file)
    print(f"{test.name}: {answer} by {model}: {file}")
    return ExitCode.NO


class _AnswerPrinter:
    """Prints a table with one line per test, explanations, JSON lines, or CSV."""

    def __init__(self, arguments: Namespace, models: list[str]) -> None:
        self.arguments = arguments
        self.table = AnswerTable(models)
        if arguments.csv:
            csv.writer(sys.stdout, lineterminator="\n").writerow(["test", *models])

    def show(self, asked: AskedTest) -> None:
        rows = asked.rows
        if self.arguments.json:
            for row in rows:
                print(json.dumps(_record(asked.file, row)))
        elif self.arguments.csv:
            answers = [rows[0].test, *(row.answer for row in rows)]
            csv.writer(sys.stdout, lineterminator="\n").writerow(answers)
        elif self.arguments.explain:
            for row in rows:
                print(row.text, end="\n\n")
        else:
            self._show_line(asked)

    def _show_line(self, asked: AskedTest) -> None:
        self.table.print_line(asked.rows[0].test, [row.answer for row in asked.rows])
        for row in asked.rows:
            if row.reason:
                say(f"{asked.file}: {row.test} under {row.model}: {row.reason}")


def _record(file: str, row: AnswerRow) -> dict[str, object]:
    return {
        "file": file, "test": row.test, "content_hash": row.hash, "model": row.model, "verdict": row.answer,
        **({"reason": row.reason} if row.reason else {}), **row.facts,
    }  # fmt: skip
