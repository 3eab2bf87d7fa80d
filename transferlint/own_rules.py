"""Rules from paths: a file with `RULE` or `RULES`, or a folder of such files, without a package or an entry point.

The files of a folder are modules of one package that is made up here, so that they import from one another relatively
(`from .shared import x`); nothing is added to `sys.path`.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from transferlint.rule import Rule, RuleFileError

Source = tuple[str, Callable[[], tuple[Rule, ...]]]
Checked = Callable[[Any], tuple[Rule, ...]]


def sources(paths: Iterable[str], checked: Checked) -> list[Source]:
    """What stands at the paths, in order: for each rule file what it is called in messages, and a function that imports
    it and returns its rules, after `checked` saw what it calls so. That one raises what the file raises, what `checked`
    does, or RuleFileError."""
    return [source for path in paths for source in _at(path, checked)]


def _at(path: str, checked: Checked) -> Iterator[Source]:
    if not os.path.isdir(path):
        yield f"rule file {path}", functools.partial(_rules, path, True, checked)
        return
    try:
        names = sorted(name for name in os.listdir(path) if name.endswith(".py") and not name.startswith("_"))
    except OSError as error:
        yield f"rule folder {path}", functools.partial(_nothing, f"it cannot be read: {error.strerror or error}")
        return
    files = [os.path.join(path, name) for name in names if name.removesuffix(".py").isidentifier()]
    if not files:
        yield f"rule folder {path}", functools.partial(_nothing, "no rule file is in it")
    for file in files:
        yield f"rule file {file}", functools.partial(_rules, file, False, checked)


def _nothing(why: str) -> tuple[Rule, ...]:
    raise RuleFileError(why)


def _rules(path: str, named: bool, checked: Checked) -> tuple[Rule, ...]:
    """The rules of a file. One that was not named itself may have none: others share its code."""
    if not os.path.isfile(path):
        raise RuleFileError("no such file or folder")
    stem, extension = os.path.splitext(os.path.basename(path))
    if extension != ".py" or not stem.isidentifier():
        raise RuleFileError("its name is not that of a Python module")
    module = importlib.import_module(f"{_package(os.path.dirname(os.path.abspath(path)))}.{stem}")
    if hasattr(module, "RULES"):
        return checked(module.RULES)
    if hasattr(module, "RULE"):
        return checked((module.RULE,))
    if named:
        raise RuleFileError("it has neither RULE nor RULES")
    return ()


def _package(folder: str) -> str:
    """The name of the made-up package of a folder, which is known to the import system from here on."""
    name = "transferlint_rules_of_" + hashlib.sha256(folder.encode(errors="surrogatepass")).hexdigest()[:12]
    if name not in sys.modules:
        package = types.ModuleType(name)
        package.__path__ = [folder]
        sys.modules[name] = package
    return name
