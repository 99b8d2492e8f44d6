"""`gpudiy tune`: find the incantations that show the most weak outcomes on a device."""

from __future__ import annotations

import json
import secrets
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from gpudiy.cli import PATH_HELP
from gpudiy.cli.argument_types import natural, positive, seconds
from gpudiy.cli.progress import say
from gpudiy.cli.run import OPENER, load
from gpudiy.errors import ExitCode
from gpudiy.files import expect_writable, write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpudiy.devices.tuning import Scores, Tuned, Tuning
    from gpudiy.harness.incantation_text import IncantationBook

TUNING_SECONDS = 0.01  # of a candidate on a GPU, at least: it has many, and clocks must have settled for all of them
EPILOG = """\
Random settings are tried; the better half is tried again with more iterations, and so on. The winners are measured
again with another seed. Use the written file with `gpudiy run --incantation FILE`: it contains portable settings for
all tests, and settings for single tests where these are better.

examples:
  gpudiy tune opencl sb.litmus mp.litmus -o tuned.toml
  gpudiy tune sim:kepler tests/ --candidates 64 --seed 1 --baseline

exit code: 0 done, 1 no setting showed a weak outcome, 2 bad input, 3 the device failed"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("device", metavar="DEVICE", help="the device; see `gpudiy devices`")
    parser.add_argument("paths", metavar="PATH", nargs="+", help=PATH_HELP)
    parser.add_argument("--candidates", type=positive, default=32, metavar="N", help="settings to try (default: 32)")
    parser.add_argument(
        "-s", "--iterations", type=positive, default=100_000, metavar="N",
        help="iterations of each test in the last measurement (default: 100,000)",
    )  # fmt: skip
    parser.add_argument("--seed", type=natural, metavar="N", help="seed, to repeat a search")
    parser.add_argument(
        "--limit", type=seconds, default=10.0, metavar="SECONDS", help="seconds for each test (default: 10)"
    )
    parser.add_argument("--per-second", action="store_true", help="compare sightings per second, not per iteration")
    parser.add_argument("--baseline", action="store_true", help="compare with the 16 combinations of ASPLOS'15")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the settings here (.toml)")
    parser.add_argument("--json", action="store_true", help="print one JSON line per test, and one for the settings")
    parser.add_argument("-q", "--quiet", action="store_true", help="print the result only")


def run(arguments: Namespace) -> int:
    from gpudiy.cli.progress import RunProgress
    from gpudiy.devices.opening import check_kind
    from gpudiy.devices.runner import Runner
    from gpudiy.devices.settings import RunSettings
    from gpudiy.devices.tuning import Tuning
    from gpudiy.errors import InputError

    seed = secrets.randbits(32) if arguments.seed is None else arguments.seed
    check_kind(arguments.device)
    tests, bad = load(arguments.paths)
    if arguments.output and not arguments.output.endswith(".toml"):
        raise InputError("settings are written as .toml", path=arguments.output)
    if arguments.output:
        expect_writable(arguments.output)
    if bad or not tests:
        return ExitCode.BAD_INPUT
    progress = RunProgress(1, arguments.iterations, arguments.quiet)
    with Runner(arguments.device, OPENER, progress.tell) as runner:
        settings = RunSettings(arguments.iterations, seed, limit=arguments.limit, launches=0, seconds=TUNING_SECONDS)
        return _search(Tuning(runner, tests, settings, arguments.per_second), arguments)


def _search(tuning: Tuning, arguments: Namespace) -> int:
    try:
        found = tuning.search(arguments.candidates, say if not arguments.quiet else lambda _: None)
        published = tuning.measure_published() if arguments.baseline else {}
    except KeyboardInterrupt as interrupt:
        if arguments.output and tuning.best_so_far is not None:
            _write_settings(tuning.best_so_far, tuning, arguments, "interrupted, not measured again")
            interrupt.add_note(f"the best settings so far are in {arguments.output}")
        raise
    (_print_json if arguments.json else _show)(found, published, tuning)
    if arguments.output:
        _write_settings(found.book(), tuning, arguments, f"{found.tried} tried")
        (say if arguments.json else print)(f"written to {arguments.output}")
    return ExitCode.FINE if found.single else ExitCode.NO


def _write_settings(book: IncantationBook, tuning: Tuning, arguments: Namespace, how: str) -> None:
    from gpudiy.harness.incantation_text import incantation_file

    comments = (
        f"Settings of gpudiy tune for {arguments.device}, seed {tuning.settings.seed}, {how}.",
        "Use them with: gpudiy run PATH --device DEVICE --incantation FILE",
        "",
    )
    write_whole(arguments.output, incantation_file(book, comments))


def _show(found: Tuned, published: Mapping[str, Scores], tuning: Tuning) -> None:
    unit = "sightings a second" if tuning.per_second else "sightings in 100,000 iterations"
    best = "best of 16" if published else ""
    print(f"{unit}; seed {tuning.settings.seed}")
    print(f"{'test':<24}{'default':>12}{'portable':>12}{'its own':>12}  {best:<12}".rstrip())
    for test in tuning.tests:
        scores = [found.default_scores[test.name], found.portable_scores[test.name]]
        if test.name in found.single_scores:
            scores.append(found.single_scores[test.name])
        shown = "".join(f"{_rate_text(score.rate(tuning.per_second), tuning.per_second):>12}" for score in scores)
        print(f"{test.name:<24}{shown:<36}  {_describe_best_published(test.name, published, tuning)}".rstrip())
    print(f"portable settings: {found.portable.name}; settings of their own: {_list_own_settings(found)}")


def _print_json(found: Tuned, published: Mapping[str, Scores], tuning: Tuning) -> None:
    """Print the counts of each test under every measured setting, then the settings."""
    measured = {"default": found.default_scores, "portable": found.portable_scores, "own": found.single_scores}
    for test in tuning.tests:
        line: dict[str, object] = {"test": test.name, "seed": tuning.settings.seed}
        for name, scores in (*measured.items(), *published.items()):
            if test.name in scores:
                score = scores[test.name]
                line[name] = {field: getattr(score, field) for field in ("sightings", "iterations", "seconds")}
        print(json.dumps(line))
    own = {test: setting.name for test, setting in found.single.items()}
    print(json.dumps({"portable": found.portable.name, "own": own, "tried": found.tried}))


def _describe_best_published(test: str, published: Mapping[str, Scores], tuning: Tuning) -> str:
    if not published:
        return ""
    name = max(published, key=lambda one: published[one][test].rate(tuning.per_second))
    rate = published[name][test].rate(tuning.per_second)
    return f"{_rate_text(rate, tuning.per_second)} with {name}" if rate else "0"


def _list_own_settings(found: Tuned) -> str:
    return (
        ", ".join(f"{test}: {one.name}" for test, one in found.single.items()) or "none, no weak outcome was observed"
    )


def _rate_text(rate: float, per_second: bool) -> str:
    return f"{rate:,.0f}" if per_second else f"{100_000 * rate:,.5g}"
