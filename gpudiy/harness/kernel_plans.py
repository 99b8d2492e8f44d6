"""Random parameters of launches by which the kernels of a harness are tried: see `kernel_launches`."""

from __future__ import annotations

from random import Random
from typing import Any

from gpudiy.harness.host_side import NOBODY
from gpudiy.harness.kernel_meaning import WORD
from gpudiy.harness.shape import PLACES

Plan = dict[str, Any]  # fields of a launch by name
SCRATCHPAD_WORDS = 600
PATTERNS = (0, 1, 2, 3, 9)


def plan_places(dice: Random, cluster: int, warp_size: int, warps: int) -> Plan:
    """How threads are assigned; `own` is the first of the places of this kernel."""
    size = cluster if cluster > 1 else dice.choice((1, 1, 2, 3))
    places_warps, places_lanes = (
        dice.randint(1, min(warps, 2)),
        dice.choice([one for one in (1, 2, 4) if one <= warp_size]),
    )
    clusters, cta_groups = dice.choice(((1, 1), (1, 1), (1, 2), (2, 1)))
    kernel_number = dice.choice((0, 0, 1)) if places_lanes < 4 else 0
    own = clusters * size * places_warps * places_lanes
    warp_groups, lane_groups = warps // places_warps, warp_size // places_lanes
    assert (kernel_number + 1) * own <= PLACES
    return {
        "own": kernel_number * own,
        "thread_at": [NOBODY] * ((kernel_number + 1) * own),
        "kernel_number": kernel_number,
        "group_size": warp_size * warps,
        "seed": dice.getrandbits(32),
        "batch": dice.randint(1, 3),
        "instance_groups": cta_groups * warp_groups * lane_groups,
        "devices": dice.choice((1, 1, 2)),
        "testing_groups": clusters * cta_groups * size,
        "cluster_groups": size,
        "warp_size": warp_size,
        "places_clusters": clusters,
        "places_warps": places_warps,
        "places_lanes": places_lanes,
        "cta_groups": cta_groups,
        "warp_groups": warp_groups,
        "lane_groups": lane_groups,
        "wide": dice.choice((0, 1)),
        "shuffle_percent": dice.choice((0, 50, 100, 100)),
        "rows": dice.choice((1, 3)) + 3,
    }


def plan_stress(dice: Random) -> Plan:
    """How much is stressed, where, and by which accesses."""
    return {
        "stress_percent": dice.choice((0, 60, 100, 100)),
        "stress_iterations": dice.randint(0, 20),
        "stress_pattern": dice.choice(PATTERNS),
        **plan_lines(dice, dice.choice((1, 3, 16))),
        "stress_lane_stride": dice.choice((1, 4)),
        "shared_stress_percent": dice.choice((0, 0, 60, 100)),
        "pre_stress_percent": dice.choice((0, 60, 100, 100)),
        "pre_stress_iterations": dice.randint(0, 20),
        "pre_stress_pattern": dice.choice(PATTERNS),
    }


def plan_lines(dice: Random, lines: int) -> Plan:
    """Lines of the scratchpad that are stressed."""
    return {"stress_lines": lines, "stress_line_at": [dice.randrange(SCRATCHPAD_WORDS) for _ in range(lines)]}


def plan_shared(dice: Random, plan: Plan, count: int) -> Plan:
    """So many shared variables: their values at the start, where they are, and which rows receive them."""
    homes = plan["cluster_groups"] * plan["places_clusters"]
    return {
        "shared_variables": count,
        "shared_stride": dice.choice((1, 2)),
        "shared_initial": [dice.getrandbits(64) for _ in range(count)],
        "shared_row": [dice.choice((0, 1 + number, 1 + number)) for number in range(count)],
        "shared_home": [plan["kernel_number"] * homes + dice.randrange(homes) for _ in range(count)],
    }


def plan_warming(dice: Random) -> Plan:
    """Global variables, and how often their lines are read before threads meet."""
    variables, location_bytes = dice.randint(0, 3), dice.choice((4, 8, 24))
    return {
        "variables": variables,
        "location_bytes": location_bytes,
        "pitch": variables * location_bytes,
        "warm_percent": dice.choice((0, 60, 100, 100)),
    }


def number_instances(dice: Random, fields: Plan) -> Plan:
    """How instances are numbered: those of a round are adjacent, or those of an instance group."""
    rounds, batch, groups = fields.get("rounds", 0), fields["batch"], fields["instance_groups"]
    variables = fields.get("variables", 0)
    masks = {"masks": [0, *(dice.randrange(8) for _ in range(variables - 1))]} if variables else {}
    if dice.random() < 0.5:
        return {"round_step": batch, "group_step": rounds * batch, "instance_step": 1, "era_mask": WORD - 1, **masks}
    return {"round_step": batch * groups, "group_step": 1, "instance_step": groups, "era_mask": WORD, **masks}
