"""The Vulkan device without a driver: adapters by name, what is missing, and the plans of launches."""

from __future__ import annotations

from typing import Any

import pytest

from gpudiy.devices import vulkan_adapters
from gpudiy.devices.device import DeviceError
from gpudiy.devices.opening import UnknownDevice
from gpudiy.devices.vulkan_adapters import chip_of, choose, limits_of, list_devices
from gpudiy.devices.vulkan_plan import SOFTWARE_PASSES, passes_to_wait, plan_on_adapter
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.shape import shape_of
from gpudiy.harness.wgsl_launch import ANY_PASSES
from gpudiy.litmus import read_test
from gpudiy.logs.record import Ending

LIMITS = {
    "max-storage-buffer-binding-size": 1 << 27,
    "max-buffer-size": 1 << 31,
    "max-compute-workgroup-storage-size": 32768,
    "max-compute-invocations-per-workgroup": 1024,
    "max-compute-workgroup-size-x": 256,
}
SB = """GPU_PTX SB
{0:.reg .s32 r2; 1:.reg .s32 r2;}
 P0 | P1 ;
 st.relaxed.gpu.s32 [x],1 | st.relaxed.gpu.s32 [y],1 ;
 ld.relaxed.gpu.s32 r2,[y] | ld.relaxed.gpu.s32 r2,[x] ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
x: global, y: global
exists (0:r2=0 /\\ 1:r2=0)
"""


class Adapter:
    """What an adapter says of itself."""

    def __init__(self, name: str, kind: str, backend: str = "Vulkan", subgroup: int = 32) -> None:
        self.info = {
            "device": name, "adapter_type": kind, "backend_type": backend, "architecture": "", "description": "1.2",
            "subgroup_max_size": subgroup,
        }  # fmt: skip
        self.limits = LIMITS


GPU, CHIP, LLVMPIPE = (
    Adapter("RX 6800", "DiscreteGPU"),
    Adapter("M1", "IntegratedGPU", "Metal"),
    Adapter("llvmpipe", "CPU"),
)


@pytest.fixture
def adapters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vulkan_adapters, "find_adapters", lambda: [GPU, CHIP, LLVMPIPE])


@pytest.mark.usefixtures("adapters")
@pytest.mark.parametrize(
    ("rest", "chosen"), [("", GPU), ("0", GPU), ("1", CHIP), ("m1", CHIP), ("metal", CHIP), ("llvm", LLVMPIPE)]
)
def test_names(rest: str, chosen: Any) -> None:
    assert choose(rest)[1] is chosen


@pytest.mark.usefixtures("adapters")
@pytest.mark.parametrize("rest", ["3", "99999999999", "titan"])
def test_unknown_names_say_what_is_there(rest: str) -> None:
    with pytest.raises(UnknownDevice) as caught:
        choose(rest)
    assert "vulkan:1 (M1)" in str(caught.value.hint)


@pytest.mark.usefixtures("adapters")
def test_software_says_so_in_the_listing_and_in_the_name_of_the_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ["software" in listing.what for listing in list_devices()] == [False, False, True]
    pytest.importorskip("wgpu", reason="wgpu is not there: pip install 'gpudiy[vulkan]'")
    monkeypatch.setenv("GALLIVM_PERF", "nopt")
    assert chip_of(2, LLVMPIPE).chip == "llvmpipe, software on the CPU"
    assert "GALLIVM_PERF=nopt" in chip_of(2, LLVMPIPE).toolkit
    assert (chip_of(0, GPU).chip, chip_of(1, CHIP).architecture) == ("RX 6800", "Metal")
    assert chip_of(2, LLVMPIPE).launches and not chip_of(2, LLVMPIPE).gpu  # --launches counts, no least seconds


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ImportError

    monkeypatch.setattr(vulkan_adapters, "find_adapters", missing)
    assert list_devices()[0].command == "pip install 'gpudiy[vulkan]'"
    with pytest.raises(DeviceError, match="wgpu") as caught:
        choose("")
    assert caught.value.ending is Ending.DEVICE_LOST
    monkeypatch.setattr(vulkan_adapters, "find_adapters", list)
    assert list_devices()[0].command == "apt-get install mesa-vulkan-drivers"
    with pytest.raises(DeviceError, match="no driver of Vulkan"):
        choose("")


def test_a_gpu_takes_the_groups_that_an_incantation_asks_for() -> None:
    assert limits_of(GPU).groups == 64 and limits_of(GPU, 200).groups == 200
    assert (limits_of(CHIP).groups, limits_of(CHIP).group_size) == (16, 256)


def test_the_largest_subgroup_counts() -> None:
    assert limits_of(Adapter("wave64", "DiscreteGPU", subgroup=64)).warp_size == 64
    assert limits_of(Adapter("silent", "DiscreteGPU", subgroup=0)).warp_size == 32


def test_lavapipe_runs_as_many_groups_as_it_has_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LP_NUM_THREADS", "5")
    assert limits_of(LLVMPIPE, 200).groups == 5 and limits_of(LLVMPIPE).in_sequence


@pytest.mark.parametrize("batch", [0, 1, 4096])
@pytest.mark.parametrize("stress", [0, 4096])
@pytest.mark.parametrize("passes", [0, 20])
def test_a_thread_on_lavapipe_makes_fewer_passes_than_end_its_loops(batch: int, stress: int, passes: int) -> None:
    incantation = Incantation(meet_every=batch, pre_stress_iterations=stress)
    limits = limits_of(LLVMPIPE)
    plan = plan_on_adapter(shape_of(read_test(SB)), incantation, limits, 1 << 20, passes)
    work = plan.rounds * (1 + (stress + 1) // 2 + plan.batch * (1 + passes))
    assert plan.rounds >= 1
    assert work + passes_to_wait(plan, incantation, limits, passes) < SOFTWARE_PASSES
    assert passes_to_wait(plan, incantation, limits_of(GPU), passes) == ANY_PASSES
