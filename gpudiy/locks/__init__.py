"""Lock implementations: the tests that check them, and their repair."""
