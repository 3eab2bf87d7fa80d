"""`python -m runtime_check`: `transferlint verify`, also under a launcher that starts modules, such as torchrun."""

from __future__ import annotations

from runtime_check.cli import main

if __name__ == "__main__":
    main()
