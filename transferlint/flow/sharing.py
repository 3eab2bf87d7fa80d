"""Which names of a function may stand for the same memory: paths, and how one path shares with another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from transferlint import late
from transferlint.flow.callgraph.names import find
from transferlint.flow.dataflow.once import once
from transferlint.knowledge.torch_names import VIEWS
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

if TYPE_CHECKING:
    from transferlint.flow.facts import FunctionFacts

# A variable, as (index of the function that binds it, slot), and the attributes after it.
Path = tuple[object, ...]

TENSOR_ATTRIBUTES = frozenset({"T", "mT", "H", "mH", "data", "real", "imag", "grad"})
_WRAPPERS = frozenset(
    "torch.from_numpy torch.as_tensor torch.asarray torch.frombuffer torch.Tensor torch.FloatTensor"
    " torch.nn.Parameter torch.nn.parameter.Parameter torch.utils.dlpack.from_dlpack torch.from_dlpack numpy.asarray"
    " numpy.ascontiguousarray numpy.frombuffer numpy.atleast_1d numpy.squeeze numpy.ravel numpy.reshape"
    " numpy.transpose".split()
)
_HANDING_ON = frozenset(f"builtins.{n}" for n in ("list", "tuple", "iter", "zip", "enumerate", "reversed", "next"))
_GETTERS = frozenset({"items", "get", "pop", "keys", "setdefault"})

SAME, VIEW, HELD = "same", "view", "held"
LONGEST = 6
_MOST = 4000  # paths that are told apart; beyond, a variable counts as a whole


@late.dataclass(frozen=True, slots=True)
class Share:
    """What a value shares memory with, and how: it is the very object (SAME), has its memory or a part of it (VIEW), or
    holds it (HELD)."""

    path: Path
    how: str


@late.dataclass(frozen=True, slots=True)
class Edge:
    """`path` may share with `share`."""

    path: Path
    share: Share


def path(function: FunctionFacts, reg: Reg) -> Path | None:
    """The path that an expression of names, attributes and subscripts reads; None for others. Subscripts count as the
    whole."""
    made = function.code[reg]
    if isinstance(made, p.Load):
        return ((function.index, made.slot),)
    if isinstance(made, p.Outer):
        bound = find(function.file.program, function.function, made.name)
        return (bound if bound is not None else made.name,)
    if isinstance(made, p.Attr):
        base = path(function, made.object)
        if base is None or made.name in TENSOR_ATTRIBUTES:
            return base
        return (*base, made.name)
    if isinstance(made, p.Subscript):
        return path(function, made.object)
    return None


def shares(function: FunctionFacts, reg: Reg) -> Iterator[Share]:
    """What the value of a register may share memory with."""
    made = function.code[reg]
    if isinstance(made, p.Load | p.Outer | p.Attr):
        found = path(function, reg)
        if found is not None:
            yield Share(found, VIEW if isinstance(made, p.Attr) and made.name in TENSOR_ATTRIBUTES else SAME)
    elif isinstance(made, p.Subscript):
        yield from _parts(function, made.object)
    elif isinstance(made, p.Call):
        yield from _of_call(function, made)
    elif isinstance(made, p.Choice):
        yield from shares(function, made.body)
        yield from shares(function, made.orelse)
    elif isinstance(made, p.Boolean):
        for one in made.operands:
            yield from shares(function, one)
    elif isinstance(made, p.Sequence):
        for one in made.items:
            yield from _held(function, one)
    elif isinstance(made, p.Mapping):
        for one in made.values:
            yield from _held(function, one)
    elif isinstance(made, p.Collect):
        yield from _held(function, made.value)
    elif isinstance(made, p.Unpack):
        whole = function.code[made.value]
        if isinstance(whole, p.Sequence) and not any(whole.stars) and made.star < 0 and made.index < len(whole.items):
            yield from shares(function, whole.items[made.index])
        else:
            yield from _parts(function, made.value)
    elif isinstance(made, p.Next):
        yield from _parts(function, made.iterable)
    elif isinstance(made, p.Enter):
        yield from shares(function, made.context)
    elif isinstance(made, p.Binary) and made.inplace:
        yield from shares(function, made.left)


def _of_call(function: FunctionFacts, made: p.Call) -> Iterator[Share]:
    callee = function.code[made.function]
    name = function.file.placement.names.dotted(function.function, made.function)
    if name:
        last = name.rpartition(".")[2]
        if name in _HANDING_ON:
            for one in made.args:
                yield from _parts(function, one)
        elif name in _WRAPPERS or (name.startswith("torch.") and (last in VIEWS or last.endswith("_"))):
            for one in made.args[:1]:
                yield from _parts(function, one)
    elif isinstance(callee, p.Attr) and (callee.name in VIEWS | _GETTERS or callee.name.endswith("_")):
        yield from _parts(function, callee.object)


def _parts(function: FunctionFacts, reg: Reg) -> Iterator[Share]:
    return (Share(s.path, VIEW) for s in shares(function, reg))


def _held(function: FunctionFacts, reg: Reg) -> Iterator[Share]:
    return (Share(s.path, HELD) for s in shares(function, reg))


def edges(function: FunctionFacts) -> Iterator[Edge]:
    """All sharing that the code of a function sets up, whatever the order it runs in."""
    for made in function.code:
        target: Path | None = None
        value: Reg | None = None
        held = False
        if isinstance(made, p.Store):
            target, value = ((function.index, made.slot),), made.value
        elif isinstance(made, p.SetAttr):
            base, value = path(function, made.object), made.value
            target = (*base, made.name) if base is not None else None
        elif isinstance(made, p.StoreOuter):
            bound, value = find(function.file.program, function.function, made.name), made.value
            target = (bound if bound is not None else made.name,)
        elif isinstance(made, p.SetItem):
            target, value, held = path(function, made.object), made.value, True
        elif isinstance(made, p.Call):
            callee = function.code[made.function]
            if isinstance(callee, p.Attr) and callee.name in ("append", "add", "insert", "appendleft") and made.args:
                target, value, held = path(function, callee.object), made.args[-1], True
        if target is None or value is None:
            continue
        for share in shares(function, value):
            yield Edge(target, Share(share.path, HELD) if held else share)


class Sharing:
    """All sharing that the code of a function and of those around it sets up, by the variables that it is about."""

    def __init__(self, function: FunctionFacts) -> None:
        self._by: list[dict[object, list[Edge]]] = []
        at = function
        while True:
            self._by.append(_by_variable(at))
            parent = at.function.parent
            if parent < 0:
                break
            at = function.file.functions[parent]

    def about(self, variable: object) -> Iterator[Edge]:
        """The edges of which one end begins with a variable."""
        for known in self._by:
            yield from known.get(variable, ())

    def spread(self, written: dict[Path, bool], same: bool = False) -> set[Path]:
        """All paths whose memory a write reaches. `written` maps a path to whether the write goes to what it holds
        (True) or to itself; `same`: only by other names of the very object."""
        seen: set[tuple[Path, bool]] = set()
        work = list(written.items())
        while work:
            at, deep = work.pop()
            if (at, deep) in seen or len(at) > LONGEST:
                continue
            seen.add((at, deep))
            if len(seen) > _MOST:
                return self._connected(at[0] for at in written)
            for edge in self.about(at[0]):
                other, how = edge.share.path, edge.share.how
                if same and how != SAME:
                    continue
                if how != HELD or deep:
                    work.extend((q, deep) for q in _moved(at, edge.path, other))
                work.extend((q, deep or how == HELD) for q in _moved(at, other, edge.path))
        return {q for q, _ in seen}

    def _connected(self, variables: Iterable[object]) -> set[Path]:
        """All variables that may share anything with some."""
        pending = list(variables)
        found = set(pending)
        while pending:
            for edge in self.about(pending.pop()):
                more = {edge.path[0], edge.share.path[0]} - found
                found |= more
                pending += more
        return {(variable,) for variable in found}


@once
def _by_variable(function: FunctionFacts) -> dict[object, list[Edge]]:
    found: dict[object, list[Edge]] = {}
    for edge in dict.fromkeys(edges(function)):
        for variable in {edge.path[0], edge.share.path[0]}:
            found.setdefault(variable, []).append(edge)
    return found


def _moved(at: Path, source: Path, target: Path) -> Iterator[Path]:
    if at[: len(source)] == source:
        yield target + at[len(source) :]
    elif source[: len(at)] == at:
        yield target


class Paths:
    """Some paths, and whether others lie within them or around them."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = frozenset(paths)
        self._above = {path[:length] for path in self._paths for length in range(1, len(path))}

    def overlap(self, at: Path) -> bool:
        """True where a path lies within one of these, or one of these within it."""
        return at in self._above or self.cover(at) or at in self._paths

    def cover(self, at: Path) -> bool:
        """True where a path lies further within one of these."""
        return any(at[:length] in self._paths for length in range(1, len(at)))
