"""`Worker`: a process that has a device to itself, so that a crash of the device ends nothing else."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import IO, Any

from gpudiy.devices.device import Chip
from gpudiy.errors import DeviceFailure, InputError
from gpudiy.logs.record import Ending

OPENER = "gpudiy.devices.opening:open_device"
OPEN_LIMIT = 60.0  # seconds in which a device opens, with its driver
CLOSE_LIMIT = 5.0  # seconds in which a worker ends after its connection was closed
MESSAGE_WIDTH = 300  # characters of the last message of a worker that are kept


class WorkerFailure(DeviceFailure):
    """A worker did not answer; its process has ended unless `alive`."""

    def __init__(self, ending: Ending, reason: str, alive: bool = False) -> None:
        super().__init__(reason)
        self.ending = ending
        self.reason = reason
        self.alive = alive


class Worker:
    """One device in one process. `ask` waits for an answer; no answer, or a dead process, is a failure."""

    def __init__(self, device: str, opener: str = OPENER) -> None:
        self.device = device
        self.opener = opener
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection[Any, Any] | None = None
        self._messages: IO[bytes] | None = None

    @property
    def alive(self) -> bool:
        return self._process is not None

    def start(self, limit: float = OPEN_LIMIT) -> Chip:
        """Start the process and open the device in it."""
        self.kill()
        here, there = Pipe()
        self._connection = here
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        command = [sys.executable, "-m", "gpudiy.devices.worker_process", str(there.fileno()), self.device, self.opener]
        paths = os.pathsep.join(path or "." for path in sys.path)
        with there:
            self._process = subprocess.Popen(
                command,
                pass_fds=(there.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=self._messages,
                stderr=self._messages,
                env={**os.environ, "PYTHONPATH": paths},
                start_new_session=True,  # only this process handles interrupts, not the device
            )
        try:
            chip = self._answer(limit)
        except (WorkerFailure, InputError):
            self.kill()
            raise
        assert isinstance(chip, Chip)
        return chip

    def ask(self, method: str, *arguments: object, limit: float) -> Any:
        """The answer of a method of the device; raises `WorkerFailure` if there is none within the limit."""
        if self._connection is None:
            raise WorkerFailure(Ending.CRASHED, "the worker is not running")
        try:
            self._connection.send((method, arguments))
        except OSError:
            raise self._death() from None
        return self._answer(limit)

    def kill(self) -> None:
        """End the process at once, whatever it is doing."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """Let the process close its device and end; kill it if that takes too long."""
        if self._process is not None and self._connection is not None:
            self._connection.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(CLOSE_LIMIT)
        self._end(signal.SIGKILL)

    def _answer(self, limit: float) -> Any:
        assert self._connection is not None
        try:
            if not self._connection.poll(limit):
                self.kill()
                raise WorkerFailure(Ending.TIMEOUT, f"no answer for {limit:.3g} s")
            kind, value, *more = self._connection.recv()
        except (EOFError, OSError):
            raise self._death() from None
        except KeyboardInterrupt:
            self.kill()  # half an answer may have been sent, so the connection cannot be used any more
            raise
        if kind == "input":
            raise value
        if kind == "failed":
            raise WorkerFailure(Ending(value), str(more[0]), alive=True)
        return value

    def _death(self) -> WorkerFailure:
        """How the process ended, and its last message."""
        assert self._process is not None and self._messages is not None
        try:
            code = self._process.wait(CLOSE_LIMIT)
        except subprocess.TimeoutExpired:
            code = None
        self._messages.seek(0)
        lines = self._messages.read().decode(errors="replace").strip().splitlines()
        self.kill()
        last = f": {lines[-1][-MESSAGE_WIDTH:]}" if lines else ""
        return WorkerFailure(Ending.CRASHED, f"the worker {_describe_end(code)}{last}")

    def _end(self, number: int) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            if self._process.poll() is None:
                self._process.send_signal(number)
            self._process.wait()
        if self._messages is not None:
            self._messages.close()
        self._process = self._connection = self._messages = None


def _describe_end(code: int | None) -> str:
    if code is None:
        return "stopped talking"
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"was killed by {name}" + (", as happens when memory runs out" if name == "SIGKILL" else "")
