"""The report: one page that shows a set of logs, with models and pictures, and needs nothing else."""
