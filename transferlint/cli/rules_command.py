"""`transferlint rules`: all rules."""

from __future__ import annotations

from typing import Any

import click

from transferlint.cli import output
from transferlint.cli.codes import FAILED


@click.command("rules", short_help="List all rules.")
@click.option("--output-format", "-f", type=click.Choice(("text", "json")), default="text", help="Form of the list.")
@click.option("--rules", multiple=True, type=click.Path(), help="A file or folder of rules, beside installed packs.")
def COMMAND(output_format: str, rules: tuple[str, ...]) -> int:
    """List all rules: code, name, whether it runs by default, how it is fixed, what it reports."""
    from transferlint import registry
    from transferlint.cli.cards import row

    packs = registry.load(paths=rules)
    for line in packs.refused:
        output.complain(line)
    rows = [row(rule) for rule in packs.rules]
    if output_format == "json":
        output.show_data(rows)
    elif output.on_terminal():
        _table(rows)
    else:
        width = max((len(one["name"]) for one in rows), default=0)
        output.show(
            f"{one['code']}  {one['name']:<{width}}  {'on ' if one['default'] else 'off'}  {one['fix'] or '-':<6}  "
            f"{one['summary']}"
            for one in rows
        )
    return FAILED if packs.refused else 0


def _table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("code", style="bold", no_wrap=True)
    table.add_column("name", no_wrap=True)
    for heading in ("default", "fix", "reports"):
        table.add_column(heading)
    for one in rows:
        summary = Text(one["summary"])  # not markup: `x[mask]` would lose its index
        table.add_row(one["code"], one["name"], "on" if one["default"] else "off", one["fix"] or "-", summary)
    Console().print(table)
