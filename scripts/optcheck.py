#!/usr/bin/env python3
"""`optcheck.py`, the name the literature uses; it runs where it is installed, and from a checkout.

Scripts find the folder they stand in first on the path, where this file hides the package `optcheck`: imported
instead of it, it steps aside.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]

if __name__ == "__main__":
    beside = HERE / "python"  # of the environment that this was installed into
    if beside.exists() and Path(sys.executable).parent.resolve() != HERE:
        os.execv(beside, [str(beside), *sys.argv])
    if (HERE.parent / "optcheck" / "check.py").exists():
        sys.path.insert(0, str(HERE.parent))
    from gpudiy.cli.optcheck import main

    sys.exit(main())
else:
    del sys.modules["optcheck"]
    import optcheck  # noqa: F401
