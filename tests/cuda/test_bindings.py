"""The two bindings to the driver: which is taken, what each asks the driver for, and what only one of them offers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_standin import SHORT, Machine, sb_test

from gpudiy.litmus import print_test

pytestmark = pytest.mark.cuda
Make = Callable[..., Machine]
CLUSTER = "(device (kernel (cluster (cta (warp P0)) (cta (warp P1)))))"
TWO_DEVICES = "(system (device (kernel (cta (warp P0)))) (device (kernel (cta (warp P1)))))"


def run(here: Machine, tree: str | None = None, architecture: str = "sm_80") -> str:
    """Run SB and return what the command printed."""
    test = sb_test() if tree is None else sb_test(tree)
    here.add_tests([test], architecture, host=[sb_test()] if tree == CLUSTER else None)
    path = here.directory / "sb.litmus"
    path.write_text(print_test(test))
    found = here.run("-m", "gpudiy", "run", str(path), "-d", "cuda:0", "-s", "500", *SHORT, "-q")
    return found.stdout + found.stderr


def launches_of_run(here: Machine) -> list[dict[str, str]]:
    return [launch for launch in here.journal.entries("launch") if launch["kernel"].startswith("run")]


def test_pycuda_is_taken_before_cuda_bindings_and_both_are_named(tmp_path: Path) -> None:
    both = ("pycuda", "bindings")
    assert "by PyCUDA 20" in Machine(tmp_path, bindings=both).run("-m", "gpudiy", "devices").stdout
    assert "by cuda-bindings 1" in Machine(tmp_path, bindings=("bindings",)).run("-m", "gpudiy", "devices").stdout
    chosen = Machine(tmp_path, more={"GPUDIY_CUDA": "bindings"}, bindings=both)
    assert "by cuda-bindings 1" in chosen.run("-m", "gpudiy", "devices").stdout
    wrong = Machine(tmp_path, more={"GPUDIY_CUDA": "cupy"}, bindings=both).run("-m", "gpudiy", "devices")
    assert wrong.returncode == 2 and "there are pycuda and bindings" in wrong.stderr


def test_cuda_bindings_asks_the_driver_for_occupancy(tmp_path: Path) -> None:
    here = Machine(tmp_path, bindings=("bindings",))
    run(here)
    assert {asked["kernel"] for asked in here.journal.entries("occupancy")} == {"run", "reset", "reduce"}
    assert here.journal.violations == []


def test_pycuda_computes_occupancy(tmp_path: Path) -> None:
    here = Machine(tmp_path)
    run(here)
    assert here.journal.entries("occupancy") == []
    assert here.journal.violations == []


@pytest.mark.parametrize(("lacks", "cooperative"), [("", "1"), ("cooperative", "0")])
def test_a_kernel_that_runs_alone_is_launched_cooperatively(tmp_path: Path, lacks: str, cooperative: str) -> None:
    """So the driver refuses a launch whose CTAs are not all resident, where it would wait for ever otherwise."""
    here = Machine(tmp_path, more={"STANDIN_LACKS": lacks}, bindings=("bindings",))
    run(here)
    assert {launch["cooperative"] for launch in launches_of_run(here)} == {cooperative}
    assert here.journal.violations == []


def test_clusters_are_asked_for_and_counted_by_the_driver(tmp_path: Path) -> None:
    here = Machine(tmp_path, "small90", bindings=("bindings",))
    run(here, CLUSTER, "sm_90")
    assert {launch["kernel"] for launch in launches_of_run(here)} == {"run_cluster_2"}
    assert any("clusters" in asked for asked in here.journal.entries("occupancy"))
    assert here.journal.violations == []


def test_gpus_whose_link_has_no_atomics_do_not_run_a_test_together(tmp_path: Path) -> None:
    here = Machine(tmp_path, "small80,small80", more={"STANDIN_LACKS": "peer-atomics"}, bindings=("bindings",))
    said = run(here, TWO_DEVICES)
    assert "no atomics between" in said, said
    assert launches_of_run(here) == []
