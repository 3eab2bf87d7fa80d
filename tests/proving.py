"""What tests of rules share: marks that say what is expected, the check of one text, and running an example.

A mark is the comment `# expect: TL101` on the line of a finding's site, `# expect: TL101, TL101, TL303` where several
are expected there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from transferlint import pipeline, registry, selection
from transferlint.fixes import FixOutcome, fix_text
from transferlint.model import Finding
from transferlint.rule import Rule

MARK = re.compile(r"[ \t]*# *expect: *(?P<codes>[A-Z]+[0-9]{3}(?: *, *[A-Z]+[0-9]{3})*)[ \t]*(?=\r?$)", re.M)
Reported = Counter[tuple[int, str]]


def marks(text: str) -> Reported:
    """What a text says is to be reported: how often each code on each 1-based line."""
    wanted: Reported = Counter()
    for match in MARK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        wanted.update((line, code) for code in re.split(r" *, *", match["codes"]))
    return wanted


def without_marks(text: str) -> str:
    """The text as a user would have written it. Lines stay where they are."""
    return MARK.sub("", text)


def all_rules() -> tuple[Rule, ...]:
    """Every rule of every installed pack; fails where a pack was refused."""
    loaded = registry.load()
    assert loaded.refused == ()
    return loaded.rules


def default_rules(*also: str) -> tuple[Rule, ...]:
    """The rules that run unasked, and those with the codes `also`."""
    return selection.choose(all_rules(), None, also, ())


def check_bytes(name: str, data: bytes, rules: Iterable[Rule]) -> tuple[Finding, ...]:
    """The findings in a file's bytes, at default settings; fails on trouble of any kind. Its folder plays no role."""
    outcome = pipeline.check_bytes(name, data, pipeline.Plan(tuple(rules)))
    assert outcome.troubles == ()
    return outcome.findings


def reported(findings: Iterable[Finding]) -> Reported:
    """How often each code was reported on each line."""
    return Counter((finding.site.line, finding.code) for finding in findings)


def fix(text: str, rule: Rule, unsafe: bool) -> FixOutcome:
    """Apply the fixes of one rule."""
    plan = pipeline.Plan((rule,))

    def check(now: str) -> list[Finding]:
        checked = pipeline.check_text("example.py", now, plan)
        assert checked.troubles == ()
        return list(checked.findings)

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


