"""What the source says of the expression that a record stands at: what goes up is made of what, and where that comes
from; what an option of the library's would leave out; what decides by a number that is read.

It is read where a report is made, from files that the run names. What is not seen there is not known: names are
followed within one function, and nothing is imported.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from runtime_check.operands import lines_of
from runtime_check.parsed import Asked, Option, Origin, ParsedFile, data_of, drawn, fills, handed, names_in, of_data
from transferlint.model import Site

__all__ = ["Asked", "Expressions", "Origin"]


class Expressions:
    """Looks up expressions; each file is read and parsed once. None is found in a file that cannot be."""

    def __init__(self) -> None:
        self._files: dict[str, ParsedFile | None] = {}

    def origin(self, site: Site) -> Origin:
        """Where what is uploaded at a site comes from."""
        file, node = self._at(site)
        if file is None or node is None:
            return Origin.UNKNOWN
        maker, data = data_of(node)
        if maker in fills() or (data and all(drawn(part) for part in data)):
            return Origin.FILL
        bound = [file.bound(name, node) for name in names_in(data)]
        if Origin.ENVIRONMENT in bound:
            return Origin.ENVIRONMENT
        if maker not in of_data():
            return Origin.LOADER if Origin.LOADER in bound else Origin.UNKNOWN
        plain = not any(isinstance(one, ast.Call) for part in data for one in ast.walk(part))
        return Origin.STEADY if plain and all(one is Origin.STEADY for one in bound) else Origin.MADE

    def assigns_item(self, site: Site) -> bool:
        """True where a site is an element or a part that is assigned to: `x[i] = value`."""
        file, node = self._at(site)
        return file is not None and isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)

    def indexes(self, site: Site) -> bool:
        """True where a site is an element or a part that is asked for: `x[i]`."""
        file, node = self._at(site)
        return file is not None and isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)

    def asked(self, site: Site) -> Asked:
        """What hangs on the number that stands at a site, itself or by a variable, in the same turn."""
        file, node = self._at(site)
        return Asked.NOT if file is None or node is None else file.asked(node)

    def text(self, site: Site) -> str:
        """The text of an expression in one line; "" where there is none."""
        _, node = self._at(site)
        return "" if node is None else " ".join(ast.unparse(node).split())

    def option(self, places: Sequence[Site]) -> str:
        """The option that lets any of these places in a library run, innermost first, each called by the next and the
        last by the program: a parameter that is on or off by default, or a setting; "" where none is seen. What one
        function of the library gives another is an option where the program tells the first."""
        for number, place in enumerate(places):
            file, node = self._at(place)
            for found in () if file is None or node is None else file.options(node):
                if name := self._reached(found, places[number + 1 :]):
                    return name
        return ""

    def _reached(self, option: Option, callers: Sequence[Site]) -> str:
        """What the program calls an option, where it can give it: of a parameter, each call up to the program's own
        hands on what was told to it; "" where one does not."""
        for place in callers:
            if option.function is None:
                break
            file, node = self._at(place)
            given = handed(option, node)
            told = file.told(given) if file is not None and given is not None else None
            if told is None:
                return ""
            option = told
        return option.name

    def left_out(self, call: Site, function: Site) -> tuple[str, tuple[str, ...]]:
        """The name of the function that holds the site `function`, and of its parameters those that default to None and
        that the call at `call` does not give."""
        caller, node = self._at(call)
        called, inside = self._at(function)
        if caller is None or called is None or not isinstance(node, ast.Call) or inside is None:
            return "", ()
        scope = called.scope(inside)
        if not isinstance(scope, ast.FunctionDef):
            return "", ()
        given = {word.arg for word in node.keywords}
        plain = [*scope.args.posonlyargs, *scope.args.args]
        defaults = list(zip(plain[len(plain) - len(scope.args.defaults) :], scope.args.defaults, strict=True))
        defaults += [(one, value) for one, value in zip(scope.args.kwonlyargs, scope.args.kw_defaults, strict=True)
                     if value is not None]  # fmt: skip
        placed = {one.arg for one in plain[: len(node.args)]}
        names = [one.arg for one, value in defaults if isinstance(value, ast.Constant) and value.value is None]
        return scope.name, tuple(name for name in names if name not in given | placed)

    def _at(self, site: Site) -> tuple[ParsedFile | None, ast.expr | None]:
        if site.path not in self._files:
            self._files[site.path] = _read(site.path)
        file = self._files[site.path]
        return file, None if file is None else file.at(site)


def _read(path: str) -> ParsedFile | None:
    try:
        source = Path(path).read_bytes()
        return ParsedFile(ast.parse(source), lines_of(source))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
