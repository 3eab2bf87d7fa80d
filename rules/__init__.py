"""The built-in rules, one file each. Reading `RULES` imports every rule file; importing the package imports none."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import Any

from transferlint.rule import Rule

if __name__ != "transferlint_rules":
    raise ImportError(f"this package is installed as transferlint_rules and cannot be imported as {__name__}")


@functools.cache
def _collect() -> tuple[Rule, ...]:
    """The `RULE` of every module of this package, in order of code; a module without one is shared detection code."""
    names = [found.name for found in pkgutil.iter_modules(__path__)]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    rules = [module.RULE for module in modules if isinstance(getattr(module, "RULE", None), Rule)]
    return tuple(sorted(rules, key=lambda rule: rule.code))


def __getattr__(name: str) -> Any:
    if name == "RULES":
        return _collect()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
