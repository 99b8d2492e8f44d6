"""Faults for any listing of a function: text edits that know SASS, but neither the test nor what optcheck looks at."""

from __future__ import annotations

import re
from random import Random

CODE = re.compile(r"^(\s*/\*[0-9a-f]+\*/\s+)(?:(@!?U?P[T\d])\s+)?([A-Z][\w.]*)(.*?)\s*;?\s*$")
LABEL = re.compile(r"^(\.L_x_\d+):", re.MULTILINE)
WORDS = (
    "CTA", "SM", "GPU", "SYS", "STRONG", "SC", "ALL", "U8", "U16", "S8", "64", "128", "CONSTANT", "EF", "EL", "LU",
    "EQ", "NE", "LT", "GE", "GT", "LE", "U32", "AND", "OR", "ADD", "EXCH", "CAS", "MIN", "AND", "IVALL", "IV", "X",
    "WIDE", "CG", "CV", "WT", "E", "PRIVATE", "MMIO", "S32", "EX",
    "PSL", "MRG", "CBCC", "CHI", "CLO", "HI", "RS", "LS", "XOR", "NZ", "GL", "IVALLD", "S16",
)  # fmt: skip
OPERAND = re.compile(r"\b(U?R)(\d+|Z)\b|\b(U?P)([0-6]|T)\b|(?<![\w(])(-?0x[0-9a-f]+)")


def code_lines(text: str) -> list[int]:
    """The lines with instructions that can run: those before the loop that ends every function."""
    lines = text.split("\n")
    found = [place for place, line in enumerate(lines) if CODE.match(line)]
    ends = [place for place in found if re.search(r"\bRET\b|\bEXIT\b", lines[place])]
    return [place for place in found if place <= ends[-1]]


def make_fault(text: str, dice: Random) -> tuple[str, str]:
    """(what was done, the listing with it). Jumps through tables stay: a listing does not contain the table."""
    lines = text.split("\n")
    places = code_lines(text)
    plain = [place for place in places if not re.search(r"\bNOP\b|@!PT|\bBRX\b|c\[0x2\]", lines[place])]
    place = dice.choice(plain)
    what = dice.choice(list(FAULTS))
    changed = FAULTS[what](lines, place, places, dice)
    return f"{what} at {lines[place].split('*/')[-1].strip()}", "\n".join(changed)


def take(line: str) -> tuple[str, str, str, str]:
    found = CODE.match(line)
    assert found is not None
    return found[1], found[2] or "", found[3], found[4]


def put(start: str, guard: str, opcode: str, operands: str) -> str:
    return f"{start}{guard + ' ' if guard else ''}{opcode}{operands} ;"


def replace(lines: list[str], place: int, *new: str) -> list[str]:
    return [*lines[:place], *new, *lines[place + 1 :]]


def delete(lines: list[str], place: int, places: list[int], dice: Random) -> list[str]:
    return replace(lines, place, put(take(lines[place])[0], "", "NOP", ""))


def duplicate(lines: list[str], place: int, places: list[int], dice: Random) -> list[str]:
    return replace(lines, place, lines[place], lines[place])


def swap(lines: list[str], place: int, places: list[int], dice: Random) -> list[str]:
    at = places.index(place)
    other = places[min(max(at + dice.choice((-3, -2, -1, 1, 2, 3)), 0), len(places) - 1)]
    return replace(replace(lines, place, lines[other]), other, lines[place])


def move(lines: list[str], place: int, places: list[int], dice: Random) -> list[str]:
    to = dice.choice(places)
    left = replace(lines, place)
    return [*left[:to], lines[place], *left[to:]]


def guard(lines: list[str], place: int, places: list[int], dice: Random) -> list[str]:
    start, old, opcode, operands = take(lines[place])
    choices = {f"@{sign}P{number}" for sign in ("", "!") for number in range(4)} | {"@!PT", ""}
    if old:
        choices |= {old.replace("@", "@!") if "!" not in old else old.replace("!", "")}
    return replace(lines, place, put(start, dice.choice(sorted(choices - {old})), opcode, operands))


def flip(lines: list[str], place: int, places: list[int], dice: Random) -> list[str]:
    start, old, opcode, operands = take(lines[place])
    new = "@!PT" if not old else old.replace("!", "") if "!" in old else old.replace("@", "@!")
    return replace(lines, place, put(start, new, opcode, operands))


def modify(lines: list[str], place: int, places: list[int], dice: Random) -> list[str]:
    start, old, opcode, operands = take(lines[place])
    parts = opcode.split(".")
    how = dice.randrange(3)
    at = dice.randrange(1, len(parts)) if len(parts) > 1 else 0
    if how == 0 and at:
        del parts[at]
    elif how == 1 and at:
        parts[at] = dice.choice(WORDS)
    else:
        parts.insert(max(at, 1), dice.choice(WORDS))
    return replace(lines, place, put(start, old, ".".join(parts), operands))


def change_operand(lines: list[str], place: int, places: list[int], dice: Random) -> list[str]:
    start, old, opcode, operands = take(lines[place])
    found = list(OPERAND.finditer(operands))
    if not found:
        return delete(lines, place, places, dice)
    one = dice.choice(found)
    if one[1]:
        number = int(one[2]) if one[2] != "Z" else 4
        new = dice.choice([f"{one[1]}Z", *(f"{one[1]}{max(0, number + step)}" for step in (-2, -1, 1, 2, 7))])
    elif one[3]:
        new = dice.choice([f"{one[3]}{name}" for name in "0123T"])
    else:
        value = int(one[5], 16)
        new = dice.choice(
            [hex(value + 4), hex(value ^ 1), hex(value + 0x100), "0x0", hex(value ^ 1 << dice.randrange(8))]
        )
    sign = "!" if one[3] and dice.random() < 0.3 and not operands[: one.start()].endswith("!") else ""
    return replace(lines, place, put(start, old, opcode, operands[: one.start()] + sign + new + operands[one.end() :]))


def resuffix(lines: list[str], place: int, places: list[int], dice: Random) -> list[str]:
    """A register with a suffix more or less: another half of it, or the condition code with it."""
    start, old, opcode, operands = take(lines[place])
    found = list(re.finditer(r"\bR(?:\d+|Z)(\.[A-Z]\w*)?", operands))
    if not found:
        return delete(lines, place, places, dice)
    one = dice.choice(found)
    bare = one[0].removesuffix(one[1] or "")
    new = bare if one[1] else bare + dice.choice((".H1", ".CC"))
    return replace(lines, place, put(start, old, opcode, operands[: one.start()] + new + operands[one.end() :]))


def retarget(lines: list[str], place: int, places: list[int], dice: Random) -> list[str]:
    labels = LABEL.findall("\n".join(lines))
    branches = [at for at in places if "`(" in lines[at]]
    if not branches or not labels:
        return delete(lines, place, places, dice)
    at = dice.choice(branches)
    return replace(lines, at, re.sub(r"`\([^)]*\)", f"`({dice.choice(labels)})", lines[at]))


def leave(lines: list[str], place: int, places: list[int], dice: Random) -> list[str]:
    start = take(lines[place])[0]
    guard = dice.choice(("", "@P0", "@!P0", "@P1"))
    return replace(lines, place, put(start, guard, "EXIT", ""), lines[place])


def jump(lines: list[str], place: int, places: list[int], dice: Random) -> list[str]:
    start = take(lines[place])[0]
    at = places.index(place)
    last = places[min(at + dice.randrange(1, 5), len(places) - 1)]
    guard = dice.choice(("", "@P0", "@!P0", "@P1"))
    label = ".L_x_999999"
    return [*lines[:place], put(start, guard, "BRA", f" `({label})"), *lines[place:last], f"{label}:", *lines[last:]]


def borrow(lines: list[str], place: int, places: list[int], dice: Random) -> list[str]:
    """Another instruction of the function in its place."""
    return replace(lines, place, lines[dice.choice(places)])


FAULTS = {
    "deleted": delete,
    "duplicated": duplicate,
    "swapped": swap,
    "moved": move,
    "guarded": guard,
    "guard flipped": flip,
    "modified": modify,
    "operand changed": change_operand,
    "suffix changed": resuffix,
    "branch retargeted": retarget,
    "left early": leave,
    "jumped over": jump,
    "replaced": borrow,
}
