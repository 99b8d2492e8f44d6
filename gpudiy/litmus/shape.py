"""The shape of a test: what it means up to the names of its threads and variables.

Threads and variables are coloured by all that is known of them, colours are refined by those of their neighbours, and
where threads still look alike each is tried as the first: the smallest text so found is the same for all tests of one
shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from gpudiy.litmus.condition import FinalRegister, FinalVariable, Term, comparisons
from gpudiy.litmus.content import Content, VariableUse, digest
from gpudiy.litmus.test import Test

Colours = list[int]


def shape_hash(test: Test) -> str:
    """The same for tests that differ in the names of threads and variables only, or not even in these."""
    return digest(shape_text(test))


def shape_text(test: Test) -> str:
    return _Shape(test).smallest_text()


class _Shape:
    def __init__(self, test: Test) -> None:
        self.test = test
        self.content = Content.of(test)
        self.count = len(test.threads)
        self.scopes = [
            [test.scope_tree.smallest_common_scope(one, other) for other in range(self.count)]
            for one in range(self.count)
        ]
        self.mentions = self._mentions()

    def smallest_text(self) -> str:
        threads = _ranked([(repr(self._local(number)), repr(self.mentions[number])) for number in range(self.count)])
        variables = self._variable_colours()
        return min(self._texts(*self._refined(threads, variables)))

    def _texts(self, threads: Colours, variables: Colours) -> Iterator[str]:
        """The texts of all ways to tell the threads apart that the colours leave open."""
        crowded = [colour for colour in set(threads) if threads.count(colour) > 1]
        if not crowded:
            yield from self._written(threads, variables)
            return
        members = [number for number, colour in enumerate(threads) if colour == min(crowded)]
        tried: list[int] = []
        for member in members:
            if any(self._twins(member, other) for other in tried):
                continue  # the same texts once more
            tried.append(member)
            chosen = [2 * colour + (number != member) for number, colour in enumerate(threads)]
            yield from self._texts(*self._refined(_ranked(chosen), variables))

    def _written(self, threads: Colours, variables: Colours) -> Iterator[str]:
        """The texts once the threads are in order: variables by their first use, the unused by their colour."""
        order = sorted(range(self.count), key=threads.__getitem__)
        names: dict[str, str] = {}
        for number in order:
            for token in self.content.threads[number]:
                if isinstance(token, VariableUse):
                    names.setdefault(token.name, f"v{len(names)}")
        unused = [
            (colour, name) for colour, name in zip(variables, self.content.variables, strict=True) if name not in names
        ]
        for arrangement in permutations(unused):
            if [colour for colour, _ in arrangement] == sorted(colour for colour, _ in unused):
                more = {name: f"v{len(names) + index}" for index, (_, name) in enumerate(arrangement)}
                yield self.content.text(order, names | more)

    def _twins(self, one: int, other: int) -> bool:
        """Whether the test stays the same when the two threads change places."""
        same = {name: name for name in self.content.variables}
        swapped = list(range(self.count))
        swapped[one], swapped[other] = other, one
        return self.content.text(swapped, same) == self.content.text(range(self.count), same)

    def _refined(self, threads: Colours, variables: Colours) -> tuple[Colours, Colours]:
        """Colours split by those of the neighbours, until nothing splits."""
        while True:
            classes = (len(set(threads)), len(set(variables)))
            names = {name: f"v{colour}" for name, colour in zip(self.content.variables, variables, strict=True)}
            variables = _ranked(
                [
                    (variables[index], repr(self._uses(name, threads, names)))
                    for index, name in enumerate(self.content.variables)
                ]
            )
            names = {name: f"v{colour}" for name, colour in zip(self.content.variables, variables, strict=True)}
            threads = _ranked(
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
        together = sorted(self._term(term, threads, names) for mention in self._comparisons(number) for term in mention)
        return code, others, together

    def _uses(self, name: str, threads: Colours, names: dict[str, str]) -> object:
        uses = sorted(
            (threads[number], place)
            for number, tokens in enumerate(self.content.threads)
            for place, token in enumerate(tokens)
            if isinstance(token, VariableUse) and token.name == name
        )
        together = sorted(
            self._term(term, threads, names)
            for mention in self._all_comparisons()
            if FinalVariable(name) in mention
            for term in mention
        )
        return uses, self.content.attributes(name, names), together

    def _variable_colours(self) -> Colours:
        blank = dict.fromkeys(self.content.variables, "")
        return _ranked([self.content.attributes(name, blank) for name in self.content.variables])

    def _term(self, term: Term, threads: Colours, names: dict[str, str]) -> str:
        return self.content.term(term, dict(enumerate(threads)), names)

    def _mentions(self) -> list[list[str]]:
        """What the condition says of each thread, whoever else it is compared with."""
        nobody = dict.fromkeys(range(self.count), 0)
        nameless = dict.fromkeys(self.content.variables, "")
        found: list[list[str]] = [[] for _ in range(self.count)]
        for number in range(self.count):
            for mention in self._comparisons(number):
                found[number].append(" ".join(sorted(self.content.term(term, nobody, nameless) for term in mention)))
            found[number].sort()
        return found

    def _comparisons(self, number: int) -> Iterator[tuple[Term, Term]]:
        for mention in self._all_comparisons():
            if any(isinstance(term, FinalRegister) and term.thread == number for term in mention):
                yield mention

    def _all_comparisons(self) -> Iterator[tuple[Term, Term]]:
        expressions = [self.test.condition.expression] + ([] if self.test.filter is None else [self.test.filter])
        for expression in expressions:
            for comparison in comparisons(expression):
                yield comparison.left, comparison.right


def _ranked(values: Sequence[object]) -> Colours:
    """Values as small numbers in their own order; equal values get equal numbers."""
    ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}  # type: ignore[type-var]
    return [ranks[value] for value in values]
