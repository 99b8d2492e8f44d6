"""The version of gpudiy, for records, reports and `--version`."""

__version__ = "0.2.0"
