"""Names: what a name that a function does not bind refers to, and what the classes of a file are."""

from __future__ import annotations

import dataclasses

from transferlint.knowledge import roles
from transferlint.syntax.program import Attr, Function, Import, Load, Make, Outer, Program, Reg, Store


@dataclasses.dataclass(slots=True)
class ClassInfo:
    """A class of the file: the function that is its body, its methods, and what it derives from.

    `bases` are qualified names as far as known ("torch.nn.Module", "local:7"); `module` says that its instances are
    `torch.nn.Module`s, `data` that they stand on the host side of the pipeline (datasets, collators).
    """

    index: int
    name: str
    methods: dict[str, int]
    bases: tuple[str, ...]
    module: bool
    data: bool


def find(program: Program, function: Function, name: str) -> tuple[int, int] | None:
    """The (function, slot) that binds a name which `function` only reads; None for builtins and unbound names.

    Class bodies are skipped, as Python does (docs.python.org, execution model, 'Resolution of names')."""
    at = function.parent
    while at >= 0:
        outer = program.functions[at]
        if outer.kind != "class":
            slot = outer.slots.get(name)
            if slot is not None:
                return at, slot
        at = outer.parent
    return None


class Names:
    """The names of a program: what imports, defs and classes bind, looked up once.

    `dotted(function, reg)` is the qualified name an expression of names and attributes stands for through this file's
    imports ("torch.nn.functional.relu", "builtins.len", "local:7" for a function of this file), "" where it is none.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._bindings: list[dict[int, str]] = []
        for function in program.functions:
            bound: dict[int, str] = {}
            code = function.code
            for instruction in code:
                if type(instruction) is Store and instruction.slot not in bound:
                    made = code[instruction.value]
                    if type(made) is Import:
                        bound[instruction.slot] = qualified(made)
                    elif type(made) is Make:
                        bound[instruction.slot] = f"local:{made.function}"
            self._bindings.append(bound)

    def bound(self, function: int, slot: int) -> str:
        """The qualified name that an import, def or class statement of a function binds to a slot, "" without one."""
        return self._bindings[function].get(slot, "")

    def dotted(self, function: Function, reg: Reg) -> str:
        """See the class."""
        code = function.code
        instruction = code[reg]
        tail = ""
        while type(instruction) is Attr:
            tail = f".{instruction.name}{tail}"
            instruction = code[instruction.object]
        head = ""
        if type(instruction) is Outer:
            bound = find(self.program, function, instruction.name)
            head = self._bindings[bound[0]].get(bound[1], "") if bound else "builtins." + instruction.name
        elif type(instruction) is Load:
            head = self._bindings[function.index].get(instruction.slot, "")
        return head + tail if head else ""


def qualified(made: Import) -> str:
    """The dotted name an import binds; relative imports keep their dots in front."""
    if not made.name:
        return made.module
    return made.module + made.name if made.module.endswith(".") else f"{made.module}.{made.name}"


def classes(names: Names) -> dict[int, ClassInfo]:
    """Every class of the file by the index of its body, with inheritance within the file resolved."""
    program = names.program
    found: dict[int, ClassInfo] = {}
    makes: dict[int, tuple[Function, Make]] = {}
    for function in program.functions:
        for instruction in function.code:
            if isinstance(instruction, Make):
                makes[instruction.function] = (function, instruction)
    for function in program.functions:
        if function.kind != "class" or function.index not in makes:
            continue
        outer, made = makes[function.index]
        bases = tuple(name for base in made.bases if (name := names.dotted(outer, base)))
        methods = {f.name: f.index for f in program.functions if f.parent == function.index and f.kind == "function"}
        found[function.index] = ClassInfo(function.index, function.name, methods, bases, False, False)
    for info in found.values():
        _settle(info, found, set())
    return found


def _settle(info: ClassInfo, found: dict[int, ClassInfo], seen: set[int]) -> None:
    """Decide whether a class is a module or host-side data from its bases; inherit methods of bases in the file."""
    if info.index in seen:
        return
    seen.add(info.index)
    if roles.DATA_BASES.search(info.name) and "Norm" not in info.name:
        info.data = True
    for base in info.bases:
        if base.startswith("local:"):
            parent = found.get(int(base[6:]))
            if parent is not None:
                _settle(parent, found, seen)
                info.module |= parent.module
                info.data |= parent.data
                for name, index in parent.methods.items():
                    info.methods.setdefault(name, index)
        elif base in roles.MODULE_BASES or (
            not base.startswith("builtins.")
            and roles.MODULE_BASE_PATTERN.search(base)
            and not base.endswith("BaseModel")
        ):
            info.module = True
        elif roles.DATA_BASES.search(base):
            info.data = True
