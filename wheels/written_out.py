"""Python source as mypyc compiles it well: what is worked out when a class is made is written out in its body.

mypyc (mypyc.readthedocs.io, "Native classes") makes a class native only where all it has stands in its body. Written
out are the methods of data classes of `late.py`, and properties that keep what they gave; constants are declared as
such. It is for the compiler alone: the names it adds (`FIELDS`, `ATTRIBUTES`) are those that `late.py` asks for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

# Classes of which objects are taken apart with `late.empty`, and their bases: their attributes can be deleted.
EMPTIED = frozenset(
    "FileFacts FilePlacement FunctionFacts OtherFiles PlacedFile PlacedProject Project ProjectNames SourceFile".split()
)
_FUTURE = "from __future__ import annotations\n"
_IMPORTS = "\nimport builtins\nfrom typing import Any, ClassVar, Final\n"
_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
_FOR_CHECKERS = ("TypeVar", "ParamSpec")
_LITERALS = {"dict": "{}", "list": "[]"}


class _Field(NamedTuple):
    """A field of a data class: its name and type, what an object has where nothing is given (as an expression, worked
    out each time where it is `made`), and whether it is a parameter and compared."""

    name: str
    kind: str
    default: str | None
    made: bool
    given: bool
    compared: bool


class Emptied(NamedTuple):
    """The attributes and kept properties that a class of which objects are emptied has of its own, and its bases."""

    own: frozenset[str]
    bases: tuple[str, ...]


class _Lines:
    """The lines of a source, and what stands in the place of some of them."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self._instead: dict[int, list[str]] = {}
        self._after: dict[int, list[str]] = {}

    def replace(self, first: int, last: int, new: list[str]) -> None:
        """Lines in the place of those from `first` to `last`, counted from 1."""
        for number in range(first, last + 1):
            self._instead[number] = []
        self._instead[first] = new

    def insert(self, number: int, new: list[str]) -> None:
        """Lines after one."""
        self._after.setdefault(number, []).extend(new)

    def text(self) -> str:
        """The source with all that."""
        found: list[str] = []
        for number, line in enumerate(self.lines, 1):
            found += self._instead.get(number, [line])
            found += self._after.get(number, [])
        return "\n".join(found)


def attributes(text: str) -> dict[str, Emptied]:
    """The classes of a module of which objects are emptied. Raises SyntaxError where it is no Python."""
    classes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef))
    return {
        node.name: Emptied(frozenset(_attributes(node) | _kept(node)), tuple(map(ast.unparse, node.bases)))
        for node in classes
        if node.name in EMPTIED
    }


def _inherited(names: Iterable[str], emptied: Mapping[str, Emptied]) -> Iterator[frozenset[str]]:
    """What bases of these names have, and theirs."""
    for known in (emptied[name] for name in names if name in emptied):
        yield known.own
        yield from _inherited(known.bases, emptied)


def written_out(text: str, emptied: Mapping[str, Emptied]) -> str:
    """A module's source with the methods of its data classes, and its properties that keep, written out; `emptied` is
    what `attributes` gave for all modules. Raises SyntaxError where it is no Python, ValueError for a data class that
    cannot be written out."""
    tree = ast.parse(text)
    lines = _Lines(text)
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    for node in classes:
        frozen = _frozen(node)
        if frozen is not None:
            _write_class(node, frozen, lines)
        kept = [one for one in node.body if isinstance(one, ast.FunctionDef) and _keeps(one)]
        for method in kept:
            _write_property(method, lines)
        bases = list(_inherited(map(ast.unparse, node.bases), emptied))
        if node.name in emptied or bases:
            _write_attributes(node, sorted(_attributes(node).difference(_kept(node), *bases)), lines)
    _write_constants(tree, lines)
    new = lines.text()
    return new if new == text else new.replace(_FUTURE, _FUTURE + _IMPORTS, 1)


def _frozen(node: ast.ClassDef) -> bool | None:
    """Whether a data class of `late.py` is frozen; None for other classes."""
    if not node.decorator_list or not isinstance(call := node.decorator_list[0], ast.Call):
        return None
    if ast.unparse(call.func) != "late.dataclass":
        return None
    if len(node.decorator_list) > 1 or node.bases:
        raise ValueError(f"{node.name}: a data class with bases, or other decorators")
    return any(one.arg == "frozen" for one in call.keywords)


def _write_class(node: ast.ClassDef, frozen: bool, lines: _Lines) -> None:
    decorator = node.decorator_list[0]
    lines.replace(decorator.lineno, decorator.end_lineno or decorator.lineno, [])
    fields = [_field(one) for one in node.body if isinstance(one, ast.AnnAssign) and "ClassVar" not in _kind(one)]
    indent = " " * (node.body[0].col_offset)
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and one.value is not None and "ClassVar" not in _kind(one):
            bare = f"{indent}{ast.unparse(one.target)}: {_kind(one)}"
            lines.replace(one.lineno, one.end_lineno or one.lineno, [bare])
    own = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    made = [line for name, method in _methods(node.name, fields, frozen) if name not in own for line in method]
    if "__post_init__" in own:
        raise ValueError(f"{node.name}: __post_init__ is not written out")
    lines.insert(node.end_lineno or node.lineno, ["", *(indent + line if line else "" for line in made)])


def _field(one: ast.AnnAssign) -> _Field:
    name, kind = ast.unparse(one.target), _kind(one)
    if not isinstance(one.value, ast.Call) or ast.unparse(one.value.func) != "dataclasses.field":
        return _Field(name, kind, None if one.value is None else ast.unparse(one.value), False, True, True)
    said = {keyword.arg: keyword.value for keyword in one.value.keywords}
    given = not isinstance(value := said.get("init"), ast.Constant) or bool(value.value)
    compared = not isinstance(value := said.get("compare"), ast.Constant) or bool(value.value)
    factory = said.get("default_factory")
    if factory is None:
        return _Field(name, kind, ast.unparse(said["default"]), False, given, compared)
    if isinstance(factory, ast.Lambda):
        made = ast.unparse(factory.body)
    else:
        made = _LITERALS.get(ast.unparse(factory), f"{ast.unparse(factory)}()")
    return _Field(name, kind, made, True, given, compared)


def _kind(one: ast.AnnAssign) -> str:
    return ast.unparse(one.annotation)


def _methods(name: str, fields: list[_Field], frozen: bool) -> Iterator[tuple[str, list[str]]]:
    """The methods that `dataclasses.dataclass` makes, and how to pickle an object, which has no `__dict__`."""
    names = [field.name for field in fields]
    compared = [field.name for field in fields if field.compared]
    given = [field for field in fields if field.given]
    yield "FIELDS", [f"FIELDS: ClassVar[tuple[str, ...]] = {tuple(field.name for field in given)!r}", ""]
    body = [f"    self.{field.name} = {_initial(field)}" for field in fields]
    head = f"def __init__({', '.join(['self', *map(_parameter, given)])}) -> None:"
    yield "__init__", [head, *(body or ["    pass"]), ""]
    same = "".join(f" and self.{one} == other.{one}" for one in compared)
    yield (
        "__eq__",
        [
            "def __eq__(self, other: builtins.object) -> bool:",
            f"    return self is other or (isinstance(other, {name}){same})",
            "",
        ],
    )
    if frozen:
        yield "__hash__", ["def __hash__(self) -> int:", f"    return hash({_tuple(compared)})", ""]
    shown = ", ".join(f"{one}={{self.{one}!r}}" for one in names)
    yield "__repr__", ["def __repr__(self) -> str:", f'    return f"{name}({shown})"', ""]
    arguments = _tuple([field.name for field in given])
    yield "__reduce__", ["def __reduce__(self) -> tuple[Any, ...]:", f"    return {name}, {arguments}", ""]


def _tuple(names: list[str]) -> str:
    return "(" + "".join(f"self.{name}, " for name in names) + ")"


def _parameter(field: _Field) -> str:
    if field.made:
        return f"{field.name}: {field.kind} | None = None"
    return f"{field.name}: {field.kind}" + ("" if field.default is None else f" = {field.default}")


def _initial(field: _Field) -> str:
    if not field.given:
        return field.default or ""
    return f"{field.default} if {field.name} is None else {field.name}" if field.made else field.name


def _keeps(method: ast.FunctionDef) -> bool:
    return [ast.unparse(one) for one in method.decorator_list] == ["functools.cached_property"]


def _write_property(method: ast.FunctionDef, lines: _Lines) -> None:
    """A property that keeps what a method gave, which must not be None."""
    indent, name = " " * method.col_offset, method.name
    assert method.returns is not None
    kind = ast.unparse(method.returns)
    decorator = method.decorator_list[0].lineno
    lines.replace(decorator, decorator, [f"{indent}_kept_{name}: {kind} | None = None", "", f"{indent}@property"])
    new = [
        lines.lines[method.lineno - 1],  # with what stands behind it for the type checker
        f"{indent}    if self._kept_{name} is None:",
        f"{indent}        self._kept_{name} = self._made_{name}()",
        f"{indent}    return self._kept_{name}",
        "",
        f"{indent}@{name}.setter",
        f"{indent}def {name}(self, value: {kind}) -> None:",
        f"{indent}    self._kept_{name} = value",
        "",
        f"{indent}def _made_{name}(self) -> {kind}:",
    ]
    lines.replace(method.lineno, method.lineno, new)


def _write_constants(tree: ast.Module, lines: _Lines) -> None:
    """Names in capitals that a module binds once, as such: others are looked up in its namespace at every use."""
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if not isinstance(target, ast.Name) or not _CONSTANT.fullmatch(target.id) or names.count(target.id) > 1:
            continue
        if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in _FOR_CHECKERS:
            continue
        line = lines.lines[node.lineno - 1]
        if isinstance(node, ast.Assign):
            new = f"{target.id}: Final{line[len(target.id) :]}"
        elif node.annotation.end_lineno != node.lineno:
            continue
        else:
            start, end = node.annotation.col_offset, node.annotation.end_col_offset
            new = f"{line[:start]}Final[{_kind(node)}]{line[end:]}"
        lines.replace(node.lineno, node.lineno, [new])


def _attributes(node: ast.ClassDef) -> set[str]:
    stores = (one for one in ast.walk(node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store))
    own = {one.attr for one in stores if isinstance(one.value, ast.Name) and one.value.id == "self"}
    own |= {ast.unparse(one.target) for one in node.body if isinstance(one, ast.AnnAssign)}
    return own | {f"_kept_{name}" for name in _kept(node)}


def _kept(node: ast.ClassDef) -> set[str]:
    return {one.name for one in node.body if isinstance(one, ast.FunctionDef) and _keeps(one)}


def _write_attributes(node: ast.ClassDef, names: list[str], lines: _Lines) -> None:
    """The names of a class's attributes, which can be deleted (mypyc.readthedocs.io, "Deleting attributes")."""
    indent = " " * node.body[0].col_offset
    new = [f"{indent}__deletable__ = {names!r}", f"{indent}ATTRIBUTES: ClassVar[tuple[str, ...]] = {tuple(names)!r}"]
    lines.insert(node.body[0].end_lineno or node.lineno, ["", *new])
