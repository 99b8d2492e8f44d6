"""Kits: checked binaries of tests with small host programs, for a machine that has a GPU and no gpudiy."""
