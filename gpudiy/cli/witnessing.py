"""`gpudiy model --witness FILE`: draw an execution."""

from __future__ import annotations

import time

from gpudiy.cli.progress import say
from gpudiy.errors import ExitCode, InputError
from gpudiy.litmus.sources import load_tests
from gpudiy.models.deciding import HowToDecide
from gpudiy.models.execution_picture import picture_of_explanation
from gpudiy.models.explanation import explain
from gpudiy.models.library import load_model
from gpudiy.models.problems import OutOfTime
from gpudiy.models.verdict import Undecided
from gpudiy.pictures.writing import write_picture


def draw_execution(sources: list[str], models: list[str], file: str, how: HowToDecide) -> int:
    """Draw the execution that decides one test under one model; return the exit code."""
    tests = [test for source in sources for test in load_tests(source)]
    if len(tests) != 1 or len(models) != 1:
        raise InputError(f"--witness draws one test under one model, not {len(tests)} tests under {len(models)} models")
    verdict, limit = how.decide(tests[0], load_model(models[0])), how.limit
    if verdict.undecided:
        raise Undecided(verdict)
    try:
        explanation = explain(verdict, None if limit is None else time.monotonic() + limit)
    except OutOfTime:
        say(f"{verdict.test.name} is {verdict.answer} by {verdict.model_label}, but not explained in {limit:g} s")
        return ExitCode.FAILED
    if explanation.execution is None:
        say(f"{verdict.test.name} is forbidden by {verdict.model_label}: no run ends like this, nothing to draw")
        return ExitCode.NO
    write_picture(picture_of_explanation(explanation), file)
    print(f"{verdict.test.name} is {verdict.answer} by {verdict.model_label}: {file}")
    return ExitCode.FINE
