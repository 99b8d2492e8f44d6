"""`BuildOptions`: what a user may choose about how tests are compiled."""

from __future__ import annotations

from dataclasses import dataclass

LEVELS = (0, 1, 3)


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How tests are compiled.

    `optimise` is the level of the assembler for the code of the tests. At 1, the default, accesses are as close to each
    other as at 3; at 0 there are copies and address computations between them. The kernels around the tests, with the
    stress, are the same at every level, so that runs of two levels can be compared.

    `newest` is the newest major version of CUDA whose cubins the driver loads, as 12; None if any version will do.
    """

    optimise: int = 1
    newest: int | None = None


DEFAULT_OPTIONS = BuildOptions()
