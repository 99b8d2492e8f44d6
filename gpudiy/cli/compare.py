"""`gpudiy compare`: which chip is at least as strong as which, and the tests that tell them apart."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from gpudiy.cli.argument_types import positive
from gpudiy.cli.log_input import LOG_HELP, load_logs, report_messages
from gpudiy.cli.progress import say
from gpudiy.errors import counted

if TYPE_CHECKING:
    from gpudiy.logs.comparison import Difference, Pair
    from gpudiy.logs.evidence import EvidenceCounts

EPILOG = """\
A chip is weaker than another when it shows weak outcomes that the other does not. A zero is called a difference only
when the rate it rules out (rule of three) is below the rate that the other chip has for certain (Clopper-Pearson,
95 %); the rest is told as not decided. All records of a test on a chip are added up. A log with several chips is
split by chip; logs of one chip only are compared with each other.

examples:
  gpudiy compare titan.log gtx750.log
  gpudiy compare logs/ --json

exit code: 0 no difference, 1 chips differ, 2 bad input"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("logs", metavar="LOG", nargs="+", help=LOG_HELP)
    parser.add_argument("--by", choices=("chip", "log"), help="what is compared (default: chips, if there are several)")
    parser.add_argument(
        "--most", type=positive, default=5, metavar="N", help="tests to show for each pair (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def run(arguments: Namespace) -> int:
    from gpudiy.logs.chips import chips_of, logs_of
    from gpudiy.logs.comparison import Relation, compare_chips
    from gpudiy.logs.evidence import UNUSED, gather

    log = load_logs(arguments.logs, UNUSED)
    chips = logs_of(log.columns) if arguments.by == "log" else chips_of(log.columns)
    if arguments.by is None and len(chips.names) == 1:
        chips = logs_of(log.columns)
    if len(chips.names) < 2:
        say(f"error: these logs are all about {chips.names[0]}: there is nothing to compare it with")
        return 2
    evidence = gather(log.columns, chips)
    pairs = compare_chips(evidence)
    report_messages([f"note: {clash}" for clash in evidence.matching.clashes], "clashes")
    for file in chips.unnamed:
        say(f"note: {file} names no chip: it is called by its file")
    if arguments.json:
        print(json.dumps(_as_json(evidence, pairs, [problem.as_json() for problem in log.problems]), indent=2))
    else:
        _show(evidence, pairs, arguments.most)
    return int(any(pair.relation not in (Relation.EQUAL, Relation.UNDECIDED, Relation.UNRELATED) for pair in pairs))


def _show(evidence: EvidenceCounts, pairs: list[Pair], most: int) -> None:
    from gpudiy.logs.comparison import strength_order

    names = evidence.chips.names
    width = max(map(len, names))
    print(f"{'chip':<{width}}  {'tests':>9}  {'weak seen':>9}  {'iterations':>15}")
    for name, counts in zip(names, evidence.counts, strict=True):
        seen = sum(1 for count in counts.values() if count.sightings)
        iterations = sum(count.iterations for count in counts.values())
        print(f"{name:<{width}}  {len(counts):>9,}  {seen:>9,}  {iterations:>15,}")
    for reason, number in evidence.apart.most_common():
        print(f"set apart: {counted(number, 'record')}, {reason}")
    steps = strength_order(pairs)
    if len(names) > 2 and steps:
        print("\nstrength, the stronger chip first:")
        for pair in steps:
            stronger, weaker = _ordered(names, pair)
            print(f"  {stronger} > {weaker}  ({counted(pair.common, 'test')} in common)")
    for pair in pairs:
        _show_pair(evidence, pair, most)


def _ordered(names: list[str], pair: Pair) -> tuple[str, str]:
    """The stronger chip, then the weaker."""
    from gpudiy.logs.comparison import Relation

    ends = names[pair.first], names[pair.second]
    return ends if pair.relation is Relation.STRONGER else ends[::-1]


def _show_pair(evidence: EvidenceCounts, pair: Pair, most: int) -> None:
    from gpudiy.logs.comparison import Relation

    names = evidence.chips.names
    one, other = names[pair.first], names[pair.second]
    print(f"\n{one} is {pair.relation} {other}")
    if pair.relation is Relation.UNRELATED:
        return
    neither = pair.common - pair.both - len(pair.weaker) - len(pair.stronger)
    print(
        f"  {counted(pair.common, 'test')} in common: weak on both {pair.both:,}, on neither {neither:,}, "
        f"on {one} only {len(pair.weaker):,}, on {other} only {len(pair.stronger):,}"
    )
    for shown, name in ((pair.weaker, one), (pair.stronger, other)):
        supported = [difference for difference in shown if difference.supported]
        _show_differences(evidence, supported, most, f"only {name} shows")
    doubtful = list(pair.doubtful)
    _show_differences(evidence, doubtful, most, "not decided: the zero may be chance, more iterations would tell", True)


def _show_differences(
    evidence: EvidenceCounts, differences: list[Difference], most: int, title: str, doubt: bool = False
) -> None:
    from gpudiy.logs.comparison import iterations_wanted
    from gpudiy.logs.statistics import zero_bound

    if not differences:
        return
    print(f"  {title}")
    shown = differences[:most]
    names = [evidence.matching.names[difference.test] for difference in shown]
    width = max(map(len, names))
    for name, difference in zip(names, shown, strict=True):
        seen, missing = difference.shown, difference.missing
        tail = (
            f"{iterations_wanted(difference):,} iterations wanted"
            if doubt
            else f"rate {seen.sightings / seen.iterations:.2g} against < {zero_bound(missing.iterations):.2g}"
        )
        print(f"    {name:<{width}}  {seen.sightings:,}/{seen.iterations:,}  0/{missing.iterations:,}  {tail}")
    if len(differences) > most:
        print(f"    … and {len(differences) - most:,} more")


def _as_json(evidence: EvidenceCounts, pairs: list[Pair], problems: list[dict[str, object]]) -> dict[str, Any]:
    from gpudiy.logs.comparison import strength_order

    names = evidence.chips.names
    return {
        "chips": [
            {
                "chip": name,
                "tests": len(counts),
                "observed": sum(1 for count in counts.values() if count.sightings),
                "iterations": sum(count.iterations for count in counts.values()),
            }
            for name, counts in zip(names, evidence.counts, strict=True)
        ],
        "pairs": [_pair_json(evidence, pair) for pair in pairs],
        "order": [_ordered(names, pair) for pair in strength_order(pairs)],
        "apart": dict(evidence.apart),
        "clashes": list(evidence.matching.clashes),
        "problems": problems,
    }


def _pair_json(evidence: EvidenceCounts, pair: Pair) -> dict[str, Any]:
    names = evidence.chips.names
    return {
        "first": names[pair.first],
        "second": names[pair.second],
        "relation": str(pair.relation),
        "common": pair.common,
        "both": pair.both,
        "weaker": [_difference_json(evidence, difference) for difference in pair.weaker],
        "stronger": [_difference_json(evidence, difference) for difference in pair.stronger],
    }


def _difference_json(evidence: EvidenceCounts, difference: Difference) -> dict[str, Any]:
    from gpudiy.logs.statistics import rate, zero_bound

    seen, missing = difference.shown, difference.missing
    found = rate(seen.sightings, seen.iterations)
    return {
        "test": evidence.matching.names[difference.test],
        "sightings": seen.sightings,
        "iterations": seen.iterations,
        "rate": found.value,
        "low": found.low,
        "high": found.high,
        "other_iterations": missing.iterations,
        "other_bound": zero_bound(missing.iterations),
        "supported": difference.supported,
    }
