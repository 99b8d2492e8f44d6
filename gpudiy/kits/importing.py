"""The log of a kit as records: counted and checked by the code that counts and checks gpudiy's own launches."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpudiy.devices.cuda_binaries import expect_unchanged
from gpudiy.devices.cuda_gpu import describe_driver
from gpudiy.devices.cuda_occupancy import Multiprocessor, describe_occupancy
from gpudiy.devices.device import Chip, DeviceError, Observation
from gpudiy.devices.measuring import Launcher, observe_launch
from gpudiy.devices.run_length import COLD_SECONDS, WarmUp
from gpudiy.devices.settings import RunSettings
from gpudiy.devices.tally import RunTally
from gpudiy.errors import InputError
from gpudiy.harness.built import BuiltTest
from gpudiy.harness.host_side import COUNTERS, Counted, decode, table_bytes
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.incantation_text import IncantationBook, incantation_of
from gpudiy.harness.launch_plan import LaunchPlan
from gpudiy.harness.shape import Shape
from gpudiy.kits.compiled import find_finding
from gpudiy.kits.driver_codes import ending_of_code
from gpudiy.kits.kit_log import (
    KitLog,
    LoggedTest,
    expect_plan,
    list_runs,
    read_kit_log,
    read_logged_test,
    serves,
    shape_of_logged,
)
from gpudiy.kits.launch_rows import launch_seed
from gpudiy.kits.log_lines import Entry
from gpudiy.logs.frame import DamagedLog, frame_of_records
from gpudiy.logs.growing_log import INTERRUPTED
from gpudiy.logs.memory_place import MEMORY, MemoryPlace
from gpudiy.logs.record import Ending, Record

if TYPE_CHECKING:
    from pandas import DataFrame


def import_log(path: str | Path) -> DataFrame:
    """The records of the log that came back from a kit: `gpudiy.import_log("log.jsonl")`, one row per record.

    What is damaged is left out with a `DamagedLog` warning and listed in `frame.attrs["problems"]`.
    """
    log = read_kit_log(str(path))
    for problem in log.problems:
        warnings.warn(str(problem), DamagedLog, stacklevel=2)
    frame = frame_of_records(list(read_records(log)))
    frame.attrs["problems"] = [problem.as_json() for problem in log.problems]
    return frame


def read_kit_logs(paths: Sequence[str], output: str | None = None) -> list[KitLog]:
    """Read logs; raises `InputError` if one is there twice, or is the file that is to be written."""
    logs: list[KitLog] = []
    for path in paths:
        if output is not None and _is_same_file(path, output):
            raise InputError("this log is read: it cannot be written, too", path=output, hint="name another with -o")
        log = read_kit_log(path)
        twin = next((other for other in logs if other.head == log.head), None)
        if twin is not None:
            message = f"this is the same log as {twin.path}, or an earlier copy of it: its launches would count twice"
            raise InputError(message, path=path, hint="give only the longer one")
        logs.append(log)
    return logs


def _is_same_file(one: str, other: str) -> bool:
    return Path(one).exists() and Path(other).exists() and Path(one).samefile(other)


def read_records(log: KitLog) -> Iterator[Record]:
    """One record per test, as `gpudiy run` would have written it there; then what could not be run."""
    for run, built in list_runs(log):
        yield _make_record(log, run, built)
    if log.devices:
        yield from _list_not_run(log, log.devices[-1])


def _make_record(log: KitLog, run: LoggedTest, built: BuiltTest | None) -> Record:
    tally = RunTally(run.test, _incantation(run))
    tally.started = datetime.fromisoformat(run.begin["started"])
    if built is None:
        reason = f"the kit has no binary for {_architecture(run.device)}, only for {_list_architectures(log)}"
        record = tally.record(_chip(run.device, ""), _settings(log), Ending.BUILD_FAILED, reason)
    else:
        ending, reason = _count(log, run, built, tally)
        record = tally.record(_chip(run.device, built.toolkit), _settings(log), ending, reason)
    return replace(
        record,
        tool=_describe_tool(log, run.device),
        source=f"{log.path}:{run.line}",
        device_info=_describe_device(log, run),
    )


def _count(log: KitLog, run: LoggedTest, built: BuiltTest, tally: RunTally) -> tuple[Ending, str]:
    """Add all launches to the tally but those that warmed the GPU up; how the test ended, and why."""
    if run.end is not None and run.end["how"] == "no binary":
        return _explain_missing(built)
    if not run.launches and not run.warm_up:
        return _end(log, run)
    shape = shape_of_logged(tally.test)
    finding = find_finding(run, built, tally.test, Path(log.path).parent)
    plan, incantation = _plan(log, run), _incantation(run)
    warm_up = WarmUp(COLD_SECONDS if run.loaded["cold"] else 0.0)
    for launch in (*run.warm_up, *run.launches):
        try:
            observation = _observe(shape, incantation, plan, launch, _find_seed(log, launch))
        except DeviceError as error:
            return error.ending, str(error)
        if launch["warm"]:
            warm_up.seconds += observation.seconds
            warm_up.times.append(observation.seconds / plan.instances)
            continue
        options = ((MEMORY, str(MemoryPlace.DEVICE)), *_describe_occupancy(run, shape, observation))
        observation = replace(observation, optcheck=finding.finding, optcheck_text=finding.text, options=options)
        problem = tally.add(observation, 0)
        if problem:
            return Ending.CRASHED, problem
    tally.warm_up = warm_up.describe() if run.warm_up else ""
    return _end(log, run)


def _find_seed(log: KitLog, launch: Entry) -> int:
    """The seed from which the launch was drawn."""
    return launch_seed(log.settings["seed"], launch["number"] % log.settings["draws"])


def _describe_occupancy(run: LoggedTest, shape: Shape, observation: Observation) -> tuple[tuple[str, str], ...]:
    """The option `occupancy` of a record: the warps of an SM; nothing if the driver did not tell what an SM holds."""
    used, threads = observation.incantation, run.loaded["threads_of_sm"]
    if used is None or threads < 1:
        return ()
    sm = Multiprocessor(run.device["multiprocessors"], threads, 0, 0, 0, 0)
    groups = shape.kernels * (used.testing_groups + used.stress_groups)
    return (("occupancy", describe_occupancy(sm, groups, used.group_size)),)


def _observe(shape: Shape, incantation: Incantation, plan: LaunchPlan, launch: Entry, seed: int) -> Observation:
    """What a launch says, after the checks that gpudiy makes of its own launches."""
    plan = replace(plan, table_slots=int(launch["slots"]))
    counted = _decode(shape, launch)

    def replay(plan: LaunchPlan, seed: int) -> Counted:
        return counted

    launcher = Launcher(lambda left: plan, replay)
    found, _ = observe_launch(incantation, launcher, plan, seed)
    return replace(found, seconds=launch["microseconds"] / 1e6)


def _decode(shape: Shape, launch: Entry) -> Counted:
    """The counts of a launch: its outcomes are put into a table as the GPU had it."""
    slots, width = int(launch["slots"]), len(shape.observed)
    table = bytearray(table_bytes(shape, slots))
    for slot, (count, *values) in enumerate(launch["outcomes"]):
        struct.pack_into("<I", table, 4 * slot, 1)
        struct.pack_into("<I", table, 4 * slots + 4 * slot, count)
        struct.pack_into(f"<{width}Q", table, 8 * slots + 8 * width * slot, *values)
    return decode(shape, slots, bytes(table), struct.pack(f"<{len(COUNTERS)}I", *launch["counters"]))


def _plan(log: KitLog, run: LoggedTest) -> LaunchPlan:
    """The plan of the launches of a run; raises `LogError` if this gpudiy plans in another way."""
    given: dict[str, Any] = dict(expect_plan(log, run))
    return LaunchPlan(**{**given, "strides": tuple(given["strides"])})


def _explain_missing(built: BuiltTest) -> tuple[Ending, str]:
    """Why a test that is in the kit has no binary there for the architecture of a GPU."""
    try:
        expect_unchanged(built)
    except DeviceError as problem:
        return problem.ending, str(problem)
    return Ending.NOT_RUNNABLE, f"{built.arch} has no clusters"


def _end(log: KitLog, run: LoggedTest) -> tuple[Ending, str]:
    """How a test ended, in the words of a record."""
    if run.end is None:
        damaged = bool(log.problems) and run is log.tests[-1]
        return Ending.STOPPED, "the log is damaged after this" if damaged else INTERRUPTED
    match run.end["how"]:
        case "finished":
            return Ending.FINISHED, ""
        case "time":
            return Ending.STOPPED, "time was up"
        case "error":
            code = int(run.end["code"])
            return ending_of_code(code), f"{run.end['call']} failed: {run.end['message']} (error {code})"
        case "hung":
            return Ending.TIMEOUT, f"no answer for {run.end['seconds']} s"
        case "no room":
            room = run.loaded.get("resident", 0)
            return Ending.NOT_RUNNABLE, f"its CTAs do not run at the same time here: there is room for {room}"
        case "no outcomes":
            return Ending.TIMEOUT, "a loop was cut in every instance of its launches"
        case "killed":
            return Ending.CRASHED, f"the program was killed by signal {run.end['signal']}"
        case _:
            return Ending.CRASHED, f"the program died: exit code {run.end.get('exit', '?')}"


def _list_not_run(log: KitLog, device: Entry) -> Iterator[Record]:
    """Records of the tests that are not in the kit for this GPU: optcheck refused them, or they do not fit one GPU."""
    left_out = {(name, digest): reason for name, digest, reason in log.settings["left_out"]}
    ran = {(run.begin["about"]["test"], run.begin["about"]["hash"]) for run in log.tests}
    for built in log.index:
        if not serves(built, device) or (built.test, built.hash) in ran:
            continue
        reason = left_out.get((built.test, built.hash), "")
        try:
            expect_unchanged(built)
            ending = Ending.NOT_RUNNABLE
        except DeviceError as problem:
            ending, reason = problem.ending, str(problem)
        if reason:
            tally = RunTally(read_logged_test(built.litmus), Incantation())
            tally.started = datetime.fromisoformat(device["started"])
            record = tally.record(_chip(device, built.toolkit), _settings(log), ending, reason)
            yield replace(record, tool=_describe_tool(log, device))


def _incantation(run: LoggedTest) -> Incantation:
    return incantation_of(run.begin["about"]["incantation"].items())


def _settings(log: KitLog) -> RunSettings:
    given = log.settings
    return RunSettings(given["iterations"], given["seed"], IncantationBook(given["incantation"]))


def _chip(device: Entry, toolkit: str) -> Chip:
    driver = describe_driver(int(device["driver"]), device["module"])
    return Chip(f"cuda:{device['device']}", device["name"], _architecture(device), driver, toolkit)


def _architecture(device: Entry) -> str:
    return f"sm_{device['major']}{device['minor']}"


def _describe_tool(log: KitLog, device: Entry) -> str:
    return f"{log.settings['tool']}, kit, {device['program']}"


def _list_architectures(log: KitLog) -> str:
    return ", ".join(log.settings["architectures"])


def _describe_device(log: KitLog, run: LoggedTest) -> tuple[tuple[str, str], ...]:
    """Where a record comes from: the GPU, the binary, the kit."""
    device, loaded = run.device, run.loaded
    known = [
        ("uuid" if device["gpu"].startswith("GPU-") else "gpu", device["gpu"]),
        ("pci", device["pci"]),
        ("multiprocessors", device["multiprocessors"]),
        ("memory", device["memory"]),
        ("clock_khz", device["clock_khz"]),
    ]
    info = [(name, str(value)) for name, value in known if value not in (-1, "")]
    if loaded:
        info += [("binary", f"sm_{device['target']} {device['kind']}, sha256 {loaded['sha256']}")]
        info += [("registers", str(loaded["registers"]))]
    return (*info, ("kit", str(log.head["sums"])))
