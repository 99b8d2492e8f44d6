"""`gpudiy campaign`: prints the verbs for campaigns."""

from __future__ import annotations

from gpudiy.cli.subverbs import add_arguments, epilog_of, run

__all__ = ["EPILOG", "add_arguments", "run"]
EPILOG = epilog_of("campaign", "examples:\n  gpudiy campaign init plan.toml\n  gpudiy campaign run plan.toml")
