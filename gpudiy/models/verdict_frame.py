"""Verdicts as a pandas DataFrame: one row per test and model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from gpudiy.arguments import check_choice, check_seconds, check_whole_number
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.dependencies import choose_kinds
from gpudiy.litmus.loading import TestSource, read_all
from gpudiy.models.deciding import HowToDecide, decide_all
from gpudiy.models.exploration import Engine
from gpudiy.models.library import ModelSource, load_models
from gpudiy.models.verdict import Verdict

if TYPE_CHECKING:
    from pandas import DataFrame


def model(
    tests: TestSource,
    *,
    models: ModelSource = "ptx-6.0",
    all_outcomes: bool = False,
    engine: Literal["auto", "search", "sat"] = "auto",
    unroll: int | None = None,
    limit: float | None = None,
    jobs: int = 1,
    dependencies: Literal["syntactic", "semantic", "both"] = "syntactic",
) -> DataFrame:
    """Decide tests under memory models: `gpudiy.model("mp.litmus", models=["sc", "ptx-6.0"])`.

    `tests` is a test or a path, or several. `models` are names of the library or `.cat` files. The result has one row
    per test and model, with the columns of `verdict_frame`; the `Verdict` in its last column keeps the execution that
    shows an allowed outcome.

    `all_outcomes` asks for every outcome that a model allows. A loop goes round at most `unroll` times; without
    `unroll`, as often as it takes or there is time for. After `limit` seconds a test is undecided. `jobs` is the number
    of worker processes. `engine` is how executions are looked for. With semantic `dependencies`, only reads that can
    change a value count as what it depends on; with both, there is one row for each kind.

    A test that cannot be read, or an unknown model, raises `InputError`.
    """
    check_choice(engine, Engine, "engine")
    for option, number in (("unroll", unroll), ("jobs", jobs)):
        if number is not None or option == "jobs":
            check_whole_number(number, option, 1)
    check_seconds(limit)
    how = HowToDecide(Engine(engine), unroll, limit, all_outcomes)
    asked, loaded = list(read_all(tests)), load_models(models)
    verdicts = [list(decide_all(asked, loaded, replace(how, dependencies=k), jobs)) for k in choose_kinds(dependencies)]
    return verdict_frame(verdict for of_all_kinds in zip(*verdicts, strict=True) for verdict in of_all_kinds)


def verdict_frame(verdicts: Iterable[Verdict]) -> DataFrame:
    """One row per verdict.

    `test` and `model` are names, `hash` is the content hash of the test, `answer` is the word for the verdict
    (allowed, forbidden, undecided (not supported), …), `holds` is whether the claim of the test is true (missing if
    undecided), `bounded` is whether runs with more rounds of a loop were left out, `reason` says why a test is
    undecided, `dependencies` is the kind of dependencies that counted, `verdict` is the `Verdict` itself.
    """
    import pandas

    rows = list(verdicts)
    return pandas.DataFrame(
        {
            "test": pandas.Series([one.test.name for one in rows], dtype="str"),
            "hash": pandas.Series([content_hash(one.test) for one in rows], dtype="str"),
            "model": pandas.Series([one.model.name for one in rows], dtype="str"),
            "answer": pandas.Series([str(one.answer) for one in rows], dtype="str"),
            "holds": pandas.Series([one.holds for one in rows], dtype="boolean"),
            "bounded": pandas.Series([one.bounded for one in rows], dtype="bool"),
            "reason": pandas.Series([one.reason for one in rows], dtype="str"),
            "dependencies": pandas.Series([str(one.dependencies) for one in rows], dtype="str"),
            "verdict": pandas.Series(rows, dtype="object"),
        }
    )
