"""gpudiy finds out what the memory models of GPUs really are."""

__version__ = "0.1.0"
