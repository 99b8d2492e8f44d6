"""kit.txt in memory, and the files of the kit."""

import hashlib
import json
import sys
import time
from pathlib import Path

VERSION = 2  # of kits


def say(text):
    sys.stderr.write(f"run: {text}\n")
    sys.stderr.flush()


def stop(text):
    say("error: " + text)
    sys.exit(2)


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())


def quoted(text):
    return json.dumps("".join(c if " " <= c < "\x7f" and c not in '"\\' else " " if c == "\n" else "?" for c in text))


class Kit:
    """kit.txt in memory; its lines are explained in gpudiy/kits/kit_text.py."""

    def __init__(self, text):
        self.again, self.images, self.tables, self.tests, self.arguments = [], [], [], [], {}
        self.global_name, self.ended = None, False
        for line in text.splitlines():
            words, _, copied = line.partition(" | ")
            word, *rest = words.split(" ")
            read = getattr(self, "read_" + word, None)
            if read is None:
                stop("kit.txt: this program does not know the line " + word)
            read(rest, copied)
        if not self.ended:
            stop("kit.txt: this file is cut")

    def read_kit(self, words, copied):
        if words != [str(VERSION)]:
            stop("kit.txt: this program does not know this version of kits")
        self.settings = copied

    def read_need(self, words, _):
        self.iterations, self.launches, self.least, self.most, self.silence = map(int, words)

    def read_warm(self, words, _):
        self.warm_launches, self.warm_window, self.warm_percent, self.cold_time, self.warm_time = map(int, words)

    def read_again(self, words, _):
        self.again = [int(code) for code in words]

    def read_level(self, words, _):
        self.level, self.registers = map(int, words)

    def read_places(self, words, _):
        self.seed, self.slots, self.buffers_place, self.launch_place, self.words = map(int, words)

    def read_buffers(self, words, _):
        self.buffers = words

    def read_global(self, words, _):
        self.global_name = words[0]

    def read_counters(self, words, _):
        self.counters = words

    def read_arguments(self, words, _):
        self.arguments[words[0]] = words[1:]

    def read_image(self, words, copied):
        self.images.append({"number": int(words[0]), "kind": words[1], "files": words[2:], "maker": copied})

    def read_table(self, _words, _copied):
        self.tables.append({"rooms": [], "plans": [], "draws": [], "cells": {}})

    def read_room(self, words, copied):
        self.tables[-1]["rooms"].append(patch(words))
        self.tables[-1]["plans"].append(copied)

    def read_draw(self, words, _):
        self.tables[-1]["draws"].append(patch(words))

    def read_cell(self, words, _):
        self.tables[-1]["cells"][int(words[0]), int(words[1])] = patch(words[2:])

    def read_test(self, words, copied):
        table, kernels, observed, cluster = map(int, words[:4])
        self.tests.append(
            {
                "table": self.tables[table],
                "kernels": kernels,
                "observed": observed,
                "cluster": cluster,
                "kernel": words[4],
                "row": patch(words[5:]),
                "about": copied,
                "binaries": [],
            }
        )

    def read_binary(self, words, _):
        binary = {"image": int(words[0]), "number": int(words[1]), "constants": patch(words[2:])}
        self.tests[-1]["binaries"].append(binary)

    def read_end(self, _words, _copied):
        self.ended = True

    def row(self, test, binary, room, draw):
        """The numbers of a launch: those of the test, its constants, what the room and the draw say."""
        row = [0] * (self.launch_place + self.words)
        table = test["table"]
        cell = table["cells"].get((room, draw), [])
        for part in (test["row"], binary["constants"], table["rooms"][room], table["draws"][draw], cell):
            for place, value in part:
                row[place] = value
        return row

    def size(self, row, buffer):
        return row[self.buffers_place + self.buffers.index(buffer)]


def patch(words):
    return [tuple(map(int, word.split(":"))) for word in words]


def read_checked(name):
    """The content of a file of the kit, which must be what was exported."""
    try:
        with Path(name).open("rb") as file:
            content = file.read()
    except OSError:
        stop(name + ": this file of the kit is missing")
    with Path("SHA256SUMS").open() as file:
        sums = file.read()
    if f"{hashlib.sha256(content).hexdigest()}  {name}\n" not in sums:
        stop(name + ": this file was changed since the kit was made: copy the kit again")
    return content


def check_files():
    """Every file of the kit must be what was exported, the programs too; the hash of all their sums."""
    try:
        with Path("SHA256SUMS").open("rb") as file:
            sums = file.read()
    except OSError:
        stop("SHA256SUMS is missing here: run this in the folder of the kit")
    for line in sums.decode("utf-8", "replace").splitlines():
        name = line.partition("  ")[2]
        if not name:
            stop("SHA256SUMS: this file was changed since the kit was made: copy the kit again")
        read_checked(name)
    return hashlib.sha256(sums).hexdigest()
