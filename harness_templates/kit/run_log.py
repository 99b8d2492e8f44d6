"""The log: every line is written whole, at once, and ends with a sum of itself and of all lines before it."""

import hashlib
import os
import re
import stat
from pathlib import Path

from run_kit import VERSION, now, say, stop

SUM = re.compile(rb',"sum":"([0-9a-f]{16})"\}\Z')
MOST_LOGS = 1000


def find_sum(before, text):
    """The sum of a line: of the sum of the line before it, and of its text without its own sum and what follows."""
    return hashlib.sha256(before + text).hexdigest()[:16].encode()


class Log:
    """A log that is open; `last` is the sum of its last line, empty before the first."""

    def __init__(self, name):
        self.name, self.last, self.launches = name, b"", 0
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        try:
            self.file = os.open(name, flags, 0o666)
            if not stat.S_ISREG(os.fstat(self.file).st_mode):
                stop(name + ": this is not a file")
        except OSError as error:
            stop(f"{name}: {error.strerror}")

    def write_bytes(self, data):
        try:
            while data:
                data = data[os.write(self.file, data) :]
        except OSError:
            stop(self.name + ": the log cannot be written: is the disk full?")

    def write(self, text):
        """Write a line; the text is without its last brace, before which the sum is put."""
        data = text.encode()
        self.last = find_sum(self.last, data)
        self.write_bytes(data + b',"sum":"' + self.last + b'"}\n')

    def read(self):
        with Path(self.name).open("rb") as file:
            return file.read()

    def cut(self, size):
        """A line that was cut goes: the log ends at the last end of a line."""
        os.ftruncate(self.file, size)

    def reread(self):
        """What another process has written: the sum of the last line, and the launches of the test under way."""
        text = self.read()
        self.cut(text.rfind(b"\n") + 1)
        self.launches = 0
        for line in text.split(b"\n")[:-1]:
            found = SUM.search(line)
            self.last = found.group(1) if found else self.last  # lines of the index have none
            if line.startswith(b'{"begin":'):
                self.launches = 0
            self.launches += line.startswith(b'{"launch":')

    def reserve(self):
        """Whether nobody else writes this log."""
        if os.name == "nt":
            return True
        import fcntl

        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def read_before(self, sums, gpu, index, note_end):
        """Read what is in it; what is wrong with that, or None: then what was cut at its end is gone."""
        text = self.read()
        lines = text.split(b"\n")
        if len(lines) < 2 or not self.check_line(lines[0]) or not text.startswith(b'{"kit":'):
            return "this is not the log of a kit"
        if f'"sums":"{sums}"'.encode() not in lines[0]:
            return "this is not the log of this kit"
        if f'"gpu":"{gpu}"'.encode() not in lines[0]:
            return "this is the log of another GPU"
        if not text.startswith(index, len(lines[0]) + 1):
            return "this log was changed or damaged in its first lines"
        first = 1 + index.count(b"\n")
        for number, line in enumerate(lines[first:-1], first + 1):
            if not self.check_line(line):
                return f"line {number} was changed or damaged"
            if line.startswith(b'{"end":'):
                note_end(line)
        self.cut(text.rfind(b"\n") + 1)
        return None

    def check_line(self, line):
        """Whether a line has the sum that follows from the one before it, which is then replaced by it."""
        found = SUM.search(line)
        right = found is not None and found.group(1) == find_sum(self.last, line[: found.start()])
        self.last = found.group(1) if right else self.last
        return right

    def write_head(self, sums, gpu, index, settings):
        head = '{{"kit":{},"sums":"{}","gpu":"{}","started":"{}","settings":{}'
        self.write(head.format(VERSION, sums, gpu, now(), settings))
        self.write_bytes(index)


def try_log(name, sums, gpu, index, settings, done):
    """The log of that name, if it is new or can be continued; else what is wrong with it."""
    log = Log(name)
    done.clear()
    if not log.reserve():
        problem = "another program is writing this log"
    elif os.fstat(log.file).st_size:
        problem = log.read_before(sums, gpu, index, done.note_end)
    else:
        problem = None
        log.write_head(sums, gpu, index, settings)
    if problem:
        os.close(log.file)
    return log, problem


def open_log(named, sums, gpu, index, settings, done):
    """The log of that name; without a name the first of log.jsonl, log-2.jsonl, … that can be written."""
    for number in range(1, MOST_LOGS + 1):
        name = named or ("log.jsonl" if number == 1 else f"log-{number}.jsonl")
        log, problem = try_log(name, sums, gpu, index, settings, done)
        if not problem:
            if number > 1:
                say(name + " is written")
            return log
        if named:
            stop(f"{name}: {problem}: name another with --log")
        say(f"{name}: {problem}")
    return stop("there are too many logs here: name one with --log")
