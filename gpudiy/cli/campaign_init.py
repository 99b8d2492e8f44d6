"""`gpudiy campaign init`: write a commented plan."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from gpudiy.arguments import list_names
from gpudiy.files import expect_writable, write_whole

EPILOG = """\
examples:
  gpudiy campaign init plan.toml
  gpudiy campaign init plan.toml --families rmw --devices sim:kepler,opencl

exit code: 0 written, 2 the file already exists or a name is wrong"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN", type=Path, help="the file to write, such as plan.toml")
    parser.add_argument(
        "--families", metavar="F1,F2", default="classic", help="families of tests (default: %(default)s)"
    )
    parser.add_argument("--devices", metavar="D1,D2", default="sim:kepler", help="devices (default: %(default)s)")
    parser.add_argument("--force", action="store_true", help="overwrite an existing plan")


def run(arguments: Namespace) -> int:
    from gpudiy.campaign.plan import parse_plan, plan_template
    from gpudiy.campaign.plan_text import PlanText
    from gpudiy.campaign.test_set import check_families
    from gpudiy.devices.opening import check_kind
    from gpudiy.errors import InputError

    path: Path = arguments.plan
    expect_writable(path)
    if path.exists() and not arguments.force:
        raise InputError("this plan already exists", path=str(path), hint="--force overwrites it")
    devices = _names(arguments.devices)
    for device in devices:
        check_kind(device)
    text = plan_template(path.stem, _names(arguments.families), devices)
    check_families(parse_plan(PlanText.parse(text, str(path)), path))
    write_whole(path, text)
    print(f"{path} written: edit it, then start it with `gpudiy campaign run {path}`")
    return 0


def _names(text: str) -> list[str]:
    return list_names(text.replace(" ", ","), "names")
