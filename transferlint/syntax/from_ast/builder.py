"""The builder of functions that come from an `ast` tree."""

from __future__ import annotations

from transferlint.syntax import builder
from transferlint.syntax.builder import Table
from transferlint.syntax.from_ast.places import Places
from transferlint.syntax.program import Function, Program


class Builder(builder.Builder):
    """`places` are those of the tree; an entry of `nodes` is a node of it or a `Part`."""

    __slots__ = ("places",)

    def __init__(
        self,
        program: Program,
        function: Function,
        statements: Table,
        expressions: Table,
        captured: dict[str, str],
        places: Places,
    ) -> None:
        super().__init__(program, function, statements, expressions, captured)
        self.places = places
