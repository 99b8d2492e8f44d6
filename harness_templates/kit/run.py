#!/usr/bin/env python3
"""Runs the tests of a kit of gpudiy on a GPU and writes log.jsonl. It needs Python 3.7 and NVIDIA's driver only.

    python3 run.py [--device N] [--log FILE]

It does what run.c does, with the same files and the same lines in the log: see there.
"""

import argparse
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

from run_kit import Kit, check_files, read_checked, say
from run_log import Log, open_log

MOST_OPENINGS = 3  # a GPU that was lost, and cannot be opened so often, is given up
LOADING_TIME = 300  # seconds more before the first launch: the driver may compile PTX
ENDED, FAILED, CANNOT_OPEN = 0, 10, 11  # how a child ends: FAILED was written down


class Done(set):
    """The numbers of tests that need not be run again; after some errors a test is."""

    def __init__(self, again):
        super().__init__()
        self.again = again

    def note_end(self, line):
        ended = json.loads(line.decode())
        self.discard(ended["end"])
        if ended.get("code") not in self.again:
            self.add(ended["end"])


class Parent:
    """Starts children, one after the other, and never uses the driver itself."""

    def __init__(self, kit, options):
        self.kit, self.options, self.log = kit, options, None
        self.done, self.finished, self.process = Done(kit.again), 0, None
        self.gpu, self.given_up = "", False

    def start(self, *more):
        """Start a child that does what these words say."""
        words = [sys.executable, str(Path(__file__).resolve()), "--device", str(self.options.device), *more]
        try:
            self.process = subprocess.Popen(words, stdout=subprocess.PIPE, universal_newlines=True)
        except OSError as error:
            say(f"error: no child can be started: {error.strerror}")
            sys.exit(3)

    def end_child(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def identify(self):
        """Ask a child which GPU it is; the exit code of the program, or 0."""
        self.start("--child", "identify")
        try:
            self.gpu, _ = self.process.communicate(timeout=LOADING_TIME)
        except subprocess.TimeoutExpired:
            self.end_child()
            say(f"error: the driver does not answer for {LOADING_TIME} seconds")
            return 3
        if self.process.returncode < 0:
            say(f"error: the driver was killed by signal {-self.process.returncode}")
        return 3 if self.process.returncode else 0

    def run(self):
        failures, ever_opened, code = 0, False, 0
        while True:
            numbers = [number for number in range(len(self.kit.tests)) if number not in self.done]
            if not numbers:
                return code
            self.under_way, self.begun, self.loading, self.opened = -1, 0, True, False
            words = ["--log", self.log.name, "--gpu", self.gpu, "--child", ",".join(map(str, numbers))]
            self.start(*words, *(["--quiet"] if failures else []))
            hung = self.follow()
            status = self.process.wait()
            self.log.reread()
            if self.under_way < 0 and status == ENDED and not hung:
                return code
            if status == 2:
                return 2  # the log cannot be written, or a file was changed: the child said so
            code = 3
            if self.under_way >= 0:
                self.write_failure(self.under_way, hung, status)
                self.done.add(self.under_way)
            elif status not in (CANNOT_OPEN, FAILED):
                say("the driver {} while it was opened or closed".format("did not answer" if hung else "crashed"))
            ever_opened = ever_opened or self.opened
            failures = 0 if self.begun else failures + 1
            if not ever_opened or failures == MOST_OPENINGS:
                say("the GPU cannot be used; run it again to continue " + self.log.name)
                self.log.write('{"stopped":"device lost"')
                self.given_up = True
                return 3

    @property
    def patience(self):
        """Seconds without a word after which a child has hung."""
        return self.kit.silence + (LOADING_TIME if self.loading else 0)

    def follow(self):
        """Read what the child says until it ends; True if it said nothing for too long and was killed."""
        hung = threading.Event()
        said = threading.Event()
        process = self.process

        def watch():
            while process.poll() is None:
                said.clear()
                if not said.wait(self.patience) and process.poll() is None:
                    hung.set()
                    process.kill()
                    return

        threading.Thread(target=watch, daemon=True).start()
        for line in process.stdout:
            self.take_message(line[0], int(line[1:]))
            said.set()
        said.set()
        return hung.is_set()

    def take_message(self, what, number):
        if what == "o":
            self.opened = True
        elif what == "b":
            self.under_way, self.loading, self.begun = number, True, self.begun + 1
        elif what == "m":
            self.loading = False
        elif what == "e":
            self.done.add(number)
            self.under_way, self.loading, self.finished = -1, True, self.finished + 1
            say(f"{self.finished} of {len(self.kit.tests)}: {self.name_of(number)}")

    def name_of(self, test):
        return json.loads(self.kit.tests[test]["about"])["test"]

    def write_failure(self, test, hung, status):
        name = self.name_of(test)
        if hung:
            say(f"{name}: no answer for {self.patience} seconds")
            self.write_end(test, "hung", "seconds", self.patience)
        elif status < 0:
            say(f"{name}: the program was killed by signal {-status}")
            self.write_end(test, "killed", "signal", -status)
        elif status != FAILED:
            self.write_end(test, "died", "exit", status)

    def write_end(self, test, how, name, value):
        line = '{{"end":{},"how":"{}","launches":{},"{}":{}'
        self.log.write(line.format(test, how, self.log.launches, name, value))


def parse_device(text):
    """The number of a GPU; anything else is refused."""
    if not text.isdigit() or len(text) > 5:
        raise argparse.ArgumentTypeError(f"{text}: this is not the number of a GPU: they are counted from 0")
    return int(text)


def parse_options():
    parser = argparse.ArgumentParser(description="Runs the tests of a kit of gpudiy on a GPU and writes a log.")
    parser.add_argument(
        "--device", type=parse_device, default=0, metavar="N", help="the number of the GPU (default: 0)"
    )
    parser.add_argument(
        "--log", metavar="FILE", help="where to write (default: log.jsonl, of another GPU log-2.jsonl and so on)"
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--gpu", default="", help=argparse.SUPPRESS)
    parser.add_argument("--quiet", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--row", nargs=4, type=int, help=argparse.SUPPRESS)  # gpudiy compares it with its own
    return parser.parse_args()


def run_child(kit, options):
    """What a child does: say which GPU it is, or run tests."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if options.child == "identify":
        from run_driver import Driver

        print(Driver(None, options.device, quiet=False).identity, end="", flush=True)
        return ENDED
    from run_tests import Child

    log = Log(options.log)
    log.reread()
    child = Child(kit, log, options.device, options.gpu, options.quiet)
    child.run([int(number) for number in options.child.split(",")])
    return ENDED


def main():
    options = parse_options()
    if options.child:
        return run_child(Kit(read_checked("kit.txt").decode()), options)
    sums = check_files()
    kit = Kit(read_checked("kit.txt").decode())
    if options.row:
        test, binary, room, draw = options.row
        print(*kit.row(kit.tests[test], kit.tests[test]["binaries"][binary], room, draw))
        return 0
    parent = Parent(kit, options)
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        code = parent.identify()
        if code:
            return code
        index = read_checked("index.jsonl")
        parent.log = open_log(options.log, sums, parent.gpu, index, kit.settings, parent.done)
        code = parent.run()
    except KeyboardInterrupt:
        parent.end_child()
        if parent.log is None:
            return 130
        parent.log.reread()
        parent.log.write('{"stopped":"interrupted"')
        say("interrupted; run it again to continue " + parent.log.name)
        return 130
    if code in (0, 3) and not parent.given_up:
        say(f"done; send back {parent.log.name}, and compiled-*.cubin if there are any")
    return code


if __name__ == "__main__":
    sys.exit(main())
