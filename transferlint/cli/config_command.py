"""`transferlint config`: which settings hold, what each is for, and which file says so."""

from __future__ import annotations

import difflib
import json
import os
from typing import Any

import click

from transferlint.cli import output
from transferlint.cli.codes import FAILED


@click.command("config", short_help="Show settings, where they come from, and what they are for.")
@click.argument("path", default=".", type=click.Path())
@click.option("--explain", metavar="KEY", help="Say all about one key.")
@click.option("--output-format", "-f", type=click.Choice(("text", "json")), default="text", help="Form of the list.")
def COMMAND(path: str, explain: str | None, output_format: str) -> int:
    """Show the settings that hold for PATH (default: the current folder), and which file each comes from."""
    from transferlint.settings import loading
    from transferlint.settings.setting_keys import KEYS
    from transferlint.sources import nearest

    if explain is not None and explain not in KEYS:
        near = difflib.get_close_matches(explain.replace("_", "-"), KEYS, n=1)
        output.complain(
            f"no key {explain!r}; " + (f"did you mean {near[0]}?" if near else "keys are " + ", ".join(KEYS))
        )
        return FAILED
    try:
        source = nearest.find(nearest.common_folder([path]))
        found = loading.read(source) if source else loading.Settings(root=os.getcwd())
        origins = loading.origins(source) if source else {}
    except loading.SettingsError as error:
        output.complain(error)
        return FAILED
    held = loading.as_table(found)
    rows = [_row(key, held.get(key), origins.get(key, "")) for key in KEYS if explain in (None, key) and key in held]
    if explain == "extend":
        rows = [_row("extend", None, "")]
    if output_format == "json":
        output.show_data(rows if explain is None else rows[0])
    elif explain is None:
        width = max(len(row["key"]) for row in rows)
        output.show(f"{row['key']:<{width}}  {row['shown']}{_from(row)}" for row in rows)
    else:
        output.show(_explained(rows[0]))
    if found.refused:
        output.complain(found.refused)
    return 0


def _row(key: str, value: Any, source: str) -> dict[str, Any]:
    from transferlint.settings.loading import Settings, as_table
    from transferlint.settings.setting_keys import KEYS

    usual = as_table(Settings()).get(key)
    return {
        "key": key,
        "value": value,
        "shown": _toml(value),
        "default": usual,
        "source": os.path.relpath(source) if source else "",
        "doc": KEYS[key].doc,
        "takes": _takes(KEYS[key].schema),
    }


def _from(row: dict[str, Any]) -> str:
    return f"  # {row['source']}" if row["source"] else ""


def _explained(row: dict[str, Any]) -> list[str]:
    lines = [f"{row['key']}: {row['takes']}", "", row["doc"], ""]
    lines.append(f"usual: {_toml(row['default'])}")
    if row["key"] != "extend":
        lines.append(f"now:   {row['shown']}" + (f", from {row['source']}" if row["source"] else ""))
    options = {"per-file-ignores", "test-paths", "knowledge", "extend"}
    if row["key"] not in options:
        name = row["key"].upper().replace("-", "_")
        lines.append(f"on the command line: --{row['key']}; in the environment: TRANSFERLINT_{name}")
    return lines


def _takes(schema: Any) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(json.dumps(one) for one in schema["enum"])
    kinds = {"boolean": "true or false", "integer": "a whole number", "number": "a number", "string": "a string"}
    kinds.update({"array": "a list of strings", "object": "a table"})
    return kinds[schema["type"]]


def _toml(value: Any) -> str:
    """A value as TOML has it, in one line."""
    if value is None or value == "":
        return "(not set)"
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    return json.dumps(value)
