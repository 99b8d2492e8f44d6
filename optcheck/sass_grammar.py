"""The grammar of SASS instructions, from sm_35 to sm_120, as cuobjdump and nvdisasm print them.

Listings repeat few shapes with many registers and numbers. So the numbers of an instruction are taken out, its shape is
parsed once, and the numbers are put back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import pyparsing as pp

from optcheck.sass import (
    AddressOperand,
    ConstantOperand,
    NameOperand,
    NumberOperand,
    PredicateOperand,
    RealOperand,
    RegisterOperand,
    SassInstruction,
)
from optcheck.sass_rules import find_mistake

NUMBER = re.compile(r"(?<![\w.$])(UR|R|UP|P)(\d{1,3})(?!\w)|(?<![\w.$])0x([0-9a-fA-F]{1,16})(?!\w)")
Numbers = Iterator[int]
Builder = Callable[[Numbers], Any]


class SassSyntax(Exception):
    """An instruction that is not SASS; `column` counts from 1 inside the text of the instruction."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


@lru_cache(1 << 18)
def parse_instruction(text: str) -> SassInstruction:
    """Read an instruction without address, encoding and semicolon; raises `SassSyntax`."""
    numbers: list[int] = []

    def take(match: re.Match[str]) -> str:
        if match[1]:
            numbers.append(int(match[2]))
            return f"{match[1]}#"
        numbers.append(int(match[3], 16))
        return "0x#"

    shape = NUMBER.sub(take, text)
    try:
        opcode, modifiers, guard, operands = _shape(shape)
    except pp.ParseException:
        raise _syntax(text) from None
    values = iter(numbers)
    built_guard = None if guard is None else guard(values)
    instruction = SassInstruction(text, opcode, modifiers, built_guard, tuple(operand(values) for operand in operands))
    mistake = find_mistake(instruction)
    if mistake is not None:
        raise SassSyntax(*mistake)
    return instruction


def _syntax(text: str) -> SassSyntax:
    """The error for a text, at the first column that is not SASS."""
    try:
        INSTRUCTION.parse_string(text, parse_all=True)
    except pp.ParseException as error:
        return SassSyntax("this is not a SASS instruction", error.column)
    return SassSyntax("this is not a SASS instruction", 1)


@lru_cache(1 << 14)
def _shape(shape: str) -> tuple[str, tuple[str, ...], Builder | None, tuple[Builder, ...]]:
    parsed = INSTRUCTION.parse_string(shape, parse_all=True)
    head, *modifiers = parsed["opcode"].split(".")
    guard = parsed["guard"][0] if "guard" in parsed else None
    return head, tuple(modifiers), guard, tuple(parsed["operands"]) if "operands" in parsed else ()


# A builder makes an operand from the numbers of its text, in order.


def _register(tokens: pp.ParseResults) -> Builder:
    sign = tokens.as_dict().get("sign", "")
    base = tokens["base"]
    suffixes = tokens.as_dict().get("suffixes", "").split(".")
    wide = "64" in suffixes
    part = next((suffix for suffix in suffixes if suffix not in ("", "64", "reuse", "CC")), "")
    sets_code = "CC" in suffixes
    numbered = base.endswith("#")
    prefix = base[:-1] if numbered else base

    def build(numbers: Numbers) -> RegisterOperand:
        name = f"{prefix}{next(numbers)}" if numbered else prefix
        return RegisterOperand(name, "-" in sign, "~" in sign, wide, part, sets_code)

    return build


def _predicate(tokens: pp.ParseResults) -> Builder:
    negated = "sign" in tokens
    base = tokens["base"]
    numbered = base.endswith("#")
    prefix = base[:-1] if numbered else base
    return lambda numbers: PredicateOperand(f"{prefix}{next(numbers)}" if numbered else prefix, negated)


def _hexadecimal(tokens: pp.ParseResults) -> Builder:
    negative = tokens[0].startswith("-")

    def build(numbers: Numbers) -> NumberOperand:
        value = next(numbers)
        return NumberOperand(-value & 0xFFFFFFFF if negative else value)

    return build


def _decimal(tokens: pp.ParseResults) -> Builder:
    text = tokens[0]
    if re.fullmatch(r"[+-]?\d+", text):
        value = int(text)
        return lambda numbers: NumberOperand(value)
    real = float(text.lower().replace("qnan", "nan").replace("snan", "nan"))
    return lambda numbers: RealOperand(real)


def _constant(tokens: pp.ParseResults) -> Builder:
    sign = tokens.as_dict().get("sign", "")
    bank, inside = tokens["bank"], list(tokens["inside"])
    suffixes = tokens.as_dict().get("suffixes", "").split(".")
    part = next((suffix for suffix in suffixes if suffix[:1] in ("H", "B")), "")

    def build(numbers: Numbers) -> ConstantOperand:
        found = bank[0](numbers)
        register, offset = "RZ", 0
        for term in inside:
            built = term(numbers)
            if isinstance(built, RegisterOperand):
                register = built.name
            else:
                offset = built.value
        name = found.name if isinstance(found, RegisterOperand) else found.value
        return ConstantOperand(name, offset, register, "-" in sign, "~" in sign, part)

    return build


def _address(tokens: pp.ParseResults) -> Builder:
    descriptor = tokens["descriptor"][0] if "descriptor" in tokens else None
    terms = list(tokens["terms"])

    def build(numbers: Numbers) -> AddressOperand:
        described = descriptor(numbers).name if descriptor else ""
        registers, offset = [], 0
        for term in terms:
            built = term(numbers)
            if isinstance(built, RegisterOperand):
                registers.append(built)
            else:
                offset += built.value
        return AddressOperand(tuple(registers), offset & 0xFFFFFFFF, described)

    return build


def _name(tokens: pp.ParseResults) -> Builder:
    text = tokens[0]
    count = text.count("#")

    def build(numbers: Numbers) -> NameOperand:
        return NameOperand(re.sub("#", lambda _: str(next(numbers)), text) if count else text)

    return build


def _grammar() -> pp.ParserElement:
    number = r"(?:#|\d{1,3})"
    suffixes = pp.Regex(r"(?:\.[A-Za-z0-9_]+)+")("suffixes")
    register = (
        pp.Optional(pp.Regex(r"[-~+|]+")("sign"))
        + pp.Regex(rf"(?:UR|R)(?:Z|{number})(?!\w)")("base")
        + pp.Optional(suffixes)
        + pp.Optional(pp.Literal("|").suppress())
    ).set_parse_action(_register)
    predicate = (
        pp.Optional(pp.Literal("!")("sign")) + pp.Regex(rf"(?:UP|P)(?:T|{number})(?!\w)")("base")
    ).set_parse_action(_predicate)
    hexadecimal = pp.Regex(r"[-+]?0x(?:#|[0-9a-fA-F]+)(?:\.[A-Z][A-Z0-9]*)?").set_parse_action(_hexadecimal)
    decimal = pp.Regex(r"[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|INF|QNAN|SNAN|NAN)(?![\w.])").set_parse_action(_decimal)
    term = pp.Optional(pp.Literal("+").suppress()) + (hexadecimal | register)
    bank = pp.Group(hexadecimal | register)("bank")
    constant = (
        pp.Optional(pp.Regex(r"[-~|]+")("sign"))
        + pp.Regex(r"cx?\[").suppress()
        + bank
        + pp.Regex(r"\]\s*\[").suppress()
        + pp.Group(pp.OneOrMore(term))("inside")
        + pp.Literal("]").suppress()
        + pp.Optional(suffixes)
        + pp.Optional(pp.Literal("|").suppress())
    ).set_parse_action(_constant)
    descriptor = pp.Regex(r"g?desc\[").suppress() + pp.Group(register)("descriptor") + pp.Literal("]").suppress()
    address = (
        pp.Optional(descriptor)
        + pp.Literal("[").suppress()
        + pp.Group(pp.OneOrMore(term))("terms")
        + pp.Literal("]").suppress()
        + pp.Optional(suffixes)
    ).set_parse_action(_address)
    attribute = pp.Regex(r"(?:a|t|ttmp|i|o)\[[^\]]*\](?:\[[^\]]*\])?").set_parse_action(_name)
    label = pp.Regex(r"`\([^)]*\)|\(\.?[\w$.]+\)|\.L\w*").set_parse_action(_name)
    relocation = pp.Regex(r"\w+@\w*\(+[^()]*\)+").set_parse_action(_name)  # 32@lo((stress + .L_x_9@srel))
    braces = pp.Regex(r"\{[\d,\s]*\}").set_parse_action(_name)
    name = pp.Regex(r"[1-3]D\b|[A-Za-z_$][\w$.]*(?:@srel)?(?:@\w+)?").set_parse_action(_name)
    operand = (
        relocation
        | constant
        | address
        | attribute
        | register
        | predicate
        | hexadecimal
        | label
        | braces
        | name
        | decimal
    )
    guard = pp.Literal("@").suppress() + pp.Group(predicate)("guard")
    opcode = pp.Regex(r"[A-Z][A-Z0-9_]*(?:\.[A-Za-z0-9_]+)*(?![\w\[])")("opcode")
    operands = pp.Group(operand + pp.ZeroOrMore(pp.Optional(pp.Literal(",")).suppress() + operand))("operands")
    return pp.Optional(guard) + opcode + pp.Optional(operands)


INSTRUCTION = _grammar()
