"""Writes what a compiled wheel is built of: `python3 wheels/compiled.py FOLDER`, then `pip wheel FOLDER`.

Analysis spends its time in plain Python on typed records, which mypyc (mypyc.readthedocs.io) compiles to a C extension.
What is compiled is the analysis itself (`COMPILED`, with `written_out.py`); the rest, rules included, stays Python.
Machines that no such wheel is made for get the wheel of plain Python.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from written_out import attributes, written_out

ROOT = Path(__file__).resolve().parent.parent
# Folders of which all modules are compiled.
COMPILED = ("transferlint/flow", "transferlint/knowledge", "transferlint/syntax")
# These stay Python: the first has a base with slots, a class of LibCST; in functions of the others one name stands for
# exceptions of several types.
_AS_IT_IS = ("transferlint/syntax/recorder.py", "transferlint/syntax/source.py", "transferlint/syntax/notebooks.py")
_PACKAGES = {"transferlint": "transferlint", "rules": "transferlint_rules", "runtime_check": "runtime_check"}
_BESIDE = ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in")
# What is written out is checked once more, less strictly, before it is compiled; mypy reads what it imports.
_SETTINGS = (
    ('requires = ["setuptools>=77"]', 'requires = ["setuptools>=77", "mypy[mypyc]=={mypy}", "libcst>=1.5.1"]'),
    ('package-dir = { transferlint_rules = "rules" }\n', ""),
    ("strict = true\n", "strict = true\nwarn_return_any = false\nwarn_unused_ignores = false\n"),
    ('files = ["transferlint", "rules", "runtime_check", "docs", "wheels"]\n', ""),
)
_SETUP = """from mypyc.build import mypycify
from setuptools import setup

setup(ext_modules=mypycify({modules!r}, opt_level="2", debug_level="0", multi_file=True, group_name="transferlint"))
"""


def modules(root: Path) -> Iterator[str]:
    """The paths of the modules that are compiled, from `root`."""
    for folder in COMPILED:
        for path in sorted((root / folder).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            if path.name != "__init__.py" and name not in _AS_IT_IS:
                yield name


def for_checkers(late: Path) -> None:
    """Change the module `late.py` so that mypy takes what is written out for what it is: no data classes."""
    late.write_text(late.read_text(encoding="utf-8").replace(*_OF_CHECKERS), encoding="utf-8")


def write(folder: Path) -> None:
    """Write the sources of a compiled wheel below a folder, which is emptied before."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, installed in _PACKAGES.items():
        shutil.copytree(ROOT / name, folder / installed, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for name in _BESIDE:
        shutil.copy2(ROOT / name, folder / name)
    own = list(modules(folder))
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in own}
    emptied = {name: names for text in texts.values() for name, names in attributes(text).items()}
    for name, text in texts.items():
        (folder / name).write_text(written_out(text, emptied), encoding="utf-8")
    for_checkers(folder / "transferlint" / "late.py")
    pins = dict(
        line.split("==")
        for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()
        if not line.startswith("#")
    )
    mypy = pins["mypy"]  # what another version thinks of the types is another matter
    settings = folder / "pyproject.toml"
    text = settings.read_text(encoding="utf-8")
    for old, new in _SETTINGS:
        if old not in text:
            raise ValueError(f"pyproject.toml: {old!r} is not there")
        text = text.replace(old, new.replace("{mypy}", mypy))
    settings.write_text(text, encoding="utf-8")
    (folder / "setup.py").write_text(_SETUP.format(modules=own), encoding="utf-8")


_OF_CHECKERS = (
    "    from dataclasses import dataclass, replace\n",
    '    from dataclasses import dataclass\n    from typing import TypeVar\n\n    _T = TypeVar("_T")\n\n'
    "    def replace(one: _T, **changes: Any) -> _T: ...\n",
)

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 wheels/compiled.py FOLDER")
    write(Path(sys.argv[1]))
