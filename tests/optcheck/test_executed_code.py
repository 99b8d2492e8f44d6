"""What was executed before is used again only where it is the same: findings do not depend on it."""

from __future__ import annotations

import json
import subprocess
import sys
from random import Random

import fault_listings
from fault_listings import NAMES, check, describe, edited
from sass_faults import make_fault

from optcheck.executed_code import PROVED_RESTS
from optcheck.noted_values import CaseStore, NotedValues

FAULTS = 8  # for each listing


def jobs() -> list[tuple[str, str]]:
    """Functions to check: those of real tests, and the same with faults."""
    dice = Random(17)
    found = []
    for name in NAMES:
        clean = edited(name, {})
        found += [(name, clean), *((name, make_fault(clean, dice)[1]) for _ in range(FAULTS))]
    return found


def describe_alone(listed: list[tuple[str, str]]) -> list[str]:
    """The same, each in a process that checked nothing before."""
    script = [sys.executable, fault_listings.__file__]
    done = subprocess.run(script, input=json.dumps(listed), capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_findings_do_not_depend_on_functions_checked_before() -> None:
    listed = jobs()
    alone = describe_alone(listed)
    assert len(alone) == len(listed)
    assert len(set(alone)) > len(NAMES) * 4  # the faults are different ones
    for order in (range(len(listed)), reversed(range(len(listed)))):
        for place in order:
            assert describe(*listed[place]) == alone[place], listed[place]


def test_a_thread_in_another_function_is_not_proved_again() -> None:
    clean = edited("MP-sm_90", {})
    PROVED_RESTS.forget()
    first = check("MP-sm_90", clean)
    count = PROVED_RESTS.count
    assert count == 3  # two threads, and all other threads
    moved = clean.replace(".L_x_", ".L_y_").replace("/*0000*/", "/*0000*/ NOP ;\n        /*0000*/", 1)
    again = check("MP-sm_90", moved)
    assert PROVED_RESTS.count == count
    assert again.clusters != first.clusters  # lines are those of this function
    assert (again.finding, again.deviations) == (first.finding, first.deviations)


def test_a_store_has_a_bound() -> None:
    store: CaseStore[str, int, str] = CaseStore(3)
    for number in range(10):
        store.keep(number % 4, {"x": number}, str(number))
        assert store.count <= 3
        assert store.find(number % 4, {"x": number}.get) == str(number)
    assert store.find(0, {"x": 0}.get) is None


def test_what_was_read_decides_whether_a_result_is_used() -> None:
    store: CaseStore[str, int, str] = CaseStore(8)
    noted = NotedValues({"a": 1, "b": 2, "c": 3})
    other = noted.copy()
    noted["a"] = 5
    assert (noted["a"], noted.get("b"), other.get("d")) == (5, 2, None)
    assert noted.read == other.read == {"b": 2, "d": None}  # a was written before it was read
    store.keep("key", noted.read, "result")
    assert store.find("key", {"b": 2}.get) == "result"
    assert store.find("key", {"b": 2, "a": 7}.get) == "result"
    assert store.find("key", {"b": 3}.get) is None
    assert store.find("key", {"b": 2, "d": 1}.get) is None
    assert store.find("other", {"b": 2}.get) is None
