"""The sources of compiled wheels: the same program, as a compiler makes it native."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "wheels"))
import compiled  # noqa: E402
import written_out  # noqa: E402

sys.path.remove(str(ROOT / "wheels"))

MODULE = '''\
"""A module."""

from __future__ import annotations

import argparse
import dataclasses
import functools

from transferlint import late

LIMIT = 3
TABLE: dict[str, int] = {"a": 1}
_TWICE = 1
_TWICE = 2


@late.dataclass(slots=True)
class Plain:
    """A record."""

    name: str
    count: int = LIMIT  # with a comment
    inner: list[int] = dataclasses.field(default_factory=list)
    hidden: int = dataclasses.field(default=0, compare=False)
    later: int | None = dataclasses.field(default=None, init=False, compare=False)

    @property
    def long(self) -> bool:
        return self.count > LIMIT


@late.dataclass(frozen=True, slots=True)
class Frozen:
    left: int
    right: tuple[int, ...] = ()


class Pair:
    """Of its own making, and of a class that is not compiled."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


class Options(argparse.Namespace):
    """With a base that is not compiled."""

    __slots__ = ("most",)


class Project:
    """Of which objects are emptied."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.asked = 0

    @functools.cached_property
    def count(self) -> int:
        """What is worked out once."""
        self.asked += 1
        return len(self.names)
'''
ASKED = """\
import copy, json, pickle, sys
from transferlint import late
import sample
from sample import Frozen, Options, Pair, Plain, Project, LIMIT, TABLE, _TWICE

a, b = Plain("a"), Plain("a", 3, [], hidden=7)
said = [repr(a), a == b, a == Plain("a", 4), a == "a", a.inner is not Plain("b").inner, b.long, LIMIT, TABLE, _TWICE]
said += [a.later, repr(late.replace(a, count=9)), list(late.fields(Frozen))]
said += [hash(Frozen(1, (2,))) == hash((1, (2,))), Frozen(1) == Frozen(1), Frozen(1) in {Frozen(1)}]
said += [pickle.loads(pickle.dumps(one)) == one and copy.copy(one) == one for one in (a, b, Frozen(1, (2, 3)))]
for wrong in (lambda: Plain(), lambda: Plain("a", 1, [], 1, 1), lambda: hash(a)):
    try:
        wrong()
        said.append("no error")
    except TypeError:
        said.append("TypeError")
options = Options(left=1)
options.most = 2
said += [Pair(3).left, options.left, options.most]
project = Project(["x", "y"])
said += [project.count, project.count, project.asked]
late.empty(project)
said += [hasattr(project, "names"), hasattr(project, "asked")]
print(json.dumps(said))
print(sample.__file__, file=sys.stderr)
"""
COMPILE = """\
from mypyc.build import mypycify
from setuptools import setup
setup(name="sample", ext_modules=mypycify(["sample.py"], opt_level="0"))
"""


def _asked(folder: Path) -> tuple[list[object], str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    ran = subprocess.run([sys.executable, "-c", ASKED], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout), ran.stderr.strip()


def _write(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "sample.py").write_text(text, encoding="utf-8")
    return folder


def _written_out() -> str:
    return written_out.written_out(MODULE, written_out.attributes(MODULE))


def test_what_is_written_out_does_the_same(tmp_path: Path) -> None:
    plain, _ = _asked(_write(tmp_path / "plain", MODULE))
    new = _written_out()
    assert "late.dataclass" not in new
    assert "cached_property" not in new
    assert "LIMIT: Final = 3" in new
    assert "TABLE: Final[dict[str, int]] = " in new
    assert "_TWICE: Final" not in new  # it is bound twice
    assert _asked(_write(tmp_path / "new", new))[0] == plain
    assert plain[-2:] == [False, False]


@pytest.mark.skipif(shutil.which(str(sysconfig.get_config_var("CC")).split()[0]) is None, reason="no C compiler")
def test_compiled_it_does_the_same(tmp_path: Path) -> None:
    if not (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file():
        pytest.skip("no headers of Python")
    plain, _ = _asked(_write(tmp_path / "plain", MODULE))
    folder = _write(tmp_path / "new", _written_out())
    package = folder / "transferlint"  # what the module imports, as checkers of it see it
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(ROOT / "transferlint" / "late.py", package)
    compiled.for_checkers(package / "late.py")
    (folder / "setup.py").write_text(COMPILE, encoding="utf-8")
    command = [sys.executable, "setup.py", "build_ext", "--inplace"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]
    shutil.rmtree(package)
    said, file = _asked(folder)
    assert said == plain
    assert not file.endswith(".py")


def test_a_class_that_cannot_be_written_out_is_named() -> None:
    text = "@late.dataclass(slots=True)\nclass A(B):\n    x: int\n"
    with pytest.raises(ValueError, match="A: a data class with bases"):
        written_out.written_out(text, {})


def test_the_sources_of_a_compiled_wheel_find_the_same(tmp_path: Path) -> None:
    compiled.write(tmp_path / "sources")
    names = sorted(compiled.modules(tmp_path / "sources"))
    assert "transferlint/flow/lattice/values.py" in names
    assert all("dataclass(" not in (tmp_path / "sources" / name).read_text(encoding="utf-8") for name in names[:40])
    command = [sys.executable, "-m", "transferlint", "check", "--isolated", "--no-cache", "--output-format", "json"]
    said = []
    for path in (ROOT, tmp_path / "sources"):
        environment = {**os.environ, "PYTHONPATH": str(path)}
        ran = subprocess.run(
            [*command, str(ROOT / "examples")],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 1, ran.stderr
        said.append(json.loads(ran.stdout))
    assert said[0] == said[1]
    assert len(said[0]["findings"]) > 5
