"""Chips compared: published data, what a zero is worth, tests matched by meaning, logs held against models."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from log_records import titan_logs

from gpudiy.cli import main
from gpudiy.litmus import Test, content_hash, print_test, read_test
from gpudiy.litmus.condition_text import condition_text
from gpudiy.logs import Columns, load_log, write_log
from gpudiy.logs.chips import chip_key
from gpudiy.logs.comparison import Pair, Relation, compare_chips, is_supported, strength_order
from gpudiy.logs.conformance import Agreement, conform
from gpudiy.logs.evidence import Count, gather
from gpudiy.logs.histogram import make_histogram
from gpudiy.logs.matching import match_tests
from gpudiy.logs.operations import sum_records
from gpudiy.logs.record import Ending, Liveness, OutcomeCount, Record
from gpudiy.logs.statistics import rate, zero_bound
from gpudiy.models.library import load_model
from gpudiy.models.verdict import outcomes


def counted(test: str, chip: str, positive: int, iterations: int = 100_000) -> Record:
    return Record(test, chip=chip, positive=positive, negative=iterations - positive, iterations=iterations)


def pair_of(records: list[Record]) -> Pair:
    (pair,) = compare_chips(gather(Columns.of(records)))
    return pair


def test_published_data_titan_is_weaker_than_gtx_750(corpus: Path) -> None:
    """On every published test where both have counts, what the 750 shows, the Titan shows too."""
    log = load_log([corpus / "observations" / "observations.csv", corpus / "observations" / "msthesis-tables.csv"])
    shipped = load_log(ROOT / "logs" / "thesis.jsonl")
    log.columns.extend(shipped.columns)
    evidence = gather(log.columns)
    names = evidence.chips.names
    pair = next(
        pair for pair in compare_chips(evidence) if {names[pair.first], names[pair.second]} == {"GTX Titan", "GTX 750"}
    )
    assert (names[pair.first], pair.relation) == ("GTX Titan", Relation.WEAKER)
    assert pair.common >= 90
    assert not pair.stronger
    assert len(pair.weaker) >= 30


def test_a_zero_is_a_difference_only_when_it_is_worth_one() -> None:
    many = pair_of([counted("mp", "A", 100), counted("mp", "B", 0)])
    assert many.relation is Relation.WEAKER
    few = pair_of([counted("mp", "A", 100), counted("mp", "B", 0, 100)])
    assert few.relation is Relation.UNDECIDED
    assert len(few.doubtful) == 1
    once = pair_of([counted("mp", "A", 1), counted("mp", "B", 0)])
    assert once.relation is Relation.UNDECIDED


def test_relations() -> None:
    a, b = counted("mp", "A", 500), counted("mp", "B", 0)
    assert pair_of([b, replace(a, chip="A")]).relation is Relation.STRONGER
    assert pair_of([a, replace(a, chip="B")]).relation is Relation.EQUAL
    crossed = [a, b, counted("sb", "A", 0), counted("sb", "B", 500)]
    assert pair_of(crossed).relation is Relation.INCOMPARABLE
    assert pair_of([a, counted("sb", "B", 5)]).relation is Relation.UNRELATED


@given(st.integers(1, 10**5), st.integers(10**5, 10**7), st.integers(1, 10**7), st.sampled_from((0.9, 0.95, 0.99)))
def test_the_quick_bound_never_disagrees_with_the_exact_one(
    sightings: int, iterations: int, others: int, confidence: float
) -> None:
    exact = rate(sightings, iterations, confidence).low > zero_bound(others, confidence)
    assert is_supported(Count(sightings, iterations), Count(0, others), confidence) == exact


def test_order_of_strength_leaves_out_what_follows() -> None:
    records = [
        counted(test, chip, 900 * (chip in shown))
        for test, shown in (("t1", "ABC"), ("t2", "AB"), ("t3", "A"))
        for chip in "ABC"
    ]
    evidence = gather(Columns.of(records))
    steps = [
        (evidence.chips.names[pair.first], evidence.chips.names[pair.second])
        for pair in strength_order(compare_chips(evidence))
    ]
    assert steps == [("A", "B"), ("B", "C")]


def test_what_is_no_evidence_is_set_apart() -> None:
    """Mutants of a sound record: each fault takes it out of the counts."""
    sound = replace(
        counted("mp", "A", 0), liveness=Liveness(5, 0, 5, 9), optcheck="unchanged", options=(("memory_stress", "true"),)
    )
    faults = [
        replace(sound, ending=Ending.TIMEOUT),
        replace(sound, ending=Ending.DEVICE_LOST, positive=7, negative=99_993),
        replace(sound, optcheck="reordered"),
        replace(sound, optcheck="error"),
        replace(sound, liveness=Liveness(0, 9, 0, 9)),
        replace(sound, liveness=Liveness(5, 0, 5, 0)),
        replace(sound, iterations=0, negative=0),
    ]
    assert not gather(Columns.of([sound])).apart
    for fault in faults:
        evidence = gather(Columns.of([sound, fault]))
        assert evidence.apart.total() == 1
        assert evidence.counts[0][0].iterations == 100_000


def test_tests_match_by_meaning_and_clashes_are_told(figures: list[Path], corpus: Path) -> None:
    test = read_test(next(path for path in figures if "sb" in path.name.lower()).read_text())
    other = replace(test, name="another-name")
    hashed = Record("SB", hash=content_hash(test), tool="gpudiy 1")
    assert match_tests(Columns.of([hashed, replace(hashed, test="other")])).tests == [0, 0]
    assert match_tests(Columns.of([hashed, Record("SB", text=print_test(test))])).tests == [0, 0]
    assert match_tests(
        Columns.of([Record("SB", text=print_test(test)), Record("x", text=print_test(other))])
    ).tests == [
        0,
        0,
    ]
    assert match_tests(Columns.of([hashed, Record("SB")])).tests == [0, 0]
    foreign = replace(hashed, hash="1" * 32, tool="litmus7")
    assert match_tests(Columns.of([hashed, foreign])).tests == [0, 0]
    clash = match_tests(Columns.of([hashed, replace(hashed, hash="2" * 32)]))
    assert clash.tests == [0, 1]
    assert len(clash.clashes) == 1
    titan = match_tests(load_log(titan_logs(corpus)).columns)  # two of the three tests are called CoRR
    assert len(set(titan.tests)) == 3
    assert "CoRR names 2 different tests" in titan.clashes[0]


def test_chips_by_any_spelling() -> None:
    assert chip_key("NVIDIA GeForce GTX TITAN") == chip_key("GTX Titan")
    assert chip_key("GTX TITAN X") != chip_key("GTX Titan")
    assert chip_key("AMD Radeon HD 7970") == chip_key("HD 7970")


def log_under(tests: list[Test], model: str, chip: str = "sim") -> list[Record]:
    """A log in which every outcome that the model allows was seen."""
    found = []
    for test in tests:
        seen = make_histogram(test, dict.fromkeys(outcomes(test, load_model(model)), 10))
        found.append(
            Record(
                test.name,
                hash=content_hash(test),
                text=print_test(test),
                condition=condition_text(test.condition),
                chip=chip,
                histogram=seen.entries,
                positive=seen.positive,
                negative=seen.negative,
                iterations=seen.positive + seen.negative,
                optcheck="unchanged",
            )
        )
    return found


@pytest.fixture(scope="module")
def figure_tests(figures: list[Path]) -> list[Test]:
    return [read_test(path.read_text(), str(path)) for path in figures]


@pytest.mark.parametrize("model", ["sc", "tso", "ptx-asplos15"])
def test_what_a_model_allows_conforms_to_it(model: str, figure_tests: list[Test]) -> None:
    found = conform(Columns.of(log_under(figure_tests, model)), load_model(model))
    assert not found.findings
    assert len(found.judged) == len(figure_tests)
    assert found.count(Agreement.FORBIDDEN) == found.count(Agreement.NEVER) == 0


def test_what_a_model_forbids_is_found_with_its_check(figure_tests: list[Test]) -> None:
    records = log_under(figure_tests, "ptx-asplos15")
    found = conform(Columns.of(records), load_model("sc"))
    assert found.count(Agreement.FORBIDDEN) == len(records)
    assert {finding.test for finding in found.findings} == {record.test for record in records}
    assert all(finding.checks for finding in found.findings)
    sound = [replace(record, optcheck="reordered") for record in records]
    assert not conform(Columns.of(sound), load_model("sc")).judged


def test_every_outcome_is_held_against_the_model(figure_tests: list[Test]) -> None:
    """A mutant: one outcome that the condition does not ask for, and that no execution gives."""
    (record,) = log_under(figure_tests[:1], "sc")
    names = [part.split("=")[0].strip() for part in record.histogram[0].outcome.split(";") if part.strip()]
    wrong = OutcomeCount(" ".join(f"{name}=77;" for name in names), 1)
    mutant = replace(
        record, histogram=(*record.histogram, wrong), negative=record.negative + 1, iterations=record.iterations + 1
    )
    (finding,) = conform(Columns.of([mutant]), load_model("ptx-asplos15")).findings
    assert finding.outcome == wrong.outcome
    assert finding.checks == ()


SPELT = """GPU_PTX MP-{name}
{{0:.reg .s32 r0; 1:.reg .s32 r1; 1:.reg .s32 r2;}}
 P0 | P1 ;
 st.cg.s32 [x],1 | ld.cg.s32 {one},[x] ;
 st.cg.s32 [y],2 | ld.cg.s32 {other},[y] ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
x: global, y: global
exists (1:{one}=0 /\\ 1:{other}=2)
"""


def test_registers_of_other_names_are_their_own() -> None:
    """Tests of one meaning are one test, but each record speaks of its own registers."""
    tests = [
        read_test(SPELT.format(name=1, one="r1", other="r2")),
        read_test(SPELT.format(name=2, one="r2", other="r1")),
    ]
    records = [replace(record, tool="gpudiy 1.0") for record in log_under(tests, "sc")]
    assert records[0].hash == records[1].hash
    found = conform(Columns.of(records), load_model("sc"))
    assert not found.findings
    assert [entry.iterations for entry in found.judged] == [sum(record.iterations for record in records)]
    (total,) = sum_records([replace(record, test="MP") for record in records])
    assert (total.positive, total.histogram) == (sum(record.positive for record in records), ())


COUNTED = """GPU_PTX counted
{0:.reg .s32 r0; 0:.reg .s32 r1; 0:.reg .pred p;}
 P0 | P1 ;
 L: | st.cg.s32 [y],1 ;
 ld.cg.s32 r0,[y] | ;
 add.s32 r1,r1,1 | ;
 setp.eq.s32 p,r0,0 | ;
 @p bra L | ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
y: global
exists (0:r1=1)
"""


def test_an_outcome_that_may_need_more_passes_is_not_judged() -> None:
    """It was taken for one that conforms."""
    text = print_test(read_test(COUNTED))
    for passes, judged in ((1, 1), (1_000_000, 0)):
        histogram = (OutcomeCount("0:r1=1;", 9), OutcomeCount(f"0:r1={passes};", 1))
        record = Record("counted", text=text, histogram=histogram, positive=9, negative=1, iterations=10, chip="x")
        found = conform(Columns.of([record]), "sc", limit=0.3)
        assert not found.findings and len(found.judged) == judged
        assert found.apart["undecided (bounded): a loop may go round more often than was looked at"] == 1 - judged


@pytest.mark.parametrize("sightings", [0, 5])
def test_what_a_model_does_not_speak_of_is_not_judged(
    sightings: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A test with .ca loads, seen or not, neither breaks the model of ASPLOS'15 nor conforms to it."""
    test = read_test((ROOT / "tests" / "data" / "models" / "MP-ca-membar.sys.litmus").read_text())
    histogram = (OutcomeCount("1:r0=1; 1:r1=0;", sightings), OutcomeCount("1:r0=1; 1:r1=1;", 100 - sightings))
    record = Record(
        test.name, text=print_test(test), histogram=tuple(line for line in histogram if line.count),
        positive=sightings, negative=100 - sightings, iterations=100, chip="x",
        condition=condition_text(test.condition),
    )  # fmt: skip
    found = conform(Columns.of([record]), "ptx-asplos15")
    assert not found.findings and not found.judged
    ((reason, number),) = found.apart.items()
    assert (
        reason.startswith("undecided (not supported): the model ptx-asplos15 gives no meaning to `ld.ca")
        and number == 1
    )
    log = tmp_path / "x.jsonl"
    write_log(Columns.of([record]), str(log))
    assert main(["conform", str(log), "--model", "ptx-asplos15"]) == 2
    shown = capsys.readouterr()
    assert "1 record, undecided (not supported)" in shown.out and "no record could be judged" in shown.err
    assert main(["conform", str(log), "--model", "ptx-6.0"]) == bool(sightings)


def test_without_histogram_or_text(figure_tests: list[Test]) -> None:
    test = figure_tests[0]
    bare = Record(
        test.name, positive=5, negative=95, iterations=100, condition=condition_text(test.condition), chip="x"
    )
    nothing = conform(Columns.of([bare]), load_model("sc"))
    assert nothing.apart["without the text of its test"] == 1
    found = conform(Columns.of([bare]), load_model("sc"), tests=[test])
    assert found.count(Agreement.FORBIDDEN) == 1
    never = conform(Columns.of([replace(bare, positive=0, negative=100)]), load_model("ptx-asplos15"), tests=[test])
    assert never.count(Agreement.NEVER) == 1


def test_the_verbs(figure_tests: list[Test], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weak, strong = tmp_path / "weak.jsonl", tmp_path / "strong.txt"
    write_log(Columns.of(log_under(figure_tests, "ptx-asplos15", "weak chip")), str(weak))
    one_sided = [
        replace(record, negative=record.negative * 1000, histogram=(), iterations=record.negative * 1000)
        for record in log_under(figure_tests, "sc", "strong chip")
    ]
    write_log(Columns.of(one_sided), str(strong))
    assert main(["compare", str(weak), str(strong)]) == 1
    assert "weak chip is weaker than strong chip" in capsys.readouterr().out
    assert main(["compare", str(weak), str(strong), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["order"] == [["strong chip", "weak chip"]]
    assert main(["compare", str(weak)]) == 2
    assert main(["conform", str(weak), "--model", "ptx-asplos15"]) == 0
    assert main(["conform", str(weak), "--model", "sc", "--json"]) == 1
    capsys.readouterr()
    assert main(["conform", str(weak), "--model", "sx"]) == 2
    assert "unknown model" in capsys.readouterr().err
    assert main(["conform", str(tmp_path / "none"), "--model", "sc"]) == 2
