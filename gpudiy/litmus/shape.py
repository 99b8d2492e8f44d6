"""The shape of a test: its meaning up to the names of its threads and variables.

Threads and variables get colours from their properties, and colours are refined by those of their neighbours. If
threads still look alike, each is tried as the first one. The smallest text found is the same for all tests of one
shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpudiy.litmus.condition import FinalRegister, FinalVariable, Term, comparisons
from gpudiy.litmus.content import Content, digest
from gpudiy.litmus.test import Test
from gpudiy.litmus.thread_tokens import VariableUse

Colours = list[int]


def shape_hash(test: Test) -> str:
    """A hash that is equal for tests that differ only in the names of threads and variables."""
    return digest(shape_text(test))


def shape_text(test: Test) -> str:
    """The text that `shape_hash` hashes."""
    return _Shape(test).smallest_text()


class _Shape:
    def __init__(self, test: Test) -> None:
        self.content = Content.of(test)
        self.asked_of_thread: list[list[tuple[Term, Term]]] = [[] for _ in test.threads]
        self.asked_of_variable: dict[str, list[tuple[Term, Term]]] = {}
        for mention in self._all_comparisons():
            for number in {term.thread for term in mention if isinstance(term, FinalRegister)}:
                self.asked_of_thread[number].append(mention)
            for name in {term.name for term in mention if isinstance(term, FinalVariable)}:
                self.asked_of_variable.setdefault(name, []).append(mention)
        self.places: dict[str, list[tuple[int, int]]] = {name: [] for name in self.content.variables}
        for number, tokens in enumerate(self.content.threads):
            for place, token in enumerate(tokens):
                if isinstance(token, VariableUse):
                    self.places[token.name].append((number, place))
        self.count = len(test.threads)
        self.scopes = [
            [test.scope_tree.smallest_common_scope(one, other) for other in range(self.count)]
            for one in range(self.count)
        ]
        self.mentions = self._mentions()
        self.unused = [index for index, name in enumerate(self.content.variables) if not self.places[name]]

    def smallest_text(self) -> str:
        threads = _rank_values(
            [(repr(self._local(number)), repr(self.mentions[number])) for number in range(self.count)]
        )
        variables = self._variable_colours()
        return min(self._texts(*self._refine(threads, variables)))

    def _texts(self, threads: Colours, variables: Colours) -> Iterator[str]:
        """The texts of all orders of threads and variables that the colours allow.

        Two choices whose first texts are equal are images of one another, so the second has the same texts.
        """
        choices = list(self._choices(threads, variables))
        if not choices:
            yield self._write_text(threads, variables)
        seen: set[str] = set()
        for choice in choices:
            texts = self._texts(*self._refine(*choice))
            first = next(texts)
            if first not in seen:
                seen.add(first)
                yield first
                yield from texts

    def _choices(self, threads: Colours, variables: Colours) -> Iterator[tuple[Colours, Colours]]:
        """The colours with one of those that look alike put first: threads, then variables that no thread uses."""
        for member in _find_alike(threads, range(self.count)):
            yield _put_first(threads, member), variables
        if len(set(threads)) == self.count:
            for member in _find_alike(variables, self.unused):
                yield threads, _put_first(variables, member)

    def _write_text(self, threads: Colours, variables: Colours) -> str:
        """The text when all are ordered: variables by their first use, unused ones by their colour."""
        order = sorted(range(self.count), key=threads.__getitem__)
        used = dict.fromkeys(
            token.name for number in order for token in self.content.threads[number] if isinstance(token, VariableUse)
        )
        unused = [self.content.variables[index] for index in sorted(self.unused, key=variables.__getitem__)]
        return self.content.text(order, {name: f"v{index}" for index, name in enumerate((*used, *unused))})

    def _refine(self, threads: Colours, variables: Colours) -> tuple[Colours, Colours]:
        """Colours split by those of the neighbours, until nothing splits."""
        while True:
            classes = (len(set(threads)), len(set(variables)))
            names = {name: f"v{colour}" for name, colour in zip(self.content.variables, variables, strict=True)}
            variables = _rank_values(
                [
                    (variables[index], repr(self._uses(name, threads, names)))
                    for index, name in enumerate(self.content.variables)
                ]
            )
            names = {name: f"v{colour}" for name, colour in zip(self.content.variables, variables, strict=True)}
            threads = _rank_values(
                [(threads[number], repr(self._surroundings(number, threads, names))) for number in range(self.count)]
            )
            if classes == (len(set(threads)), len(set(variables))):
                return threads, variables

    def _local(self, number: int) -> list[str]:
        """The code of a thread with its variables numbered by their first use in it."""
        seen: dict[str, str] = {}
        return [
            token if isinstance(token, str) else seen.setdefault(token.name, f"v{len(seen)}")
            for token in self.content.threads[number]
        ]

    def _surroundings(self, number: int, threads: Colours, names: dict[str, str]) -> object:
        code = [token if isinstance(token, str) else names[token.name] for token in self.content.threads[number]]
        others = sorted((self.scopes[number][other], threads[other]) for other in range(self.count) if other != number)
        together = sorted(
            self._term(term, threads, names) for mention in self.asked_of_thread[number] for term in mention
        )
        return code, others, together

    def _uses(self, name: str, threads: Colours, names: dict[str, str]) -> object:
        uses = sorted((threads[number], place) for number, place in self.places[name])
        together = sorted(
            self._term(term, threads, names) for mention in self.asked_of_variable.get(name, ()) for term in mention
        )
        return uses, self.content.attributes(name, names), together

    def _variable_colours(self) -> Colours:
        blank = dict.fromkeys(self.content.variables, "")
        return _rank_values([self.content.attributes(name, blank) for name in self.content.variables])

    def _term(self, term: Term, threads: Colours, names: dict[str, str]) -> str:
        return self.content.term(term, dict(enumerate(threads)), names)

    def _mentions(self) -> list[list[str]]:
        """The comparisons of the condition with each thread, without the names of the others."""
        no_thread = dict.fromkeys(range(self.count), 0)
        nameless = dict.fromkeys(self.content.variables, "")
        found: list[list[str]] = [[] for _ in range(self.count)]
        for number in range(self.count):
            for mention in self.asked_of_thread[number]:
                found[number].append(" ".join(sorted(self.content.term(term, no_thread, nameless) for term in mention)))
            found[number].sort()
        return found

    def _all_comparisons(self) -> Iterator[tuple[Term, Term]]:
        for expression in self.content.test.expressions:
            for comparison in comparisons(expression):
                yield comparison.left, comparison.right


def _rank_values(values: Sequence[object]) -> Colours:
    """The rank of each value; equal values have equal ranks."""
    ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}  # type: ignore[type-var]
    return [ranks[value] for value in values]


def _find_alike(colours: Colours, indices: Iterable[int]) -> list[int]:
    """The indices with the smallest colour that occurs more than once."""
    groups: dict[int, list[int]] = {}
    for index in indices:
        groups.setdefault(colours[index], []).append(index)
    return min((group for group in groups.items() if len(group[1]) > 1), default=(0, []))[1]


def _put_first(colours: Colours, member: int) -> Colours:
    return _rank_values([2 * colour + (index != member) for index, colour in enumerate(colours)])
