"""What a fix calls torch in a file, and the import that it adds where the file has none."""

from __future__ import annotations

import bisect
import re
import sys

from transferlint import late
from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FunctionFacts
from transferlint.model import Edit
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

_STATEMENT = late.pattern(r"^(?:import|from)\b", re.M)


def torch_name(function: FunctionFacts, reg: Reg) -> tuple[str, tuple[Edit, ...]]:
    """The name under which torch can be used at a register, and the edits that make it so: none where the file imports
    it, else the line `import torch` among the file's imports. "" where the name is taken, or there is no place."""
    module = function.file.functions[0]
    for name in _names(module):
        if not _hidden(function, name):
            return name, ()
    at = _place(module)
    if at < 0 or at > function.span(reg)[0]:
        return "", ()
    newline = "\r\n" if "\r\n" in function.file.text else "\n"
    return "torch", (Edit(at, at, f"import torch{newline}"),)


@once
def _names(module: FunctionFacts) -> tuple[str, ...]:
    """What the module calls torch."""
    bound = module.file.placement.names.bound
    return tuple(name for name, slot in module.function.slots.items() if bound(0, slot) == "torch")


def _hidden(function: FunctionFacts, name: str) -> bool:
    """Whether a function, or one around it, binds the name itself."""
    at = function.index
    while at > 0:
        inner = function.file.program.functions[at]
        if name in inner.slots:
            return True
        at = inner.parent
    return False


@once
def _place(module: FunctionFacts) -> int:
    """The offset of the import before which `import torch` belongs: the first of torch's own, else the first that is
    not the standard library's, else the first; -1 where there is none, and where the name is taken."""
    functions = module.file.program.functions
    if any("torch" in other.slots or other.lookup.named(p.Outer, "torch") for other in functions):
        return -1
    found: list[tuple[str, int]] = []
    starts = [match.start() for match in _STATEMENT.finditer(module.file.text)]
    for reg in module.of(p.Import):
        made = module.code[reg]
        if isinstance(made, p.Import) and module.region(reg) == 0 and made.module != "__future__":
            at = bisect.bisect_left(starts, module.span(reg)[0])
            if at:
                found.append((made.module.partition(".")[0], starts[at - 1]))
    own = [at for root, at in found if root == "torch"]
    others = [at for root, at in found if root not in sys.stdlib_module_names]
    return next(iter((*own, *others, *(at for _, at in found))), -1)
