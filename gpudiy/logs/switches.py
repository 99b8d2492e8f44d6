"""The four incantations of ASPLOS'15 among the options of a record, whatever the log calls them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

STRESS, BANK, SYNC, RANDOM = "stress", "bank", "sync", "random"
SWITCHES = (STRESS, BANK, SYNC, RANDOM)  # in the order of the columns of the published table: 8, 4, 2, 1
NONE = "none"

SPELLINGS = {
    "memory_stress": STRESS,
    "gpu_mem_stress": STRESS,
    "bank_conflicts": BANK,
    "gpu_general_bc": BANK,
    "synchronisation": SYNC,
    "barrier": SYNC,
    "randomisation": RANDOM,
    "gpu_rand_threads": RANDOM,
}
OFF = frozenset(("false", "no", "none", "off", "0", ""))


def switches_of(options: Iterable[tuple[str, str]]) -> Mapping[str, bool]:
    """Which of the four are known, and whether they were on."""
    found: dict[str, bool] = {}
    for name, value in options:
        switch = SPELLINGS.get(name.replace("-", "_"))
        if switch is not None:
            found[switch] = value.strip().lower() not in OFF
    return found


def incantation_label(options: Iterable[tuple[str, str]]) -> str:
    """`stress+sync+random`, `none` when all were off, and nothing when the record does not say."""
    known = switches_of(options)
    if not known:
        return ""
    return "+".join(switch for switch in SWITCHES if known.get(switch)) or NONE


def incantation_column(options: Iterable[tuple[str, str]]) -> int | None:
    """The column of the published table, 1 to 16, or None when some switch is not known."""
    known = switches_of(options)
    if len(known) < len(SWITCHES):
        return None
    return 1 + sum(weight * known[switch] for weight, switch in zip((8, 4, 2, 1), SWITCHES, strict=True))


def options_of_column(column: int) -> tuple[tuple[str, str], ...]:
    """The options that a column of the published table stands for."""
    names = ("memory_stress", "bank_conflicts", "synchronisation", "randomisation")
    bits = ((column - 1) >> shift & 1 for shift in (3, 2, 1, 0))
    return tuple((name, "true" if bit else "false") for name, bit in zip(names, bits, strict=True))
