"""What a fix may rest on: each answers True on proof alone."""

from __future__ import annotations

from transferlint import late

__getattr__ = late.modules(__name__, __path__)
