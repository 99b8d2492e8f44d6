"""What a picture of an execution shows."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from executions_to_draw import (
    SOURCES,
    cycle_picture,
    every_picture,
    execution,
    model,
    named,
    picture,
)

from gpudiy.litmus import read_test
from gpudiy.models.algebra import algebra
from gpudiy.models.event import label_of
from gpudiy.models.execution_picture import picture_of, without_shortcuts
from gpudiy.models.exploration import Exploration
from gpudiy.pictures.picture import Arrow


class TestPicture:
    @every_picture
    def test_every_event_stands_once_in_the_column_of_its_thread(self, name: str) -> None:
        events = execution(name).skeleton.events
        nodes = picture(name).nodes
        assert [node.event for node in nodes] == list(range(len(events)))
        assert [node.column for node in nodes] == [None if e.initial else e.thread for e in events]
        assert len({(node.column, node.row) for node in nodes}) == len(nodes)
        assert len(picture(name).columns) == len(execution(name).skeleton.test.threads)

    def test_store_buffering(self) -> None:
        shown = picture("SB")
        assert shown.columns == ("P0  (cta 0)", "P1  (cta 1)")
        assert [(node.label, node.instruction) for node in shown.nodes] == [
            ("W x=0", ""),
            ("W y=0", ""),
            ("W z=0", ""),
            ("a: W.cg x=1", "st.cg.s32 [rx],1"),
            ("b: R.cg y=0", "ld.cg.s32 r0,[ry]"),
            ("c: W.cg y=1", "st.cg.s32 [ry],1"),
            ("d: R.cg x=0", "ld.cg.s32 r0,[rx]"),
        ]
        assert named(shown, "po") == {("a", "b"), ("c", "d")}
        assert named(shown, "rf") == {("W y=0", "b"), ("W x=0", "d")}
        assert named(shown, "co") == {("W x=0", "a"), ("W y=0", "c")}
        assert named(shown, "fr") == {("b", "c"), ("d", "a")}

    def test_labels_of_orders_scopes_fences_and_barriers(self) -> None:
        labels = {node.label.partition(": ")[2] for name in SOURCES for node in picture(name).nodes}
        assert {"R.acquire.gpu y=1", "W.release.gpu y=1", "F.sc.gpu", "F.membar.gl", "B.sync 1", "W x=1"} <= labels

    def test_the_values_of_another_run(self) -> None:
        found = execution("SB")
        events = [replace(event, value=-70000) for event in found.skeleton.events]
        shown = picture_of(found.skeleton, found.rf, found.co, {}, "SB", events=events)
        assert shown.nodes[3].label == "a: W.cg x=-0x11170"
        with pytest.raises(ValueError, match="2 events given for an execution of 7"):
            picture_of(found.skeleton, found.rf, found.co, {}, "SB", events=events[:2])

    def test_an_alias_tells_its_location(self) -> None:
        event = replace(execution("SB").events[3], variable="y")
        assert label_of(event) == "W.cg y=1 (at x)"

    def test_groups_that_threads_share(self) -> None:
        assert picture("dependencies").columns == ("P0  (cta 0)", "P1  (cta 0)")
        one_warp = read_test(SOURCES["SB"].replace("(cta (warp P0)) (cta (warp P1))", "(cta (warp P0 P1))"))
        found = next(Exploration(one_warp, model("free"), 2).executions(None))
        assert picture_of(found.skeleton, found.rf, found.co, {}, "").columns[1] == "P1  (warp 0, cta 0)"

    def test_coherence_is_reduced_and_fr_goes_to_the_next_write(self) -> None:
        shown = picture("atomics")
        assert named(shown, "co") == {("W x=0", "b"), ("b", "e"), ("W y=0", "c")}
        assert named(shown, "rmw") == {("a", "b"), ("d", "e")}
        assert named(shown, "fr") == {("h", "c")}  # each atomic's own write is no news

    def test_dependencies(self) -> None:
        shown = picture("dependencies")
        assert named(shown, "data") == {("a", "b")}
        assert named(shown, "ctrl") == {("g", "h")}  # and so all that follows h

    def test_relations_of_the_model(self) -> None:
        shown = picture("MP")
        assert named(shown, "sync") == {("b", "c")}
        assert named(shown, "cause-base") == {("b", "c")}  # po before and after is part of it
        assert len(named(picture("fences"), "sc")) == 1

    def test_a_cycle(self) -> None:
        shown = cycle_picture()
        assert {(a.relation, a.source, a.target) for a in shown.arrows if a.highlighted} == {
            ("po", 3, 4), ("fr", 4, 5), ("po", 5, 6), ("fr", 6, 3),
        }  # fmt: skip
        assert [node.event for node in shown.nodes if node.highlighted] == [3, 4, 5, 6]

    def test_steps_that_nothing_else_shows_are_drawn(self) -> None:
        found = execution("fences")
        start = found.skeleton.starts[0]
        cycle = [start, start + 2]
        shown = picture_of(found.skeleton, found.rf, found.co, {}, "", cycle)
        assert Arrow("po", *cycle, highlighted=True) in shown.arrows
        assert Arrow("cycle", *cycle[::-1], highlighted=True) in shown.arrows
        shown = picture_of(found.skeleton, found.rf, found.co, {}, "", cycle, steps=("fence", "fr"))
        assert Arrow("fence", *cycle, highlighted=True) in shown.arrows
        with pytest.raises(ValueError, match="1 steps given for a cycle of 2 events"):
            picture_of(found.skeleton, found.rf, found.co, {}, "", cycle, steps=("fence",))


class TestReduction:
    def test_a_strict_order(self) -> None:
        a = algebra(4)
        order = a.relation(combinations(range(4), 2))
        assert set(a.pairs(without_shortcuts(a, order))) == {(0, 1), (1, 2), (2, 3)}

    def test_what_is_not_transitive_stays(self) -> None:
        a = algebra(3)
        relation = a.relation([(0, 1), (1, 2)])
        assert without_shortcuts(a, relation) == relation

    @pytest.mark.parametrize("seed", range(40))
    def test_nothing_is_lost(self, seed: int) -> None:
        a = algebra(5)
        order = a.relation([(0, 1), (2, 3), (2, 4), (3, 4)])
        pairs = a.relation([(seed % 5, seed // 5 % 5), (seed * 7 % 5, seed * 3 % 4), (1, 2)])
        around = a.identity | order
        relation = a.closure(a.compose(around, a.compose(pairs, around)))
        reduced = without_shortcuts(a, relation, order)
        assert not reduced & ~relation
        assert a.closure(a.compose(around, a.compose(reduced, around))) == relation
        assert a.closure(without_shortcuts(a, a.closure(pairs))) == a.closure(pairs)
