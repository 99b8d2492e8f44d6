"""Outcomes: one text, which is read back as the state it was printed from."""

from __future__ import annotations

from gpudiy.litmus import read_test
from gpudiy.litmus.condition import AddressOf, FinalRegister, FinalVariable
from gpudiy.litmus.outcome import final_state, outcome_text, read_outcome, satisfies

TEST = """GPU_PTX addresses
"the last register holds an address"
{0:.reg .s32 r1; 0:.reg .b64 r2; 0:.reg .b64 r3 = x; x = 0;}
 P0              ;
 ld.cg.s32 r1,[r3] ;
 mov.b64 r2,r3   ;
(device (kernel (cta (warp P0))))
x: global
exists (0:r1=-1 /\\ 0:r2=&x /\\ x=7)
"""


def test_the_text_of_an_outcome_is_read_back_as_its_state() -> None:
    test = read_test(TEST)
    outcome = (-1, AddressOf("x"), 7)
    text = outcome_text(test, outcome)
    assert text == "0:r1=-1; 0:r2=&x; x=7;"
    assert read_outcome(text) == final_state(test, outcome)
    assert satisfies(read_outcome(text), test.condition.expression)


def test_numbers_and_names_are_read_however_they_are_spelt() -> None:
    assert read_outcome("0:r1=0x10; [x]=+2; y=&x;") == {
        FinalRegister(0, "r1"): 16,
        FinalVariable("x"): 2,
        FinalVariable("y"): AddressOf("x"),
    }
    assert read_outcome("y=x;") == {FinalVariable("y"): AddressOf("x")}


def test_a_state_that_leaves_out_what_is_asked_does_not_satisfy_it() -> None:
    test = read_test(TEST)
    assert not satisfies(read_outcome("0:r1=-1; x=7;"), test.condition.expression)
