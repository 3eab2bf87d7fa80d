"""What `check` says of a program that runs, held against what it does on the simulated accelerator: certain findings
are borne out, and safe fixes leave the same values, places, dtypes, output and errors."""

from __future__ import annotations

import ast
import collections
import contextlib
import io
import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import driving
import torch

from fuzz.judging import Case, Fault
from fuzz.properties import compiles
from proving import default_rules
from runtime_check import simulate
from runtime_check.collect import Collector
from runtime_check.cost import default
from runtime_check.events import Event
from runtime_check.executed import ExecutedLines
from runtime_check.findings import FoundFinding
from runtime_check.provenance import Provenance
from runtime_check.records import Header, Run
from runtime_check.session import Session
from runtime_check.simulate import conditions, trial
from runtime_check.verdicts import Judgement, VerdictKind, judge
from transferlint.engine import pipeline
from transferlint.fixes.rounds import fix_text
from transferlint.model import Confidence, Finding, QuietSite, Safety, Site

_HEADER = Header(("program.py",), "", "simulated", "", "", "", "simulate", "modelled")


class Relay:
    """Listens for as long as the process lives; what it hears goes to the collector of the program that runs."""

    def __init__(self) -> None:
        self.collector: Collector | None = None
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        if self.collector is not None:
            self.collector(event)

    def step(self, source: object) -> None:
        if self.collector is not None:
            self.collector.step(source)

    def gone(self, serial: int) -> None:
        if self.collector is not None:
            self.collector.gone(serial)

    @contextlib.contextmanager
    def count(self) -> Iterator[driving.Crossings]:
        self.events.clear()
        counted = driving.Crossings(self.events)
        try:
            yield counted
        finally:
            counted.stop()


class Truth:
    """The family of tensor programs. One a process: it starts the simulated accelerator, and listens."""

    def __init__(self, folder: Path) -> None:
        torch.set_num_threads(1)
        trial.run = lambda *_: ""  # what it tries is tried by tests of its own
        simulate.start()
        warnings.simplefilter("ignore")
        self._relay = Relay()
        self._session = Session(self._relay, trace=True)
        self._folder = folder
        self._number = 0
        self._rules = default_rules("TL4")
        self.tallies: collections.Counter[str] = collections.Counter()

    def close(self) -> None:
        self._session.stop()

    def judge(self, case: Case, told: bool = False) -> list[Fault]:
        """What is wrong with a program; `told`: count what became of its findings, too."""
        text = case.files["program.py"]
        if not compiles(text):
            return []
        self._number += 1
        path = self._folder / f"program{self._number}.py"
        path.write_text(text)
        try:
            return self._judged(text, str(path), told)
        finally:
            path.unlink()

    def _judged(self, text: str, path: str, told: bool) -> list[Fault]:
        before = driving.call(text, "", driving.recipes()[0], self._relay.count)
        if before.error.startswith("TimeoutError"):
            self.tallies["programs that take too long"] += told
            return []
        self.tallies["programs that " + ("raise" if before.error else "run to their end")] += told
        outcome = pipeline.check_bytes(path, text.encode(), pipeline.Plan(self._rules, quiet=True))
        if outcome.troubles:
            return [Fault("an internal error", str(outcome.troubles[0]))]
        faults = self._refuted(text, path, outcome.findings, outcome.quiet, told)
        if told or not faults:
            faults += self._changed(text, path, before, unsafe=False)
        if told:
            unsafe = self._changed(text, path, before, unsafe=True)
            self.tallies["unsafe fixes that change what is left behind"] += bool(unsafe)
        return faults

    def _refuted(
        self, text: str, path: str, findings: Sequence[Finding], quiet: Sequence[QuietSite], told: bool
    ) -> list[Fault]:
        judgement = self._run(text, path, findings, quiet)
        lines = text.splitlines()
        faults = []
        for verdict in judgement.verdicts:
            found = verdict.finding
            refuted = verdict.kind is VerdictKind.REFUTED and crosses_nowhere(
                text, path, found.site, self._relay.events
            )
            if refuted and found.confidence == "certain":
                said = f"{found.code} at {found.site.line}:{found.site.column}: {found.message}"
                shown = lines[found.site.line - 1].strip()
                faults.append(Fault(f"{found.code} certain and refuted", f"{said}\n    {shown}\n    {verdict.text}"))
            kind = (
                verdict.kind.value
                if refuted or verdict.kind is not VerdictKind.REFUTED
                else "borne out by what it calls"
            )
            self.tallies[f"{found.code} {found.confidence} {kind}"] += told
        for missed in judgement.missed if told else ():
            if missed.own and not missed.explained:
                self.tallies[f"missed: {missed.direction.value} {missed.operation}"] += 1
        return faults

    def _run(self, text: str, path: str, findings: Sequence[Finding], quiet: Sequence[QuietSite]) -> Judgement:
        """Run a program and hold its findings against it."""
        found = [_as_found(one) for one in findings]
        lines = ExecutedLines(one.site for one in found)
        lines.start()
        torch.manual_seed(0)
        self._relay.collector = collector = Collector(default(), provenance=Provenance())
        try:
            code = lines.compile(text.encode(), path)
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
                exec(code, {"__name__": "driven", "__file__": path})
        finally:
            self._relay.collector = None
            self._relay.events.clear()
            lines.stop()
        run = Run(_HEADER, collector.records(), collector.links(), outcome=collector.outcome())
        return judge(found, run, lines.executed(), str(self._folder), quiet)

    def _changed(self, text: str, path: str, before: driving.Left, unsafe: bool) -> list[Fault]:
        """What fixes change of what a program leaves behind: nothing, where they are safe."""
        plan = pipeline.Plan(self._rules)

        def check(now: str) -> list[Finding]:
            return list(pipeline.check_text(path, now, plan).findings)

        made = fix_text(path, text, check, unsafe)
        self.tallies[f"programs that {'unsafe' if unsafe else 'safe'} fixes change"] += made.text != text
        if made.text == text:
            return []
        after = driving.call(made.text, "", driving.recipes()[0], self._relay.count)
        codes = sorted({one.code for one in made.fixed if unsafe or (one.fix and one.fix.safety is Safety.SAFE)})
        kind = f"the {'unsafe' if unsafe else 'safe'} fix of {', '.join(codes)} changes"
        shown = f"\n{pipeline.unified_diff('program.py', text, made.text)}"
        if after.error.partition(":")[0] != before.error.partition(":")[0]:
            return [Fault(f"{kind} an error", f"{before.error or 'none'} becomes {after.error or 'none'}{shown}")]
        if not before.error and not driving.alike(before.data, after.data, strict=not unsafe):
            return [Fault(f"{kind} a value", driving.difference(before.data, after.data) + shown)]
        return []


def _asked(tree: ast.AST) -> set[ast.expr]:
    """The expressions that Python asks for their truth, behind their evaluation: it may cross, or raise, only then."""
    pending: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While | ast.Assert | ast.IfExp):
            pending.append(node.test)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            pending.append(node.operand)
        elif isinstance(node, ast.BoolOp):
            pending += node.values[:-1]
        elif isinstance(node, ast.comprehension):
            pending += node.ifs
    found: set[ast.expr] = set()
    while pending:
        node = pending.pop()
        found.add(node)
        if isinstance(node, ast.BoolOp):
            pending += node.values[-1:]
        elif isinstance(node, ast.IfExp):
            pending += (node.body, node.orelse)
    return found


class _Mark(ast.NodeTransformer):
    """Puts calls before and behind the evaluation of the expressions that span a site, and of their truth where that is
    asked."""

    def __init__(self, site: Site, tree: ast.AST) -> None:
        self._span = site.line, site.column - 1, site.end_line, site.end_column - 1
        self._asked = _asked(tree)
        self.found = False

    def visit(self, node: ast.AST) -> Any:
        asked = node in self._asked
        node = super().generic_visit(node)
        span = tuple(getattr(node, name, -1) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"))
        stored = not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        if not isinstance(node, ast.expr) or span != self._span or stored:
            return node
        self.found = True
        begin, end = (ast.Call(ast.Name(name, ast.Load()), [], []) for name in ("_begin", "_end"))
        if asked:
            node = ast.Call(ast.Name("_truth", ast.Load()), [node], [])
        parts = ast.Tuple([begin, node, end], ast.Load())
        return ast.fix_missing_locations(ast.copy_location(ast.Subscript(parts, ast.Constant(1), ast.Load()), node))


def crosses_nowhere(text: str, path: str, site: Site, events: Sequence[Event]) -> bool:
    """Whether the expression at a site is evaluated to its end when the program runs, and nothing crosses meanwhile,
    in whatever it calls. A line may run without all that is on it, or raise. True where the site is that of no expression."""
    tree = ast.parse(text)
    mark = _Mark(site, tree)
    tree = mark.visit(tree)
    if not mark.found:
        return True
    begun: list[int] = []
    crossed: list[bool] = []

    def end() -> None:
        crossed.append(any(one.sync or one.direction.value != "none" for one in events[begun.pop() :]))

    marks = {"_begin": lambda: begun.append(len(events)), "_end": end, "_truth": lambda value: value or value}
    torch.manual_seed(0)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        exec(compile(tree, path, "exec"), {"__name__": "driven", **marks})
    return bool(crossed) and not any(crossed)


def _as_found(finding: Finding) -> FoundFinding:
    site = finding.site
    return FoundFinding(
        finding.code,
        finding.name,
        site,
        site.path,
        finding.message,
        evidence=finding.evidence,
        confidence=Confidence(finding.confidence).name.lower(),
        hot=bool(finding.heat and finding.heat.hot),
        fix=finding.fix.safety.name.lower() if finding.fix else "",
    )


def unmet() -> str:
    """Why the simulated accelerator cannot be had here, "" where it can."""
    return conditions.unmet()


def scratch() -> Path:
    """A folder for programs while they run, with its real path, as records name it."""
    return Path(os.path.realpath(tempfile.mkdtemp(prefix="fuzz-")))


def table(tallies: collections.Counter[str]) -> list[str]:
    """What was counted, for a person; most first within each kind."""
    return [f"{count:6}  {what}" for what, count in sorted(tallies.items(), key=_rank) if count]


def _rank(row: tuple[str, Any]) -> tuple[bool, str, int]:
    what, count = row
    return what.startswith("missed"), what[:5] if what.startswith("TL") else "", -count
