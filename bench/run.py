"""How fast tests run, end to end: launches with reset and reduction, through the worker process, as `gpudiy run` does.

Baselines: the same test with one instance per launch, in the same run; and native litmus7 at its best settings, as
measured on two cores like these: 6 million iterations per second, 15 to 20 % of them weak.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from gpudiy.devices.opening import list_devices
from gpudiy.devices.runner import Runner
from gpudiy.devices.settings import RunSettings
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.incantation_text import IncantationBook
from gpudiy.litmus import Test, read_test

LITMUS7_SPEED, LITMUS7_WEAK = 6e6, 0.175
ITERATIONS = {"opencl": 40_000_000, "cuda": 400_000_000, "sim": 8_000_000}
ALONE = Incantation(instances=1, meet_every=1)
ALONE_ITERATIONS = 20_000
SB = """GPU_PTX SB
{0:.reg .s32 r2; 1:.reg .s32 r2;}
 P0 | P1 ;
 st.cg.s32 [x],1 | st.cg.s32 [y],1 ;
 ld.cg.s32 r2,[y] | ld.cg.s32 r2,[x] ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
x: global, y: global
exists (0:r2=0 /\\ 1:r2=0)
"""


@dataclass(frozen=True, slots=True)
class Speed:
    """Iterations and weak sightings in a second."""

    iterations: float
    sightings: float


def measured(runner: Runner, test: Test, settings: RunSettings) -> Speed:
    (record,) = runner.run([test], settings)
    if not record.seconds:
        raise SystemExit(f"{record.device}: {record.ending}: {record.reason}")
    return Speed(record.iterations / record.seconds, record.positive / record.seconds)


def main() -> int:
    test = read_test(SB)
    for listing in list_devices():
        kind = listing.name.split(":")[0]
        if not listing.there:
            continue
        with Runner(listing.name) as runner:
            measured(runner, test, RunSettings(100_000))  # builds the kernel
            many = measured(runner, test, RunSettings(ITERATIONS[kind]))
            speed = f"{many.iterations:>14,.0f} iterations/s {many.sightings:>12,.0f} weak/s"
            print(f"{listing.name:<12} SB {speed}", end="", flush=True)
            if kind == "sim":
                print(f"   {many.iterations / 1e6:.1f} times a million iterations/s")
                continue
            alone = measured(runner, test, RunSettings(ALONE_ITERATIONS, incantations=IncantationBook("alone", ALONE)))
        ratio = many.sightings / max(alone.sightings, 1 / ALONE_ITERATIONS)
        print(f"   {ratio:,.0f} times one instance a launch ({alone.iterations:,.0f}/s, {alone.sightings:,.1f} weak/s)")
        print(f"{'':<12} {many.iterations / LITMUS7_SPEED:.1f} times the iterations", end=" ")
        print(f"and {many.sightings / LITMUS7_SPEED / LITMUS7_WEAK:.1f} times the weak sightings of litmus7")
    return 0


if __name__ == "__main__":
    sys.exit(main())
