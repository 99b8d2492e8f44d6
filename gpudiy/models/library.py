"""The models that come with gpudiy, and models from a file."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from gpudiy.arguments import Names, list_names, name_of
from gpudiy.errors import InputError, near_name
from gpudiy.files import read_text, unreadable
from gpudiy.models.cat_compile import LIBRARY, compile_cat
from gpudiy.models.model import Model

ModelSource = Model | str | Path | Iterable[Model | str | Path]


@lru_cache(1)
def model_names() -> list[str]:
    """The names of the models that come with gpudiy."""
    return sorted(file.stem for file in LIBRARY.glob("*.cat"))


def load_models(models: ModelSource) -> tuple[Model, ...]:
    """Models, given as such or by name; one text may hold several names, separated by commas or blanks."""
    if isinstance(models, Model):
        return (models,)
    chosen = list_model_names(models) if isinstance(models, str) or not isinstance(models, Iterable) else list(models)
    if not chosen:
        raise _no_model()
    return tuple(map(load_model, chosen))


def list_model_names(models: Names) -> list[str]:
    """The names of models, each once, from a list or from a text; raises `InputError` where there is none."""
    names = list_names(models.replace(" ", ",") if isinstance(models, str) else models, "models")
    if not names:
        raise _no_model()
    return names


def _no_model() -> InputError:
    return InputError("no model is named", hint="name models of the library, such as ptx-6.0, or .cat files")


def load_model(model: Model | str | Path) -> Model:
    """A model of the library by its name, or the model in a .cat file; a `Model` stays as it is."""
    if isinstance(model, Model):
        return model
    name = name_of(model, "model")
    if name in model_names():
        return _read_model(str(LIBRARY / f"{name}.cat"), name, 0)
    path = Path(name)
    if path.suffix != ".cat":
        hint = near_name(name, model_names()) or "models: " + ", ".join(model_names())
        raise InputError(f"unknown model {name!r}", hint=f"{hint} (or give a .cat file)")
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise unreadable(name, error) from None
    return _read_model(name, path.stem, changed)


def is_of_library(model: Model) -> bool:
    """Whether a model comes with gpudiy."""
    return Path(model.path).parent == LIBRARY


@lru_cache(64)
def _read_model(path: str, name: str, _changed: int) -> Model:
    return compiled_model(read_text(path), path, name)


@lru_cache(64)
def compiled_model(text: str, path: str, name: str) -> Model:
    """The model of a text, compiled once in each process."""
    return compile_cat(text, path, name)
