"""Campaigns on a Dask cluster of real worker processes, one of which is killed in the middle."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from campaign_plans import essence, plan_file

from gpudiy.campaign.campaign import Campaign
from gpudiy.campaign.cluster import ClusterError, DaskCluster
from gpudiy.campaign.plan import read_plan
from gpudiy.cli import main

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")  # what Dask warns of is not ours


@contextmanager
def cluster(workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers, each a process of its own, as on several machines."""
    with distributed.LocalCluster(n_workers=0, processes=True, dashboard_address=None) as scheduler:
        address = scheduler.scheduler_address
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
        command += ["--no-dashboard"]
        processes = [
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(workers)
        ]
        try:
            with distributed.Client(address) as client:
                client.wait_for_workers(workers, timeout=60)
            yield address, processes
        finally:
            for process in processes:
                process.kill()
                process.wait()


def check_a_death(tmp_path: Path, sample: int, devices: list[str]) -> None:
    whole, far = plan_file(tmp_path / "whole", sample, devices), plan_file(tmp_path / "far", sample, devices)
    assert main(["campaign", "run", str(whole), "-q"]) == 0
    campaign = Campaign(read_plan(far))
    with cluster(2) as (address, processes):
        for number, _ in enumerate(campaign.run(DaskCluster(address).run)):
            if number == sample // 4:
                processes[0].send_signal(signal.SIGKILL)
    assert len(essence(whole)) == sample * len(devices)
    assert essence(far) == essence(whole)


def test_a_worker_that_dies_costs_nothing_but_its_test_in_flight(tmp_path: Path) -> None:
    check_a_death(tmp_path, 16, ["sim:kepler"])


@pytest.mark.heavy
def test_500_tests_survive_the_death_of_a_worker(tmp_path: Path) -> None:
    check_a_death(tmp_path, 500, ["sim:kepler"])


def test_workers_on_this_machine(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, 4, ["sim:sc"])
    assert main(["campaign", "run", str(plan), "-q", "--workers", "1"]) == 0
    assert len(essence(plan)) == 4


def test_a_scheduler_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_file(tmp_path, 2, ["sim:sc"])
    assert main(["campaign", "run", str(plan), "-q", "--scheduler", "nonsense"]) == 3
    assert "cannot reach a scheduler at nonsense" in capsys.readouterr().err


def test_a_device_that_no_worker_has(tmp_path: Path) -> None:
    campaign = Campaign(read_plan(plan_file(tmp_path, 2, ["sim:nothing"])))
    with cluster(1) as (address, _), pytest.raises(ClusterError, match="no worker has the device sim:nothing"):
        list(campaign.run(DaskCluster(address).run))
