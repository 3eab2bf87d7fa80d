"""Which functions a framework traces, and so never run on data: what is decorated with or handed to `jax.jit`,
`tf.function` and the like, the methods of their modules, and what only such functions call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from transferlint import late
from transferlint.flow.callgraph.names import ClassInfo, ident, split
from transferlint.flow.callgraph.source_file import SourceFile
from transferlint.knowledge import frameworks
from transferlint.knowledge.framework import Framework, Tracer
from transferlint.knowledge.tensorflow import DATASET_METHODS, TENSORFLOW
from transferlint.reasons import Cause, Reason
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg

_PARTIAL = ("functools.partial", "partial")
_HEAD = late.pattern(r"[\w.]+")
_PER_BATCH = ("call", "__call__", "train_step", "test_step", "update_state")
_LOOPS = ("scan", "fori_loop", "while_loop", "map", "map_fn", "vectorized_map", "associative_scan")


@late.dataclass(frozen=True, slots=True)
class Tracing:
    """What is traced in one file: `traced` (by function, why), `hot` (of those, what runs for every step or element,
    and why), `fed` (of those, what a data set runs for its elements, on the host), `arms` (of those, what runs where a
    test on the device says so), `compiled` (functions that are called in their compiled form, with the framework),
    `classes` (those of modules, with the framework). `host_only`: the frameworks that the file leaves without a device;
    `framework`: the one that the file works with, where it works with no other and not with torch."""

    traced: dict[int, str]
    hot: dict[int, Reason]
    fed: frozenset[int]
    arms: frozenset[int]
    compiled: dict[int, Framework]
    classes: dict[int, Framework]
    host_only: frozenset[str]
    framework: Framework | None


NOTHING_TRACED = Tracing({}, {}, frozenset(), frozenset(), {}, {}, frozenset(), None)


def tracing(file: SourceFile) -> Tracing:
    """What is traced in a file, as far as its own text says; `NOTHING_TRACED` for one that imports no framework."""
    used = file.names.frameworks
    if not used:
        return NOTHING_TRACED
    return _Search(file).found(next(iter(used)) if len(used) == 1 and not file.names.torch else None)


class _Search:
    """One pass over a file that uses a framework."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._names = file.names
        self._functions = file.program.functions
        self._traced: dict[int, str] = {}
        self._hot: dict[int, Reason] = {}
        self._fed: set[int] = set()
        self._arms: set[int] = set()
        self._compiled: dict[int, Framework] = {}
        self._classes: dict[int, Framework] = {}

    def found(self, framework: Framework | None) -> Tracing:
        for function in self._functions:
            if function.kind == "function":
                self._decorated(function)
        for function in self._functions:
            for made in function.code:
                if isinstance(made, p.Call):
                    self._handed(function, made)
        for index, info in self._file.classes.items():
            self._method(index, info)
        self._inner()
        host_only = frozenset(one.name for one in self._names.frameworks if self._without_device(one))
        fed, arms = frozenset(self._fed), frozenset(self._arms)
        return Tracing(self._traced, self._hot, fed, arms, self._compiled, self._classes, host_only, framework)

    def _decorated(self, function: Function) -> None:
        for decorator in function.decorators:
            row = self._tracer_of(function, decorator)
            if row is not None:
                self._traced.setdefault(function.index, f"traced by `{_head(decorator)}`")
                if row[1].compiled and row[1].runs:
                    self._compiled[function.index] = row[0]

    def _tracer_of(self, function: Function, text: str) -> tuple[Framework, Tracer] | None:
        """What a decorator traces with: `jax.jit`, `jit(static_argnums=0)`, `partial(jax.jit, ...)`."""
        name = self._names.spelled(function, _head(text))
        if name in _PARTIAL:
            name = self._names.spelled(function, _head(text.partition("(")[2]))
        return _tracer(name)

    def _handed(self, function: Function, made: p.Call) -> None:
        found = _tracer(self._names.dotted(function, made.function))
        callee = function.code[made.function]
        positions: tuple[int, ...] = found[1].positions if found is not None else ()
        why = "traced"
        if found is None and isinstance(callee, p.Attr) and callee.name in DATASET_METHODS:
            if TENSORFLOW in self._names.frameworks:
                positions, why = (0, 1), f"traced by `Dataset.{callee.name}`"
        elif found is not None:
            why = f"traced by `{found[1].names[0] if len(found[1].names) == 1 else _last(function, made.function)}`"
        for position in positions:
            if position < len(made.args):
                for index in self._named(function, made.args[position]):
                    self._traced.setdefault(index, why)
                    name = _last(function, made.function)
                    if found is None or name in _LOOPS:
                        self._hot.setdefault(index, Reason(Cause.EVERY_ELEMENT, name))
                    if found is None:
                        self._fed.add(index)
                    elif found[1].branches:
                        self._arms.add(index)

    def _named(self, function: Function, reg: Reg) -> Iterator[int]:
        """The functions of this file that an argument stands for."""
        made = function.code[reg]
        if isinstance(made, p.Make):
            yield made.function
        elif isinstance(made, p.Sequence):
            for item in made.items:
                yield from self._named(function, item)
        elif isinstance(made, p.Call):
            name = self._names.dotted(function, made.function)
            if (name in _PARTIAL or _tracer(name) is not None) and made.args:
                yield from self._named(function, made.args[0])
        elif isinstance(made, p.Attr):
            place = split(self._own_method(function, made))
            if place is not None and place[0] == self._file.key:
                yield place[1]
        else:
            place = split(self._names.dotted(function, reg))
            if place is not None and place[0] == self._file.key:
                yield place[1]

    def _own_method(self, function: Function, made: p.Attr) -> str:
        """The method that `self.name` stands for, "" for anything else."""
        info = self._file.class_of(function)
        base = function.code[made.object]
        name = base.name if isinstance(base, p.Outer) else ""
        if isinstance(base, p.Load):
            name = function.slot_names[base.slot]
        return info.methods.get(made.name, "") if info is not None and name == "self" else ""

    def _method(self, index: int, info: ClassInfo) -> None:
        framework = self._family(info, set())
        if framework is None:
            return
        self._classes[index] = framework
        wanted = framework.traced_methods
        for function in self._functions:
            own = function.kind == "function" and function.parent == index
            if own and (wanted is None or function.name in wanted):
                self._traced.setdefault(function.index, f"`{info.name}` is traced")
                if function.name in _PER_BATCH:
                    self._hot.setdefault(function.index, Reason(Cause.EVERY_BATCH, function.name))

    def _family(self, info: ClassInfo, seen: set[str]) -> Framework | None:
        """The framework of whose modules a class is one."""
        for base in info.bases:
            found = frameworks.known(base)
            if found is not None and re.match(found[0].traced_bases, found[1]):
                return found[0]
            if base in seen or "#" not in base:
                continue
            seen.add(base)
            place = split(base)
            parent = self._file.classes.get(place[1]) if place is not None and place[0] == self._file.key else None
            if parent is None and self._names.project is not None and place is not None:
                parent = self._names.project.class_info(base) if place[0] != self._file.key else None
            inherited = self._family(parent, seen) if parent is not None else None
            if inherited is not None:
                return inherited
        return None

    def _inner(self) -> None:
        """What stands in a traced function, and what only traced functions call, is traced too."""
        callers = self._callers()
        changed = True
        while changed:
            changed = False
            for function in self._functions:
                index = function.index
                if index in self._traced or function.kind not in ("function", "lambda"):
                    continue
                around = callers.get(index, frozenset())
                if function.parent in self._traced:
                    self._traced[index] = self._traced[function.parent]
                elif around and all(one in self._traced for one in around):
                    self._traced[index] = "called only from traced code"
                else:
                    continue
                changed = True
        self._within(self._fed, callers)
        self._within(self._arms, callers)

    def _within(self, chosen: set[int], callers: dict[int, frozenset[int]]) -> None:
        """Add to some traced functions those that stand in them, or that they alone call."""
        before = -1
        while before != len(chosen):
            before = len(chosen)
            for index in self._traced:
                around = callers.get(index, frozenset())
                if self._functions[index].parent in chosen or (around and around <= chosen):
                    chosen.add(index)

    def _callers(self) -> dict[int, frozenset[int]]:
        """By function, those of this file that name it for any purpose."""
        found: dict[int, set[int]] = {}
        own = {ident(self._file.key, function.index): function.index for function in self._functions}
        for function in self._functions:
            for reg, made in enumerate(function.code):
                if isinstance(made, p.Load | p.Outer | p.Attr):
                    name = self._own_method(function, made) if isinstance(made, p.Attr) else ""
                    index = own.get(name or self._names.dotted(function, reg))
                    if index is not None and index != function.index:
                        found.setdefault(index, set()).add(function.index)
        return {index: frozenset(names) for index, names in found.items()}

    def _without_device(self, framework: Framework) -> bool:
        """True where the file says that the framework has the host alone, or builds graphs to be run later."""
        return self._builds_graphs(framework) or any(
            tuple(said) == setting[: len(said)] and len(said) == len(setting)
            for function in self._functions
            for said in self._said(function)
            for setting in framework.host_settings
        )

    def _builds_graphs(self, framework: Framework) -> bool:
        return bool(framework.deferred) and any(
            name.startswith(framework.roots) and name.rpartition(".")[2] in framework.deferred
            for function in self._functions
            for made in function.code
            if isinstance(made, p.Call)
            for name in (self._names.dotted(function, made.function),)
        )

    def _said(self, function: Function) -> Iterator[tuple[str, ...]]:
        """Calls with constants and items that are set: `("jax.config.update", "jax_platforms", "cpu")`."""
        code = function.code
        for made in code:
            if isinstance(made, p.Call) and made.args:
                name = self._names.dotted(function, made.function)
                if name.endswith((".update", ".set_visible_devices", ".setdefault")):
                    words = tuple(_constant(code[r]) for r in made.args)
                    known = frameworks.known(name)
                    yield words if name == "os.environ.setdefault" else (known[1] if known else name, *words)
            elif isinstance(made, p.SetItem):
                yield _constant(code[made.index]), _constant(code[made.value])


def _constant(made: p.Instruction) -> str:
    """The text of a constant, "" for an empty list and "?" for anything else."""
    if isinstance(made, p.Const):
        return str(made.value)
    return "" if isinstance(made, p.Sequence) and not made.items else "?"


def _tracer(name: str) -> tuple[Framework, Tracer] | None:
    found = frameworks.known(name) if name else None
    row = frameworks.tracers().get(found[1]) if found is not None else None
    return (found[0], row) if found is not None and row is not None else None


def _head(text: str) -> str:
    found = _HEAD.match(text.strip())
    return found[0] if found else ""


def _last(function: Function, reg: Reg) -> str:
    made = function.code[reg]
    if isinstance(made, p.Load):
        return function.slot_names[made.slot]
    return made.name if isinstance(made, p.Attr | p.Outer) else ""
