"""Tests with a thread on the host beside threads on a GPU, over both bindings."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from cuda_standin import Machine

from gpudiy.litmus import Test, print_test, read_test

pytestmark = pytest.mark.cuda
Make = Callable[..., Machine]
HEAD = "GPU_PTX {name}\n{{0:.reg .s32 r0; 1:.reg .s32 r0; 1:.reg .s32 r1;}}\n P0 | P1 ;\n"
TREE = "(system (host P0) (device (kernel (cta (warp P1)))))\n"


def message_passing(name: str = "MP", tree: str = TREE) -> Test:
    """The host writes, the GPU reads."""
    return read_test(
        HEAD.format(name=name) + " st.relaxed.sys.s32 [x],1 | ld.acquire.sys.s32 r0,[y] ;\n"
        " st.release.sys.s32 [y],1 | ld.relaxed.sys.s32 r1,[x] ;\n"
        f"{tree}x: global, y: global\nexists (1:r0=1 /\\ 1:r1=0)"
    )


def exchange(name: str = "exchange") -> Test:
    """Both exchange: one of them is first."""
    return read_test(
        HEAD.format(name=name) + " atom.relaxed.sys.exch.b32 r0,[x],1 | atom.relaxed.sys.exch.b32 r0,[x],2 ;\n"
        f"{TREE}x: global\nexists (0:r0=0 /\\ 1:r0=0)"
    )


def run(here: Machine, test: Test, memory: str) -> dict[str, object]:
    here.add_tests([test])
    path = here.directory / "host.litmus"
    path.write_text(print_test(test))
    words = ("-s", "200", "--launches", "4", "--seconds", "0", "-q", "--json", "--memory", memory)
    found = here.run("-m", "gpudiy", "run", str(path), "-d", "cuda:0", *words)
    assert found.stdout, found.stderr
    return json.loads(found.stdout.splitlines()[0])  # type: ignore[no-any-return]


@pytest.mark.parametrize("memory", ["managed", "host"])
def test_both_sides_run_and_meet(machine: Make, memory: str) -> None:
    here = machine()
    record = run(here, message_passing(), memory)
    assert record["ending"] == "finished", record
    seen = {entry["outcome"] for entry in record["histogram"]}  # type: ignore[attr-defined]
    assert seen <= {f"1:r0={y}; 1:r1={x};" for y, x in ((0, 0), (0, 1), (1, 1))}
    assert len(seen) > 1 or record["iterations"] < 2  # type: ignore[operator]
    liveness = record["liveness"]
    assert liveness["meetings"] > 0 and liveness["timed"] == 0  # type: ignore[index]
    assert record["iterations"] == sum(entry["count"] for entry in record["histogram"]) >= 200  # type: ignore[attr-defined]
    assert "not checked by optcheck" in record["options"]["host"]  # type: ignore[index]
    assert here.journal.violations == []
    places = [found["memory"] for found in here.journal.entries("alloc")]
    assert places.count("host") >= 3  # results, meetings, counters


def test_atomics_of_both_are_atomic(machine: Make) -> None:
    record = run(machine(), exchange(), "host")
    assert record["ending"] == "finished", record
    seen = {entry["outcome"] for entry in record["histogram"]}  # type: ignore[attr-defined]
    assert seen <= {"0:r0=0; 1:r0=1;", "0:r0=2; 1:r0=0;"}


def test_without_atomics_in_host_memory_they_meet_in_managed_memory(machine: Make) -> None:
    here = machine(STANDIN_LACKS="host-atomics")
    record = run(here, message_passing(), "host")
    assert record["ending"] == "finished", record
    places = [found["memory"] for found in here.journal.entries("alloc")]
    assert (places.count("host"), places.count("managed")) == (1, 3)


@pytest.mark.parametrize(
    ("memory", "lacks", "test", "reason"),
    [
        ("device", "", message_passing(), "which has no access to memory of the GPU (see --memory)"),
        ("managed", "concurrent-managed", message_passing(), "cannot use managed memory at the same time"),
        (
            "host",
            "concurrent-managed,host-atomics",
            message_passing(),
            "have no memory in which threads of both can meet",
        ),
        ("host", "host-atomics", exchange(), "atomics of cuda:0 on host memory are not atomic to the host"),
    ],
)
def test_what_the_platform_does_not_allow(machine: Make, memory: str, lacks: str, test: Test, reason: str) -> None:
    record = run(machine(STANDIN_LACKS=lacks), test, memory)
    assert record["ending"] == "not runnable" and reason in str(record["reason"])


def test_other_tests_run_before_and_after(machine: Make) -> None:
    """Buffers move to memory that the host shares, and back."""
    here = machine()
    beside = message_passing("beside", "(device (kernel (cta (warp P0)) (cta (warp P1))))\n")
    tests = [beside, message_passing("with"), message_passing("again", beside_tree())]
    here.add_tests(tests)
    paths = []
    for test in tests:
        paths.append(here.directory / f"{test.name}.litmus")
        paths[-1].write_text(print_test(test))
    words = ("-s", "200", "--launches", "4", "--seconds", "0", "-q", "--json", "--memory", "managed")
    found = here.run("-m", "gpudiy", "run", *map(str, paths), "-d", "cuda:0", *words)
    records = [json.loads(line) for line in found.stdout.splitlines()]
    assert [record["ending"] for record in records] == ["finished"] * 3
    assert here.journal.violations == []


def beside_tree() -> str:
    return "(device (kernel (cta (warp P0) (warp P1))))\n"
