"""NVIDIA's driver, through ctypes alone: its calls, its errors, and which GPU it is."""

import ctypes
import os
import sys
import uuid

from run_kit import quoted, say

FAILED, CANNOT_OPEN = 10, 11  # how a child ends: FAILED was written down
NOT_SUPPORTED = 801
PCI_BUS, PCI_DEVICE, PCI_DOMAIN = 33, 34, 50
NOT_LOADED = (
    "the driver is older than the CUDA that built the kit: update it, or ask for a kit that is built with an older CUDA"
)
ADVICE = {
    2: "other programs use the memory of the GPU (nvidia-smi lists them)",
    46: "another program has the GPU for itself (compute mode, MPS), or it must be reset: see nvidia-smi",
    100: "there is no NVIDIA GPU, or this user may not use it: nvidia-smi must show one",
    200: NOT_LOADED,
    209: "the kit has nothing for this chip: ask for a kit with its architecture",
    214: "the memory of the GPU is damaged (ECC): see nvidia-smi -q -d ECC",
    222: NOT_LOADED,
    702: "a display's watchdog ended it: use a GPU without a display",
    803: "the driver and its library are of different versions: restart the machine",
}


class ClusterSize(ctypes.Structure):
    """CUlaunchAttribute: the size of a cluster."""

    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_char * 4)] + [
        (name, ctypes.c_uint) for name in "xyz"
    ] + [("more", ctypes.c_char * 52)]  # fmt: skip


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(ClusterSize)),
        ("count", ctypes.c_uint),
    ]


class Driver:
    """A GPU, in a child: a call of the driver that fails ends the child; what was under way is written down."""

    def __init__(self, log, number, quiet):
        self.log, self.running, self.number, self.quiet = log, -1, number, quiet
        try:
            self.library = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
        except OSError:
            self.leave("error: libcuda.so.1, NVIDIA's driver, does not load: install the driver (nvidia-smi must work)")
        os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # GPUs are counted as nvidia-smi counts them
        count, device, driver = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        name = ctypes.create_string_buffer(256)
        self.call("cuInit", 0)
        self.call("cuDriverGetVersion", ctypes.byref(driver))
        self.call("cuDeviceGetCount", ctypes.byref(count))
        if number >= count.value:
            self.leave(f"error: there is no GPU {number}: there are {count.value}, counted from 0")
        self.call("cuDeviceGet", ctypes.byref(device), number)
        self.device, self.driver = device, driver.value
        self.call("cuDeviceGetName", name, 255, device)
        self.name = quoted(name.value.decode("utf-8", "replace"))
        self.pci = self.find_pci()
        self.identity = self.find_identity()

    def call(self, name, *arguments, accept=0):
        code = getattr(self.library, name)(*arguments) if self.has(name) else NOT_SUPPORTED
        return code if code in (0, accept) else self.fail(name, code)

    def fail(self, name, code):
        text = ctypes.c_char_p(b"unknown")
        self.library.cuGetErrorString(code, ctypes.byref(text))
        words, plain = (text.value or b"unknown").decode("utf-8", "replace"), name.split("_")[0]
        advice = "\n  " + ADVICE[code] if code in ADVICE else ""
        message = f"{plain}: error {code}: {words}{advice}"
        if self.running < 0:
            self.leave(message)
        say(message)
        line = '{{"end":{},"how":"error","launches":{},"code":{},"call":"{}","message":{}'
        self.log.write(line.format(self.running, self.log.launches, code, plain, quoted(words)))
        return end_process(FAILED)

    def leave(self, message):
        """A child that cannot open the GPU says so, once, and ends."""
        if not self.quiet:
            say(message)
        end_process(CANNOT_OPEN)

    def has(self, name):
        return hasattr(self.library, name)

    def attribute(self, which):
        value = ctypes.c_int(-1)
        code = self.library.cuDeviceGetAttribute(ctypes.byref(value), which, self.device)
        return -1 if code else value.value

    def find_pci(self):
        bus = self.attribute(PCI_BUS)
        return f"{self.attribute(PCI_DOMAIN):08x}:{bus:02x}:{self.attribute(PCI_DEVICE):02x}.0" if bus >= 0 else ""

    def find_identity(self):
        """The UUID of the GPU; of a driver that does not tell it, its name and place."""
        found = ctypes.create_string_buffer(16)
        for name in ("cuDeviceGetUuid_v2", "cuDeviceGetUuid"):
            if self.has(name) and getattr(self.library, name)(found, self.device) == 0:
                return f"GPU-{uuid.UUID(bytes=found.raw)}"
        return f"{self.name[1:-1]}, number {self.number} {self.pci}"


def end_process(code):
    """End this process at once: after an error the driver cannot be closed."""
    sys.stdout.flush()
    os._exit(code)
