"""nvidia-smi: what the state of each GPU is, from its table of comma-separated values."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence

from gpudiy.devices.cuda_driver import Driver
from gpudiy.devices.doctor.diagnosis import Diagnosis, Health
from gpudiy.devices.doctor.pci import PciAddress, find_address, list_addresses

TIME_LIMIT = 30.0  # seconds; a GPU that is lost lets nvidia-smi wait
FIELDS = (
    "index",
    "pci.bus_id",
    "name",
    "driver_version",
    "persistence_mode",
    "clocks.sm",
    "clocks.max.sm",
    "compute_mode",
    "mig.mode.current",
    "display_active",
)
NO_ANSWER = ("", "N/A", "ERR!")  # and what is in brackets
LOST, RESET, NO_HANDLE = "GPU is lost", "requires reset", "Unable to determine the device handle"
STATE = "state"  # what nvidia-smi says in place of an answer, if the GPU does not work
HIGH_CLOCK = 0.9  # of the most: a GPU that runs at less is idle, or held back
VISIBLE = "CUDA_VISIBLE_DEVICES"

Gpu = Mapping[str, str]  # answers by field; a field that the GPU or the driver does not know is not there


def check_gpus(driver: Driver | None) -> list[Diagnosis]:
    """The state of the GPUs of CUDA as nvidia-smi tells it; without a driver, what nvidia-smi says of the reason."""
    if shutil.which("nvidia-smi") is None:
        text = "nvidia-smi is not there, so clocks, MIG, compute mode and other users of a GPU are not known"
        unknown = Diagnosis("nvidia-smi", Health.UNKNOWN, text, "install the tools of NVIDIA's driver")
        return [] if driver is None else [unknown]
    gpus, complaints = query_gpus()
    if driver is None:
        return [*_check_complaints(complaints, {}), *(found for gpu in gpus for found in _check_state(gpu))]
    addresses = list_addresses(driver)
    found = _check_complaints(complaints, addresses)
    if not gpus:
        said = _run(["nvidia-smi"])[1]
        text = f"nvidia-smi lists no GPU: {said.splitlines()[0] if said.strip() else 'it says nothing'}"
        return found or [Diagnosis("nvidia-smi", Health.WARNING, text, "nvidia-smi (says what is wrong)")]
    numbered = match_gpus(addresses, gpus)
    found.append(_describe_numbers(numbered, len(addresses), gpus))
    for ordinal, gpu in numbered.items():
        device = f"cuda:{ordinal}"
        state = _check_state(gpu, device)
        found += state or [*_check_clocks(device, gpu), *_check_sharing(device, gpu), *_check_display(device, gpu)]
    return [*found, *check_processes()]


def match_gpus(addresses: Mapping[int, PciAddress | None], gpus: Sequence[Gpu]) -> dict[int, Gpu]:
    """The GPUs of CUDA by their numbers, each with what nvidia-smi says of the GPU at the same place on the bus."""
    by_place = {place: gpu for gpu in gpus if (place := find_address(gpu.get("pci.bus_id", ""))) is not None}
    unknown = not by_place or None in addresses.values()
    if unknown and len(addresses) == len(gpus) == 1:
        return dict.fromkeys(addresses, gpus[0])
    return {number: by_place[place] for number, place in addresses.items() if place is not None and place in by_place}


def _describe_numbers(numbered: Mapping[int, Gpu], count: int, gpus: Sequence[Gpu]) -> Diagnosis:
    """Which GPU of nvidia-smi is which of CUDA."""
    text = f"it lists {len(gpus)} GPU{'s' if len(gpus) > 1 else ''}"
    other = [f"cuda:{number} is its number {gpu['index']}" for number, gpu in numbered.items()]
    if any(gpu["index"] != str(number) for number, gpu in numbered.items()):
        text += f": {', '.join(other)}"
    if len(gpus) > count:
        shown = f" ({VISIBLE}={os.environ[VISIBLE]})" if VISIBLE in os.environ else ""
        text += f"; CUDA sees {count} of them{shown}"
    unknown = [f"cuda:{number}" for number in range(count) if number not in numbered]
    if unknown:
        text += f"; which of them is {', '.join(unknown)} is not known, nor its clocks, MIG and compute mode"
        return Diagnosis("nvidia-smi", Health.UNKNOWN, text)
    return Diagnosis("nvidia-smi", Health.OK, text)


def query_gpus() -> tuple[list[Gpu], list[str]]:
    """What nvidia-smi answers for each GPU, and its lines that are no answers.

    A driver that does not know a field is asked for the others, one by one.
    """
    answered = _query("gpu", FIELDS)
    if answered is not None:
        return [_answers(FIELDS, row) for row in answered[0]], answered[1]
    found: list[dict[str, str]] = []
    complaints: list[str] = []
    for field in FIELDS[1:]:
        rows, others = _query("gpu", (FIELDS[0], field)) or ([], [])
        complaints += [line for line in others if line not in complaints]
        for row in rows:
            gpu = next((one for one in found if one["index"] == row[0]), None)
            if gpu is None:
                found.append(gpu := {"index": row[0]})
            gpu.update(_answers((FIELDS[0], field), row))
    return list(found), complaints


def check_processes() -> list[Diagnosis]:
    """Other processes that compute on a GPU: their work is noise, and takes the place of CTAs."""
    answered = _query("compute-apps", ("pid", "process_name"))
    if answered is None:
        return [Diagnosis("other processes", Health.UNKNOWN, "nvidia-smi does not say who uses the GPUs")]
    if not answered[0]:
        return [Diagnosis("other processes", Health.OK, "nobody else computes on the GPUs")]
    names = ", ".join(f"{row[1]} ({row[0]})" for row in answered[0])
    advice = "wait for them, or end them: kill PID"
    return [Diagnosis("other processes", Health.WARNING, f"others compute on the GPUs: {names}", advice)]


def _check_complaints(complaints: Sequence[str], addresses: Mapping[int, PciAddress | None]) -> list[Diagnosis]:
    """Lines about GPUs that do not answer: each is one of CUDA, or of nobody."""
    found = []
    for line in complaints:
        place = find_address(line)
        of_cuda = [f"cuda:{number}" for number, address in addresses.items() if place is not None and address == place]
        found += _check_state({STATE: line, "index": str(place or "ID")}, next(iter(of_cuda), ""))
    return found


def _check_state(gpu: Gpu, device: str = "") -> list[Diagnosis]:
    """A GPU that does not work at all: it must be reset, or is lost. `device` is empty if CUDA does not see it."""
    said = gpu.get(STATE, "")
    if not said:
        return []
    if RESET in said:
        text = "the GPU must be reset before it can be used"
        advice = f"sudo nvidia-smi -i {gpu['index']} --gpu-reset (when nobody uses it), or restart the machine"
    else:
        text = f"the GPU does not answer: {said.strip('[] ')}"
        advice = "restart the machine; if it happens again: power, cooling, the slot (sudo dmesg | grep -i xid)"
    return [Diagnosis(f"{device} state" if device else "nvidia-smi", Health.MISSING, text, advice, device)]


def _check_clocks(device: str, gpu: Gpu) -> list[Diagnosis]:
    index, what = gpu["index"], f"{device} clocks"
    found = []
    if gpu.get("persistence_mode") == "Disabled":
        text = "persistence mode is off: the driver is loaded anew, and clocks fall, between runs"
        found.append(Diagnosis(what, Health.WARNING, text, f"sudo nvidia-smi -i {index} -pm 1"))
    now, most = gpu.get("clocks.sm", ""), gpu.get("clocks.max.sm", "")
    if not (now.isdecimal() and most.isdecimal()):
        return [*found, Diagnosis(what, Health.UNKNOWN, "nvidia-smi does not tell the clocks")]
    text = f"{now} of {most} MHz now"
    if int(now) >= HIGH_CLOCK * int(most):
        return [*found, Diagnosis(what, Health.OK, text)]
    advice = f"sudo nvidia-smi -i {index} --lock-gpu-clocks={most} (undo: --reset-gpu-clocks)"
    return [*found, Diagnosis(what, Health.WARNING, f"{text}: idle clocks make rates of short runs differ", advice)]


def _check_sharing(device: str, gpu: Gpu) -> list[Diagnosis]:
    index = gpu["index"]
    found = []
    mode = gpu.get("compute_mode", "Default")
    what = f"{device} compute mode"
    reset = f"sudo nvidia-smi -i {index} -c DEFAULT"
    if mode == "Prohibited":
        found.append(Diagnosis(what, Health.MISSING, "nobody may compute on it", reset, device))
    elif mode != "Default":
        found.append(Diagnosis(what, Health.WARNING, f"{mode}: only one process at a time may use it", reset))
    if gpu.get("mig.mode.current") == "Enabled":
        text = "MIG is on: a test sees one slice of the GPU, with fewer SMs, and no other slice or GPU"
        found.append(Diagnosis(f"{device} MIG", Health.WARNING, text, f"sudo nvidia-smi -i {index} -mig 0"))
    return found


def _check_display(device: str, gpu: Gpu) -> list[Diagnosis]:
    if gpu.get("display_active") != "Enabled":
        return []
    text = "it drives a display, whose watchdog may end launches of a few seconds, and whose drawing is noise"
    advice = "sudo systemctl isolate multi-user.target (back: graphical.target)"
    return [Diagnosis(f"{device} display", Health.WARNING, text, advice)]


def _answers(fields: Sequence[str], row: Sequence[str]) -> dict[str, str]:
    """The answers of a row; what is in brackets is none, but may say that the GPU does not work."""
    found = {
        field: answer
        for field, answer in zip(fields, row, strict=True)
        if answer not in NO_ANSWER and not answer.startswith("[")
    }
    found.setdefault("index", row[0])
    state = next((answer for answer in row if LOST in answer or RESET in answer), "")
    return found | ({STATE: state} if state else {})


def _query(what: str, fields: Sequence[str]) -> tuple[list[list[str]], list[str]] | None:
    """The rows of a query, and its lines about GPUs that do not answer; None if nvidia-smi refuses it."""
    command = ["nvidia-smi", f"--query-{what}={','.join(fields)}", "--format=csv,noheader,nounits"]
    code, said = _run(command)
    complaints = [line.strip() for line in said.splitlines() if _is_complaint(line, len(fields))]
    if code and not complaints:
        return None
    return list(_read_rows(said, len(fields))), complaints


def _read_rows(said: str, width: int) -> Iterator[list[str]]:
    for row in csv.reader(line for line in said.splitlines() if not _is_complaint(line, width)):
        if len(row) >= width:  # commas in the last word, the name of a process, are its own
            yield [*(word.strip() for word in row[: width - 1]), ",".join(row[width - 1 :]).strip()]


def _is_complaint(line: str, width: int) -> bool:
    """Whether a line is about a GPU that does not answer, and not a row, in which such words may be, too."""
    return any(words in line for words in (NO_HANDLE, LOST, RESET)) and line.count(",") != width - 1


def _run(command: Sequence[str]) -> tuple[int, str]:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)
    return done.returncode, done.stdout or done.stderr
