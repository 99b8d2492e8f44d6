"""Logs named on the command line, read into observations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudiy.logs.tables.tally import Observations


def gathered(paths: list[str], best: bool = False) -> Observations:
    """All records of the logs by test and chip; `LitmusError` where there are none."""
    import json
    from pathlib import Path
    from gpudiy.logs.record import Record, OutcomeCount
    from gpudiy.logs.tables.tally import Combination, observations

    def recs():
        for p in paths:
            for line in Path(p).read_text().splitlines():
                d = json.loads(line)
                d["options"] = tuple(map(tuple, d.get("options", ())))
                d["histogram"] = tuple(OutcomeCount(*x) for x in d.get("histogram", ()))
                yield Record(**d)

    return observations(recs(), Combination.BEST if best else Combination.SUM)
