"""The settings of a run: file, `--config`, then the options of the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from transferlint import late
from transferlint.model import Confidence
from transferlint.settings import loading
from transferlint.settings.loading import Settings, SettingsError
from transferlint.sources import nearest as nearest_of
from transferlint.sources.nearest import Nearest

_PLAIN = ("output_format", "sort", "fix", "unsafe_fixes", "jobs", "context", "force_exclude", "respect_gitignore")


def nearest(given: Mapping[str, Any]) -> Nearest:
    """The settings in force for each file, with the options `given` (None or empty: not given): those of its nearest
    settings file, or of the one file that is named. Raises SettingsError."""
    named = given["isolated"] or any(names_file(text) for text in given["config"])
    return Nearest(_merged(_of_file(given), given), None if named else lambda found: _merged(found, given))


def _merged(found: Settings, given: Mapping[str, Any]) -> Settings:
    """What a settings file says, and then the command line. Raises SettingsError."""
    for text in given["config"]:
        if not names_file(text):
            found = loading.inline(text, found)
    values: dict[str, Any] = {name: given[name] for name in _PLAIN if given[name] is not None}
    if given["min_confidence"]:
        values["min_confidence"] = Confidence[given["min_confidence"].upper()]
    if given["min_frequency"] is not None:
        values["min_frequency"] = given["min_frequency"]
    if given["exclude"]:
        values["exclude"] = given["exclude"]
    values["extend_exclude"] = (*found.extend_exclude, *given["extend_exclude"])
    if given["project_root"]:
        values["project_root"] = os.path.abspath(given["project_root"])
    values["rules"] = (*found.rules, *given["rules"])
    if given["baseline"]:
        values["baseline"] = given["baseline"]
    if given["fix_only"] or given["diff"]:
        values["fix"] = True
    return late.replace(_selected(found, given), **values)


def _selected(found: Settings, given: Mapping[str, Any]) -> Settings:
    """`--select` starts anew; without it the command line adds to the file, and beats it where both name a rule."""
    extend, ignore = given["extend_select"], given["ignore"]
    if given["select"]:
        return late.replace(found, select=given["select"], extend_select=extend, ignore=ignore)
    return late.replace(
        found,
        extend_select=(*(code for code in found.extend_select if code not in ignore), *extend),
        ignore=(*(code for code in found.ignore if code not in extend), *ignore),
    )


def _of_file(given: Mapping[str, Any]) -> Settings:
    root = given["project_root"]
    files = [text for text in given["config"] if names_file(text)]
    if len(files) > 1:
        raise SettingsError("--config: more than one settings file")
    if given["isolated"]:
        if files:
            raise SettingsError("--isolated and a settings file exclude each other")
        return Settings(root=os.path.abspath(root or os.getcwd()))
    if files:
        found = loading.read(files[0], named=True)
        return late.replace(found, root=os.path.abspath(root or os.getcwd()))
    named = [given["stdin_filename"] or "" if path == "-" else path for path in given["paths"]]
    start = root or nearest_of.common_folder(path for path in named if path)
    path = nearest_of.find(start)
    found = loading.read(path) if path else Settings(root=os.path.abspath(root or os.getcwd()))
    return late.replace(found, root=os.path.abspath(root)) if root else found


def names_file(text: str) -> bool:
    """Whether an argument of `--config` is a file, and not a setting."""
    return os.path.exists(text) or (text.endswith(".toml") and "=" not in text)
