"""Progress: the published shapes, an oracle that shares nothing, and what guarantees have to do with each other."""

from __future__ import annotations

import re
from functools import cache
from itertools import chain, combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudiy.litmus.instruction import Branch
from gpudiy.litmus.reader import read_test
from gpudiy.litmus.test import Test
from gpudiy.models.library import load_model
from gpudiy.models.progress.guarantee import EndlessRun, ProgressGuarantee, groups_of, permits
from gpudiy.models.progress.lockstep import meeting_points
from gpudiy.models.progress.one_location import behaves_as_sc
from gpudiy.models.progress.report import picture_of_hang, progress_text
from gpudiy.models.progress.stuck import StuckSearch
from gpudiy.models.progress.verdict import ProgressAnswer, decide_progress
from gpudiy.models.verdict import Answer, decide, outcomes

FOLDER = Path(__file__).parent.parent / "data" / "progress"
EXPECT = re.compile(r"\(\* progress(?: (\S+))?: (.*) \*\)")
THREADS = (ProgressGuarantee.FAIR, ProgressGuarantee.HSA, ProgressGuarantee.OBE, ProgressGuarantee.LOBE)


def cases() -> list[tuple[str, str, str, str]]:
    """File, memory model, guarantee, answer."""
    found = []
    for file in sorted(FOLDER.glob("*.litmus")):
        for model, answers in EXPECT.findall(file.read_text()):
            for entry in answers.split(", "):
                guarantee, _, answer = entry.partition(" ")
                found += [(file.name, each, guarantee, answer) for each in ([model] if model else ["sc", "ptx-6.0"])]
    return found


@cache
def load(name: str) -> Test:
    return read_test((FOLDER / name).read_text(), name)


@pytest.mark.parametrize(("name", "model", "guarantee", "answer"), cases())
def test_cases(name: str, model: str, guarantee: str, answer: str) -> None:
    verdict = decide_progress(load(name), model, ProgressGuarantee(guarantee), limit=60)
    assert verdict.answer == answer, verdict.reason
    assert (verdict.hang is not None) == (answer == "may hang")
    if verdict.hang is not None:
        assert "may hang" in progress_text(verdict)
        assert picture_of_hang(verdict).columns
    assert bool(verdict.reason) == verdict.answer.undecided


def test_every_case_expects_something() -> None:
    assert {name for name, *_ in cases()} == {file.name for file in FOLDER.glob("*.litmus")}


def test_limit_and_bound() -> None:
    test = load("mutex.litmus")
    assert decide_progress(test, load_model("sc"), "fair", limit=0).answer is ProgressAnswer.OUT_OF_TIME
    program = "P0\nL:\nadd.s32 r0,r0,1\nst.s32 [x],r0\nbra L"
    text = f"GPU_PTX count\n0:.reg .s32 r0;\n{program}\n(device (kernel (cta (warp P0))))\nx: global\nx=0\n"
    verdict = decide_progress(read_test(text, "count"), "sc", "fair")
    assert verdict.answer is ProgressAnswer.BOUNDED and "states" in verdict.reason


def test_own_models(tmp_path: Path) -> None:
    own = tmp_path / "own.cat"
    text = "acyclic po | rf | co | fr as all\nempty rmw & (fr;co) as atomicity\n"
    own.write_text(f"{text}~empty rf as reads\n")
    verdict = decide_progress(load("wait-for-lower.litmus"), str(own), "fair")
    assert verdict.answer is ProgressAnswer.NOT_SUPPORTED and "each pass" in verdict.reason
    own.write_text(text)
    assert decide_progress(load("nobody-writes.litmus"), str(own), "fair").answer is ProgressAnswer.MAY_HANG
    assert decide_progress(load("wait-for-lower.litmus"), str(own), "fair").answer is ProgressAnswer.TERMINATES


# groups: P0 and P1 in one CTA, P2 in another


GROUPS = (((0, 1), (2,)),)


def run(running: set[int], starved: set[int], started: set[int]) -> EndlessRun:
    return EndlessRun(frozenset(running), frozenset(starved), frozenset(started))


def test_groups() -> None:
    tree = load("mutex-in-one-warp.litmus").scope_tree
    assert groups_of(tree) == (((0, 1),),)
    assert groups_of(load("mutex.litmus").scope_tree) == (((0,), (1,)),)


@pytest.mark.parametrize(
    ("guarantee", "endless", "permitted"),
    [
        ("fair", run({2}, {1}, {0, 1, 2}), False),
        ("hsa", run({2}, {1}, {2}), False),
        ("hsa", run({1}, {2}, {1}), True),
        ("obe", run({2}, {1}, {2}), True),  # their CTA was never scheduled
        ("obe", run({2}, {1}, {0, 2}), False),  # it was: one of its threads must go on
        ("obe", run({2, 0}, {1}, {0, 2}), True),
        ("lobe", run({2}, {1}, {2}), False),  # a CTA above was scheduled: one of its threads must go on
        ("lobe", run({2, 0}, {1}, {0, 2}), True),
        ("lobe", run({0}, {1, 2}, {0}), True),
        ("hsa", run(set(), {1}, {0}), False),  # whoever can step does step
    ],
)
def test_guarantees_of_groups(guarantee: str, endless: EndlessRun, permitted: bool) -> None:
    assert permits(ProgressGuarantee(guarantee), GROUPS, endless) is permitted


def test_meeting_points() -> None:
    code = load("mutex.litmus").threads[0]
    branch = next(index for index, each in enumerate(code) if isinstance(each, Branch))
    assert meeting_points(code)[branch] == branch + 1
    assert meeting_points(load("loop-without-end.litmus").threads[0]) == [2, 2]


# an oracle on small programs: operations (kind, location, value), a thread in each CTA

OPERATIONS = st.one_of(
    st.tuples(st.just("store"), st.sampled_from("xy"), st.sampled_from((0, 1, 2))),
    st.tuples(st.just("wait"), st.sampled_from("xy"), st.sampled_from((0, 1, 2))),
    st.tuples(st.just("lock"), st.sampled_from("xy"), st.just(1)),
)
Operation = tuple[str, str, int]
PROGRAMS = st.lists(st.lists(OPERATIONS, min_size=1, max_size=3).map(tuple), min_size=2, max_size=3).map(tuple)


def as_test(program: tuple[tuple[Operation, ...], ...]) -> Test:
    columns = []
    for thread in program:
        lines = []
        for number, (kind, location, value) in enumerate(thread):
            if kind == "store":
                lines.append(f"st.relaxed.gpu.s32 [{location}],{value}")
                continue
            access = f"ld.relaxed.gpu.s32 r0,[{location}]"
            if kind == "lock":
                access, value = f"atom.cas.b32 r0,[{location}],0,1", 0
            lines += [f"L{number}:", access, f"setp.ne.s32 p0,r0,{value}", f"@p0 bra L{number}"]
        columns.append(lines)
    rows = max(map(len, columns))
    table = "\n".join(" : ".join(lines[row] if row < len(lines) else "" for lines in columns) for row in range(rows))
    names = range(len(program))
    header = " : ".join(f"P{number}" for number in names)
    declared = "\n".join(f"{number}:.reg .s32 r0;\n{number}:.reg .pred p0;" for number in names)
    ctas = " ".join(f"(cta (warp P{number}))" for number in names)
    text = f"GPU_PTX t\n{declared}\n{header}\n{table}\n(device (kernel {ctas}))\nx: global, y: global\nx=0\n"
    return read_test(text, "t")


def hangs(program: tuple[tuple[Operation, ...], ...], guarantee: ProgressGuarantee) -> bool:
    """Whether some state can be reached in which threads go round for ever, by the definitions for single threads."""
    start = ((0,) * len(program), (0, 0), frozenset())
    pending, seen = [start], {start}
    while pending:
        positions, memory, started = pending.pop()
        unfinished = [number for number, thread in enumerate(program) if positions[number] < len(thread)]
        waiting = []
        for number in unfinished:
            kind, location, value = program[number][positions[number]]
            place = "xy".index(location)
            after = list(memory)
            stays = kind != "store" and memory[place] != (0 if kind == "lock" else value)
            if kind != "wait" and not stays:
                after[place] = value
            moved = list(positions)
            moved[number] += not stays
            if stays and number in started:
                waiting.append(number)
            following = (tuple(moved), tuple(after), started | {number})
            if following not in seen:
                seen.add(following)
                pending.append(following)
        for running in chain.from_iterable(combinations(waiting, size) for size in range(1, len(waiting) + 1)):
            starved = [number for number in unfinished if number not in running]
            match guarantee:
                case ProgressGuarantee.FAIR | ProgressGuarantee.LOCKSTEP:
                    permitted = not starved
                case ProgressGuarantee.HSA:
                    permitted = min(unfinished) in running
                case ProgressGuarantee.OBE:
                    permitted = not started & set(starved)
                case ProgressGuarantee.LOBE:
                    permitted = all(number > max(started) for number in starved)
            if permitted:
                return True
    return False


@settings(max_examples=60)
@given(PROGRAMS)
def test_machine_agrees_with_the_oracle(program: tuple[tuple[Operation, ...], ...]) -> None:
    test, sc = as_test(program), load_model("sc")
    answers = {each: decide_progress(test, sc, each).answer for each in ProgressGuarantee}
    for guarantee, answer in answers.items():
        assert (answer is ProgressAnswer.MAY_HANG) == hangs(program, guarantee), guarantee
    ends = {each for each, answer in answers.items() if answer is ProgressAnswer.TERMINATES}
    for weaker, stronger in (("obe", "lobe"), ("hsa", "lobe"), ("lobe", "fair")):
        assert ProgressGuarantee(weaker) not in ends or ProgressGuarantee(stronger) in ends


@settings(max_examples=15)
@given(PROGRAMS.filter(lambda program: sum(map(len, program)) <= 5), st.sampled_from(THREADS))
def test_executions_agree_with_the_oracle(
    program: tuple[tuple[Operation, ...], ...], guarantee: ProgressGuarantee
) -> None:
    found = StuckSearch(as_test(program), load_model("sc"), guarantee, None).find()
    assert (found is not None) == hangs(program, guarantee)


@st.composite
def barrier_tests(draw: st.DrawFn) -> Test:
    """Threads of one CTA that only wait at barriers of PTX; each identifier has one count."""
    counts = [draw(st.sampled_from(["", "", ",32", ",64", ",96"])) for _ in range(2)]
    barrier = st.sampled_from([f"bar.sync {identifier}{count}" for identifier, count in enumerate(counts)])
    columns = draw(st.lists(st.lists(barrier, min_size=1, max_size=3), min_size=2, max_size=4))
    rows = [" : ".join(column[row] if row < len(column) else "" for column in columns) for row in range(3)]
    heads = " : ".join(f"P{number}" for number in range(len(columns)))
    warps = " ".join(f"(warp P{number})" for number in range(len(columns)))
    rows = [row for row in rows if row.strip(" :")]
    return read_test("\n".join(["GPU_PTX bars", heads, *rows, f"(device (cta {warps}))", "x: global", "x=0"]) + "\n")


@given(barrier_tests())
@settings(max_examples=200, deadline=None)
def test_no_run_ends_exactly_if_the_machine_hangs(test: Test) -> None:
    """Barriers alone leave no choice: the machine that runs them and the executions of the model agree."""
    verdict = decide(test, load_model("sc"))
    if verdict.answer is not Answer.NOT_SUPPORTED:
        progress = decide_progress(test, "sc", "fair").answer
        assert (verdict.answer is Answer.NO_RUN) == (progress is ProgressAnswer.MAY_HANG)


def test_barriers_of_dat3m(corpus: Path) -> None:
    """Its tests of barriers end but for those that no run of it ends, by its definition of counts and instances."""
    found = [file for file in (corpus / "dat3m-ptx").glob("*/*.litmus") if "bar" in file.name or "quorum" in file.name]
    hang = {"quorum1-hang", "quorum2-hang", "PC-bar-sync-sync-3", "PC-bar-sync-sync-4"}
    assert len(found) > 25
    for file in found:
        for model in ("sc", "ptx-6.0"):
            answer = decide_progress(read_test(file.read_text()), model, "fair").answer
            assert answer == ("may hang" if file.stem in hang else "terminates"), (file.name, model)


@pytest.mark.parametrize(("name", "answer"), [("relacq", "terminates"), ("rlx", "terminates"), ("weak", "may hang")])
@pytest.mark.parametrize("model", ["ptx-6.0", "ptx-7.5"])
def test_liveness_of_dat3m(corpus: Path, name: str, answer: str, model: str) -> None:
    """The rows about these files in Dat3M's own PTXv6_0-Liveness-expected.csv and PTXv7_5-Liveness-expected.csv."""
    test = read_test((corpus / "dat3m-ptx" / "Manual" / f"XF-Barrier-{name}.litmus").read_text())
    assert decide_progress(test, model, "fair").answer == answer


@st.composite
def one_location_tests(draw: st.DrawFn) -> Test:
    """Accesses of one location, of all orders and scopes, in one CTA or two."""
    scope = st.sampled_from(["cta", "gpu", "gpu", "sys"])
    access = st.one_of(
        st.builds("ld.relaxed.{}.s32 r0,[x]".format, scope),
        st.builds("ld.acquire.{}.s32 r1,[x]".format, scope),
        st.builds("st.release.{}.s32 [x],{}".format, scope, st.integers(1, 2)),
        st.builds("st.relaxed.{}.s32 [x],{}".format, scope, st.integers(1, 2)),
        st.builds("atom.relaxed.{}.add.s32 r1,[x],1".format, scope),
        st.builds("atom.acq_rel.{}.cas.b32 r0,[x],{},2".format, scope, st.integers(0, 1)),
        st.builds("atom.relaxed.{}.exch.b32 r1,[x],1".format, scope),
        st.sampled_from(["ld.volatile.s32 r1,[x]", "st.volatile.s32 [x],1", "fence.sc.gpu", "ld.s32 r0,[x]"]),
    )
    columns = draw(st.lists(st.lists(access, min_size=1, max_size=3), min_size=2, max_size=3))
    lines = ["GPU_PTX one", *(f"{n}:.reg .s32 r{index};" for n in range(len(columns)) for index in range(2))]
    lines.append(" : ".join(f"P{number}" for number in range(len(columns))))
    lines += [" : ".join(c[row] if row < len(c) else "" for c in columns) for row in range(max(map(len, columns)))]
    warps = [f"(warp P{number})" for number in range(len(columns))]
    ctas = [" ".join(warps)] if draw(st.booleans()) else [warps[0], " ".join(warps[1:])]
    lines += [f"(device (kernel {' '.join(f'(cta {cta})' for cta in ctas)}))", "x: global"]
    asked = [f"{number}:r{index}=0" for number in range(len(columns)) for index in range(2)]
    return read_test("\n".join([*lines, " /\\ ".join([*asked, "x=0"])]) + "\n")


@given(one_location_tests())
@settings(max_examples=150, deadline=None)
def test_models_are_sc_where_they_are_said_to_be(test: Test) -> None:
    for name in ("tso", "ptx-6.0", "ptx-7.5"):
        if behaves_as_sc(test, load_model(name)):
            assert set(outcomes(test, load_model(name))) == set(outcomes(test, load_model("sc"))), name
    assert not behaves_as_sc(test, load_model("ptx-asplos15"))


EXCHANGES = """GPU_PTX exchanges
(* As 42_simple of Sorensen et al.: it ends under obe, and hangs under hsa. *)
0:.reg .s32 r0;
0:.reg .pred p0;
1:.reg .s32 r0;
1:.reg .pred p0;
P0                        : P1
L:                        : L:
ld.relaxed.gpu.s32 r0,[x] : atom.relaxed.gpu.exch.b32 r0,[x],1
setp.eq.s32 p0,r0,1       : setp.eq.s32 p0,r0,0
@p0 bra L                 : @p0 bra L
                          : st.relaxed.gpu.s32 [x],0
(device (kernel (cta P0) (cta P1)))
x: global
x=0
"""


def test_loops_that_write_one_location_are_decided() -> None:
    test = read_test(EXCHANGES)
    for model in ("sc", "tso", "ptx-6.0", "ptx-7.5"):
        found = {str(each): str(decide_progress(test, model, each).answer) for each in THREADS}
        assert found == {"fair": "terminates", "hsa": "may hang", "obe": "terminates", "lobe": "terminates"}, model
    narrow = read_test(EXCHANGES.replace("exch", "cta.exch").replace("relaxed.gpu.cta", "relaxed.cta"))
    assert decide_progress(narrow, "ptx-6.0", "fair").answer is ProgressAnswer.NOT_SUPPORTED
