"""Whom a call reaches: through annotations, `super()`, `partial`, arguments, hooks, and wrappers of transfers."""

from __future__ import annotations
