"""The logs of kits: one for each GPU and kit, continued by whichever program runs next."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest
from kit_machine import PROGRAMS, KitMachine, Make, finishes, place

from gpudiy.logs.record import Ending

pytestmark = pytest.mark.cuda


def names_of_logs(kit: KitMachine) -> list[str]:
    return sorted(path.name for path in kit.folder.glob("log*.jsonl"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_gpu_has_a_log_of_its_own(kit_machines: Make, program: str) -> None:
    """Before, GPU 1 ran nothing after GPU 0, and all was said to be done."""
    kit = KitMachine(kit_machines("small80,small80"), [place("cta")], ["sm_80"])
    here = kit.identify("ab")
    assert kit.run(program, **here).returncode == 0
    found = kit.run(program, "--device", "1", **here)
    assert found.returncode == 0
    assert "log.jsonl: this is the log of another GPU" in found.stderr
    assert "done; send back log-2.jsonl" in found.stderr
    assert names_of_logs(kit) == ["log-2.jsonl", "log.jsonl"]
    first, second = (kit.records(name)["SB.cta1"] for name in ("log.jsonl", "log-2.jsonl"))
    assert finishes(first) and finishes(second)
    assert (first.device, second.device) == ("cuda:0", "cuda:1")
    one, other = dict(first.device_info), dict(second.device_info)
    assert (one["uuid"], one["pci"]) == ("GPU-61616161-6161-6161-6161-616161616161", "00000000:60:00.0")
    assert (other["uuid"], other["pci"]) == ("GPU-62626262-6262-6262-6262-626262626262", "00000000:61:00.0")
    # once more, and the other one first: each finds its own, and nothing is run again
    sizes = [(kit.folder / name).stat().st_size for name in names_of_logs(kit)]
    assert kit.run(program, "--device", "1", **here).returncode == 0
    assert kit.run(program, "--device", "0", **kit.identify("ba")).returncode == 0  # the GPUs are counted otherwise
    assert sizes == [(kit.folder / name).stat().st_size for name in names_of_logs(kit)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_kit_that_came_with_a_log_from_another_machine(kit_machines: Make, program: str) -> None:
    kit = KitMachine(kit_machines(), [place("cta")], ["sm_80"])
    assert kit.run(program, **kit.identify("a")).returncode == 0
    found = kit.run(program, **kit.identify("c"))
    assert found.returncode == 0 and "log-2.jsonl is written" in found.stderr
    assert finishes(kit.records("log-2.jsonl")["SB.cta1"])
    found = kit.run(program, "--log", "log.jsonl", **kit.identify("c"))
    assert found.returncode == 2
    assert "log.jsonl: this is the log of another GPU: name another with --log" in found.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_log_of_another_kit_or_that_was_changed_is_left_as_it_is(kit_machines: Make, program: str) -> None:
    kit = KitMachine(kit_machines(), [place("cta")], ["sm_80"])
    log = kit.folder / "log.jsonl"
    log.write_text('{"kit":1}\n')
    assert kit.run(program, "--log", "log.jsonl").returncode == 2
    found = kit.run(program)
    assert found.returncode == 0 and "log.jsonl: this is not the log of a kit" in found.stderr
    assert log.read_text() == '{"kit":1}\n'
    other = kit.folder / "log-2.jsonl"
    changed = other.read_text().replace('"number":1,', '"number":2,', 1)
    other.write_text(changed)
    found = kit.run(program)
    assert found.returncode == 0
    number = next(n for n, line in enumerate(changed.splitlines(), 1) if line.count('"number":2,'))
    assert f"log-2.jsonl: line {number} was changed or damaged" in found.stderr
    assert other.read_text() == changed and finishes(kit.records("log-3.jsonl")["SB.cta1"])
    kit.edit("again", lambda words: [*words, "12345"])  # another kit
    found = kit.run(program, "--log", "log-3.jsonl")
    assert found.returncode == 2 and "log-3.jsonl: this is not the log of this kit" in found.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_gpus_are_counted_as_nvidia_smi_counts_them(kit_machines: Make, program: str) -> None:
    kit = KitMachine(kit_machines(), [place("cta")], ["sm_80"])
    assert kit.run(program, **kit.identify("a")).returncode == 0
    assert {entry["order"] for entry in kit.here.journal.entries("init")} == {"PCI_BUS_ID"}
    (kit.here.directory / "journal").unlink()
    assert kit.run(program, **kit.identify("b", CUDA_DEVICE_ORDER="FASTEST_FIRST")).returncode == 0
    assert {entry["order"] for entry in kit.here.journal.entries("init")} == {"FASTEST_FIRST"}


@pytest.mark.parametrize("program", PROGRAMS)
def test_one_program_continues_the_log_of_the_other(kit_machines: Make, program: str) -> None:
    (other,) = {*PROGRAMS} - {program}
    tests = [place("cta", value) for value in (11, 12)]
    kit = KitMachine(kit_machines(faults="kernel/run:0:1:=999"), tests, ["sm_80"])
    assert kit.run(other).returncode == 3
    assert kit.run(program, STANDIN_FAULTS="").returncode == 0
    records = kit.records()
    assert all(finishes(record) for record in records.values())
    names = {"program": "run.c", "run.py": "run.py"}
    assert records[tests[1].name].tool.endswith(names[program])
    assert records[tests[0].name].tool.endswith(names[other])


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_log_that_was_cut_is_continued(kit_machines: Make, program: str) -> None:
    kit = KitMachine(kit_machines(), [place("cta", value) for value in (11, 12)], ["sm_80"])
    assert kit.run(program).returncode == 0
    log = kit.folder / "log.jsonl"
    text = log.read_text()
    log.write_text(text[: text.rindex('{"launch":1,') + 25])
    assert kit.run(program).returncode == 0
    assert [path.name for path in kit.folder.glob("log*")].count("log.jsonl") == 1
    assert all(finishes(record) for record in kit.records().values())
    assert log.read_text().count('{"begin":0,') == 1
    assert log.read_text().count('{"begin":1,') == 2


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_interrupt_keeps_what_was_counted_and_the_next_run_goes_on(kit_machines: Make, program: str) -> None:
    """The second test hangs, is interrupted, and is run again; the first is not."""
    here = kit_machines(faults="kernel/run:0:1:#3=hang")
    tests = [place("cta", value) for value in (11, 12)]
    kit = KitMachine(here, tests, ["sm_80"])
    running = subprocess.Popen(
        kit.command(program), cwd=kit.folder, env=kit.environment, stderr=subprocess.PIPE, text=True
    )
    log = kit.folder / "log.jsonl"
    while '{"launch":1,"number":1,' not in (log.read_text() if log.exists() else ""):
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, shown = running.communicate(timeout=300)
    assert running.returncode == 130
    assert "run it again to continue log.jsonl" in shown
    record = kit.records()[tests[1].name]
    assert (record.ending, record.reason) == (Ending.STOPPED, "interrupted")
    assert record.iterations > 0
    first = log.read_text().count('{"begin":0,')
    assert kit.run(program, STANDIN_FAULTS="").returncode == 0
    assert log.read_text().count('{"begin":0,') == first == 1
    assert all(finishes(record) for record in kit.records().values())


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_lost_test_is_run_again_and_a_crashed_one_is_not(kit_machines: Make, program: str) -> None:
    here = kit_machines(faults="kernel/run:0:0:=719,kernel/run:0:1:=999")
    tests = [place("cta", value) for value in (11, 12)]
    kit = KitMachine(here, tests, ["sm_80"])
    assert kit.run(program).returncode == 3
    assert {record.ending for record in kit.records().values()} == {Ending.CRASHED, Ending.DEVICE_LOST}
    assert kit.run(program, STANDIN_FAULTS="").returncode == 0
    records = kit.records()
    assert records[tests[0].name].ending is Ending.CRASHED
    assert finishes(records[tests[1].name])
