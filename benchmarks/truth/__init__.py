"""The mill: packages run the way their users run them, and what crossed on each of their lines.

`workloads/PACKAGE.py` says how a package is installed and makes it work; `mill.py` runs them, and writes one table a
package to `data/`; `tables.py` reads it. A workload file needs only what is here: see `marks`.
"""

from truth.marks import Package, bound, case, step, steps, workload

__all__ = ["Package", "bound", "case", "step", "steps", "workload"]
