"""Memory maps: the space of every variable, and the variables that share a location."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.litmus.access import Proxy, Space


@dataclass(frozen=True, slots=True)
class MappedVariable:
    """A variable and its space; `aliases` is a variable whose location it shares, `proxy` the path to it."""

    name: str
    space: Space = Space.GLOBAL
    aliases: str | None = None
    proxy: Proxy = Proxy.GENERIC


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """The variables of a test, in the order in which they are written.

    A map is `symbolic` when the spaces that instructions name contradict it, as in some tests of the 2015 simulator:
    a model can decide such a test, but no harness can place it.
    """

    variables: tuple[MappedVariable, ...]
    symbolic: bool = False

    def space_of(self, name: str) -> Space | None:
        return next((variable.space for variable in self.variables if variable.name == name), None)

    def location_of(self, name: str) -> str:
        """The variable that represents the location of `name`: itself, or the end of its chain of aliases."""
        return _follow_aliases({variable.name: variable.aliases for variable in self.variables}, name)

    def virtual_of(self, name: str) -> str:
        """The variable that represents the virtual address of `name`.

        An alias for another proxy is the same address seen on another path; one for the generic proxy is another
        address of the same location.
        """
        return _follow_aliases({v.name: v.aliases for v in self.variables if v.proxy is not Proxy.GENERIC}, name)

    def locations(self) -> dict[str, str]:
        """`location_of` every variable, in one go."""
        if all(variable.aliases is None for variable in self.variables):
            return {name: name for name in self.names}
        targets = {variable.name: variable.aliases for variable in self.variables}
        found: dict[str, str] = {}
        for start in targets:
            chain = dict.fromkeys((start,))
            name = start
            while name not in found and (target := targets.get(name)) is not None and target not in chain:
                name = target
                chain[name] = None
            found.update(dict.fromkeys(chain, found.get(name, name)))
        return found

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(variable.name for variable in self.variables)


def _follow_aliases(targets: dict[str, str | None], name: str) -> str:
    """The end of the chain of aliases that starts at a variable."""
    for _ in targets:
        target = targets.get(name)
        if target is None:
            return name
        name = target
    return name
