"""Which `DataLoader(...)` call a batch comes from, and what that call says of pinned memory."""

from __future__ import annotations

from transferlint import late
from transferlint.flow.callgraph.names import find, split
from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FunctionFacts
from transferlint.knowledge.torch_names import LOADERS
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import arguments

# DataLoader(dataset, batch_size, shuffle, sampler, batch_sampler, num_workers, collate_fn, pin_memory, ...)
_WORKERS, _COLLATE, _PIN = 5, 6, 7
_WRAPPERS = ("builtins.enumerate", "builtins.iter", "tqdm.")
_PARTS = frozenset({"items", "values", "get", "pop"})
_DEPTH = 10
_CHANGES = frozenset(
    {"to", "cuda", "cpu", "float", "half", "long", "int", "double", "bfloat16", "squeeze", "unsqueeze"}
)


@late.dataclass(frozen=True, slots=True)
class Loader:
    """A call of `DataLoader`: the function it stands in, and its register."""

    function: FunctionFacts
    register: Reg

    @property
    def call(self) -> p.Call:
        """The instruction."""
        made = self.function.code[self.register]
        assert isinstance(made, p.Call)
        return made

    def argument(self, name: str, position: int) -> Reg | None:
        """The register given for an argument, None without one."""
        given = dict(self.call.keywords)
        return given.get(name, self.call.args[position] if len(self.call.args) > position else None)

    @property
    def pins(self) -> bool | None:
        """Whether it pins its batches: None where the call leaves that open (a variable, `**options`)."""
        if any(self.call.stars) or any(not key for key, _ in self.call.keywords):
            return None
        given = self.argument("pin_memory", _PIN)
        if given is None:
            return False
        made = self.function.code[given]
        return bool(made.value) if isinstance(made, p.Const) else None

    @property
    def workers(self) -> bool | None:
        """Whether it has worker processes: None where the call leaves that open."""
        given = self.argument("num_workers", _WORKERS)
        if given is None:
            return None if any(self.call.stars) or any(not key for key, _ in self.call.keywords) else False
        made = self.function.code[given]
        return bool(made.value) if isinstance(made, p.Const) else None

    @property
    def could_pin(self) -> bool:
        """Whether it does not pin its batches and would gain by it: without workers, the loop that takes a batch pins
        it (torch/utils/data/dataloader.py `_SingleProcessDataLoaderIter`), and saves nothing
        (benchmarks/results/gpu.md)."""
        return self.pins is False and self.workers is not False

    @property
    def has_collate(self) -> bool:
        """True where it is given a `collate_fn`."""
        given = self.argument("collate_fn", _COLLATE)
        return given is not None and not isinstance(self.function.code[given], p.Const)

    def collates(self, *words: str) -> bool | None:
        """Whether its `collate_fn` is a function whose text has one of the words: None where it is not in this file."""
        given = self.argument("collate_fn", _COLLATE)
        if given is None or isinstance(self.function.code[given], p.Const):
            return False
        name = (
            self.function.file.placement.names.dotted(self.function.function, given) or self.function.values[given].name
        )
        place = split(name)
        if place is None or place[0] != self.function.file.path:
            return None
        node = self.function.file.program.functions[place[1]].node
        start, end = self.function.file.spans.of(node)
        return any(word in self.function.file.text[start:end] for word in words)


def loader_of(function: FunctionFacts, reg: Reg, depth: int = _DEPTH) -> Loader | None:
    """The only `DataLoader(...)` of this file that an iterable can be; None where it may be anything else."""
    made = function.code[reg]
    if depth == 0:
        return None
    if isinstance(made, p.Call):
        name = function.file.placement.names.dotted(function.function, made.function)
        if name in LOADERS:
            return Loader(function, reg)
        if name.startswith(_WRAPPERS) and made.args:
            return loader_of(function, made.args[0], depth - 1)
        return None
    if isinstance(made, p.Load):
        return _bound(function, made.slot, depth)
    if isinstance(made, p.Outer):
        found = find(function.file.program, function.function, made.name)
        return _bound(function.file.functions[found[0]], found[1], depth) if found is not None else None
    if isinstance(made, p.Attr):
        return _attribute(function, made, depth)
    if isinstance(made, p.Unpack):
        whole = function.code[made.value]
        if isinstance(whole, p.Sequence) and not any(whole.stars) and made.star < 0 and made.index < len(whole.items):
            return loader_of(function, whole.items[made.index], depth - 1)
    return None


def _bound(function: FunctionFacts, slot: int, depth: int) -> Loader | None:
    """What a variable is bound to, where that is one assignment."""
    stores = [i for r in function.stores(slot) if isinstance(i := function.code[r], p.Store)]
    if len(stores) != 1 or any(q.slot == slot for q in function.function.parameters):
        return None
    return loader_of(function, stores[0].value, depth - 1)


def _attribute(function: FunctionFacts, made: p.Attr, depth: int) -> Loader | None:
    """What `self.loader` is set to, where the methods of the class set it once."""
    info = function.file.placement.class_of(function.function)
    base = function.code[made.object]
    if info is None or not isinstance(base, p.Load) or function.function.slot_names[base.slot] != "self":
        return None
    found = []
    for other in function.file.functions:
        if function.file.placement.class_of(other.function) is not info:
            continue
        found += [(other, i) for i in other.code if isinstance(i, p.SetAttr) and i.name == made.name]
    return loader_of(found[0][0], found[0][1].value, depth - 1) if len(found) == 1 else None


def batch_of(function: FunctionFacts, reg: Reg, moved: Reg, depth: int = _DEPTH) -> Loader | None:
    """The loader whose batch a value is, or is a part of; None where it may be anything else. Stores of what `moved`
    makes of it do not count, nor do other changes of the variable by its own methods."""
    made = function.code[reg]
    if depth == 0:
        return None
    if isinstance(made, p.Subscript):
        return batch_of(function, made.object, moved, depth - 1)
    if isinstance(made, p.Unpack):
        return batch_of(function, made.value, moved, depth - 1)
    if isinstance(made, p.Load):
        kept = (r for r in _given(function, made.slot) if moved not in function.expression(r))
        first = next(kept, None)
        return batch_of(function, first, moved, depth - 1) if first is not None and next(kept, None) is None else None
    if isinstance(made, p.Next):
        part = function.code[made.iterable]
        if isinstance(part, p.Call):
            callee = function.code[part.function]
            if isinstance(callee, p.Attr) and callee.name in _PARTS:
                return batch_of(function, callee.object, moved, depth - 1)
        found = loader_of(function, made.iterable)
        return found if found is not None else batch_of(function, made.iterable, moved, depth - 1)
    if isinstance(made, p.Call):
        name = function.file.placement.names.dotted(function.function, made.function)
        if name == "builtins.next" and made.args:
            return loader_of(function, made.args[0])
        callee = function.code[made.function]
        if isinstance(callee, p.Attr) and callee.name in _PARTS:
            return batch_of(function, callee.object, moved, depth - 1)
    return None


@once
def _given(function: FunctionFacts, slot: int) -> tuple[Reg, ...]:
    """What is stored in a variable, without changes of it by its own methods."""
    stores = (i.value for r in function.stores(slot) if isinstance(i := function.code[r], p.Store))
    return tuple(r for r in stores if not _changes(function, r, slot))


def _changes(function: FunctionFacts, reg: Reg, slot: int) -> bool:
    """True for `x.float()` and the like, of the variable itself."""
    made = function.code[reg]
    if not isinstance(made, p.Call):
        return False
    callee = function.code[made.function]
    if not isinstance(callee, p.Attr) or callee.name not in _CHANGES:
        return False
    base = function.code[callee.object]
    return isinstance(base, p.Load) and base.slot == slot


def pinning(loader: Loader) -> Fix | None:
    """`pin_memory=True` in the loader's call: added, or for the False that is there."""
    function = loader.function
    given = loader.argument("pin_memory", _PIN)
    if given is not None:
        made = function.code[given]
        if not isinstance(made, p.Const) or made.value is True:
            return None
        return Fix("pin the batches", Safety.UNSAFE, (Edit(*function.span(given), "True"),))
    edit = arguments.added(function, loader.register, "pin_memory=True")
    return Fix("pin the batches", Safety.UNSAFE, (edit,)) if edit is not None else None
