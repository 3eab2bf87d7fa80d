"""What the calls of other files say of how rarely code runs."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from transferlint.flow.analysis import analyse
from transferlint.flow.callgraph.modules import ModuleIndex
from transferlint.flow.facts import FileFacts
from transferlint.flow.frequency.warmth import Warmth
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.flow.project import Project
from transferlint.syntax.lower import lower
from transferlint.syntax.source import decode, parse
from transferlint.syntax.spans import Spans

NORMS = """\
def compare(values, model):
    for {over}:
        seen
"""
UTILS = """\
def compare(values, loader, p=None):
    for value in {over}:
        seen
    if p is not None:
        asked
"""


def warmth(files: Mapping[str, str], path: str, text: str) -> Warmth:
    """How often an expression of a file of a small project runs."""
    trees = {name: parse(decode(name, files[name].encode())) for name in files}
    programs = {name: lower(tree, name) for name, tree in trees.items()}
    project = Project(programs, ModuleIndex(list(files), "."), AnalysisOptions())
    facts: FileFacts = analyse(
        path, files[path], programs[path], Spans(trees[path], files[path]), project.options, project
    )
    return next(
        f.warmth(reg) for f in facts.functions for reg in range(len(f.code)) if f.has_text(reg) and f.text(reg) == text
    )


def net(test: str, call: str, over: str = "values") -> dict[str, str]:
    head = "from pkg.utils import compare\nclass Net:\n    def training_step(self, x, step, **rest):\n"
    train = f"{head}        if {test}:\n            {call}\n            self.grid = x\n"
    return {"pkg/__init__.py": "", "pkg/utils.py": UTILS.format(over=over), "train.py": train}


@pytest.mark.parametrize(
    ("test", "over", "cold"),
    [
        ("not hasattr(self, 'grid')", "values", True),
        ("step == 0", "values", True),
        ("not hasattr(self, 'grid')", "loader", False),
        ("step % 100 == 0", "values", False),
    ],
)
def test_what_is_called_hardly_ever(test: str, over: str, cold: bool) -> None:
    found = warmth(net(test, "compare(x, step)", over), "pkg/utils.py", "seen")
    assert bool(found.cold) is cold
    assert found.hot is not cold


@pytest.mark.parametrize(
    ("call", "rare"),
    [("compare(x, step)", True), ("compare(x, step, p=x)", False), ("compare(x, **rest)", False)],
)
def test_an_option_that_no_other_file_gives(call: str, rare: bool) -> None:
    files = net("step", call)
    found = warmth(files, "pkg/utils.py", "asked")
    assert bool(found.amortised) is rare
    assert found.hot is not rare
    other = "from pkg.utils import compare\ndef main(loader):\n    for x in loader:\n        compare(x, 1, x)\n"
    assert warmth({**files, "other.py": other}, "pkg/utils.py", "asked").hot


@pytest.mark.parametrize(
    ("test", "over", "hot"),
    [
        ("step % 100 == 0", "name, one in model.named_parameters()", False),
        ("step % 100 == 0", "one in model.parameters()", False),
        ("step % 100 == 0", "one in values", True),
        ("step", "one in model.parameters()", True),
    ],
)
def test_loops_over_a_module_in_what_is_called_now_and_then(test: str, over: str, hot: bool) -> None:
    files = {**net(test, "compare(x, self.model)"), "pkg/utils.py": NORMS.format(over=over)}
    assert warmth(files, "pkg/utils.py", "seen").hot is hot
