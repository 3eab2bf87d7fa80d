"""`transferlint schema`: the JSON schemas of what is read and written."""

from __future__ import annotations

import json
from pathlib import Path

import click

from transferlint.cli import output


@click.command("schema", short_help="Print the JSON schema of reports or settings.")
@click.argument("of", type=click.Choice(("report", "settings")))
def COMMAND(of: str) -> int:
    """Print a JSON schema. `report` is that of `check --output-format json`; each line of json-lines is its
    `$defs/finding`. `settings` is that of `transferlint.toml` and `[tool.transferlint]`."""
    if of == "settings":
        from transferlint.settings import setting_keys

        output.show_data(setting_keys.schema())
        return 0
    import transferlint.reporters

    path = Path(str(transferlint.reporters.__file__)).with_name(f"{of}.schema.json")
    output.show_data(json.loads(path.read_text(encoding="utf-8")))
    return 0
