"""The builders of fixes."""

from __future__ import annotations

from transferlint import late

__getattr__ = late.modules(__name__, __path__)
