"""Run many tests on many devices by a plan, and continue after any interruption."""
