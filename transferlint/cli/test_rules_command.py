"""`transferlint test-rules`: the tests that the built-in rules pass, for rules of one's own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from transferlint.cli import output
from transferlint.cli.codes import FAILED, FOUND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transferlint.rule import Rule
    from transferlint.rule_tests import Fault


@click.command("test-rules", short_help="Test rules of your own: their examples and fixtures.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--fixtures",
    type=click.Path(file_okay=False, exists=True),
    help="Folder with a folder of fixtures for each code.  [default: `fixtures` beside the rules]",
)
def COMMAND(paths: tuple[str, ...], fixtures: str | None) -> int:
    """Test the rules in the files and folders PATH: every example of a rule, and every fixture in FIXTURES/CODE/*.py,
    in which `# expect: CODE` marks the lines that are to be reported. What is reported besides is a failure too.

    Exit code: 0 all is well, 1 something failed, 2 there is nothing to test, or a rule file was refused.
    """
    from transferlint import registry
    from transferlint.engine import workers

    loaded = registry.load(points=(), paths=paths)
    for line in loaded.refused:
        output.complain(line)
    if not loaded.rules:
        output.complain(f"no rule to test in {', '.join(paths)}")
        return FAILED
    files = _fixtures(paths, fixtures, loaded.rules)
    faults = workers.deep(lambda: _faults(loaded.rules, files))
    output.show(f"{fault.where}: {fault.message}" for fault in faults)
    examples = sum(len(rule.all_examples()) for rule in loaded.rules)
    tested = f"{len(loaded.rules)} rule(s), {examples} example(s), {len(files)} fixture(s)"
    output.show([f"{tested}: " + (f"{len(faults)} failure(s)" if faults else "all as they should be")])
    return FAILED if loaded.refused else FOUND if faults else 0


def _fixtures(paths: Sequence[str], folder: str | None, rules: Sequence[Rule]) -> list[str]:
    """The fixtures of the rules, in order."""
    folders = [path if os.path.isdir(path) else os.path.dirname(path) for path in paths]
    places = [folder] if folder else [os.path.join(above, "fixtures") for above in folders]
    found: list[str] = []
    for place in dict.fromkeys(places):
        for code in (rule.code for rule in rules):
            below = os.path.join(place, code)
            names = sorted(os.listdir(below)) if os.path.isdir(below) else []
            found += [os.path.join(below, name) for name in names if name.endswith(".py")]
    return found


def _faults(rules: Sequence[Rule], files: Sequence[str]) -> list[Fault]:
    """Everything that is wrong. Fixtures are checked with the rules under test and no others."""
    from transferlint.rule_tests import example_faults, fixture_faults

    found = [fault for rule in rules for fault in example_faults(rule, tuple(one for one in rules if one is not rule))]
    return found + [fault for path in files for fault in fixture_faults(path, rules)]
