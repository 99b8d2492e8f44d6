"""`gpudiy doctor`: checks what a run on this machine needs, and says what to do about what is wrong."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from gpudiy.errors import ExitCode

EPILOG = """\
Every line says what was checked, whether it is well, what was found and, below it, what to do. `missing` stops a run,
a `warning` makes its results worse or slower, `unknown` says that nobody could be asked.

examples:
  gpudiy doctor
  gpudiy doctor --device cuda:1 --json

exit code: 0 the device can be used, 2 there is no such kind of device, 3 the device cannot be used"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--device", "-d", metavar="D", help="the device to be used (default: the first GPU, or what there is instead)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON line per check, and one for the device")


def run(arguments: Namespace) -> int:
    from gpudiy.devices.doctor.diagnosis import Health
    from gpudiy.devices.doctor.examination import examine_machine

    examination = examine_machine(device=arguments.device)
    code = ExitCode.FINE if examination.usable else ExitCode.FAILED
    if arguments.json:
        for found in examination.diagnoses:
            advice = {"advice": found.advice} if found.advice else {}
            print(json.dumps({"what": found.what, "health": found.health, "found": found.found, **advice}))
        print(json.dumps({"device": examination.device, "usable": examination.usable}))
        return code
    width = max(len(found.what) for found in examination.diagnoses)
    marks = max(len(health) for health in Health)
    for found in examination.diagnoses:
        print(f"{found.health:<{marks}}  {found.what:<{width}}  {found.found}")
        if found.advice and found.health is not Health.OK:
            print(f"{'':<{marks}}  {'':<{width}}  to do: {found.advice}")
    verdict = "can be used" if examination.usable else "cannot be used: see what is missing above"
    print(f"{examination.device} {verdict}")
    return code
