"""The models that come with gpudiy, and models from a file."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from gpudiy.litmus.errors import LitmusError, near_name
from gpudiy.models.cat_compile import LIBRARY, Model, compile_cat


def model_names() -> list[str]:
    return sorted(file.stem for file in LIBRARY.glob("*.cat"))


@lru_cache(64)
def load_model(name: str) -> Model:
    """A model of the library by its name, or the model in a .cat file."""
    path = LIBRARY / f"{name}.cat"
    if name not in model_names():
        path = Path(name)
        if path.suffix != ".cat":
            hint = near_name(name, model_names()) or "models: " + ", ".join(model_names())
            raise LitmusError(f"unknown model {name!r}", hint=f"{hint} (or give a .cat file)")
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise LitmusError(f"cannot be read: {error}", path=str(path)) from None
    return compile_cat(text, str(path), name if name in model_names() else path.stem)
