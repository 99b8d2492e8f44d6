"""Packages whose names are imported when they are first used, so that importing the package costs nothing."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # type checkers know it by its name; to import it from typing takes longer than all the rest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_names(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], object]:
    """The `__getattr__` of a package with these names by module."""
    home = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home[name]}"), name)

    return find
