"""The settings of the language server: those that `check` has for a file, whichever it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from transferlint import late, registry
from transferlint.cache import places
from transferlint.cli import output
from transferlint.cli.cards import card
from transferlint.cli.codes import FAILED
from transferlint.cli.merging import names_file, nearest
from transferlint.engine import checking
from transferlint.engine.plan import Plan
from transferlint.engine.scopes import Scopes
from transferlint.registry import Registry
from transferlint.server import serving
from transferlint.settings.loading import Settings, SettingsError
from transferlint.suppressions import baseline
from transferlint.version import version

_ABSENT = (
    "output_format", "sort", "fix", "unsafe_fixes", "jobs", "context", "force_exclude", "respect_gitignore",
    "min_confidence", "min_frequency", "project_root", "baseline", "fix_only", "diff", "stdin_filename",
)  # fmt: skip
_EMPTY = ("select", "extend_select", "ignore", "exclude", "extend_exclude")


def serve(
    isolated: bool, config: tuple[str, ...], rules: tuple[str, ...], no_cache: bool, environment: Mapping[str, str]
) -> int:
    """Serve with what the command line says; the exit code."""
    config = tuple(os.path.abspath(one) if names_file(one) else one for one in config)
    rules = tuple(map(os.path.abspath, rules))
    given: dict[str, Any] = dict.fromkeys(_ABSENT) | dict.fromkeys(_EMPTY, ())
    given |= {"isolated": isolated, "config": config, "rules": rules, "paths": (os.curdir,)}
    try:
        packs = registry.load(paths=nearest(given).top.rules if config or rules else ())
    except SettingsError as error:
        output.complain(error)
        return FAILED
    if not packs.rules:
        output.complain(" ".join(packs.refused) or "no rule pack is installed: reinstall transferlint")
        return FAILED
    where = "" if no_cache else places.folder(environment)
    pages = {rule.code: card(rule).url for rule in packs.rules}

    def scopes_for(path: str) -> Scopes:
        near = nearest({**given, "paths": (path,)})
        return Scopes(near, _plan(near.top, packs), lambda other: _plan(other, packs))

    fit = "" if where and places.unfit(where, (os.curdir,)) else where
    return serving.serve(version(), scopes_for, fit, lambda code: pages.get(code, ""), packs.refused)


def _plan(settings: Settings, packs: Registry) -> Plan:
    """What is done to files for which these settings hold: nothing is changed. Raises SettingsError."""
    known = baseline.read(settings.baseline) if settings.baseline else None
    return checking.plan_for(late.replace(settings, fix=False, unsafe_fixes=False), packs, False, known=known)
