"""Command lines and settings files, sensible and not: one line says what is wrong, and nothing is raised."""

from __future__ import annotations

import contextlib
import io
import os
import random
from pathlib import Path

from fuzz.judging import Case, Fault
from fuzz.programs import program
from fuzz.projects import laid_out
from fuzz.soup import soup
from transferlint.cli import main
from transferlint.settings.loading import KEYS

_VALUES = (
    "true", "false", "1", "-1", "0", '"TL1"', '["TL1", "TL203"]', "[]", '["ALL"]', '["NONE"]', "{}", '{ "*.py" = ["TL1"] }', '""',
    '"likely"', '"certain"', '"json"', '"text"', '["*.py"]', '["["]', '["!a.py", "b/"]', "1.5", "1979-05-27", '"file"', '"project"',
    '{ moves = ["a.b"] }', "[1]", '[["a"]]', "inf", '"\\u0000"', '["**/**"]',
)  # fmt: skip
_OPTIONS = (
    "--fix", "--unsafe-fixes", "--diff", "--fix-only", "--statistics", "--exit-zero", "--quiet", "--quiet-sites", "--isolated",
    "--no-cache", "--add-ignore", "--reason=why", "--show-settings", "--show-files", "--select=TL1", "--select=ALL", "--select=nothing",
    "--extend-select=TL4", "--ignore=TL1,TL3", "--min-confidence=certain", "--min-confidence=often", "-f=json", "--output-format=json",
    "--output-format=sarif", "--output-format=github", "--output-format=concise", "--context=file", "--context=project", "--jobs=1",
    "--jobs=0", "--exclude=*.py", "--extend-exclude=[", "--force-exclude", "--baseline=known.json", "--write-baseline", "--fix --diff",
    "--config=select=['TL1']", "--config=nothing.toml", "--config=x", "--color", "--no-color", "--output-file=out/report", "-o=report",
    "--stdin-filename=a.py", "--project-root=.", "--rules=pkg", "--help", "--chekc", "--no-respect-gitignore",
)  # fmt: skip
_PATHS = (".", "pkg", "main.py", "nothing.py", "./pkg/../main.py", "pkg pkg", ".gitignore", "transferlint.toml", "")


def options(chance: random.Random) -> Case:
    """A command line, a settings file, and a few files."""
    files = {
        "main.py": program(chance, 6),
        "pkg/a.py": soup(chance, 8),
        "pkg/b.py": chance.choice(("", "\0", "x = (", "import torch")),
    }
    if chance.random() < 0.6:
        lines = [f"{chance.choice(tuple(KEYS))} = {chance.choice(_VALUES)}" for _ in range(chance.randint(1, 3))]
        if chance.random() < 0.1:
            lines.append(chance.choice(("[", "a = ", "unknown-key = 1", "select = 1\nselect = 2", "\ufeff")))
        own = chance.random() < 0.5
        files["transferlint.toml" if own else "pyproject.toml"] = "\n".join(
            [*([] if own else ["[tool.transferlint]"]), *lines]
        )
    if chance.random() < 0.2:
        files[".gitignore"] = chance.choice(("*.py\n", "!\n[\n", "pkg/\n!pkg/a.py\n"))
    if chance.random() < 0.2:
        files["known.json"] = chance.choice(("{}", "[", '{"version": 1, "findings": []}', '{"version": 99}', "null"))
    given = [one for _ in range(chance.randint(0, 4)) for one in chance.choice(_OPTIONS).split()]
    return Case(files, (*given, *chance.choice(_PATHS).split()))


class Options:
    """The family of command lines, run in this process."""

    def __init__(self, folder: Path) -> None:
        os.environ["TRANSFERLINT_CACHE_DIR"] = str(folder)

    def judge(self, case: Case) -> list[Fault]:
        with laid_out(case.files):
            first = self._run(case.options)
            if any("fix" in one or one in ("--add-ignore", "--write-baseline") for one in case.options):
                return first[1]
            if any("fix" in text for name, text in case.files.items() if name.endswith(".toml")):
                return first[1]
            second = self._run(case.options)
        if not first[1] and first[0] != second[0]:
            return [Fault("another answer from the same command", f"{first[0][0]}, then {second[0][0]}")]
        return first[1]

    def _run(self, arguments: tuple[str, ...]) -> tuple[tuple[int, str], list[Fault]]:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = main(["check", *arguments])
        except BaseException as error:
            return (-1, ""), [Fault(f"{type(error).__name__} is raised", f"{error} by {' '.join(arguments)}")]
        said, wrong = (stream.buffer.getvalue().decode(errors="replace") for stream in (out, err))  # type: ignore[attr-defined]
        seen = f"transferlint check {' '.join(arguments)}: exit code {status}\n{wrong[-2000:]}"
        if status not in (0, 1, 2):
            return (status, said), [Fault("another exit code", seen)]
        if "Traceback" in wrong or "internal error" in wrong:
            return (status, said), [Fault("an internal error", seen)]
        if status == 2 and not wrong.strip():
            return (status, said), [Fault("nothing is said of what is wrong", seen)]
        return (status, said), []
