"""`LaunchLayout`: where the locations of a launch lie, drawn for every launch: how far apart, and which share a line.

Variable v of instance i lies in the block of instance i ^ mask, `location_bytes` behind variable v - 1. The instances
of a round are adjacent or, in a launch that reuses lines, those of an instance group are: then a line that a thread
reads in one round holds words of the next rounds, and is stale there. No word is used twice: what an earlier instance
left behind in a word would look like a weak outcome of a later one.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_plan import LaunchPlan

LINE_BYTES = 32  # that a miss brings into L1: a sector of a line; some chips bring the whole line, 128 bytes
ROUNDS_OF_ERA = 8  # in a launch that reuses lines, CTAs keep their places for so many rounds: a power of two
FAR_SHARE = 0.5  # of the launches that do not reuse lines: how many have the largest stride of the mix


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchLayout:
    """The layout of one launch; the steps say how instances are numbered by round, instance group and batch."""

    stride: int  # words from one location to the next
    location_bytes: int
    pitch: int  # bytes of a block
    masks: tuple[int, ...]
    reuse: bool
    round_step: int
    group_step: int
    instance_step: int
    near: bool  # whether a line holds locations of two instances

    @property
    def name(self) -> str:
        """In a few words, for records."""
        return f"stride {self.stride}{' reusing lines' if self.reuse else ''}"

    @property
    def era_mask(self) -> int:
        """The bits of the number of a round that say where CTAs are."""
        return -ROUNDS_OF_ERA if self.reuse else -1


def draw_layout(plan: LaunchPlan, incantation: Incantation, dice: random.Random) -> LaunchLayout:
    """The layout of a launch; the same dice give the same layout."""
    reuse = plan.rounds > 1 and dice.randrange(100) < incantation.reuse_percent
    stride = _draw_stride(plan, reuse, dice)
    location_bytes = stride * plan.word_bytes
    spread = _spread(plan, incantation)
    masks = (0, *(dice.randrange(spread) for _ in range(plan.variables - 1)))[: plan.variables]
    all_rounds = plan.rounds * plan.batch
    return LaunchLayout(
        stride=stride,
        location_bytes=location_bytes,
        pitch=plan.variables * location_bytes,
        masks=masks,
        reuse=reuse,
        round_step=plan.batch if reuse else plan.batch * plan.instance_groups,
        group_step=all_rounds if reuse else 1,
        instance_step=1 if reuse else plan.instance_groups,
        near=_shares_lines(plan.instances, location_bytes, masks, spread),
    )


def _draw_stride(plan: LaunchPlan, reuse: bool, dice: random.Random) -> int:
    """The far stride in some launches, else one of the others; to reuse lines, one by which a line holds two blocks."""
    *near, far = plan.strides
    if not near or (not reuse and dice.random() < FAR_SHARE):
        return far
    if reuse:
        near = [one for one in near if 2 * one * plan.word_bytes * plan.variables <= LINE_BYTES] or near[:1]
    return dice.choice(near)


def _spread(plan: LaunchPlan, incantation: Incantation) -> int:
    """So many adjacent blocks are mixed with each other: a power of two."""
    if not incantation.randomisation or not incantation.shuffle_percent:
        return 1
    return min(plan.slots, 1 << (incantation.location_spread.bit_length() - 1))


def _shares_lines(instances: int, location_bytes: int, masks: tuple[int, ...], spread: int) -> bool:
    """Whether a line holds locations of two instances. Every `window` blocks are alike, and begin with a line."""
    if location_bytes >= LINE_BYTES:
        return False
    window = min(instances, max(spread, LINE_BYTES // 4))
    owners: dict[int, int] = {}
    for instance in range(window):
        for variable, mask in enumerate(masks):
            place = ((instance ^ mask) * len(masks) + variable) * location_bytes
            if owners.setdefault(place // LINE_BYTES, instance) != instance:
                return True
    return False
