"""What the subcommands of `log2log` do; each returns its exit code."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING

from gpudiy.cli.log_input import load_logs, report_messages
from gpudiy.cli.progress import say
from gpudiy.cli.tables import print_columns
from gpudiy.errors import InputError, UnwritableOutput, format_count

if TYPE_CHECKING:
    from gpudiy.logs.columns import Columns
    from gpudiy.logs.log import LogProblem
    from gpudiy.logs.record import Record


def print_records(given: Namespace) -> int:
    """Print the records, one per line or whole."""
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
    return 2 if log.problems else 0


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
    print_columns(rows, right=(1, 2, 3, 4, 5), widths=(0, 11, 9, 9, 18, 15))
    return 0


def convert_logs(given: Namespace) -> int:
    """Write the logs in another format."""
    return _write(load_logs(given.logs).columns, given)


def _records(given: Namespace) -> list[Record]:
    return list(load_logs(given.logs).columns.records())


def _write_records(records: list[Record], given: Namespace) -> int:
    from gpudiy.logs.columns import Columns

    return _write(Columns.of(records), given)


def _write(columns: Columns, given: Namespace) -> int:
    from gpudiy.logs.writing import LogFormat, log_text, write_log

    chosen = LogFormat(given.format) if given.format else None
    if given.output == "-":
        sys.stdout.write(log_text(columns, chosen or LogFormat.TEXT))
        return 0
    try:
        write_log(columns, given.output, format=chosen)
    except OSError as error:
        raise UnwritableOutput(given.output, error) from None
    say(f"{format_count(len(columns), 'record')} written to {given.output}")
    return 0


def sort_logs(given: Namespace) -> int:
    """Write the records in another order."""
    from gpudiy.logs.operations import sort_records

    return _write_records(sort_records(_records(given), given.by), given)


def sum_logs(given: Namespace) -> int:
    """Write one summed record per test and chip."""
    from gpudiy.logs.operations import sum_records

    return _write_records(sum_records(_records(given), given.by_incantation), given)


def average_logs(given: Namespace) -> int:
    """Write one record per test and chip with the mean rate."""
    from gpudiy.logs.operations import average_records

    return _write_records(average_records(_records(given), given.by_incantation), given)


def merge_logs(given: Namespace) -> int:
    """Write the first record of each test, chip and incantation."""
    from gpudiy.logs.operations import merge_records

    kept, dropped = merge_records(_records(given))
    for record in dropped:
        say(f"left out: {record.test} on {record.chip or record.device or 'an unnamed chip'}, a duplicate")
    return _write_records(kept, given)


def normalize_logs(given: Namespace) -> int:
    """Write the records scaled to a number of iterations."""
    from gpudiy.logs.operations import normalize_record

    return _write_records([normalize_record(record, given.to) for record in _records(given)], given)


def choose_best(given: Namespace) -> int:
    """Write the record of the best incantation of each test on each chip."""
    from gpudiy.logs.operations import keep_best

    return _write_records(keep_best(_records(given)), given)


def filter_logs(given: Namespace) -> int:
    """Write the records that pass the filters."""
    from gpudiy.logs.operations import Filter

    columns = load_logs(given.logs).columns
    kept = Filter(
        tuple(given.test),
        tuple(given.chip),
        tuple(given.incantation),
        given.observed,
        given.evidence,
        given.min_iterations,
    )
    return _write(columns.take(kept.places(columns)), given)


def rename_tests(given: Namespace) -> int:
    """Write the records with other names of tests or chips."""
    import re

    from gpudiy.logs.operations import read_names, rename_entries

    tests, chips = _pairs(given.test), _pairs(given.chip)
    if given.map:
        tests |= read_names(given.map)
    if not tests and not chips and not given.regex:
        raise InputError("nothing to rename: give --test OLD=NEW, --chip OLD=NEW, --map FILE or --regex PATTERN NEW")
    columns = load_logs(given.logs).columns
    changed = rename_entries(columns, "test", lambda name: tests.get(name, name))
    changed += rename_entries(columns, "chip", lambda name: chips.get(name, name))
    if given.regex:
        try:
            pattern = re.compile(given.regex[0])
            changed += rename_entries(columns, "test", lambda name: pattern.sub(given.regex[1], name))
        except (re.error, IndexError) as error:
            raise InputError(f"{given.regex[0]!r} is not a regular expression: {error}") from None
    say(f"{format_count(changed, 'name')} changed")
    return _write(columns, given)


def _pairs(words: list[str]) -> dict[str, str]:
    pairs = {}
    for word in words:
        old, equals, new = word.partition("=")
        if not equals or not old or not new:
            raise InputError(f"{word!r}: expected OLD=NEW")
        pairs[old] = new
    return pairs


def compare_logs(given: Namespace) -> int:
    """Print the tests of two logs that are related as asked."""
    from gpudiy.logs.operations import compare_tests

    rows = compare_tests(*(load_logs([path]).columns for path in given.logs))
    shown = [row for row in rows if given.which == "all" or given.which in row.relations]
    if given.json:
        print(json.dumps([row.as_json() for row in shown], indent=2))
        return 0
    heads = ("test", given.logs[0], given.logs[1])
    print_columns([heads, *((row.test, row.cell(0), row.cell(1)) for row in shown)], right=(1, 2))
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
    return 1 if broken else 0
