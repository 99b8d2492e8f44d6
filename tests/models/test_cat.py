"""The cat language: operators against plain sets of pairs, precedence, definitions, and what errors say."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from pysat.solvers import Solver

from gpudiy.models.algebra import algebra
from gpudiy.models.cat_compile import compile_cat
from gpudiy.models.cat_parser import parse_cat
from gpudiy.models.cat_tree import CatError
from gpudiy.models.circuit import Circuit
from gpudiy.models.library import load_model
from gpudiy.models.model import Model
from gpudiy.models.symbolic import SymbolicModel
from models.relations import RELATION_NAMES, SET_NAMES, Tree, World, has_cycle, relation_trees, text_of, worlds


def compiled(text: str, path: str = "mine.cat") -> Model:
    return compile_cat(text, path, "mine")


def number_of(world: World, name: str) -> int:
    """What a name means in a world, as an integer."""
    value = world.names[name]
    if name in SET_NAMES:
        return sum(1 << event for event in value)  # type: ignore[operator]
    return algebra(world.size).relation(value)  # type: ignore[arg-type]


def judged(model: Model, world: World) -> tuple[list[int], list[str | None]]:
    """The slots of a model in a world, and what its stages say."""
    a = algebra(world.size)
    slots = [0] * model.slots
    for name, slot in model.inputs.items():
        slots[slot] = a.identity if name == "id" else a.row if name == "_" else number_of(world, name)
    return slots, [stage(a, slots) for stage in model.stages]


def pairs_of(model: Model, world: World, name: str) -> set[tuple[int, int]]:
    """What a definition of a model means in a world."""
    slots, _ = judged(model, world)
    return set(algebra(world.size).pairs(slots[model.named[name].slot]))


def symbolic(model: Model, world: World) -> tuple[SymbolicModel, list[int]]:
    """The model over literals, one for each pair or event, and the assumptions that say which are there."""
    a = algebra(world.size)
    circuit = Circuit()
    run = SymbolicModel(model, a, circuit)
    fixed = []
    for name, slot in model.inputs.items():
        if name not in world.names:
            run.slots[slot] = a.identity if name == "id" else a.row
            continue
        bits = range(world.size if name in SET_NAMES else world.size**2)
        literals = {bit: circuit.variable() for bit in bits}
        run.slots[slot] = literals
        fixed += [literal if number_of(world, name) >> bit & 1 else -literal for bit, literal in literals.items()]
    run.run()
    return run, fixed


def symbolic_pairs_of(model: Model, world: World, name: str) -> set[tuple[int, int]]:
    run, fixed = symbolic(model, world)
    value = run.slots[model.named[name].slot]
    with Solver("cadical153", bootstrap_with=run.circuit.clauses) as solver:
        assert solver.solve(assumptions=fixed)
        true = set(solver.get_model())
    literals = run.symbols(value)
    a = algebra(world.size)
    return set(a.pairs(sum(1 << bit for bit, literal in literals.items() if literal in true)))


def both_ways(text: str, world: World, name: str = "result") -> set[tuple[int, int]]:
    """What a definition means, which must be the same for the integers and for the solver."""
    model = compiled(text)
    found = pairs_of(model, world, name)
    assert symbolic_pairs_of(model, world, name) == found
    return found


@given(relation_trees(3), worlds())
@settings(max_examples=300)
def test_operators_and_precedence(tree: Tree, world: World) -> None:
    """Written with no more parentheses than needed, an expression means what the sets of pairs say."""
    text = f"let result = {text_of(tree)}\nflag ~empty result as seen"
    assert pairs_of(compiled(text), world, "result") == world.value(tree)


@given(relation_trees(2), worlds(largest=3))
@settings(max_examples=120)
def test_operators_for_the_solver(tree: Tree, world: World) -> None:
    text = f"let result = {text_of(tree)}\nflag ~empty result as seen"
    assert symbolic_pairs_of(compiled(text), world, "result") == world.value(tree)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("po | rf ; co", "po | (rf ; co)"),
        ("po ; rf \\ co", "po ; (rf \\ co)"),
        ("po \\ rf & co", "po \\ (rf & co)"),
        ("po & R * W", "po & (R * W)"),
        ("po \\ rf \\ co", "(po \\ rf) \\ co"),
        ("~po & rf", "(~po) & rf"),
        ("~po^-1", "~(po^-1)"),
        ("po?;rf+", "(po?) ; (rf+)"),
        ("po*;rf", "(po*) ; rf"),
        ("po* & rf*", "(po*) & (rf*)"),
        ("po+^-1?", "((po+)^-1)?"),
        ("[R];po;[W]", "(([R]) ; po) ; ([W])"),
    ],
)
@given(world=worlds(largest=4))
@settings(max_examples=15)
def test_precedence(text: str, meant: str, world: World) -> None:
    model = compiled(f"let one = {text}\nlet other = {meant}\nflag ~empty one as seen")
    assert pairs_of(model, world, "one") == pairs_of(model, world, "other")


@pytest.mark.parametrize("test", ["acyclic", "irreflexive", "empty"])
@pytest.mark.parametrize("negation", ["", "~"])
@given(world=worlds(largest=4))
@settings(max_examples=40)
def test_checks(test: str, negation: str, world: World) -> None:
    """A check fails, with its name, exactly where it should; the solver then has no solution."""
    relation = world.names["rf"]
    holds = {
        "acyclic": not has_cycle(relation),  # type: ignore[arg-type]
        "irreflexive": not relation & world.identity,
        "empty": not relation,
    }[test]
    model = compiled(f"{negation}{test} rf as the-check")
    expected = holds == (negation == "")
    _, words = judged(model, world)
    assert [word for word in words if word is not None] == ([] if expected else ["the-check"])
    run, fixed = symbolic(model, world)
    with Solver("cadical153", bootstrap_with=run.circuit.clauses) as solver:
        assert solver.solve(assumptions=fixed)
        assert solver.solve(assumptions=[*fixed, *run.guards.values()]) == expected


@given(worlds())
@settings(max_examples=50)
def test_a_flag_forbids_nothing(world: World) -> None:
    model = compiled("flag ~empty rf as told\nflag acyclic po as told-too")
    assert judged(model, world)[1] == [None] * 4
    assert [(check.name, check.flagged) for check in model.checks] == [("told", True), ("told-too", True)]


@given(worlds(largest=4))
@settings(max_examples=40)
def test_recursion_is_closure(world: World) -> None:
    closed = world.value(Tree("+", (Tree("rf"),)))
    for body in ("rf | (result;rf)", "rf | (rf;result)", "rf | (result;result)"):
        assert both_ways(f"let rec result = {body}\nflag ~empty result as seen", world) == closed


@given(worlds(largest=4))
@settings(max_examples=40)
def test_mutual_recursion(world: World) -> None:
    """Paths that alternate between two relations."""
    text = "let rec odd = po | (even;po) and even = odd;rf\nlet result = odd | even\nflag ~empty result as seen"
    odd, even = frozenset(), frozenset()
    po, rf = Tree("po"), Tree("rf")
    while True:
        inside = World(world.size, {**world.names, "odd": odd, "even": even})
        after = (
            inside.value(Tree("|", (po, Tree(";", (Tree("even"), po))))),
            inside.value(Tree(";", (Tree("odd"), rf))),
        )
        if after == (odd, even):
            break
        odd, even = after
    assert both_ways(text, world) == odd | even


def test_deep_recursion() -> None:
    """Two cycles of coprime lengths: more rounds are needed than there are events."""
    cycles = {"po": {(0, 1), (1, 0)}, "rf": {(2, 3), (3, 4), (4, 2)}, "co": {(0, 2)}}
    names = {name: frozenset(cycles.get(name, ())) for name in (*SET_NAMES, *RELATION_NAMES)}
    text = "let rec result = co | (po;result;rf)\nflag ~empty result as seen"
    assert both_ways(text, World(5, names)) == {(one, other) for one in (0, 1) for other in (2, 3, 4)}  # type: ignore[arg-type]


@given(worlds())
@settings(max_examples=30)
def test_functions(world: World) -> None:
    text = """
    let twice(r) = r;r
    let between(s, r, t) = [s];r;[t]
    let result = between(R, twice(po | rf), W)
    let meant = [R];(po | rf);(po | rf);[W]
    flag ~empty result as seen
    """
    model = compiled(text)
    assert pairs_of(model, world, "result") == pairs_of(model, world, "meant")


@given(worlds())
@settings(max_examples=30)
def test_parameters_hide_names(world: World) -> None:
    model = compiled("let po(rf) = rf;co\nlet result = po(loc)\nlet meant = loc;co\nflag ~empty result as seen")
    assert pairs_of(model, world, "result") == pairs_of(model, world, "meant")


@given(worlds())
@settings(max_examples=30)
def test_helpers(world: World) -> None:
    text = """
    let result = fencerel(F)
    let meant = po;[F];po
    let from-read = fr
    let from-read-meant = rf^-1;co
    let identity = toid(R)
    let identity-meant = [R]
    let nothing = 0 | {} | (emptyset * R)
    flag ~empty result as seen
    """
    model = compiled(text)
    for name in ("result", "from-read", "identity"):
        meant = "meant" if name == "result" else f"{name}-meant"
        assert pairs_of(model, world, name) == pairs_of(model, world, meant)
    assert pairs_of(model, world, "nothing") == set()


@given(worlds())
@settings(max_examples=20)
def test_and_defines_at_once(world: World) -> None:
    """In `let a = … and b = …` the second does not see the first."""
    model = compiled("let rf2 = rf\nlet rf = po and result = rf\nlet later = rf\nflag ~empty result as seen")
    assert pairs_of(model, world, "result") == pairs_of(model, world, "rf2")
    assert pairs_of(model, world, "later") == world.names["po"]


def test_include(tmp_path: Path) -> None:
    (tmp_path / "basis.cat").write_text('"basis"\nlet com = rf | co | fr\nacyclic com as of-the-basis\n')
    model = compiled('"mine"\ninclude "basis.cat"\nacyclic po | com as mine', str(tmp_path / "mine.cat"))
    assert [check.name for check in model.checks] == ["of-the-basis", "mine"]
    assert model.title == "mine"
    library = compiled('include "sc.cat"', str(tmp_path / "mine.cat"))
    assert [check.name for check in library.checks] == [check.name for check in load_model("sc").checks]


def test_error_in_an_included_file_names_it(tmp_path: Path) -> None:
    (tmp_path / "basis.cat").write_text("let com = rf | coo\n")
    with pytest.raises(CatError) as caught:
        compiled('include "basis.cat"\nacyclic com', str(tmp_path / "mine.cat"))
    assert str(caught.value).startswith(f"{tmp_path / 'basis.cat'}:1:16: error: unknown name 'coo'")


def test_comments() -> None:
    text = '(* one (* inside (* deep *) *) still *)\n"title" // to the end (* of the line\n'
    with pytest.raises(CatError, match="this comment is not closed"):
        parse_cat(text)
    text = '(* one (* inside (* deep *) *) still *)\n"title" // to the end\nacyclic (* here *) po as(**)fine'
    file = parse_cat(text)
    assert (file.title, len(file.statements)) == ("title", 1)
    assert [check.name for check in compiled(text).checks] == ["fine"]


def test_unnamed_checks_are_called_after_their_kind() -> None:
    assert [check.name for check in compiled("acyclic po\nempty rf").checks] == ["acyclic", "empty"]


def test_show_is_read_over() -> None:
    assert len(compiled("show po as order, rf\nunshow co\nacyclic po").checks) == 1


# the model, then what the message says: place, problem, and a caret under the place
ERRORS = [
    ("let a = po |\nacyclic a", "2:1: error: expected a name, found 'acyclic'"),
    ("acyclic pp", "1:9: error: unknown name 'pp'"),
    ("let strong = R\nempty stron as a", "2:7: error: unknown name 'stron'"),
    ("acyclic (po | rf as a", "1:18: error: expected `)`, found 'as'"),
    ("acyclic (po", "1:12: error: expected `)`, found the end of the file"),
    ("acyclic [R", "1:11: error: expected `]`, found the end of the file"),
    ("acyclic po | R as a", "1:12: error: | of a set and a relation"),
    ("acyclic [po]", "1:9: error: […] takes a set"),
    ("acyclic R ; po", "1:11: error: ; takes two relations"),
    ("acyclic po * R", "1:12: error: * takes two sets"),
    ("acyclic R+", "1:10: error: + takes a relation"),
    ("acyclic R^-1", "1:10: error: ^-1 takes a relation"),
    ("acyclic R", "1:1: error: acyclic asks about a relation, this is a set"),
    ("irreflexive W as a", "1:1: error: irreflexive asks about a relation, this is a set"),
    ("empty domain(R)", "1:7: error: domain takes a relation"),
    ("empty fencerel(po)", "1:7: error: fencerel takes a set"),
    ("let a = po", "1:11: error: a model needs at least one check"),
    ("let f(a, b) = a;b\nacyclic f(po)", "2:9: error: f takes 2 arguments, not 1"),
    ("acyclic domain(po, rf)", "1:9: error: domain takes one argument"),
    ("acyclic twice(po)", "1:9: error: unknown function 'twice'"),
    ("acyclic po (* no end", "1:12: error: this comment is not closed"),
    ("acyclic po $ rf", "1:12: error: a character that has no place in a model: '$'"),
    ("let = po\nacyclic po", "1:5: error: expected a name, found '='"),
    ("let a po\nacyclic po", "1:7: error: expected `=`, found 'po'"),
    ("let let = po\nacyclic po", "1:5: error: expected a name, found 'let'"),
    ("include nothing\nacyclic po", "1:9: error: expected the name of a file in quotes, found 'nothing'"),
    ('include "nothing.cat"', "1:1: error: there is no file 'nothing.cat'"),
    ("with co from total_orders\nacyclic po", "1:1: error: unknown source 'total_orders'"),
    ("with rf from partial_orders\nacyclic po", "1:1: error: only co is chosen from partial_orders"),
    ("with sc from orientations(rf)\nacyclic sc", "1:1: error: the pairs to orient must depend on the events alone"),
    ("let rec f(a) = f(a)\nacyclic po", "1:9: error: a recursive function"),
    ("let rec a = rf \\ a\nacyclic a", "1:16: error: a recursive definition subtracts what it defines"),
    ("let rec a = rf | ~a\nacyclic a", "1:18: error: a recursive definition subtracts what it defines"),
    ("cyclic po", "1:1: error: expected let, acyclic, irreflexive, empty, flag, include, with or show, found 'cyclic'"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(CatError) as caught:
        compiled(text)
    error = caught.value
    first, *rest = str(error).splitlines()
    assert first == f"mine.cat:{message}"
    line, column = map(int, message.split(":")[:2])
    assert rest[:2] == [f"  {text.splitlines()[line - 1]}", "  " + " " * (column - 1) + "^"]


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("let strong = R\nempty stron as a", "strong"),
        ("acyclic synchbar", "syncbar"),
        ("acyclic domian(po)", "domain"),
        ("with co from partial_order\nacyclic po", "partial_orders"),
    ],
)
def test_near_names(text: str, near: str) -> None:
    with pytest.raises(CatError) as caught:
        compiled(text)
    assert near in str(caught.value).splitlines()[-1]
