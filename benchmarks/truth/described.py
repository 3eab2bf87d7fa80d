"""What a workload file says, without importing it: its `PACKAGE`, and the names of its workloads."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

from truth.marks import Package

WORKLOADS = Path(__file__).with_name("workloads")


class Malformed(Exception):
    """A workload file that says too little; the message is one line."""


@dataclasses.dataclass(frozen=True)
class Described:
    """A package's name (its file's), how it is installed, and its workloads in the file's order."""

    name: str
    package: Package
    workloads: tuple[str, ...]


def names() -> list[str]:
    """All packages with a workload file."""
    return sorted(path.stem for path in WORKLOADS.glob("*.py") if not path.stem.startswith("_"))


def describe(name: str) -> Described:
    """What the file of a package says. Raises Malformed."""
    path = WORKLOADS / f"{name}.py"
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except OSError:
        raise Malformed(f"{path}: no such workload file") from None
    except SyntaxError as error:
        raise Malformed(f"{path}:{error.lineno}: {error.msg}") from None
    package = next((_package(one) for one in tree.body if _assigns(one)), None)
    if package is None:
        raise Malformed(f"{path}: it has no `PACKAGE = Package(...)` of constants")
    marked = [one.name for one in tree.body if isinstance(one, ast.FunctionDef) and _is_workload(one)]
    if not marked:
        raise Malformed(f"{path}: it has no function with @workload")
    return Described(name, package, tuple(marked))


def _assigns(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "PACKAGE"


def _package(statement: ast.stmt) -> Package | None:
    call = getattr(statement, "value", None)
    if not isinstance(call, ast.Call):
        return None
    try:
        words = [ast.literal_eval(one) for one in call.args]
        named = {one.arg: ast.literal_eval(one.value) for one in call.keywords if one.arg}
    except ValueError:
        return None
    return Package(*words, **named)


def _is_workload(function: ast.FunctionDef) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "workload" for one in function.decorator_list)
