"""Find the files that gpudiy ships beside its code: harness templates and recorded logs."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parent


def find_shipped(folder: str) -> Path:
    """The folder `harness_templates` or `logs`: inside an installed package, or at the top of a checkout."""
    for parent in (PACKAGE / "shipped_files", PACKAGE.parent):
        if (parent / folder).is_dir():
            return parent / folder
    raise FileNotFoundError(f"{folder} is missing in this installation of gpudiy: install it again")
