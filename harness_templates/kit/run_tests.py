"""Launches of tests: one row of numbers each, and what the GPU counted."""

import ctypes
import json
import os
import struct
import sys
import time

from run_gpu import GROUP_SIZE, REGISTERS, SHARED_BYTES, SM_THREADS, Gpu
from run_kit import now

MOST_SLOTS = 65536
TRIES = 16  # launches without any outcome before a test is given up


class Child:
    """Runs tests one after the other, and says on standard output what it does."""

    def __init__(self, kit, log, device, identity, quiet):
        self.kit, self.log = kit, log
        self.gpu = Gpu(kit, log, device, identity, quiet)
        self.tell("o", 0)

    def tell(self, what, number):
        sys.stdout.write(f"{what}{number}\n")
        sys.stdout.flush()

    def run(self, numbers):
        for number in numbers:
            self.tell("b", number)
            self.gpu.running = number
            self.run_test(number)
            self.gpu.running = -1
            self.tell("e", number)
        self.gpu.close()

    def run_test(self, number):
        gpu, test, how = self.gpu, self.kit.tests[number], "no binary"
        binary, module = self.begin_test(number, test)
        if module is not None:
            functions = [gpu.function(module, name) for name in (test["kernel"], "reset", "reduce")]
            room, most = gpu.choose_room(test, binary, functions[0])
            self.write_loaded(number, binary, functions[0], room, most)
            functions.append(gpu.global_address(module))
            self.tell("m", number)
            how = "no room" if room is None else Series(self, number, binary, functions, room).run()
        self.log.write(f'{{"end":{number},"how":"{how}","launches":{self.log.launches}')
        os.fsync(self.log.file)

    def begin_test(self, number, test):
        """The code of a test and its module; if the driver refuses the cubins of this kit, PTX is taken instead."""
        gpu = self.gpu
        while True:
            self.log.launches = 0
            binary = self.find_binary(test)
            self.log.write(f'{{"begin":{number},"about":{test["about"]},"started":"{now()}"')
            if binary is None:
                return None, None
            module = gpu.module(binary["image"])
            if module is not None:
                return binary, module
            gpu.take_ptx(binary["image"])

    def find_binary(self, test):
        """The code of a test in the images that were chosen for this GPU; None if there is none."""
        images, found = self.kit.images, None
        chosen = None if self.gpu.target is None else images[self.gpu.target]
        for one in test["binaries"]:
            image = images[one["image"]]
            if chosen and (image["number"], image["kind"]) == (chosen["number"], chosen["kind"]):
                found = one
        return found

    def write_loaded(self, number, binary, function, room, most):
        """What will be launched: the plan, the binary, what it needs of an SM, and how many CTAs have room."""
        kit, gpu, place = self.kit, self.gpu, binary["image"]
        test = kit.tests[number]
        registers = ctypes.c_int()
        gpu.call("cuFuncGetAttribute", ctypes.byref(registers), REGISTERS, function)
        row = kit.row(test, binary, room or 0, 0)
        plan = "null" if room is None else test["table"]["plans"][room]
        loaded = {
            "file": kit.images[place]["files"][0],
            "compiled": gpu.compiled.get(place, ""),
            "sha256": gpu.hashes[place],
            "number": binary["number"],
            "registers": registers.value,
            "groups_of_sm": gpu.groups_of_sm(function, row[GROUP_SIZE], row[SHARED_BYTES]),
            "threads_of_sm": gpu.attribute(SM_THREADS),
            "resident": most,
            "cold": gpu.cold,
        }
        rest = json.dumps(loaded, separators=(",", ":"))[1:-1]
        self.log.write(f'{{"loaded":{number},"plan":{plan},{rest}')


class Series:
    """The launches of a test; `slots` of the table of outcomes grow as they are needed."""

    def __init__(self, child, number, binary, functions, room):
        self.child, self.kit, self.gpu, self.log = child, child.kit, child.gpu, child.log
        self.number, self.test = number, child.kit.tests[number]
        self.binary, self.functions, self.room, self.slots = binary, functions, room, 0

    def run(self):
        self.warm_up()
        kit, start, done, empty, number = self.kit, time.monotonic(), 0, 0, 0
        while True:
            milliseconds = 1000 * (time.monotonic() - start)
            if done >= kit.iterations and number >= kit.launches and milliseconds >= kit.least:
                return "finished"
            if kit.most and milliseconds >= kit.most:
                return "time"
            outcomes, _ = self.launch(number, False)
            empty = 0 if outcomes else empty + 1
            if empty == TRIES:
                return "no outcomes"
            done += outcomes
            number += 1

    def warm_up(self):
        """Launches that do not count, until the clocks have settled; low clocks of an idle GPU are steady, too."""
        kit, times = self.kit, []
        while len(times) < kit.warm_launches:
            times.append(self.launch(len(times), True)[1])
            least = kit.cold_time if self.gpu.cold else 0
            if (self.is_settled(times) and sum(times) >= least) or sum(times) >= kit.warm_time:
                break
        self.gpu.cold = self.gpu.cold and not kit.warm_launches

    def is_settled(self, times):
        """Whether the last launches took the same time; all launches of a test have the same number of instances."""
        last = times[-self.kit.warm_window :]
        return len(last) == self.kit.warm_window and 100 * max(last) <= self.kit.warm_percent * min(last)

    def launch(self, number, warm):
        """One launch, with a table that holds all its outcomes; how many they are, and its microseconds.

        A launch that warms the GPU up has another seed than the one of the same number that counts.
        """
        kit, test = self.kit, self.test
        draws = len(test["table"]["draws"])
        while True:
            row = kit.row(test, self.binary, self.room, number % draws)
            row[kit.seed] ^= number // draws * 0x9E3779B9 & 0xFFFFFFFF
            row[kit.seed] ^= 0xFFFFFFFF if warm else 0
            slots = self.slots = row[kit.slots] = max(self.slots, row[kit.slots])
            row[kit.buffers_place + kit.buffers.index("table")] = slots * (8 + 8 * test["observed"])
            start = time.perf_counter()
            table, counters = self.gpu.run_row(test, self.binary["number"], self.functions, row)
            microseconds = round(1e6 * (time.perf_counter() - start))
            self.child.tell("l", self.number)
            if not counters[kit.counters.index("overflow")] or slots >= MOST_SLOTS:
                break
            self.slots *= 4
        outcomes = decode(table, slots, test["observed"])
        line = '{{"launch":{},"number":{},"warm":{},"slots":{},"microseconds":{},"counters":{},"outcomes":{}'
        texts = [json.dumps(value, separators=(",", ":")) for value in (warm, counters, outcomes)]
        self.log.write(line.format(self.number, number, texts[0], slots, microseconds, *texts[1:]))
        self.log.launches += 1
        return sum(outcome[0] for outcome in outcomes), microseconds


def decode(table, slots, observed):
    """The table has an owner of each slot, then their counts, then their values of 64 bits."""
    owners = struct.unpack_from(f"<{slots}I", table)
    counts = struct.unpack_from(f"<{slots}I", table, 4 * slots)
    values = f"<{observed}Q"
    return [
        [counts[slot], *list(struct.unpack_from(values, table, 8 * slots + 8 * observed * slot))]
        for slot in range(slots)
        if owners[slot]
    ]
