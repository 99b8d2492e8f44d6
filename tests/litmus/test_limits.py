"""Large and hostile tests cost what their size says: each of these took minutes, or for ever, in some version."""

from __future__ import annotations

import pickle
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gpudiy.errors import near_name
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.errors import InvalidTest, LitmusError, SourcePlace
from gpudiy.litmus.memory_map import MappedVariable, MemoryMap
from gpudiy.litmus.reader import read_test, read_tests
from gpudiy.litmus.shape import shape_hash

PATIENCE = 120  # seconds: nothing here is about speed, but some of it once took for ever
REST = "(device P0)\nx: global\nx=1\n"


@contextmanager
def ending() -> Iterator[None]:
    """Gives up on work that does not end."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def refused(text: str) -> LitmusError:
    with ending(), pytest.raises(LitmusError) as caught:
        list(read_tests(text))
    assert caught.value.line is not None and caught.value.column is not None
    return caught.value


DIGITS = "1" * 5000


@pytest.mark.parametrize(
    "text",
    [
        f"GPU_PTX T\nP{DIGITS}\nst [x],1\n{REST}",
        f"GPU_PTX T\nP0\nbar.sync.inst{DIGITS} 0\n{REST}",
        f"GPU_PTX T\nP0\nst [x],{DIGITS}\n{REST}",
        f"PTX T\n{{\n}}\n P0@cta {DIGITS},gpu 0 ;\n st.weak x, 1 ;\nexists (x == 1)\n",
        f"PTX T\n{{\n}}\n P0@cta 0,gpu {DIGITS} ;\n st.weak x, 1 ;\nexists (x == 1)\n",
    ],
)
def test_numbers_of_thousands_of_digits(text: str) -> None:
    refused(text)


@pytest.mark.parametrize(
    "text",
    [
        "GPU_PTX T\n" + "P0 " + " " * 60_000 + "x\n",
        "GPU_PTX T\nP0\n" + "\n" * 60_000 + "x",
        "GPU_PTX T\nP0\nst [x],1\n(device P0)\nx: global, " + "a" * 60_000,
        "GPU_PTX T\n" + "(* " * 60_000,
        "GPU_PTX T\n" + '"\\' * 60_000,
        "GPU_PTX T\n" * 20_000,
        "GPU_PTX T\nP0\nst [x],1\n(device P0)" + "\n" * 200_000 + "?",
    ],
    ids=["threads", "rows", "map", "comments", "strings", "headers", "blank lines"],
)
def test_patterns_that_almost_match(text: str) -> None:
    refused(text)


def test_many_registers_and_cells() -> None:
    declared = "".join(f"0:.reg .s32 r{n};\n" for n in range(3000))
    moves = "".join(f"mov.s32 r{n},1\n" for n in range(3000))
    with ending():
        test = read_test(f"GPU_PTX T\n{declared}P0\n{moves}{REST}")
        assert len(test.threads[0]) == 3000
        content_hash(test)
        shape_hash(test)


def test_addresses_that_move_backwards() -> None:
    moves = "".join(f"mov.b64 r{n},r{n + 1}\n" for n in range(3000)) + "mov.b64 r3000,x\n"
    with ending():
        read_test(f"GPU_PTX T\nP0\nst.s32 [r0],1\n{moves}{REST}")
        read_test(f"GPU_PTX T\nP0\nst [r0],1\n{moves.replace('.b64', '')}{REST}")


def test_many_variables() -> None:
    names = [f"v{n}" for n in range(3000)]
    memory = ",\n".join(f"{name}: global" for name in names)
    init = "".join(f"{name} = &v{n + 1};\n" for n, name in enumerate(names[:-1]))
    stores = "".join(f"ld.b64 r0,[{name}]\n" for name in names)
    with ending():
        content_hash(read_test(f"GPU_PTX T\n{init}P0\n{stores}(device P0)\n{memory}\nexists (v0=&v1)\n"))


def test_aliases_in_a_chain() -> None:
    variables = [MappedVariable("v0"), *(MappedVariable(f"v{n}", aliases=f"v{n - 1}") for n in range(1, 3000))]
    memory_map = MemoryMap(tuple(variables))
    with ending():
        assert set(memory_map.locations().values()) == {"v0"}
    assert memory_map.location_of("v7") == "v0"
    loop = MemoryMap((MappedVariable("a", aliases="b"), MappedVariable("b", aliases="a"), MappedVariable("c")))
    assert loop.locations()["c"] == "c"


def test_near_names_among_many() -> None:
    with ending():
        assert near_name("LABELX", [f"LABEL{n}" for n in range(600_000)])


def test_symmetric_tests_have_a_shape() -> None:
    """Variables that only the condition knows, and pairs of threads that have nothing to do with one another."""
    names = [f"v{n}" for n in range(14)]
    memory = ", ".join(f"{name}: global" for name in names)
    asked = " /\\ ".join(f"{name}=0" for name in names)
    pairs = " | ".join(f"P{n}" for n in range(16))
    stores = " | ".join(f"st [w{n // 2}],1" for n in range(16))
    loads = " | ".join(f"ld r0,[w{n // 2}]" for n in range(16))
    tree = " ".join(f"(cta P{n})" for n in range(16))
    with ending():
        shape_hash(read_test(f"GPU_PTX T\nP0\nst [v0],1\n(device P0)\n{memory}\n{asked}\n"))
        shape_hash(
            read_test(
                f"GPU_PTX T\n{{\n}}\n{pairs} ;\n{stores} ;\n{loads} ;\n(device {tree})\n"
                + ", ".join(f"w{n}: global" for n in range(8))
                + "\nexists (w0=1)\n"
            )
        )


def test_a_test_too_large_is_refused() -> None:
    assert "262,144 characters" in refused("GPU_PTX T\n" + "P0\n" * 90_000).message


def test_near_names() -> None:
    assert near_name("lod", ("ld", "st")) == "did you mean 'ld'?"
    assert near_name("cq", ("ca", "wb")) == "did you mean 'ca'?"
    assert near_name("zz", ("ca", "cz")) == "did you mean 'cz'?"
    assert near_name("abc", ("cab", "bca")) is None
    assert near_name("aquire", ("acquire", "release")) == "did you mean 'acquire'?"


def test_errors_can_be_sent_to_another_process() -> None:
    error = InvalidTest("message", SourcePlace("test"), "hint")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.message, again.place, again.hint) == (
        InvalidTest,
        "message",
        SourcePlace("test"),
        "hint",
    )
    placed = refused("")
    assert str(pickle.loads(pickle.dumps(placed))) == str(placed)
