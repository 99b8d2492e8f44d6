"""Text logs of the original gpu-litmus, of litmus7 and of herd7, and what their tools read of ours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from log_records import TITAN, records, titan_logs

from gpudiy.logs.record import Ending, OutcomeCount, Record, incantation_column
from gpudiy.logs.text_body import read_exact, read_lines
from gpudiy.logs.text_reader import read_text
from gpudiy.logs.text_writer import print_text

LITMUS7 = """\
%%%%%%%%%%%%%%%%%%%%%%%%%
% Results for SB.litmus %
%%%%%%%%%%%%%%%%%%%%%%%%%
X86 SB
"Fre PodWR Fre PodWR"

{x=0; y=0;}

 P0          | P1          ;
 MOV [x],$1  | MOV [y],$1  ;
 MOV EAX,[y] | MOV EAX,[x] ;

exists (0:EAX=0 /\\ 1:EAX=0)
Generated assembler
#START _litmus_P1
	movl $1,(%rsi)

Test SB Allowed
Histogram (4 states)
14    *>0:EAX=0; 1:EAX=0;
499983:>0:EAX=1; 1:EAX=0;
499985:>0:EAX=0; 1:EAX=1;
18    :>0:EAX=1; 1:EAX=1;
Ok

Witnesses
Positive: 14, Negative: 999986
Condition exists (0:EAX=0 /\\ 1:EAX=0) is validated
Hash=2d53e83cd627ba17ab11c875525e078b
Cycle=Fre PodWR Fre PodWR
Relax SB No
Safe=Fre PodWR
Observation SB Sometimes 14 999986
Time SB 0.11

Test MP Required
Histogram (1 states)
1000000:>1:EAX=1; 1:EBX=1;
Ok

Witnesses
Positive: 1000000, Negative: 0
Condition forall (1:EAX=1 /\\ 1:EBX=1) is validated
Hash=11112222333344445555666677778888
Observation MP Always 1000000 0
Time MP 0.25

Machine:laptop
Revision exported, version 7.58
Command line: litmus7 SB.litmus MP.litmus -s 1000
Parameters
#define SIZE_OF_TEST 100000
/* gcc options: -Wall -O2 */
/* barrier: user */
"""
HERD7 = """\
Test SB Allowed
States 4
0:EAX=0; 1:EAX=0;
0:EAX=0; 1:EAX=1;
0:EAX=1; 1:EAX=0;
0:EAX=1; 1:EAX=1;
Ok
Witnesses
Positive: 1 Negative: 3
Flag wrong
Condition exists (0:EAX=0 /\\ 1:EAX=0)
Observation SB Sometimes 1 3
Time SB 0.00
Hash=2d53e83cd627ba17ab11c875525e078b

Test LB Forbidden
States 1
0:EAX=0;
Ok
Witnesses
Positive: 0 Negative: 3
Condition ~exists (0:EAX=1)
Observation LB Never 0 3
Hash=00000000000000000000000000000000
"""


def read(text: str) -> list[Record]:
    columns, problems = read_text(text, "log")
    assert not problems
    return list(columns.records())


@pytest.mark.parametrize("name", TITAN)
def test_logs_of_a_titan_are_read_and_printed_without_loss(name: str, corpus: Path) -> None:
    text = (corpus / "gpu-litmus-titan" / name).read_text()
    (record,) = read(text)
    assert print_text(record) == text
    assert sum(entry.count for entry in record.histogram) == record.iterations
    assert len(record.histogram) == int(re.search(r"Histogram \((\d+)", text)[1])  # type: ignore[index]


def test_what_a_titan_log_says(corpus: Path) -> None:
    record = read(titan_logs(corpus)[0].read_text())[0]
    assert (record.test, record.positive, record.negative, record.iterations) == ("IRIW", 0, 100_002, 100_002)
    assert record.histogram[4] == OutcomeCount("1:r0=0; 1:r2=0; 3:r0=0; 3:r2=1;", 1)
    assert record.condition == "exists (1:r0=1 /\\ 1:r2=0 /\\ 3:r0=1 /\\ 3:r2=0)"
    assert (record.chip, record.architecture, record.seconds) == ("GeForce GTX TITAN", "sm_35", 11.31)
    assert dict(record.device_info)["Number of multiprocessors"] == "14"
    assert record.optcheck == "unchanged"
    assert "Specification clusters: 4\n" in record.optcheck_text
    assert record.optcheck_text.count(": OK\n") == 4
    assert record.text.startswith("GPU_PTX IRIW\n")
    assert record.assembler.count("//START") == 4
    options = dict(record.options)
    assert options["cc options"] == "-arch=sm_35 -lOpenCL"
    assert options["gpu_mem_stress_iterations"] == "0"
    assert options["Command line"] == "./litmus IRIW.litmus -mach GTXTitan.cfg"
    assert incantation_column(record.options) == 16
    assert not record.notes


def test_many_tests_in_one_log(corpus: Path) -> None:
    texts = [log.read_text() for log in titan_logs(corpus)]
    found = read("".join(texts))
    assert found == [read(text)[0] for text in texts]


def test_one_device_block_for_a_whole_run(corpus: Path) -> None:
    """The parameters stand once, behind the last test of a run; the device behind every test, or once."""
    one, two = (log.read_text() for log in titan_logs(corpus)[:2])
    without_parameters = one[: one.index("\nMachine: formal")]
    without_device = one[: one.index("\n  -- device info --")]
    for shortened in (without_parameters, without_device):
        first, second = read(shortened + two)
        assert first.chip == second.chip == "GeForce GTX TITAN"
        assert dict(first.options)["gpu_mem_stress"] == "true"


def test_the_device_of_a_run_is_not_given_to_a_run_before_a_damage(corpus: Path) -> None:
    one, two = (log.read_text() for log in titan_logs(corpus)[:2])
    whole, cut = one[: one.index("\n  -- device info --")], one[: one.index("3:r2=1;")]
    columns, problems = read_text(f"{whole}\n{cut}\n{two}", "log")
    assert len(problems) == 1
    assert columns["chip"] == ["", "GeForce GTX TITAN"]


def test_other_chips_and_missing_parts(corpus: Path) -> None:
    text = titan_logs(corpus)[0].read_text()
    other = text.replace("GeForce GTX TITAN", "Tesla C2075").replace("number:          3", "number:          2")
    record = read(other.replace("number:          5", "number:          0"))[0]
    assert (record.chip, record.architecture) == ("Tesla C2075", "sm_20")
    without_optcheck = re.sub(r"Binary '.*!!SUCCESS!!\n", "", text, flags=re.DOTALL)
    assert read(without_optcheck)[0].optcheck == ""
    bare = text[text.index("Test IRIW") : text.index("Observation")]
    record = read(bare)[0]
    assert (record.iterations, record.chip, record.text) == (100_002, "", "")
    no_header = text[text.index("GPU_PTX") :]
    assert read(no_header)[0].text == read(text)[0].text


def test_weak_outcomes_are_marked_where_the_log_does_not(corpus: Path) -> None:
    text = titan_logs(corpus)[0].read_text()
    seen = text.replace("12730 :>1:r0=1; 1:r2=1; 3:r0=1; 3:r2=1;", "12730 :>1:r0=1; 1:r2=0; 3:r0=1; 3:r2=0;")
    seen = seen.replace("Positive: 0, Negative: 100002", "Positive: 12730, Negative: 87272")
    seen = seen.replace("is NOT validated", "is validated").replace("Never 0 100002", "Sometimes 12730 87272")
    record = read(seen)[0]
    assert [entry.count for entry in record.histogram if entry.weak] == [12730]


def test_optcheck_refuses_and_tests_crash(corpus: Path) -> None:
    text = titan_logs(corpus)[0].read_text()
    refused = text[: text.index("Test IRIW")].replace("Cluster 1: OK", "Cluster 1: Failure")
    refused = refused.replace("!!SUCCESS!!", "!!FAILURE!!")
    crashed = text[: text.index("Binary")] + "GPUAssert: unspecified launch failure IRIW.cu 1241\n"
    found = read(refused + crashed + text)
    by_ending = {record.ending: record for record in found}
    assert by_ending[Ending.REFUSED].optcheck == "optimised"
    assert "launch failure" in by_ending[Ending.CRASHED].reason
    assert by_ending[Ending.FINISHED].iterations == 100_002
    ran = read(text.replace("!!SUCCESS!!", "!!FAILURE!!"))[0]
    assert (ran.optcheck, ran.iterations) == ("optimised", 100_002)


def test_names_that_were_made_unique(corpus: Path) -> None:
    """The original log2log writes the scope tree and the memory map into the name of the test."""
    text = titan_logs(corpus)[0].read_text().replace("GPU_PTX IRIW", "GPU_PTX IRIW-p0::p1:p2:p3-ygxg")
    assert read(text)[0].test == "IRIW-p0::p1:p2:p3-ygxg"


def test_unknown_lines_are_kept(corpus: Path) -> None:
    text = titan_logs(corpus)[0].read_text()
    record = read(text.replace("\nMachine: formal", "\nTemperature 71 C\nMachine: formal"))[0]
    assert record.notes == "Temperature 71 C"


def test_litmus7() -> None:
    sb, mp = read(LITMUS7)
    assert (sb.test, sb.positive, sb.negative, sb.seconds) == ("SB", 14, 999_986, 0.11)
    assert sb.histogram[0] == OutcomeCount("0:EAX=0; 1:EAX=0;", 14, weak=True)
    assert sb.hash == "2d53e83cd627ba17ab11c875525e078b"
    assert sb.text.startswith("X86 SB\n")
    assert "Relax SB No" in sb.notes
    assert (mp.condition, mp.positive, mp.negative) == ("forall (1:EAX=1 /\\ 1:EBX=1)", 1_000_000, 0)
    for record in (sb, mp):
        assert dict(record.options)["Machine"] == "laptop"
        assert record.tool == "exported, version 7.58"


def test_herd7() -> None:
    sb, lb = read(HERD7)
    assert (sb.positive, sb.negative, len(sb.histogram)) == (1, 3, 4)
    assert sb.condition == "exists (0:EAX=0 /\\ 1:EAX=0)"
    assert lb.condition == "~exists (0:EAX=1)"
    assert lb.hash == "0" * 32


@given(records(failed=False))
def test_the_tools_of_the_herd_family_read_our_text(record: Record) -> None:
    assert herd_reads(print_text(record)) == [
        (
            record.test,
            {"exists": "Allowed", "~exists": "Forbidden", "forall": "Required"}.get(
                record.condition.split(" ")[0], "Allowed"
            ),
            [(entry.count, entry.outcome) for entry in record.histogram],
            (record.positive, record.negative),
        )
    ]


@given(records())
def test_their_tools_pass_over_what_failed(record: Record) -> None:
    expected = int(record.ending in (Ending.FINISHED, Ending.STOPPED))
    assert len(herd_reads(print_text(record))) == expected


@given(records(failed=False))
def test_exact_lines_and_single_lines_say_the_same(record: Record) -> None:
    """A result is read at once where its lines are exact, and line by line else: both read the same."""
    text = print_text(record)
    start = text.index("Test ")
    (exact,) = read_exact(text, [start], [len(text)])
    if exact is not None:
        row, end = read_lines(text, start, len(text))
        assert {name: value for name, value in row.items() if value not in ("", None)} == {
            name: value for name, value in exact[0].items() if value not in ("", None)
        }
        assert end == exact[1]


NAME = r"[A-Za-z0-9_/.+\[\]-]+"
BINDING = (
    r"[ \t]*(?:\d+:[A-Za-z][\w.]*|\[?[A-Za-z][\w.]*\]?)[ \t]*=[ \t]*(?:-?(?:\d+|0x[0-9a-fA-F]+)|[A-Za-z][\w.]*)[ \t]*;"
)


def herd_reads(text: str) -> list[tuple[str, str, list[tuple[int, str]], tuple[int, int]]]:
    """A log by the rules of the lexer of the herd family, line for line; a line it cannot read is an error."""
    found = []
    lines = iter(text.splitlines())
    for line in lines:
        head = re.fullmatch(rf"Test[ \t]+({NAME})[ \t]+(Allowed|Forbidden|Required)", line)
        if head is None:
            continue
        while not re.fullmatch(r"Histogram \(\d+ states\)", line := next(lines)):
            if line.startswith("Fatal:"):
                break
        if line.startswith("Fatal:"):
            continue
        states = []
        while not re.match(r"(?:Undef|Succeeded|Failed|Ok|No|\?\?)", line := next(lines)):
            state = re.fullmatch(rf"(\d+)[ \t]*[:*]>((?:{BINDING})*)[ \t]*", line)
            assert state is not None, line
            states.append((int(state[1]), state[2].strip()))
        assert next(lines) == ""
        assert next(lines) == "Witnesses"
        counts = re.fullmatch(r"Positive: (\d+), Negative: (\d+)", next(lines))
        assert counts is not None
        found.append((head[1], head[2], states, (int(counts[1]), int(counts[2]))))
        for line in lines:
            assert re.fullmatch(
                rf"Condition .* is (?:NOT )?validated|Hash=\S+|Observation {NAME} (?:Never|Sometimes|Always) \d+ \d+"
                rf"|Time {NAME} \d+\.\d+",
                line,
            ), line
            if line.startswith("Time"):
                break
    return found
