"""Names: what a name that a function does not bind refers to, and what the classes of a file are."""

from __future__ import annotations

import abc
import builtins
import functools

from transferlint import late
from transferlint.flow.callgraph.modules import ModuleIndex
from transferlint.knowledge import roles
from transferlint.knowledge.frameworks import ROOTS
from transferlint.syntax.program import Attr, Function, Import, Load, Make, Outer, Program, Reg, Store


def ident(key: str, index: int) -> str:
    """The name of a function or class of the checked source: the file's path and the function's index."""
    return f"{key}#{index}"


def split(name: str) -> tuple[str, int] | None:
    """Path and index of an `ident`, None for any other name."""
    if "#" not in name:
        return None
    key, mark, index = name.rpartition("#")
    return (key, int(index)) if mark and index.isdigit() else None


@late.dataclass(slots=True)
class ClassInfo:
    """A class: the file it stands in, the function that is its body, its methods (those of its bases too, as idents),
    and what it derives from.

    `bases` are qualified names as far as known ("torch.nn.Module", an ident); `module` says that its instances are
    `torch.nn.Module`s, `data` that they stand on the host side of the pipeline (datasets, collators).
    """

    key: str
    index: int
    name: str
    methods: dict[str, str]
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


def _again(program: Program, function: Function, reg: Reg, made: Make) -> bool:
    """True for a `def` or `class` that takes the place of what stood before it under its name, wherever that is read:
    no branch holds it, and it is no part of what the other was, as the setter of a property is."""
    return not function.lookup.regions[reg] and not program.functions[made.function].decorators


class OtherFiles(abc.ABC):
    """What the names of a file ask of the files beside it, of which `index` tells which modules they are."""

    index: ModuleIndex

    @abc.abstractmethod
    def class_info(self, name: str) -> ClassInfo | None:
        """A class by its ident."""

    @abc.abstractmethod
    def resolve(self, name: str, asking: str) -> str:
        """The ident of the function or class that a dotted name stands for, "" where it is none of the project's."""

    @abc.abstractmethod
    def has(self, module: str, asking: str) -> bool:
        """Whether a module is one of the project's."""

    @abc.abstractmethod
    def exported(self, module: str, name: str, asking: str) -> str | None:
        """What `from module import *` binds to a name: a qualified name or ident, "" where the module does not bind it.
        None where the module is none of the project's, or brings all names of such a one itself. Each module on the way
        is looked at once."""


class Names:
    """The names of a program: what imports, defs and classes bind, looked up once.

    `dotted(function, reg)` is the qualified name an expression of names and attributes stands for through this file's
    imports ("torch.nn.functional.relu", "builtins.len", an ident for a function of the checked source), "" where it
    is none. `frameworks` are those beside torch that the file imports, and `torch` says whether it imports that.
    """

    def __init__(self, program: Program, project: OtherFiles | None = None) -> None:
        self.program = program
        self.project = project
        self._bindings: list[dict[int, str]] = []
        self._free: dict[str, str] = {}
        self._split: tuple[list[str], list[str]] | None = None
        self.stars = [
            self.qualified(Import(made.module, ""))
            for made in program.functions[0].code
            if type(made) is Import and made.name == "*"
        ]
        for function in program.functions:
            bound: dict[int, str] = {}
            code = function.code
            for reg, instruction in enumerate(code):
                if type(instruction) is Store:
                    made = code[instruction.value]
                    if type(made) is Make and (instruction.slot not in bound or _again(program, function, reg, made)):
                        bound[instruction.slot] = ident(program.path, made.function)
                    elif type(made) is Import and instruction.slot not in bound:
                        bound[instruction.slot] = self.qualified(made)
            self._bindings.append(bound)
        imported = {name.partition(".")[0] for bound in self._bindings for name in bound.values()}
        self.torch = "torch" in imported
        self.frameworks = frozenset(ROOTS[root] for root in imported.intersection(ROOTS))

    def qualified(self, made: Import) -> str:
        """The dotted name an import binds; relative imports are made absolute where the project is known."""
        module = made.module
        if module.startswith(".") and self.project is not None:
            module = self.project.index.absolute(self.program.path, module) or module
        if not made.name:
            return module
        return module + made.name if module.endswith(".") else f"{module}.{made.name}"

    @functools.cached_property
    def at_once(self) -> tuple[Import, ...]:
        """The imports of the file that no branch, loop or `try` holds."""
        module = self.program.functions[0]
        found = (module.code[reg] for reg in module.lookup.of(Import) if module.lookup.regions[reg] == 0)
        return tuple(made for made in found if isinstance(made, Import))

    def resolved(self, name: str) -> str:
        """The ident that a dotted name stands for where it is one of the project's, the name itself otherwise."""
        if self.project is None or "#" in name or name.startswith(("torch.", "numpy.", "builtins.")):
            return name
        return self.project.resolve(name, self.program.path) or name

    def free(self, name: str) -> str:
        """What a name stands for that nothing in the file binds: a builtin, or what a star import brings. "" where that
        is not known: where it may come from several modules, or from one that cannot be read."""
        if not self.stars:
            return f"builtins.{name}" if hasattr(builtins, name) else ""
        known = self._free.get(name)
        if known is None:
            known = self._free[name] = self._starred(name)
        return known

    def _starred(self, name: str) -> str:
        read, unread = self._split_stars()
        unread = list(unread)
        for module in read:
            assert self.project is not None
            brought = self.project.exported(module, name, self.program.path)
            if brought:
                return brought
            if brought is None:
                unread.append(module)
        if hasattr(builtins, name):
            return f"builtins.{name}"
        return f"{unread[0]}.{name}" if len(unread) == 1 else ""

    def _split_stars(self) -> tuple[list[str], list[str]]:
        """The modules that are imported whole, those of the project (the last, which binds what several have, first)
        and the others, each once."""
        if self._split is None:
            stars = list(dict.fromkeys(reversed(self.stars)))
            known = {one: self.project is not None and self.project.has(one, self.program.path) for one in stars}
            self._split = [one for one in stars if known[one]], [one for one in stars if not known[one]]
        return self._split

    def bound(self, function: int, slot: int) -> str:
        """The qualified name that an import, def or class statement of a function binds to a slot, "" without one."""
        return self._bindings[function].get(slot, "")

    def bindings(self, function: int) -> dict[int, str]:
        """The qualified names that imports, defs and class statements of a function bind, by slot."""
        return self._bindings[function]

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
            head = self._bindings[bound[0]].get(bound[1], "") if bound else self.free(instruction.name)
        elif type(instruction) is Load:
            head = self._bindings[function.index].get(instruction.slot, "")
        return head + tail if head else ""

    def binding(self, function: Function, name: str) -> tuple[int, int] | None:
        """The function and the slot that bind a name which a function only reads, as `find`."""
        return find(self.program, function, name)

    def own(self, index: int) -> str:
        """The ident of a function of this program."""
        return ident(self.program.path, index)

    def spelled(self, function: Function, text: str) -> str:
        """The qualified name that `text`, a name with attributes in an annotation of `function`, stands for, as
        `dotted`."""
        first, dot, rest = text.partition(".")
        bound = find(self.program, function, first)
        head = self._bindings[bound[0]].get(bound[1], "") if bound else self.free(first)
        return head + dot + rest if head else ""


def classes(names: Names) -> dict[int, ClassInfo]:
    """Every class of the file by the index of its body, with inheritance within the file resolved."""
    program = names.program
    found: dict[int, ClassInfo] = {}
    makes: dict[int, tuple[Function, Make]] = {}
    for function in program.functions:
        for reg in function.lookup.of(Make):
            instruction = function.code[reg]
            if isinstance(instruction, Make):
                makes[instruction.function] = (function, instruction)
    members: dict[int, list[Function]] = {}
    for function in program.functions:
        if function.kind == "function":
            members.setdefault(function.parent, []).append(function)
    for function in program.functions:
        if function.kind != "class" or function.index not in makes:
            continue
        outer, made = makes[function.index]
        bases = tuple(name for base in made.bases if (name := names.resolved(names.dotted(outer, base))))
        key = program.path
        methods = {f.name: ident(key, f.index) for f in members.get(function.index, ()) if not _writes_property(f)}
        found[function.index] = ClassInfo(key, function.index, function.name, methods, bases, False, False)
    settled: set[int] = set()
    for info in found.values():
        _settle(info, names, found, settled)
    return found


def _writes_property(function: Function) -> bool:
    """True for the setter or deleter of a property, which has the name of its getter."""
    return any(d.endswith((".setter", ".deleter")) for d in function.decorators)


def _settle(info: ClassInfo, names: Names, found: dict[int, ClassInfo], seen: set[int]) -> None:
    """Decide whether a class is a module or host-side data from its bases; inherit the methods of bases that are
    known."""
    if info.index in seen:
        return
    seen.add(info.index)
    if roles.DATA_BASES.search(info.name) and "Norm" not in info.name:
        info.data = True
    for base in info.bases:
        place = split(base)
        if place is not None:
            parent = found.get(place[1]) if place[0] == names.program.path else None
            if parent is not None:
                _settle(parent, names, found, seen)
            elif names.project is not None and place[0] != names.program.path:
                parent = names.project.class_info(base)
            if parent is not None:
                info.module |= parent.module
                info.data |= parent.data
                for name, method in parent.methods.items():
                    info.methods.setdefault(name, method)
        elif base in roles.MODULE_BASES or (
            not base.startswith("builtins.")
            and roles.MODULE_BASE_PATTERN.search(base)
            and not base.endswith("BaseModel")
        ):
            info.module = True
        elif roles.DATA_BASES.search(base):
            info.data = True
