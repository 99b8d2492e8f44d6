"""What keeps a search for executions from an answer."""

from __future__ import annotations


class Undecidable(Exception):
    """Something in a test that no model here gives a meaning, with a message that names it."""


class OutOfTime(Exception):
    """The time limit passed before the answer was certain."""
