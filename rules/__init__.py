"""The built-in rules, one file each. Reading `RULES` imports every rule file; importing the package imports none.

What they share lies in folders: `code` (what code says, and edits of its text), `questions`, `proofs`, `fixes` and
`examples`. `from .fixes import other` gives a module that is imported when one of its names is first used: most are
asked nothing about most of the files that are checked.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import Any

from transferlint import late
from transferlint.rule import Rule

if __name__ != "transferlint_rules":
    raise ImportError(f"this package is installed as transferlint_rules and cannot be imported as {__name__}")

_RULE = late.pattern(r"tl\d{3}_")


@functools.cache
def _collect() -> tuple[Rule, ...]:
    """The `RULE` of every module that is named after a rule, in order of code; the others are read by those alone that
    need them."""
    names = [found.name for found in pkgutil.iter_modules(__path__) if _RULE.match(found.name)]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    rules = [module.RULE for module in modules if isinstance(getattr(module, "RULE", None), Rule)]
    return tuple(sorted(rules, key=lambda rule: rule.code))


def __getattr__(name: str) -> Any:
    if name == "RULES":
        return _collect()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
