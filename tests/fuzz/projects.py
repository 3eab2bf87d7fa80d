"""Projects of several files, with cyclic re-exports, star imports and shadowed names: the whole of a run says the same
again, with and without the cache, in whatever order files are named, and whatever else lies beside them."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from fuzz.counting import Runaway, calls
from fuzz.judging import Case, Fault
from fuzz.programs import program
from fuzz.properties import comments, compiles, differ
from transferlint import registry
from transferlint.engine import checking
from transferlint.model import Finding
from transferlint.settings.loading import Settings

_MODULES = (
    "pkg/__init__.py",
    "pkg/a.py",
    "pkg/b.py",
    "pkg/c.py",
    "pkg/sub/__init__.py",
    "pkg/sub/d.py",
    "main.py",
    "e.py",
)
_DOTTED = ("pkg", "pkg.a", "pkg.b", "pkg.c", "pkg.sub", "pkg.sub.d", "main", "e", "torch", "pkg.a.b", "e.pkg")
_NAMES = ("f", "g", "h", "Net", "device", "torch", "helper", "a", "b", "pkg", "step", "loss")
_IMPORTS = (
    "import {0}", "import {0} as {2}", "from {0} import {2}", "from {0} import {2} as {3}", "from {0} import *", "import {0}, {1}",
    "from . import {2}", "from .{2} import {3}", "from .. import {2} as {3}", "from .a import *", "from .b import *",
    "from .c import *", "from . import *", "import {0}; {2} = {0}", "try:\n    from {0} import {2}\nexcept ImportError:\n    {2} = None",
    "__all__ = ['{2}', '{3}']", "{2} = {3}", "from {0} import {2}\nfrom {1} import {2}",
)  # fmt: skip
_MOST = 4_000
_BASE = 20_000_000


def project(chance: random.Random) -> Case:
    """Two to six files that import each other."""
    names = chance.sample(_MODULES, chance.randint(2, 6))
    files = {name: _module(chance) for name in names}
    if any(name.startswith("pkg/sub") for name in names):
        files.setdefault("pkg/sub/__init__.py", "")
    if any(name.startswith("pkg/") for name in names):
        files.setdefault("pkg/__init__.py", "")
    return Case(files)


def _module(chance: random.Random) -> str:
    lines = [_import(chance) for _ in range(chance.randint(1, 5))]
    if chance.random() < 0.7:
        lines.append(program(chance, chance.choice((3, 6, 10))))
    for _ in range(chance.randint(1, 4)):
        name, other = chance.choice(_NAMES), chance.choice(_NAMES)
        used = chance.choice((other, f"{chance.choice(_DOTTED)}.{other}", f"{other}.{name}.{other}"))
        lines.append(chance.choice(_DEFINED).format(name, used))
    chance.shuffle(lines)
    return "import torch\n" + "\n".join(lines) + "\n"


_DEFINED = (
    "def {0}(x, n=3):\n    for i in range(12):\n        x = {1}(x)\n        print(x.sum().item())\n    return x.cpu()",
    "def {0}(x):\n    return {1}(x.cuda())",
    "class {0}({1}):\n    def forward(self, x):\n        return {1}(x).item()\n    def step(self, x):\n        return self.forward(x)",
    "{0} = {1}",
    "for i in range(12):\n    {0} = {1}(torch.zeros(4).to('cuda')).item()",
    "def {0}(*a, **k):\n    return {1}(*a, **k)",
)


def _import(chance: random.Random) -> str:
    picked = [chance.choice(_DOTTED), chance.choice(_DOTTED), chance.choice(_NAMES), chance.choice(_NAMES)]
    return chance.choice(_IMPORTS).format(*picked)


class Projects:
    """The family of projects; `folder` is for their caches."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._registry = registry.load()

    def judge(self, case: Case) -> list[Fault]:
        size = sum(map(len, case.files.values()))
        try:
            with laid_out(case.files):
                return self._judged(case, _BASE + _MOST * size)
        except Runaway as error:
            return [Fault("does not end", f"{error} for {size:,} characters")]

    def _run(self, *paths: str, cache: str = "", **changed: object) -> checking.Result:
        settings = dataclasses.replace(Settings(root=os.getcwd()), jobs=1, extend_select=("TL4",), **changed)  # type: ignore[arg-type]
        plan = checking.plan_for(settings, self._registry, cache=cache)
        return checking.check_paths(paths, settings, plan, _Silent())

    def _judged(self, case: Case, limit: int) -> list[Fault]:
        made: list[checking.Result] = []
        calls(lambda: made.append(self._run(".")), limit)
        (first,) = made
        if first.troubles:
            return [Fault("an internal error", "\n".join(map(str, first.troubles)))]
        cache = tempfile.mkdtemp(dir=self._folder)
        answers = {"a second time": self._run("."), "into the cache": self._run(".", cache=cache)}
        answers["out of the cache"] = self._run(".", cache=cache)
        shutil.rmtree(cache)
        answers["with files in another order"] = self._run(*sorted(_python(case.files), reverse=True))
        Path("unrelated_zz.py").write_text("import torch\n\n\ndef unrelated_zz(q):\n    return torch.zeros(3).to(q)\n")
        answers["beside a file that does not matter"] = self._run(".")
        Path("unrelated_zz.py").unlink()
        expected = _known(first.findings)
        for name, answer in answers.items():
            if _known(answer.findings) != expected or answer.troubles:
                return [
                    Fault(
                        f"another answer {name}", differ(expected, _known(answer.findings)) + str(answer.troubles or "")
                    )
                ]
        return self._fixed(case)

    def _fixed(self, case: Case) -> list[Fault]:
        for unsafe in (False, True):
            result = self._run(".", fix=True, unsafe_fixes=unsafe)
            now = {name: Path(name).read_text() for name in _python(case.files)}
            if result.troubles or result.notes:
                return [Fault("trouble while fixing", "\n".join(map(str, (*result.troubles, *result.notes))))]
            for name, text in now.items():
                if compiles(case.files[name]) and not compiles(text):
                    return [Fault("a fixed file does not compile", f"{name}\n{text}")]
                if lost := comments(case.files[name]) - comments(text):
                    return [Fault("a fix loses a comment", f"{name}: {next(iter(lost))}")]
            again = self._run(".", fix=True, unsafe_fixes=unsafe)
            if again.written:
                codes = ", ".join(sorted({one.code for one in again.fixed}))
                return [Fault("fixing changes more the second time", f"{codes} in {', '.join(again.written)}")]
        return []


class _Silent:
    def begin(self, total: int) -> None:
        """Nobody looks."""

    def advance(self, count: int) -> None:
        """Nobody looks."""


def _python(files: Mapping[str, str]) -> list[str]:
    return [name for name in files if name.endswith(".py")]


def _known(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings that are not of the file that does not matter, in one order, with paths written in one way."""

    def plain(found: Finding) -> Finding:
        site = dataclasses.replace(found.site, path=os.path.normpath(found.site.path))
        links = [dataclasses.replace(one.site, path=os.path.normpath(one.site.path)) for one in found.evidence]
        evidence = [dataclasses.replace(one, site=link) for one, link in zip(found.evidence, links, strict=True)]
        return dataclasses.replace(found, site=site, evidence=tuple(evidence))

    kept = [plain(one) for one in findings if "unrelated_zz" not in one.site.path]
    return tuple(sorted(kept, key=lambda one: (one.site, one.code, one.message)))


@contextlib.contextmanager
def laid_out(files: Mapping[str, str]) -> Iterator[Path]:
    """A folder with these files, to be in for a while."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode(errors="surrogateescape"))
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)
