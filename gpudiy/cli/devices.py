"""`gpudiy devices`: the devices of this machine, and what is missing."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

EPILOG = """\
Use these names with `gpudiy run --device`; `opencl` and `vulkan` alone are the first of their kind.

examples:
  gpudiy devices
  gpudiy devices --json

exit code: 0"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON line per device and per missing kind")


def run(arguments: Namespace) -> int:
    from gpudiy.devices.opening import list_devices

    listings = list_devices()
    if arguments.json:
        for listing in listings:
            missing = {"command": listing.command} if listing.command else {}
            print(json.dumps({"device": listing.name, "there": listing.there, "what": listing.what, **missing}))
        return 0
    width = max((len(listing.name) for listing in listings), default=0)
    for listing in listings:
        print(f"{listing.name:<{width}}  {listing.what}")
        if listing.command:
            print(f"{'':<{width}}  to get it: {listing.command}")
    return 0
