"""What was computed before, kept with all that was read for it.

`NotedValues` notes what is read; `Cases` finds a result again if all that was read for it has the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")
Result = TypeVar("Result")


class NotedValues(dict[Key, Value]):
    """`read`: what was asked for and not written before, None if it was missing; copies note it together."""

    def __init__(self, values: Mapping[Key, Value], read: dict[Key, Value | None] | None = None) -> None:
        super().__init__(values)
        self.read: dict[Key, Value | None] = {} if read is None else read
        self.written: dict[Key, Value] = {}

    def copy(self) -> NotedValues[Key, Value]:
        """A copy that goes another way."""
        other = NotedValues(self, self.read)
        other.written = self.written.copy()
        return other

    def get(self, name: Key, default: object = None) -> Value | None:  # type: ignore[override]
        found = super().get(name)
        if name not in self.written:
            self.read[name] = found
        return found

    def __getitem__(self, name: Key) -> Value:
        if name not in self.written:
            self.read[name] = super().get(name)
        return super().__getitem__(name)

    def __setitem__(self, name: Key, value: Value) -> None:
        super().__setitem__(name, value)
        self.written[name] = value

    def update(self, values: Mapping[Key, Value]) -> None:  # type: ignore[override]
        super().update(values)
        self.written.update(values)


class Cases(Generic[Key, Value, Result]):
    """Results of one computation, by what it read."""

    def __init__(self) -> None:
        self._known: list[tuple[tuple[Key, ...], dict[tuple[Value | None, ...], Result]]] = []

    def find(self, get: Callable[[Key], Value | None]) -> Result | None:
        """The result that was kept for these values."""
        for names, results in self._known:
            found = results.get(tuple(map(get, names)))
            if found is not None:
                return found
        return None

    def keep(self, read: Mapping[Key, Value | None], result: Result) -> None:
        """Keep a result with all that was read for it."""
        names, values = tuple(read), tuple(read.values())
        for others, results in self._known:
            if others == names:
                results[values] = result
                return
        self._known.append((names, {values: result}))


class CaseStore(Generic[Key, Value, Result]):
    """Results of many computations, by whatever else they depend on than what they read; not more than `most`."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = 0
        self._cases: dict[object, Cases[Key, Value, Result]] = {}

    def find(self, computation: object, get: Callable[[Key], Value | None]) -> Result | None:
        """The result that was kept for these values."""
        cases = self._cases.get(computation)
        return None if cases is None else cases.find(get)

    def keep(self, computation: object, read: Mapping[Key, Value | None], result: Result) -> None:
        """Keep a result with all that was read for it; if there are too many, forget the others."""
        if self.count >= self.most:
            self.forget()
        self.count += 1
        self._cases.setdefault(computation, Cases()).keep(read, result)

    def forget(self) -> None:
        """Give the memory back."""
        self.count = 0
        self._cases.clear()
