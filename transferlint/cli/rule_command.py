"""`transferlint rule`: the page of one rule."""

from __future__ import annotations

import difflib
import textwrap
from typing import Any

import click

from transferlint.cli import output
from transferlint.cli.codes import FAILED


@click.command("rule", short_help="Explain a rule.")
@click.argument("code", required=False)
@click.option("--all", "everything", is_flag=True, help="Explain every rule.")
@click.option("--output-format", "-f", type=click.Choice(("text", "json")), default="text", help="Form of the page.")
@click.option("--rules", multiple=True, type=click.Path(), help="A file or folder of rules, beside installed packs.")
def COMMAND(code: str | None, everything: bool, output_format: str, rules: tuple[str, ...]) -> int:
    """Explain the rule CODE (or the rule of that name): what it does, why, what to write instead."""
    from transferlint import registry
    from transferlint.cli.cards import beside_torch, row

    packs = registry.load(paths=rules)
    for line in packs.refused:
        output.complain(line)
    if everything == bool(code):
        raise click.UsageError("give one CODE, or --all")
    chosen = packs.rules if everything else tuple(filter(None, [packs.find(code or "")]))
    if not chosen:
        wanted, words = code or "", [word for rule in packs.rules for word in (rule.code, rule.name)]
        near = [*difflib.get_close_matches(wanted.upper(), words), *difflib.get_close_matches(wanted, words)]
        hint = f"did you mean {near[0]}?" if near else "`transferlint rules` lists them"
        output.complain(f"no rule {code!r}; {hint}")
        return FAILED
    if output_format == "json":
        pages = [{**row(rule), "doc": rule.doc.strip(), "frameworks": beside_torch(rule)} for rule in chosen]
        output.show_data(pages if everything else pages[0])
        return 0
    for rule in chosen:
        parts = [f"# {rule.code} {rule.name}", _traits(row(rule)), rule.doc.strip()]
        _show("\n\n".join(parts + [_section(**one) for one in beside_torch(rule)]) + "\n")
    return FAILED if packs.refused else 0


def _traits(traits: dict[str, Any]) -> str:
    fix = {"safe": "fixed by --fix", "unsafe": "fixed by --fix --unsafe-fixes"}.get(traits["fix"], "no automatic fix")
    return f"{traits['category']} · {'on' if traits['default'] else 'off'} by default · {fix} · since {traits['since']}"


def _section(framework: str, advice: str, asked: str, bad: str, good: str) -> str:
    """What a rule says of one framework beside torch, in the form of the docstrings."""
    parts = [f"{framework}\n{'-' * len(framework)}", "\n".join(textwrap.wrap(f"Use instead: {advice}.", 118))]
    if asked:
        parts += [f"{asked}."]
    if bad:
        parts += [textwrap.indent(bad.strip(), "    "), "No findings in:"]
        parts += [textwrap.indent(good.strip(), "    ")]
    return "\n".join(parts[:2]) + "".join(f"\n\n{part}" for part in parts[2:])


def _show(page: str) -> None:
    """Rendered on a terminal, as Markdown in a pipe."""
    if not output.on_terminal():
        output.show(page.split("\n"))
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(page))
