"""What a fix calls torch in a file, and the import that it adds where the file has none."""

from __future__ import annotations

import re
import sys

from transferlint.flow.facts import FunctionFacts
from transferlint.model import Edit
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

_STATEMENT = re.compile(r"^(?:import|from)\b", re.M)


def torch_name(function: FunctionFacts, reg: Reg) -> tuple[str, tuple[Edit, ...]]:
    """The name under which torch can be used at a register, and the edits that make it so: none where the file imports
    it, else the line `import torch` among the file's imports. "" where the name is taken, or there is no place."""
    module = function.file.functions[0]
    for name, slot in module.function.slots.items():
        if function.file.placement.names.bound(0, slot) == "torch" and not _hidden(function, name):
            return name, ()
    program = function.file.program
    taken = any("torch" in other.slots for other in program.functions)
    read = any(isinstance(made, p.Outer) and made.name == "torch" for other in program.functions for made in other.code)
    at = -1 if taken or read else _place(module)
    if at < 0 or at > function.span(reg)[0]:
        return "", ()
    newline = "\r\n" if "\r\n" in function.file.text else "\n"
    return "torch", (Edit(at, at, f"import torch{newline}"),)


def _hidden(function: FunctionFacts, name: str) -> bool:
    """Whether a function, or one around it, binds the name itself."""
    at = function.index
    while at > 0:
        inner = function.file.program.functions[at]
        if name in inner.slots:
            return True
        at = inner.parent
    return False


def _place(module: FunctionFacts) -> int:
    """The offset of the import before which `import torch` belongs: the first of torch's own, else the first that is
    not the standard library's, else the first; -1 where there is none."""
    found: list[tuple[str, int]] = []
    for reg, made in enumerate(module.code):
        if isinstance(made, p.Import) and module.region(reg) == 0 and made.module != "__future__":
            starts = [match.start() for match in _STATEMENT.finditer(module.file.text, 0, module.span(reg)[0])]
            if starts:
                found.append((made.module.partition(".")[0], starts[-1]))
    own = [at for root, at in found if root == "torch"]
    others = [at for root, at in found if root not in sys.stdlib_module_names]
    return next(iter((*own, *others, *(at for _, at in found))), -1)
