"""Threads on the host: where they are written, what they may do, and who can say what about them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conftest import DATA

from gpudiy.devices.opening import open_device
from gpudiy.devices.simulation.profile import PROFILES
from gpudiy.litmus import CannotExpress, Format, InvalidTest, Test, content_hash, modernise_test, print_test, read_test
from gpudiy.litmus.access import Scope
from gpudiy.litmus.grammar import SyntaxProblem
from gpudiy.litmus.notebook import html_of_test
from gpudiy.litmus.print_gpu_ptx import scope_tree_text
from gpudiy.litmus.read_scope_tree import read_scope_tree
from gpudiy.litmus.scope_tree import Placement, ScopeTree
from gpudiy.litmus.shape import shape_hash
from gpudiy.models.execution_picture import thread_header
from gpudiy.models.library import load_model
from gpudiy.models.minimal import minimal_repairs
from gpudiy.models.progress.guarantee import ProgressGuarantee
from gpudiy.models.progress.verdict import ProgressAnswer, decide_progress
from gpudiy.models.verdict import Answer, decide

MP = """\
GPU_PTX MP-host

0:.reg .s32 r0 = 1;
1:.reg .s32 r0;
1:.reg .s32 r1;

P0                        : P1
st.relaxed.sys.s32 [x],r0 : ld.relaxed.sys.s32 r0,[y]
fence.acq_rel.sys         : fence.acq_rel.sys
st.relaxed.sys.s32 [y],r0 : ld.relaxed.sys.s32 r1,[x]

(system (host P0) (device (kernel (cta (warp P1)))))

x: global, y: global

1:r0=1 /\\ 1:r1=0
"""
TREE = "(system (host P0) (device (kernel (cta (warp P1)))))"


def on_host(row: str, memory: str = "x: global", tree: str = "(host P0) (device P1)") -> Test:
    """A test whose P0, on the host, has one instruction."""
    return read_test(f"GPU_PTX one\nP0 : P1\n{row} :\n{tree}\n{memory}\nx=0\n")


def two_devices() -> Test:
    return read_test(MP.replace("(host P0)", "(device P0)"))


@pytest.mark.parametrize(
    "text",
    [
        TREE,
        "(host P0) (device P1)",
        "(device P1) (host P0)",
        "(host P0) (cta P1)",
        "(sys (gpu P1) (HOST P0))",
        "(system (host P0) P1)",
    ],
)
def test_spellings(text: str) -> None:
    tree = read_scope_tree(text, 2)
    assert tree == read_scope_tree(TREE, 2)
    assert (tree.is_on_host(0), tree.is_on_host(1)) == (True, False)
    assert scope_tree_text(tree) == TREE


def test_threads_of_the_host_share_the_system_only() -> None:
    tree = read_scope_tree("(device (cta P1 P3)) (host P2 P0)", 4)
    assert tree.host == 0 and scope_tree_text(tree) == (
        "(system (host P0 P2) (device (kernel (cta (warp P1) (warp P3)))))"
    )
    assert [tree.is_on_host(thread) for thread in range(4)] == [True, False, True, False]
    assert tree.smallest_common_scope(0, 2) is Scope.GPU  # that of the host, for which no instruction has a word
    for thread in (1, 3):
        assert tree.smallest_common_scope(0, thread) is Scope.SYS
    assert len({tree.placements[thread].kernel for thread in (0, 2, 1)}) == 3


def test_reordered_threads_stay_on_the_host() -> None:
    tree = read_scope_tree("(host P0 P2) (device P1)", 3)
    turned = tree.reorder_threads([1, 2, 0])
    assert turned.host == 1 and [turned.is_on_host(thread) for thread in range(3)] == [False, True, True]
    assert turned.reorder_threads([2, 0, 1]) == tree
    assert tree.reorder_threads([1]) == read_scope_tree("(device P0)", 1)


def test_a_host_is_not_a_device() -> None:
    host, device = read_test(MP), two_devices()
    assert host.scope_tree != device.scope_tree
    assert host.scope_tree.placements == device.scope_tree.placements
    assert content_hash(host) != content_hash(device) and shape_hash(host) != shape_hash(device)
    assert content_hash(host) != content_hash(read_test(MP.replace(TREE, "(device P0) (host P1)")))


def test_the_shape_of_a_host_and_a_device_that_do_the_same() -> None:
    text = "GPU_PTX T\nP0 : P1\nst.relaxed.sys [x],1 : st.relaxed.sys [x],1\n{}\nx: global\nx=1\n"
    one, other = (read_test(text.format(tree)) for tree in ("(host P0) (device P1)", "(device P0) (host P1)"))
    assert content_hash(one) != content_hash(other) and shape_hash(one) == shape_hash(other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(host P0) (host P1)", "host occurs twice"),
        ("(device (host P0) (cta P1))", "host cannot be inside gpu"),
        ("(cta P1 (host P0))", "host cannot be inside cta"),
        ("(host (cta P0)) (device P1)", "cta cannot be inside host"),
        ("(host P0 (host P1))", "host cannot be inside host"),
        ("(host P0) (system (device P1))", "system must be the outermost level"),
        ("(host P0 P0) (device P1)", "P0 occurs twice"),
    ],
)
def test_bad_trees(text: str, message: str) -> None:
    with pytest.raises(SyntaxProblem, match=message):
        read_scope_tree(text, 2)


def test_a_near_name() -> None:
    with pytest.raises(SyntaxProblem, match="unknown level 'hots'") as caught:
        read_scope_tree("(hots P0) (device P1)", 2)
    assert caught.value.hint == "did you mean 'host'?"


def test_trees_built_by_hand_are_checked() -> None:
    here, there = Placement(0, 0, 0, 0, 0), Placement(1, 1, 1, 1, 1)
    assert ScopeTree((here, there), host=1).is_on_host(1)
    with pytest.raises(InvalidTest, match="no thread of the scope tree is on the host"):
        ScopeTree((here, there), host=2)
    with pytest.raises(InvalidTest, match="no thread of the scope tree is on the host"):
        ScopeTree.of((here, there), host=7)
    with pytest.raises(InvalidTest, match="in no warp, CTA, cluster or kernel"):
        ScopeTree((here, Placement(1, 1, 1, 0, 0)), host=0)
    with pytest.raises(InvalidTest, match="all threads are on the host"):
        replace(read_test(MP), scope_tree=read_scope_tree("(host P0 P1)", 2))


@pytest.mark.parametrize(
    "row",
    [
        "st [x],1",
        "ld.global.s32 r0,[x]",
        "st.volatile [x],1",
        "ld.relaxed.sys r0,[x]",
        "ld.acquire.sys r0,[x]",
        "st.release.sys [x],1",
        "atom.sys.add r0,[x],1",
        "atom.acq_rel.sys.cas r0,[x],0,1",
        "red.release.sys.add [x],1",
        "membar.sys",
        "fence.sys",
        "fence.sc.sys",
        "fence.acquire.sys",
        "@p0 mov r0,1",
    ],
)
def test_what_the_host_may_do(row: str) -> None:
    test = on_host(row)
    for format in (Format.CANONICAL, Format.HERD):
        assert read_test(print_test(test, format)) == test
    assert modernise_test(test).scope_tree == test.scope_tree


def test_the_other_threads_keep_their_instructions() -> None:
    text = "GPU_PTX T\nP0 : P1\nst [x],1 : ld.cg r0,[x]\n: bar.sync 0\n: atom.add r1,[s],1\n: tld r2,[t]\n"
    assert read_test(f"{text}(host P0) (device P1)\nx: global, s: shared, t: texture aliases x\n1:r0=1\n")


def test_the_tree_may_stand_behind_the_condition() -> None:
    text = (
        "GPU_PTX T\nP0 : P1\nst [x],1 : ld r0,[x]\nexists (1:r0=1 /\\\n(hostPart=0))\n{}\nx: global, hostPart: global\n"
    )
    trees = [read_test(text.format(tree)).scope_tree for tree in (TREE, "(host P0) (device P1)")]
    assert trees[0] == trees[1] and trees[0].host == 0


def test_printing() -> None:
    test = read_test(MP)
    assert print_test(test) == MP
    assert "scopeTree\n(host P0) (device (kernel (cta (warp P1))))\n" in print_test(test, Format.HERD)
    assert read_test(print_test(test, Format.HERD)) == test
    with pytest.raises(CannotExpress, match="threads on the host"):
        print_test(test, Format.DAT3M)
    assert print_test(two_devices(), Format.DAT3M)  # only the host is in the way
    assert "├─ host  P0\n└─ device\n   └─ kernel" in html_of_test(test)
    assert [thread_header(test.scope_tree, thread) for thread in (0, 1)] == ["P0  (host)", "P1  (cta 0)"]


def test_headers_number_the_groups_of_gpus_only() -> None:
    tree = read_scope_tree("(host P0 P1) (device P2) (device P3)", 4)
    assert thread_header(tree, 3) == "P3  (cta 1, kernel 1, device 1)"


def test_scopes_decide() -> None:
    test = read_test(MP)
    narrow = read_test(MP.replace(": fence.acq_rel.sys", ": fence.acq_rel.gpu"))
    for model, wide, gpu in (
        ("sc", Answer.FORBIDDEN, Answer.FORBIDDEN),
        ("tso", Answer.FORBIDDEN, Answer.FORBIDDEN),
        ("ptx-6.0", Answer.FORBIDDEN, Answer.ALLOWED),
        ("ptx-7.5", Answer.FORBIDDEN, Answer.ALLOWED),
    ):
        assert decide(test, load_model(model)).answer is wide
        assert decide(narrow, load_model(model)).answer is gpu


@pytest.mark.parametrize("model", ["ptx-6.0", "tso"])
def test_repairs_keep_to_what_the_host_may_do(model: str) -> None:
    """The weakest fences and orders of a thread on the host have scope sys."""
    program = "P0 : P1\nst [x],1 : st [y],1\nld r0,[y] : ld r0,[x]\n"
    test = read_test(f"GPU_PTX SB\n{program}{TREE}\nx: global, y: global\n0:r0=0 /\\ 1:r0=0\n")
    assert decide(test, load_model(model)).answer is Answer.ALLOWED
    repairs = minimal_repairs(test, load_model(model))
    assert repairs
    for repair in repairs:
        assert decide(repair.test, load_model(model)).answer is Answer.FORBIDDEN
        assert all(".sys" in change for change in repair.changes if change.startswith("P0"))


WAIT = """\
GPU_PTX wait
P0 : P1
{0} : {1}
{2} : {3}
{4} : {5}
{6} : {7}
(host P0) (device P1)
x: global
x=1
"""
LOOP = ("L:", "ld.relaxed.sys r0,[x]", "setp.eq p0,r0,0", "@p0 bra L")
STORE = ("st.relaxed.sys [x],1", "", "", "")


@pytest.mark.parametrize("guarantee", ProgressGuarantee)
@pytest.mark.parametrize("model", ["sc", "ptx-6.0"])
@pytest.mark.parametrize("waits", ["host", "device"])
def test_every_guarantee_runs_the_host(waits: str, model: str, guarantee: ProgressGuarantee) -> None:
    """No GPU decides when a thread on the host runs, and none waits for the host to be scheduled."""
    columns = (LOOP, STORE) if waits == "host" else (STORE, LOOP)
    test = read_test(WAIT.format(*(cell for row in zip(*columns, strict=True) for cell in row)))
    assert decide_progress(test, model, guarantee, limit=60).answer is ProgressAnswer.TERMINATES
    waits_for_ever = replace(test, threads=tuple(thread if len(thread) > 1 else () for thread in test.threads))
    assert decide_progress(waits_for_ever, model, guarantee, limit=60).answer is ProgressAnswer.MAY_HANG


@pytest.mark.parametrize("profile", PROFILES)
def test_no_simulated_chip_has_a_host(profile: str) -> None:
    assert open_device(f"sim:{profile}").obstacle(read_test(MP)) == f"sim:{profile} simulates no host thread"


def test_hashes_without_a_host_are_those_of_before() -> None:
    """Logs and campaigns find tests by these."""
    sb = read_test((DATA / "litmus" / "figures" / "A.1-sb.litmus").read_text())
    assert content_hash(sb) == "7e60bb2b8b34ad936d410f4ef1eefc67"
    assert shape_hash(sb) == "2a6a3cf4e9db80d12a1071e3705fd2a4"
