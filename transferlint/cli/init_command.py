"""`transferlint init`: settings, a pre-commit hook and a baseline for a project that has none."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from transferlint import links
from transferlint.cli import output
from transferlint.cli.codes import FAILED

_FOREIGN = ("third_party", "third-party", "3rdparty", "vendor", "external", "submodules")
_BASELINE = "transferlint-baseline.json"
_HOOKS = ".pre-commit-config.yaml"


@click.command("init", short_help="Write settings for a project, and offer a hook and a baseline.")
@click.option("--hook/--no-hook", default=None, help="Write a pre-commit hook.  [default: ask on a terminal]")
@click.option("--baseline/--no-baseline", default=None, help="Take what is found now as known.  [default: ask]")
def COMMAND(hook: bool | None, baseline: bool | None) -> int:
    """Write `[tool.transferlint]` into the pyproject.toml of the current folder, or a transferlint.toml where it has
    none. Nothing that is there is changed."""
    from transferlint.files import atomic
    from transferlint.settings.setting_keys import SettingsError
    from transferlint.sources import nearest

    try:
        there = nearest.find(os.getcwd())
    except SettingsError as error:
        output.complain(error)
        return FAILED
    if there is not None:
        output.complain(f"{os.path.relpath(there)} has settings already; `transferlint config` shows them")
        return FAILED
    hook = _asked(hook, "Check each commit with a pre-commit hook?")
    baseline = _asked(baseline, "Take what is found now as known, and report only what is new?")
    shared = Path("pyproject.toml")
    try:
        _write(shared if shared.is_file() else Path("transferlint.toml"), _table(baseline), shared.is_file())
        if hook:
            _hook()
    except atomic.WriteError as error:
        output.complain(error.message)
        return FAILED
    except OSError as error:
        output.complain(f"{error.filename}: not written: {error.strerror}")
        return FAILED
    return _known() if baseline else 0


def _asked(given: bool | None, question: str) -> bool:
    if given is None and sys.stdin is not None and sys.stdin.isatty() and output.on_terminal():
        return click.confirm(question, default=False)
    return bool(given)


def _table(baseline: bool) -> list[str]:
    """The lines of a sensible table: what is usual as comments, what this project needs as settings."""
    foreign = [f"{name}/" for name in _FOREIGN if os.path.isdir(name)]
    lines = ['# select = ["TL1", "TL2", "TL3"]   # left out: every rule that is on by default']
    lines.append('min-confidence = "likely"  # possible, likely or certain')
    quoted = ", ".join(f'"{name}"' for name in foreign)
    lines.append(f"extend-exclude = [{quoted}]" if foreign else '# extend-exclude = ["third_party/"]')
    lines.append('# test-paths = ["tests/**"]   # which are not read')
    if baseline:
        lines.append(f'baseline = "{_BASELINE}"')
    return lines


def _write(path: Path, lines: list[str], section: bool) -> None:
    from transferlint.files import atomic

    before = path.read_bytes() if path.exists() else b""
    end = b"\r\n" if b"\r\n" in before else b"\n"
    gap = end if before and not before.endswith(b"\n") else b""
    head = ["", "[tool.transferlint]"] if section else []
    added = gap + b"".join(line.encode() + end for line in [*head, *lines])
    atomic.write(str(path), before + added, before if path.exists() else None)
    output.show([f"Wrote {'[tool.transferlint] to ' if section else ''}{path}."])


def _hook() -> None:
    lines = [
        "  - repo: " + links.HOME,
        "    rev: v0.1.0  # the version that you want",
        "    hooks:",
        "      - id: transferlint",
    ]
    if os.path.exists(_HOOKS):  # it is YAML, and somebody's own
        output.show([f"{_HOOKS} is there; add below `repos:`", *lines])
        return
    Path(_HOOKS).write_text("\n".join(["repos:", *lines, ""]), encoding="utf-8")
    output.show([f"Wrote {_HOOKS}."])


def _known() -> int:
    from transferlint.cli.root import run

    return run(["check", "--write-baseline"])
