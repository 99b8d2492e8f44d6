"""`gpudiy compare`: which chip is weaker than which, and the tests that show it."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from gpudiy.aligned_text import align_columns
from gpudiy.cli.argument_types import positive
from gpudiy.cli.log_input import LOG_HELP, load_logs, report_clashes
from gpudiy.cli.progress import say
from gpudiy.errors import format_count

if TYPE_CHECKING:
    from gpudiy.logs.comparison import ChipComparison, Difference, Pair
    from gpudiy.logs.evidence import EvidenceCounts

EPILOG = """\
A chip is weaker than another if it shows weak outcomes that the other does not. A zero counts as a difference only if
the rate that it rules out (rule of three) is below the lower bound of the rate on the other chip (Clopper-Pearson,
95 %; where launches are known, also below the lower bound that respects how they differ); other differences are printed
as not decided. The records of a test on a chip are summed. Logs with several chips are split by chip; logs of a single
chip are compared with each other.

examples:
  gpudiy compare titan.log gtx750.log
  gpudiy compare logs/ --json

exit code: 0 no difference, 1 chips differ, 2 bad input"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("logs", metavar="LOG", nargs="+", help=LOG_HELP)
    parser.add_argument(
        "--by", choices=("chip", "log"), help="compare chips or logs (default: chips, if there are several)"
    )
    parser.add_argument(
        "--most", type=positive, default=5, metavar="N", help="tests to show for each pair (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def run(arguments: Namespace) -> int:
    from gpudiy.logs.comparison import compare
    from gpudiy.logs.evidence import UNUSED

    found = compare(load_logs(arguments.logs, UNUSED), by=arguments.by)
    report_clashes(found.evidence.matching.clashes)
    for file in found.evidence.chips.unnamed:
        say(f"note: {file} names no chip: the name of the file is used")
    if arguments.json:
        print(json.dumps(found.as_json(), indent=2))
    else:
        _print_comparison(found, arguments.most)
    return int(found.differs)


def _print_comparison(found: ChipComparison, most: int) -> None:
    evidence = found.evidence
    names = evidence.chips.names
    rows = [("chip", "tests", "weak seen", "iterations")]
    for name, counts in zip(names, evidence.counts, strict=True):
        seen = sum(1 for count in counts.values() if count.sightings)
        iterations = sum(count.iterations for count in counts.values())
        rows.append((name, f"{len(counts):,}", f"{seen:,}", f"{iterations:,}"))
    print(align_columns(rows, right=(1, 2, 3), widths=(0, 9, 9, 15)))
    for reason, number in evidence.apart.most_common():
        print(f"set apart: {format_count(number, 'record')}, {reason}")
    steps = found.order
    if len(names) > 2 and steps:
        print("\nstrength, the stronger chip first:")
        for stronger, weaker, pair in steps:
            print(f"  {stronger} > {weaker}  ({format_count(pair.common, 'test')} in common)")
    for pair in found.pairs:
        _print_pair(evidence, pair, most)


def _print_pair(evidence: EvidenceCounts, pair: Pair, most: int) -> None:
    from gpudiy.logs.comparison import Relation

    names = evidence.chips.names
    one, other = names[pair.first], names[pair.second]
    print(f"\n{one} is {pair.relation} {other}")
    if pair.relation is Relation.UNRELATED:
        return
    neither = pair.common - pair.both - len(pair.weaker) - len(pair.stronger)
    print(
        f"  {format_count(pair.common, 'test')} in common: weak on both {pair.both:,}, on neither {neither:,}, "
        f"on {one} only {len(pair.weaker):,}, on {other} only {len(pair.stronger):,}"
    )
    for shown, name in ((pair.weaker, one), (pair.stronger, other)):
        supported = [difference for difference in shown if difference.supported]
        _print_differences(evidence, supported, most, f"only {name} shows")
    doubtful = list(pair.doubtful)
    _print_differences(
        evidence, doubtful, most, "not decided: the zero may be chance, more iterations are needed", True
    )


def _print_differences(
    evidence: EvidenceCounts, differences: list[Difference], most: int, title: str, doubt: bool = False
) -> None:
    from gpudiy.logs.comparison import iterations_for_difference

    if not differences:
        return
    print(f"  {title}")
    shown = differences[:most]
    names = [evidence.matching.names[difference.test] for difference in shown]
    width = max(map(len, names))
    for name, difference in zip(names, shown, strict=True):
        seen, missing = difference.shown, difference.missing
        tail = f"{iterations_for_difference(difference):,} iterations needed" if doubt else _describe_rates(difference)
        print(f"    {name:<{width}}  {seen.sightings:,}/{seen.iterations:,}  0/{missing.iterations:,}  {tail}")
    if len(differences) > most:
        print(f"    … and {len(differences) - most:,} more")


def _describe_rates(difference: Difference) -> str:
    """The rate against the bound of the zero; where launches are known, what they say beside it."""
    from gpudiy.logs.clustering import launch_bound
    from gpudiy.logs.statistics import zero_bound

    seen, missing = difference.shown, difference.missing
    text = f"rate {seen.sightings / seen.iterations:.2g} against < {zero_bound(missing.iterations):.2g}"
    over, bound = seen.rate_by_launches(), launch_bound(missing.launches)
    beside = [] if over is None else [f"by {over.launches:,} launches {over.low:.2g} to {over.high:.2g}"]
    if missing.launches is not None:
        beside.append(f"0 of {missing.launches.count:,} launches: < {bound:.2g}")
    return f"{text} ({'; '.join(beside)})" if beside else text
