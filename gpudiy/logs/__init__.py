"""The log of runs: its record, readers, writers, statistics, comparison, tables, report."""
