"""Bad input gets the right message at the right place, and nothing else is ever raised."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest
from conftest import DATA, corpus_folder

from gpudiy.litmus.errors import LitmusError
from gpudiy.litmus.reader import decode, read_each, read_test, read_tests

CASE = re.compile(r"=== (.+)\n((?:.*\n)*?)--- (.+)\n")
CASES = [match.groups() for match in CASE.finditer((DATA / "litmus" / "errors.cases").read_text())]
MUTANTS = 20_000


def error_of(text: str) -> LitmusError:
    with pytest.raises(LitmusError) as caught:
        list(read_tests(text, "bad.litmus"))
    return caught.value


@pytest.mark.parametrize(("name", "text", "expected"), CASES, ids=[name for name, _, _ in CASES])
def test_case(name: str, text: str, expected: str) -> None:
    error = error_of(text)
    assert f"{error.line}:{error.column}: {error.message}" == expected
    assert "{" not in error.message.replace("`{`", "")  # nothing of the parser's own names
    assert type(error) is LitmusError  # with its place, not the rule's own


def test_there_are_cases() -> None:
    assert len(CASES) > 70


def test_message_form() -> None:
    text = (
        (DATA / "litmus" / "figures" / "A.1-sb.litmus")
        .read_text()
        .replace("ld.cg.s32 r2,[r3] :", "ld.cg.s32 r9,[r3] :")
    )
    lines = str(error_of(text)).splitlines()
    assert lines[0] == "bad.litmus:15:11: error: register r9 of P0 is not declared"
    assert lines[1] == "  ld.cg.s32 r9,[r3] : ld.cg.s32 r2,[r3]"
    assert lines[2].index("^") == lines[1].index("r9")


def test_a_line_of_ten_megabytes() -> None:
    error = error_of("GPU_PTX big\n" + "x" * 10_000_000 + "\n")
    assert (error.line, error.message) == (2, "this line has 10,000,000 characters, more than 65,536")
    assert len(str(error)) < 1000


def test_a_line_that_is_long_but_not_too_long_is_cut_in_the_message() -> None:
    error = error_of("GPU_PTX big\nP0 : P1\n" + "x" * 60_000 + ",\n(device P0 P1)\nx: global\nx=1\n")
    assert error.line == 3
    assert max(map(len, str(error).splitlines())) < 200


def test_binary_input() -> None:
    for data in (b"GPU_PTX SB\n\0\1", os.urandom(64) + b"\0", b"GPU_PTX \xff\xfe"):
        with pytest.raises(LitmusError, match="binary") as caught:
            decode(data, "binary.litmus")
        assert caught.value.line is not None and caught.value.column is not None
    with pytest.raises(LitmusError) as caught:
        decode(b"GPU_PTX SB\nab\0c", "binary.litmus")
    assert (caught.value.line, caught.value.column) == (2, 3)


def test_other_line_ends_and_a_byte_order_mark(figures: list[Path]) -> None:
    for figure in figures:
        text = figure.read_text()
        assert (
            read_test("\ufeff" + text.replace("\n", "\r\n")) == read_test(text) == read_test(text.replace("\n", "\r"))
        )


def test_deep_nesting_is_refused() -> None:
    start = "GPU_PTX deep\nP0\nst.cg [x],1\n"
    for text in (
        f"{start}(device P0)\nx: global\n{'(' * 5000}x=1{')' * 5000}\n",
        f"{start}(device P0)\nx: global\n{'not ' * 5000}x=1\n",
        f"{start}(device P0)\nx: global\n{'x=1 => ' * 5000}x=1\n",
        f"{start}{'(device ' * 5000}P0{')' * 5000}\nx: global\nx=1\n",
    ):
        assert "nested more than" in error_of(text).message


def test_every_prefix_is_refused_with_a_place(figures: list[Path]) -> None:
    """A truncated file is never taken for a test, but for what only lacks its last characters."""
    for figure in figures:
        text = figure.read_text().rstrip()
        for length in range(len(text)):
            try:
                list(read_tests(text[:length], "cut.litmus"))
            except LitmusError as error:
                assert error.line is not None and error.column is not None
            else:
                assert length > text.rindex("\n")  # inside the condition


def originals() -> list[str]:
    folder = corpus_folder()
    files = sorted((DATA / "litmus").rglob("*.litmus")) + (sorted(folder.rglob("*.litmus")) if folder else [])
    return [file.read_text() for file in files]


def mutant(text: str, source: random.Random) -> str:
    """One to four faults: bytes flipped, lines dropped or doubled, tokens swapped or repeated."""
    for _ in range(source.randint(1, 4)):
        kind = source.randrange(5)
        if kind == 0 and text:
            at = source.randrange(len(text))
            text = (
                text[:at]
                + chr(source.choice([source.randrange(1, 128), ord(text[at]) ^ 1 << source.randrange(7)]))
                + text[at + 1 :]
            )
        elif kind in (1, 2):
            lines = text.split("\n")
            at = source.randrange(len(lines))
            lines[at : at + 1] = [] if kind == 1 else [lines[at]] * 2
            text = "\n".join(lines)
        else:
            tokens = re.split(r"(\W+)", text)
            one, other = source.randrange(len(tokens)), source.randrange(len(tokens))
            tokens[one], tokens[other] = tokens[other], tokens[one] if kind == 3 else tokens[other]
            text = "".join(tokens)
    return text


@pytest.mark.parametrize("share", range(4))
def test_mutants_are_read_or_refused_with_a_place(share: int) -> None:
    texts = originals()
    source = random.Random(share)
    read = 0
    for _ in range(MUTANTS // 4):
        text = mutant(source.choice(texts), source)
        try:
            list(read_tests(text, "mutant.litmus"))
            read += 1
        except LitmusError as error:
            assert error.line is not None and error.column is not None
            assert 1 <= error.line <= text.count("\n") + text.count("\r") + 1
            str(error)
    assert 0 < read < MUTANTS // 8  # mutants do bite, and not all of them kill


def test_negations_side_by_side_are_not_nested() -> None:
    start = "GPU_PTX wide\nP0\nst.cg [x],1\n(device P0)\nx: global\n"
    for part in ("~(x=1)", "not x=1", "(x=1 => x=2)"):
        assert read_test(start + " /\\ ".join([part] * 60))


def test_what_may_stand_on_one_line() -> None:
    start = "GPU_PTX line\nP0\nld.cg r0,[x]\n(device P0)\nx: global\n"
    assert read_test(f"{start}observed (0:r0=1)\n") == read_test(f"{start}exists (0:r0=1)\n")
    assert read_test(f"{start}filter (x=1) exists (0:r0=1)\n") == read_test(f"{start}filter (x=1)\nexists (0:r0=1)\n")
    assert read_test(f"{start}locations [r0;]\nr0=1\n") == read_test(f"{start}locations [0:r0;]\n0:r0=1\n")


def test_hints() -> None:
    rest = "(device P0)\nx: global\nx=1\n"
    assert error_of(f"GPU_PTX h\nP0\nld.qq r0,[x]\n{rest}").hint.startswith("modifiers: weak, relaxed")  # type: ignore[union-attr]
    assert error_of(f"GPU_PTX h\nP0\nfoo r0\n{rest}").hint.startswith("operators: ld, ")  # type: ignore[union-attr]
    assert error_of(f"GPU_PTX h\nP0\nst [z],1\n{rest}").hint == "if z is a variable, add `z: global` to the memory map"


def test_every_test_of_a_text_is_read_or_refused() -> None:
    good = (DATA / "litmus" / "figures" / "A.1-sb.litmus").read_text()
    bad = good.replace("ld.cg", "ld.zz")
    found = list(read_each(f"{bad}{good}GPU_PTX nothing\nrubbish\n{good}{bad}"))
    kinds = [getattr(one, "line", 0) for one in found]
    lines = good.count("\n")
    assert kinds == [15, 0, 2 * lines + 3, 0, 3 * lines + 2 + 15]
