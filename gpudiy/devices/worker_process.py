"""The process of a worker: it opens the device, then answers one request after the other."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from gpudiy.devices.device import Device, DeviceError
from gpudiy.errors import InputError
from gpudiy.logs.record import Ending

LOOK_AT_PARENT = 2.0  # seconds
OPTIONAL = ("warm_up", "use_built", "use_memory")  # methods that not every device has


def main() -> int:
    number, name, opener = sys.argv[1:]
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    connection: Connection[Any, Any] = Connection(int(number))
    module, function = opener.split(":")
    answer, device = _answer_with(lambda: getattr(import_module(module), function)(name))
    connection.send(("done", device.chip) if answer[0] == "done" else answer)
    if answer[0] != "done":
        return 0
    with contextlib.suppress(EOFError, OSError):
        serve(connection, device)
    closing = getattr(device, "close", None)
    if closing is not None:
        closing()
    return 0


def serve(connection: Connection[Any, Any], device: Device) -> None:
    """Answer requests until the other side closes the connection."""
    while True:
        method, arguments = connection.recv()
        call = getattr(device, method, None) if method in OPTIONAL else getattr(device, method)
        answer, value = _answer_with(lambda: None if call is None else call(*arguments))  # noqa: B023 - called at once
        connection.send(("done", value) if answer[0] == "done" else answer)


def _answer_with(work: Any) -> tuple[tuple[Any, ...], Any]:
    try:
        return ("done",), work()
    except DeviceError as error:
        return ("failed", str(error.ending), str(error)), None
    except InputError as error:
        return ("input", error), None
    except MemoryError as error:
        return ("failed", str(Ending.OUT_OF_MEMORY), str(error) or "the host has no memory left"), None
    except Exception as error:
        return ("failed", str(Ending.CRASHED), f"{type(error).__name__}: {error}"), None


def _leave_with_parent() -> None:
    """End this process when its parent is gone: it does not notice that while a device hangs."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(LOOK_AT_PARENT)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
