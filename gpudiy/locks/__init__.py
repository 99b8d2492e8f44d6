"""Lock implementations: the tests that break them, and their repair."""
