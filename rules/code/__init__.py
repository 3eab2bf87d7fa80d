"""What code says, as far as it stands there, and edits of its text."""

from __future__ import annotations

from transferlint import late

__getattr__ = late.modules(__name__, __path__)
