"""`python -m gpudiy`."""

import sys

from gpudiy.cli import main

sys.exit(main())
