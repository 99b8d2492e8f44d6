"""What a proof knows when a thread was chosen: all on which the rest of its path depends, but code and registers."""

from __future__ import annotations

from collections.abc import Mapping

from optcheck.path_proof import KEPT, PathProof
from optcheck.term import Term, entry


def summarize_path(proof: PathProof, registers: Mapping[str, Term]) -> tuple[object, ...] | None:
    """What is known if the path entered the loop over the instances and did nothing else; None if it did more."""
    done = proof.fences or proof.anchors or proof.rows or proof.questioned or proof.votes or proof.waits or proof.inner
    if done or proof.run is not None or proof.loop is None or len(proof.heads) != 1:
        return None
    unrestored = [name for name in KEPT.intersection(registers) if registers[name] is not entry(name)]
    return (
        proof.function.values,
        proof.function.mapping,
        proof.function.special,
        proof.function.scratch,
        proof.entered,
        proof.again,
        proof.specified,
        tuple(proof.mask),
        tuple(proof.carried.items()),
        tuple([(name, registers[name]) for name in sorted(unrestored)]),
    )
