"""`python -m transferlint`.

`-m` puts the current folder first among those that modules are imported from, and what is checked often lies there: it
is taken out before anything else is imported, `from __future__` too.
"""

import sys

if __name__ == "__main__" and not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    del sys.path[0]

from transferlint.cli import program

if __name__ == "__main__":
    sys.exit(program())
