"""What the subcommands of `log2log` do; each returns its exit code."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING

from gpudiy.aligned_text import align_columns
from gpudiy.cli.log_input import load_logs, report_messages
from gpudiy.cli.progress import say
from gpudiy.errors import ExitCode, InputError, format_count

if TYPE_CHECKING:
    from gpudiy.logs.columns import Columns
    from gpudiy.logs.log import LogProblem


def print_records(given: Namespace) -> int:
    """Print the records, one per line or whole."""
    from gpudiy.logs.chips import memory_of_text
    from gpudiy.logs.memory_place import name_with_memory
    from gpudiy.logs.writing import LogFormat, log_text

    columns = load_logs(given.logs).columns
    if given.raw or given.json:
        sys.stdout.write(log_text(columns, LogFormat.TEXT if given.raw else LogFormat.JSON_LINES))
        return 0
    width = max(map(len, columns["test"]))
    for place in range(len(columns)):
        test, chip, incantation, ending, optcheck, seen, all_ = (
            columns[name][place]
            for name in ("test", "chip", "incantation", "ending", "optcheck", "positive", "iterations")
        )
        chip = name_with_memory(chip, memory_of_text(columns["options"][place]))
        about = "  ".join(
            word for word in (chip, incantation, optcheck, ending if ending != "finished" else "") if word
        )
        print(f"{test:<{width}}  {f'{seen:,}/{all_:,}':>20}  {about}".rstrip())
    return 0


def check_logs(given: Namespace) -> int:
    """Print how many records and problems the logs have."""
    log = load_logs(given.logs)
    problems = f", {format_count(len(log.problems), 'problem')}" if log.problems else ""
    print(f"{format_count(len(log.columns), 'record')} in {format_count(len(log.files), 'log')}{problems}")
    return ExitCode.BAD_INPUT if log.problems else ExitCode.FINE


def print_summary(given: Namespace) -> int:
    """Print counts by chip."""
    from gpudiy.logs.summary import summarise

    problems: list[LogProblem] = []
    lines = summarise(given.logs, problems)
    report_messages(problems, "problems")
    if given.json:
        print(json.dumps([asdict(line) for line in lines], indent=2))
        return 0
    rows: list[tuple[str, ...]] = [("chip", "records", "tests", "weak seen", "iterations", "sightings", "apart")]
    for line in lines:
        numbers = (line.records, line.tests, line.observed, line.iterations, line.sightings, line.apart)
        rows.append((line.chip or "-", *(f"{number:,}" for number in numbers)))
    print(align_columns(rows, right=(1, 2, 3, 4, 5), widths=(0, 11, 9, 9, 18, 15)))
    return 0


def change_logs(given: Namespace) -> int:
    """Write the logs as the subcommand changes them."""
    from gpudiy.logs import operations
    from gpudiy.logs.chips import name_chip

    columns = load_logs(given.logs).columns
    if given.change == "convert":
        return _write(columns, given)
    if given.change == "filter":
        kept = operations.Filter(
            tuple(given.test),
            tuple(given.chip),
            tuple(given.incantation),
            given.observed,
            given.evidence,
            given.min_iterations,
        )
        return _write(columns.take(kept.places(columns)), given)
    if given.change == "rename":
        changed = operations.rename_records(columns, given.test, given.chip, given.map, given.regex)
        say(f"{format_count(changed, 'name')} changed")
        return _write(columns, given)
    records = list(columns.records())
    match given.change:
        case "sort":
            records = operations.sort_records(records, given.by)
        case "sum":
            records = operations.sum_records(records, given.by_incantation)
        case "avg":
            records = operations.average_records(records, given.by_incantation)
        case "normalize":
            records = [operations.normalize_record(record, given.to) for record in records]
        case "best":
            records = operations.keep_best(records)
        case "merge":
            records, dropped = operations.merge_records(records)
            for record in dropped:
                say(f"left out: {record.test} on {name_chip(record) or 'an unnamed chip'}, a duplicate")
        case unknown:
            raise ValueError(unknown)
    return _write(columns.of(records), given)


def _write(columns: Columns, given: Namespace) -> int:
    from gpudiy.logs.writing import LogFormat, log_text, write_log

    chosen = LogFormat(given.format) if given.format else None
    if given.output == "-":
        sys.stdout.write(log_text(columns, chosen or LogFormat.TEXT))
        return 0
    write_log(columns, given.output, format=chosen)
    say(f"{format_count(len(columns), 'record')} written to {given.output}")
    return 0


def compare_logs(given: Namespace) -> int:
    """Print the tests of two logs that are related as asked."""
    from gpudiy.logs.operations import compare_tests

    rows = compare_tests(*(load_logs([path]).columns for path in given.logs))
    shown = [row for row in rows if given.which == "all" or given.which in row.relations]
    if given.json:
        print(json.dumps([row.as_json() for row in shown], indent=2))
        return 0
    heads = ("test", given.logs[0], given.logs[1])
    print(align_columns([heads, *((row.test, row.cell(0), row.cell(1)) for row in shown)], right=(1, 2)))
    return 0


def check_claim(given: Namespace) -> int:
    """Check a claim about the tests that two logs have in common."""
    from gpudiy.logs.operations import compare_tests

    rows = [row for row in compare_tests(*(load_logs([path]).columns for path in given.logs)) if row.in_both]
    broken = [row for row in rows if row.contradicts(given.which)]
    for row in broken:
        print(f"{row.test}  {row.cell(0)}  {row.cell(1)}")
    if not rows:
        raise InputError("these logs have no test in common, so the claim cannot be checked")
    answer = "fail" if broken else "pass"
    print(f"{answer}: {format_count(len(rows), 'test')} in both logs, {len(broken):,} against the claim")
    return ExitCode.NO if broken else ExitCode.FINE
