"""A program as Python would start it: its code and the `__main__` that it runs in.

What Python does is told by the documentation of its command line ("Interface options") and of `runpy`; a script's
`__file__` and the file name in its code are absolute since 3.9.
"""

from __future__ import annotations

import builtins
import dataclasses
import importlib.machinery
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Callable, Sequence
from types import CodeType, ModuleType
from typing import Any

Compile = Callable[[bytes, str], CodeType]


class NoProgram(Exception):
    """There is nothing to run; the message is one line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
    """`words` is SCRIPT or MODULE and its arguments; `module` says which of the two it is."""

    words: tuple[str, ...]
    module: bool = False


def enter(program: Program) -> None:
    """Make `sys.argv`, `sys.orig_argv` and `sys.path[0]` what the program expects.

    Python leaves `sys.path[0]` out where PYTHONSAFEPATH is set; a script's is the folder of what a link leads to."""
    name = program.words[0]
    sys.argv[:] = ["-m" if program.module else name, *program.words[1:]]
    sys.orig_argv[:] = [*_options(sys.orig_argv), *(["-m"] if program.module else []), *program.words]
    if not getattr(sys.flags, "safe_path", False):  # 3.11
        first = os.getcwd() if program.module else os.path.dirname(os.path.realpath(name))
        sys.path.insert(0, first if program.module or not _holds_main(name) else _absolute(name))


def load(program: Program, compiled: Compile) -> CodeType:
    """The program's code, with the `__main__` module made ready for it. Raises NoProgram, and what Python raises where
    the source is wrong (SyntaxError) or a package cannot be imported."""
    name = program.words[0]
    if program.module:
        spec = _module_spec(name)
        sys.argv[0] = spec.origin or name
        return _of_spec(spec, compiled, spec.parent)
    path = _absolute(name)
    importer = pkgutil.get_importer(path)
    if importer is not None:  # a folder or an archive with a __main__.py
        found: Any = importer.find_spec("__main__")
        if found is None:
            raise NoProgram(f"{name}: cannot find '__main__' module in it")
        return _of_spec(found, compiled, "")
    if path.endswith(".pyc"):
        sourceless = importlib.machinery.SourcelessFileLoader("__main__", path)
        _main(__file__=path, __loader__=sourceless, __cached__=None)
        return _code(sourceless.get_code("__main__"), path)
    _main(__file__=path, __loader__=importlib.machinery.SourceFileLoader("__main__", path), __cached__=None)
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        raise NoProgram(f"{name}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    return compiled(source, path)


def refusal(program: Program) -> str:
    """Why a script cannot be run, in one line; "" where it can be. Of a module only the process that runs it can
    tell."""
    name = program.words[0]
    if program.module or (os.path.exists(name) and not name.endswith(".ipynb")):
        return ""
    if not os.path.exists(name):
        return f"{name}: no such file"
    return f"{name}: is a notebook, and no Python source; make a script of it: jupyter nbconvert --to script {name}"


def _absolute(name: str) -> str:
    """Not normalised: Python leaves `./` and `..` in the paths that it makes absolute."""
    return os.getcwd() if name == "." else os.path.join(os.getcwd(), name)


def _holds_main(name: str) -> bool:
    return pkgutil.get_importer(_absolute(name)) is not None


def _options(command: Sequence[str]) -> list[str]:
    """The interpreter and its options, from the command that started this process: `[...] starter.py FOLDER RANK`."""
    return list(command[:-3])


def _module_spec(name: str) -> importlib.machinery.ModuleSpec:
    """As `python -m` finds it: a package stands for its `__main__`."""
    if name.endswith(".py"):
        raise NoProgram(f"no module named {name!r}; to run a file leave out -m, or write -m {name[:-3]}")
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
            name = f"{name}.__main__"
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the package is there, and imports something that is not
        spec = None
    except ValueError:  # a module without a spec, or an empty name
        spec = None
    if spec is None:
        raise NoProgram(f"no module named {name!r}")
    return spec


def _of_spec(spec: importlib.machinery.ModuleSpec, compiled: Compile, package: str | None) -> CodeType:
    loader: Any = spec.loader
    if loader is None:
        raise NoProgram(f"{spec.name!r} is a namespace package and cannot be run")
    _main(
        __file__=spec.origin, __cached__=spec.cached, __loader__=loader, __package__=package, __spec__=spec
    )
    if isinstance(loader, importlib.machinery.SourceFileLoader) and spec.origin:
        return compiled(loader.get_data(spec.origin), spec.origin)
    return _code(loader.get_code(spec.name), spec.name)


def _code(code: CodeType | None, name: str) -> CodeType:
    if code is None:
        raise NoProgram(f"{name}: holds no code that can be run")
    return code


def _main(**names: object) -> ModuleType:
    """`__main__`, emptied of what started this process, with these names."""
    module = sys.modules["__main__"]
    kept = {name: value for name, value in vars(module).items() if name in _GIVEN}
    vars(module).clear()
    vars(module).update({"__builtins__": builtins, **kept, **names})
    return module


_GIVEN = frozenset({"__name__", "__doc__", "__package__", "__loader__", "__spec__", "__annotations__", "__builtins__"})
