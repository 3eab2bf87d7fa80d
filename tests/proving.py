"""What tests of rules share: marks that say what is expected (`transferlint/rule_tests.py`), the check of one text, and
running an example."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import math
from collections.abc import Iterable
from typing import Any

from transferlint import registry
from transferlint.engine import pipeline
from transferlint.fixes.rounds import FixOutcome, fix_text
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.model import Confidence, Finding
from transferlint.rule import Rule
from transferlint.rule_tests import Reported, marks, reported, without_marks
from transferlint.settings import selection

__all__ = [
    "Execution", "Reported", "all_rules", "beside", "check_bytes", "default_rules", "execute", "fix", "marks",
    "reported", "same", "without_marks",
]  # fmt: skip


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule of every installed pack; fails where a pack was refused."""
    loaded = registry.load()
    assert loaded.refused == ()
    return loaded.rules


def default_rules(*also: str) -> tuple[Rule, ...]:
    """The rules that run unasked, and those with the codes `also`."""
    return selection.choose(all_rules(), None, also, ())


def beside(rule: Rule) -> tuple[Rule, ...]:
    """What a rule is tried with: nothing, but where it judges suppressions, the rules that these may silence."""
    return (rule,) if rule.judge is None else default_rules(rule.code)


def check_bytes(
    name: str, data: bytes, rules: Iterable[Rule], least: Confidence = Confidence.LIKELY
) -> tuple[Finding, ...]:
    """The findings in a file's bytes, at default settings but for the `least` confidence; fails on trouble of any kind.
    Its folder plays no role."""
    outcome = pipeline.check_bytes(
        name, data, pipeline.Plan(tuple(rules), AnalysisOptions(excerpts=True), min_confidence=least)
    )
    assert outcome.troubles == ()
    return outcome.findings


def fix(text: str, rule: Rule, unsafe: bool) -> FixOutcome:
    """Apply the fixes of one rule."""
    plan = pipeline.Plan(beside(rule), AnalysisOptions(excerpts=True))

    def check(now: str) -> list[Finding]:
        checked = pipeline.check_text("example.py", now, plan)
        assert checked.troubles == ()
        return [finding for finding in checked.findings if finding.code == rule.code]

    return fix_text("example.py", text, check, unsafe)


@dataclasses.dataclass(frozen=True, slots=True)
class Execution:
    """What running a text left: its module-level data by name, what it printed, and what it raised (None: nothing)."""

    values: dict[str, Any]
    printed: str
    error: Exception | None


def execute(text: str, seed: int = 0) -> Execution:
    """Run a text with torch on the CPU; wherever it says cuda it gets cpu. Random numbers start from `seed`."""
    import torch

    namespace: dict[str, Any] = {"__name__": "example"}
    code = compile(text.replace("cuda", "cpu"), "example.py", "exec")
    printed = io.StringIO()
    error = None
    torch.manual_seed(seed)
    try:
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
    except Exception as raised:  # whatever an example raises is what the caller compares
        error = raised
    finally:
        torch.set_default_device(None)
    values = {name: value for name, value in namespace.items() if not name.startswith("__") and _is_data(value)}
    return Execution(values, printed.getvalue(), error)


def same(a: Any, b: Any) -> bool:
    """Whether two values are bit for bit the same data, of the same type, dtype and shape; NaN equals NaN."""
    import torch

    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        if a.dtype != b.dtype or a.shape != b.shape or a.requires_grad != b.requires_grad:
            return False
        floating = a.is_floating_point() or a.is_complex()
        return bool(torch.allclose(a, b, rtol=0, atol=0, equal_nan=True) if floating else torch.equal(a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and math.isnan(a):
        return math.isnan(b)
    return bool(a == b)


def _is_data(value: Any) -> bool:
    import torch

    if isinstance(value, (list, tuple)):
        return all(map(_is_data, value))
    if isinstance(value, dict):
        return all(map(_is_data, value.values()))
    return value is None or isinstance(value, (torch.Tensor, bool, int, float, complex, str, bytes))
