"""Tests of the models, and what they share: machines, random tests."""
