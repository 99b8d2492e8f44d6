"""The report on a lock as text, a table of many locks, and rows for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gpudiy.aligned_text import align_columns
from gpudiy.locks.experiment import LockTestRun, describe_runs
from gpudiy.locks.judge import CaseVerdict, assumption_rows, format_assumptions
from gpudiy.locks.question import Question
from gpudiy.locks.report import Judgement, LockReport
from gpudiy.locks.witness import LockWitness, list_events, mark_source
from gpudiy.logs.decision import count_sightings
from gpudiy.models.verdict import Answer

WORST_FIRST = (
    Answer.ALLOWED,
    Answer.OUT_OF_TIME,
    Answer.BOUNDED,
    Answer.NO_RUN,
    Answer.NOT_SUPPORTED,
    Answer.FORBIDDEN,
)


def format_report(report: LockReport) -> str:
    """A table of questions, the judgement of each model, the simplest witness and the remarks."""
    parts = [align_columns(list(_question_rows(report)))]
    parts += [_judgement_text(report, model) for model in report.models]
    witness = next(report.find_witnesses(), None)
    if witness is not None:
        parts += _witness_texts(report, witness)
    parts += _remark_texts(report)
    parts += _assumption_texts([report])
    return "\n\n".join(parts)


def format_reports(reports: Sequence[LockReport]) -> str:
    """One row per lock: the judgement of each model and the sightings of each device."""
    devices = reports[0].experiment.devices if reports else ()
    rows = [["lock", *(reports[0].models if reports else ()), *devices]]
    for report in reports:
        by_models = [_short_judgement(report, model) for model in report.models]
        by_devices = [describe_runs(report.experiment.runs_of(report.lock, device)) for device in devices]
        rows.append([report.lock.name, *by_models, *by_devices])
    return "\n\n".join([align_columns(rows), *_assumption_texts(reports)])


def report_rows(report: LockReport) -> Iterator[dict[str, object]]:
    """What `--json` prints: one row per verdict, per run, per assumption and per remark."""
    for found in report.verdicts:
        yield {**_case_row(found), "model": found.model, "verdict": found.verdict.answer,
               "reason": found.verdict.reason}  # fmt: skip
    for run in report.experiment.runs_of(report.lock):
        yield _run_row(run)
    if report.lock.fault:
        yield {"lock": report.lock.name, "fault": report.lock.fault}
    for gap in report.lock.gaps:
        yield {"lock": report.lock.name, "gap": gap.text, "line": gap.line}
    yield from assumption_rows(report.lock, report.assumptions)
    for remark in report.remarks:
        yield {"lock": report.lock.name, "remark": remark.kind, "line": remark.line, "text": remark.text}


def _question_rows(report: LockReport) -> Iterator[list[str]]:
    devices = report.experiment.devices
    yield ["question", *report.models, *devices]
    for question in Question:
        asked = [found for found in report.verdicts if found.case.question is question]
        by_models = [_count_answers([found for found in asked if found.model == model]) for model in report.models]
        by_devices = [describe_runs(report.experiment.runs_of(report.lock, device, question)) for device in devices]
        yield [question, *by_models, *by_devices]


def _count_answers(verdicts: Sequence[CaseVerdict]) -> str:
    answers = Counter(found.verdict.answer for found in verdicts)
    worst = next((answer for answer in WORST_FIRST if answers[answer]), None)
    if worst is None:
        return "not asked"
    return str(worst) if answers[worst] == len(verdicts) else f"{worst} {answers[worst]} of {len(verdicts)}"


def _judgement_text(report: LockReport, model: str) -> str:
    name = report.lock.name
    match report.judgement_by(model):
        case Judgement.WRONG:
            wrong = [*report.wrong_questions(model), *([report.lock.fault] if report.lock.fault else [])]
            return f"{name} is wrong by {model}: {', '.join(wrong)}"
        case Judgement.UNKNOWN:
            return f"{name}: no answer by {model}: {report.reason(model)}"
        case Judgement.RIGHT:
            return f"{name} is right by {model}: no outcome in question is allowed"


def _short_judgement(report: LockReport, model: str) -> str:
    judgement, answers = report.judgement_by(model), report.answers(model)
    if judgement is not Judgement.UNKNOWN:
        return str(judgement)
    none = "unknown" if report.lock.gaps else "not asked"
    return next((str(answer) for answer in WORST_FIRST if answer in answers and answer.undecided), none)


def _witness_texts(report: LockReport, witness: LockWitness) -> Iterator[str]:
    case = witness.made.case
    heading = f"{case.question}, {case.threads} threads, {case.setting.placement.what}, by {witness.model}:"
    yield "\n".join([heading, *(f"  {line}" for line in list_events(witness))])
    marked = mark_source(report.lock, witness)
    if marked:
        yield "\n".join([report.lock.program.path, *(f"  {line}" for line in marked)])


def _remark_texts(report: LockReport) -> Iterator[str]:
    program = report.lock.program
    for remark in report.remarks:
        place = f"{program.path}:{remark.line}" if remark.line else program.path
        source = f"\n  {program.source.split(chr(10))[remark.line - 1].strip()}" if remark.line else ""
        yield f"{place}: note: {remark.text}{source}"


def _assumption_texts(reports: Sequence[LockReport]) -> list[str]:
    """What the judgements rest on, once for all locks."""
    found = dict.fromkeys(assumption for report in reports for assumption in report.assumptions)
    return [format_assumptions(found)] if found else []


def _case_row(found: CaseVerdict) -> dict[str, object]:
    case = found.case
    return {"lock": case.lock.name, "test": case.name, "question": case.question, "threads": case.threads,
            "placement": case.setting.placement, "lock_space": case.setting.lock, "data_space": case.setting.data,
            "retry": case.retry, "early": case.scenario.early, "ways": list(case.ways)}  # fmt: skip


def _run_row(run: LockTestRun) -> dict[str, object]:
    case, record = run.case, run.record
    return {"lock": case.lock.name, "test": case.name, "question": case.question, "threads": case.threads,
            "placement": case.setting.placement, "device": run.device, "simulated": record.simulated,
            "verdict": run.decision.kind or run.decision.sighting, "seen": count_sightings(record),
            "iterations": record.iterations}  # fmt: skip
