"""What must hold of every text, whatever it means: `check` ends, in work that grows with the text, raises nothing, and
says the same again, from the cache too; fixes parse, come to rest, and lose no comment."""

from __future__ import annotations

import collections
import io
import random
import re
import tokenize
import warnings
from pathlib import Path

from fuzz.counting import Runaway, calls
from fuzz.judging import Case, Fault
from fuzz.mutants import parses
from proving import default_rules
from transferlint import late
from transferlint.engine import pipeline, steps
from transferlint.fixes import rounds
from transferlint.model import Finding

_RULES = ("TL4",)  # beside those that are on by default
_MOST = 2_000  # calls for each character: generated programs take up to 60
_BASE = 2_000_000
_FEW, _MANY = 3, 12
_GROWTH = 1.6  # times as much again as the text has grown


class Texts:
    """A family of single texts; `folder` is for its cache."""

    def __init__(self, folder: Path) -> None:
        self._plan = pipeline.Plan(default_rules(*_RULES))
        self._cache = str(folder)

    def judge(self, case: Case) -> list[Fault]:
        text = case.files["program.py"]
        try:
            if case.options:
                return self._grown(text, case.options[0])
            return self._judged(text)
        except Runaway as error:
            return [Fault("does not end", f"{error} for {len(text):,} characters")]

    def _judged(self, text: str) -> list[Fault]:
        data = text.encode()
        made: list[pipeline.Outcome] = []
        calls(lambda: made.append(pipeline.check_bytes("program.py", data, self._plan)), _BASE + _MOST * len(text))
        (first,) = made
        if first.troubles:
            return [Fault("an internal error", "\n".join(map(str, first.troubles)))]
        is_python = parses(text)
        if is_python and any(one.code == "TL001" for one in first.findings):
            return [Fault("TL001 on Python", first.findings[0].message)]
        faults = self._again(data, first)
        return faults or (self._fixed(text) if is_python else [])

    def _again(self, data: bytes, first: pipeline.Outcome) -> list[Fault]:
        """The same answer again, and from the two steps of a project, without a cache, into one and out of one."""
        answers = {"a second time": pipeline.check_bytes("program.py", data, self._plan)}
        for name, cache in (("in two steps", ""), ("into the cache", self._cache), ("out of the cache", self._cache)):
            plan = late.replace(self._plan, cache=cache)
            prepared = steps.prepare_bytes("program.py", data, plan)
            answers[name] = steps.check_prepared(prepared, plan, (), None)
        return [
            Fault(f"another answer {name}", differ(first.findings, answer.findings) + str(answer.troubles or ""))
            for name, answer in answers.items()
            if answer.findings != first.findings or answer.troubles
        ]

    def _fixed(self, text: str) -> list[Fault]:
        def check(now: str) -> list[Finding]:
            checked = pipeline.check_text("program.py", now, self._plan)
            if checked.troubles:
                raise RuntimeError(f"{checked.troubles[0]}\n{now}")
            return list(checked.findings)

        for unsafe in (False, True):
            try:
                made = rounds.fix_text("program.py", text, check, unsafe)
            except RuntimeError as error:
                return [Fault("an internal error in what is fixed", str(error))]
            codes = ", ".join(sorted({one.code for one in made.fixed}))
            diff = pipeline.unified_diff("program.py", text, made.text)
            if made.refused:
                return [Fault("a fix is refused: " + made.refused[0].partition(" ")[0], "\n".join(made.refused))]
            if made.text == text:
                continue
            if compiles(text) and not compiles(made.text):
                return [Fault(f"the fix of {codes} does not compile", diff)]
            lost = comments(text) - comments(made.text)
            if lost:
                return [Fault(f"the fix of {codes} loses a comment", f"{next(iter(lost))}\n{diff}")]
            again = rounds.fix_text("program.py", made.text, check, unsafe)
            if again.text != made.text:
                more = pipeline.unified_diff("program.py", made.text, again.text)
                return [Fault(f"the fix of {codes} changes more the second time", f"{diff}\n{more}")]
        return []

    def _grown(self, text: str, how: str) -> list[Fault]:
        """Work grows with the text: that of many copies against that of few."""
        few, many = grown(text, how, _FEW), grown(text, how, _MANY)
        if not parses(many):
            return []
        pipeline.check_bytes("program.py", grown(text, how, 1).encode(), self._plan)  # imports what it needs
        counted = {}
        for one in (few, many):
            limit = _BASE + _MOST * len(one)
            counted[one] = calls(lambda one=one: pipeline.check_bytes("program.py", one.encode(), self._plan), limit)
        allowed = _GROWTH * len(many) / len(few)
        if counted[many] > allowed * counted[few]:
            seen = f"{counted[few]:,} calls for {len(few):,} characters, {counted[many]:,} for {len(many):,}"
            return [Fault(f"grows faster than the text {how}", seen)]
        return []


GROW = ("in a row", "in a function", "in a loop")


def grown(text: str, how: str, times: int) -> str:
    """Copies of a program: one after the other in the module, or all in one function, or in a loop in it."""
    if not text.endswith(("\n", "\r")):
        text += "\n"
    if how == "in a row":
        return text * times
    head = "def grown(x, y, z):\n" + ("    for step in range(9):\n" if how == "in a loop" else "")
    indent = "        " if how == "in a loop" else "    "
    return head + "".join(indent + line for line in (text * times).splitlines(keepends=True))


def growth(chance: random.Random) -> tuple[str, ...]:
    """How to grow in a round: most do not."""
    return (chance.choice(GROW),) if chance.random() < 0.25 else ()


def compiles(text: str) -> bool:
    """Whether this Python's compiler takes a text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "text", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def comments(text: str) -> collections.Counter[str]:
    """The comments of a text, without blanks at their ends, and but for those that suppress findings: these a fix of an
    unused one takes away."""
    found: collections.Counter[str] = collections.Counter()
    try:
        for token in tokenize.tokenize(io.BytesIO(text.encode()).readline):
            if token.type == tokenize.COMMENT and not re.search("transferlint:|noqa", token.string):
                found[token.string.rstrip()] += 1
    except (SyntaxError, tokenize.TokenError):
        pass
    return found


def differ(one: tuple[Finding, ...], other: tuple[Finding, ...]) -> str:
    """The findings that only one side has."""
    left = [f"- {said(found)}" for found in one if found not in other]
    right = [f"+ {said(found)}" for found in other if found not in one]
    return "\n".join([*left, *right][:6]) or "in another order"


def said(found: Finding) -> str:
    return f"{found.code} {found.site.path}:{found.site.line}:{found.site.column} {found.message}"
