"""`python -m transferlint`."""

from __future__ import annotations

import sys

from transferlint.cli import main

if __name__ == "__main__":
    sys.exit(main())
