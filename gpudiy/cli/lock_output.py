"""How the answers about locks are printed: a table of one lock, a line each of many, JSON lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from gpudiy.locks.experiment import Experiment, summarise_runs
from gpudiy.locks.judgement import Finding
from gpudiy.locks.lock import Lock
from gpudiy.locks.question import Question
from gpudiy.locks.remarks import find_remarks
from gpudiy.locks.witness import LockWitness, listing, marked_source, simplest, witness
from gpudiy.logs.decision import count_sightings
from gpudiy.models.library import load_model
from gpudiy.models.verdict import Answer

WORST = (Answer.ALLOWED, Answer.OUT_OF_TIME, Answer.BOUNDED, Answer.NOT_SUPPORTED, Answer.FORBIDDEN)


def print_answers(
    locks: Sequence[Lock], models: Sequence[str], findings: Sequence[Finding], experiment: Experiment, as_json: bool
) -> None:
    by_lock = {id(lock): [finding for finding in findings if finding.case.lock is lock] for lock in locks}
    if as_json:
        for lock in locks:
            _print_json(lock, by_lock[id(lock)], experiment)
    elif len(locks) == 1:
        _print_lock(locks[0], models, findings, experiment)
    else:
        _print_many(locks, models, by_lock, experiment)


def _print_lock(lock: Lock, models: Sequence[str], findings: Sequence[Finding], experiment: Experiment) -> None:
    rows = [["question", *models, *experiment.devices]]
    for question in Question:
        asked = [finding for finding in findings if finding.case.question is question]
        cells = [_cell([finding for finding in asked if finding.model == model]) for model in models]
        cells += [summarise_runs(experiment.of(lock, question, device)) for device in experiment.devices]
        rows.append([question, *cells])
    _print_table(rows)
    for model in models:
        print(f"\n{_verdict(lock, model, findings)}")
    for found in _witnesses(findings, models)[:1]:
        _print_witness(lock, found)
    for remark in find_remarks(lock):
        place = f"{lock.program.path}:{remark.line}" if remark.line else lock.program.path
        print(f"\n{place}: note: {remark.text}")
        if remark.line:
            print(f"  {lock.program.source.split(chr(10))[remark.line - 1].strip()}")


def _print_table(rows: list[list[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) + 2 for column in range(len(rows[0]))]
    for row in rows:
        print("".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def _cell(findings: Sequence[Finding]) -> str:
    answers = Counter(finding.verdict.answer for finding in findings)
    worst = next((answer for answer in WORST if answers[answer]), None)
    if worst is None:
        return "not asked"
    return str(worst) if answers[worst] == len(findings) else f"{worst} {answers[worst]} of {len(findings)}"


def _verdict(lock: Lock, model: str, findings: Sequence[Finding]) -> str:
    own = [finding for finding in findings if finding.model == model]
    wrong = list(dict.fromkeys(f.case.question for f in own if f.verdict.allowed))
    unsure = next((f for f in own if f.verdict.undecided), None)
    if wrong:
        return f"{lock.name} is wrong by {model}: {', '.join(wrong)}"
    if unsure is not None:
        return f"{lock.name}: no answer by {model}: {unsure.verdict.reason}"
    return f"{lock.name} is right by {model}: no outcome in question is allowed"


def _witnesses(findings: Sequence[Finding], models: Sequence[str]) -> list[LockWitness]:
    """For every question and model that finds it wrong, the simplest execution that shows it."""
    found = []
    for model in models:
        for question in (Question.STALE_VALUE, Question.FUTURE_VALUE, *Question):
            case = simplest(findings, question, model)
            shown = None if case is None else witness(case, load_model(model))
            if shown is not None:
                found.append(shown)
                return found
    return found


def _print_witness(lock: Lock, found: LockWitness) -> None:
    case = found.made.case
    print(f"\n{case.question}, {case.threads} threads, {case.setting.placement.what}, by {found.model}:")
    print("\n".join(f"  {line}" for line in listing(found)))
    marked = marked_source(lock, found)
    if marked:
        print(f"\n{lock.program.path}")
        print("\n".join(f"  {line}" for line in marked))


def _print_many(
    locks: Sequence[Lock], models: Sequence[str], by_lock: dict[int, list[Finding]], experiment: Experiment
) -> None:
    rows = [["lock", *models, *experiment.devices]]
    for lock in locks:
        cells = [_short_verdict([f for f in by_lock[id(lock)] if f.model == model]) for model in models]
        for device in experiment.devices:
            own = [s for s in experiment.runs if s.case.lock is lock and s.device == device]
            cells.append(summarise_runs(own))
        rows.append([lock.name, *cells])
    _print_table(rows)


def _short_verdict(findings: Sequence[Finding]) -> str:
    answers = {finding.verdict.answer for finding in findings}
    if Answer.ALLOWED in answers:
        return "wrong"
    return next((str(answer) for answer in WORST if answer.undecided and answer in answers), "right")


def _print_json(lock: Lock, findings: Sequence[Finding], experiment: Experiment) -> None:
    for finding in findings:
        print(json.dumps({**_place(finding), "model": finding.model, "verdict": finding.verdict.answer,
                          "reason": finding.verdict.reason}))  # fmt: skip
    for run in experiment.runs:
        if run.case.lock is lock:
            record = run.record
            print(json.dumps({"lock": lock.name, "test": run.case.name, "question": run.case.question,
                              "threads": run.case.threads, "placement": run.case.setting.placement,
                              "device": run.device, "simulated": record.simulated, "verdict": run.sighting,
                              "seen": count_sightings(record), "iterations": record.iterations}))  # fmt: skip
    for remark in find_remarks(lock):
        print(json.dumps({"lock": lock.name, "remark": remark.kind, "line": remark.line, "text": remark.text}))


def _place(finding: Finding) -> dict[str, object]:
    case = finding.case
    return {"lock": case.lock.name, "test": case.name, "question": case.question, "threads": case.threads,
            "placement": case.setting.placement, "lock_space": case.setting.lock, "data_space": case.setting.data,
            "retry": case.retry, "early": case.scenario.early}  # fmt: skip
