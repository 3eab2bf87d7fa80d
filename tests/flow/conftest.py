"""What the tests of the analysis share: a source text analysed, and asked by the text of its expressions."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Callable

import pytest

from transferlint.flow.analysis import analyse
from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.frequency.warmth import Warmth
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import Value
from transferlint.syntax import program as p
from transferlint.syntax.lower import lower
from transferlint.syntax.source import decode, parse
from transferlint.syntax.spans import Spans

# Instructions that share the node of the expression they use.
_SHARED = (p.Test, p.Store, p.StoreOuter, p.Discard, p.SetAttr, p.SetItem, p.Next, p.Enter, p.Return, p.Unpack)


@dataclasses.dataclass(frozen=True, slots=True)
class Look:
    """The facts of one source, asked by the text of expressions.

    Where a text stands several times the last one in the file is meant, or the `nth` from the top, from 0.
    """

    facts: FileFacts

    def find(self, text: str, nth: int = -1) -> tuple[FunctionFacts, p.Reg]:
        """The function and the register of the expression with this source text."""
        found: dict[tuple[int, int], tuple[FunctionFacts, p.Reg]] = {}
        for function in self.facts.functions:
            for reg, instruction in enumerate(function.code):
                if function.has_text(reg) and not isinstance(instruction, _SHARED) and function.text(reg) == text:
                    found[function.span(reg)] = function, reg
        assert found, f"no expression `{text}`"
        return found[sorted(found)[nth]]

    def value(self, text: str, nth: int = -1) -> Value:
        """What is known of an expression."""
        function, reg = self.find(text, nth)
        return function.values[reg]

    def places(self, text: str, nth: int = -1) -> int:
        """Where an expression's data can be."""
        return self.value(text, nth).places

    def warmth(self, text: str, nth: int = -1) -> Warmth:
        """How often an expression runs."""
        function, reg = self.find(text, nth)
        return function.warmth(reg)

    def why(self, text: str, nth: int = -1) -> list[str]:
        """The source text of the sites that explain why an expression is on the device."""
        function, reg = self.find(text, nth)
        lines = self.facts.text.splitlines()
        return [
            lines[link.site.line - 1][link.site.column - 1 : link.site.end_column - 1]
            for link in function.why(function.values[reg])
        ]

    def transfers(self, *kinds: str) -> list[Transfer]:
        """The transfers of the file, of the given kinds (of all where none is given), in program order."""
        return [t for f in self.facts.functions for t in f.transfers if not kinds or t.kind in kinds]

    def at(self, text: str, nth: int = -1) -> list[Transfer]:
        """The transfers that an expression makes itself."""
        function, reg = self.find(text, nth)
        return [t for t in function.transfers if t.register == reg]


def _look(source: str, path: str = "train.py", options: AnalysisOptions | None = None) -> Look:
    read = decode(path, textwrap.dedent(source).encode())
    tree = parse(read)
    return Look(analyse(path, read.text, lower(tree, path), Spans(tree, read.text), options or AnalysisOptions()))


@pytest.fixture(scope="session")
def look() -> Callable[..., Look]:
    """`look(source, path="train.py", options=None)` analyses a source text, which may be indented."""
    return _look
