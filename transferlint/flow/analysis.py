"""The analysis of one file: from its program to its facts, with what its findings tell of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from transferlint.flow import evident
from transferlint.flow.facts import FileFacts, FunctionFacts, Telling
from transferlint.flow.frequency.warmth import Warmth
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.flow.lattice.values import Value
from transferlint.flow.project import Project
from transferlint.flow.words import device_evidence, heat_words
from transferlint.model import Evidence
from transferlint.syntax.positions import Positions
from transferlint.syntax.program import Program, Reg


class Told(Telling):
    """See `Telling`."""

    def device(self, function: FunctionFacts, value: Value) -> tuple[Evidence, ...]:
        """See `words.device_evidence`."""
        return device_evidence(function, value)

    def heat(self, function: FunctionFacts, warmth: Warmth) -> str:
        """See `words.heat_words`."""
        return heat_words(function, warmth)

    def evident(self, function: FunctionFacts, reg: Reg) -> bool:
        """See `evident.evident`."""
        return evident.evident(function, reg)

    def other_waits(self, function: FunctionFacts, reg: Reg, told: Iterable[Evidence]) -> Iterator[Evidence]:
        """See `evident.other_waits`."""
        return evident.other_waits(function, reg, told)


def analyse(
    path: str,
    text: str,
    program: Program,
    spans: Positions,
    options: AnalysisOptions,
    project: Project | None = None,
) -> FileFacts:
    """The facts of one file from its program. `text` is the decoded source, `spans` of the same tree; `project` is what
    is known beyond the file."""
    return FileFacts(path, text, program, spans, options, Told(), project)
