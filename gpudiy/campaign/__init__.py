"""Many tests on many devices: a plan, its work, what is done of it, and going on after any interruption."""
