#!python
"""`optcheck.py`, the name the literature uses.

Scripts find the folder they stand in first on the path, where this file hides the package `optcheck`: imported
instead of it, it steps aside.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]

if __name__ == "__main__":
    from gpudiy.cli.optcheck import main

    sys.exit(main())
else:
    del sys.modules["optcheck"]
    import optcheck  # noqa: F401
