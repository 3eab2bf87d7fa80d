"""`transferlint debug`: what a stage made of a file, for whoever works on the stages."""

from __future__ import annotations

import click

from transferlint.cli import output
from transferlint.cli.codes import FAILED


@click.command("debug", short_help="Show what a stage of the analysis made of a file.")
@click.argument("stage", type=click.Choice(("program", "facts")))
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
def COMMAND(stage: str, file: str) -> int:
    """Print the program (what lowering made) or the facts (places, heat, transfers) of FILE.

    A defect in a stage shows as a traceback here, and nowhere else.
    """
    from transferlint.engine import workers
    from transferlint.syntax.source import SourceError

    try:
        shown = workers.deep(lambda: _program(file) if stage == "program" else _facts(file))
    except SourceError as error:
        place = f"{file}:{error.line}" if error.line else file
        output.complain(f"{place}: {error.message}")
        return FAILED
    output.show(shown.split("\n"))
    return 0


def _program(path: str) -> str:
    from transferlint.syntax import dump, front_end, source

    return dump.dump(front_end.read(source.read(path))[0])


def _facts(path: str) -> str:
    from transferlint.flow import analysis, dump
    from transferlint.flow.lattice.options import AnalysisOptions
    from transferlint.syntax import front_end, source
    from transferlint.syntax.portable import FrozenSpans

    read = source.read(path)
    program, _, *offsets = front_end.read(read)
    return dump.dump(analysis.analyse(path, read.text, program, FrozenSpans(read.text, *offsets), AnalysisOptions()))
