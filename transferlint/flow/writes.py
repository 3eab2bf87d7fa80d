"""What a stretch of code writes to: variables, attributes and memory, also through the functions of the file it calls.

Unknown calls are taken to write to what they are handed as it is; modules and the operators of torch and numpy are
known to read."""

from __future__ import annotations

import builtins
import heapq
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from transferlint.flow.callgraph.names import find, split
from transferlint.flow.dataflow.once import once
from transferlint.flow.lattice.values import (
    CONTAINER,
    DEVICE_NAME,
    DTYPE,
    HOST_VALUE,
    LOADER,
    MODULE,
    NAME,
    OBJECT,
    OPTIMIZER,
    TENSOR,
    UNKNOWN,
)
from transferlint.flow.sharing import LONGEST, SAME, Path, Paths, Sharing, shares
from transferlint.knowledge.catalogue import effects
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

if TYPE_CHECKING:
    from transferlint.flow.facts import FileFacts, FunctionFacts

_LIST_METHODS = frozenset(
    "append extend insert remove pop clear sort reverse update setdefault popitem add discard appendleft popleft"
    " rotate".split()
)
_ARRAY_METHODS = frozenset("fill sort partition put resize itemset setfield setflags byteswap".split())
_WRITERS = frozenset(
    "numpy.copyto numpy.put numpy.place numpy.putmask numpy.fill_diagonal numpy.put_along_axis numpy.random.shuffle"
    " random.shuffle builtins.setattr builtins.delattr numpy.add.at numpy.subtract.at numpy.multiply.at".split()
)
_READERS = ("torch.", "numpy.", "math.", "tqdm.", "einops.", "copy.", "logging.", "time.")
_ROUNDS = 8
_PLAIN = HOST_VALUE | DEVICE_NAME | DTYPE | NAME


class Writes:
    """What the registers `regs` of a function write. `changed` and `reaches` are the questions to ask."""

    def __init__(self, function: FunctionFacts, regs: Iterable[Reg], known: Mapping[int, Writes] | None = None) -> None:
        self._function = function
        self._known = of_file(function.file) if known is None else known
        self._memory: dict[Path, bool] = {}
        self._items: set[Path] = set()  # containers whose elements come and go
        self._bound: set[Path] = set()
        self._objects: set[Path] = set()  # objects whose attributes a method of theirs may set
        for reg in regs:
            self._note(reg)
        between = Sharing(function)
        self._reached = between.spread(self._memory)
        self.paths = self._reached | self._bound | between.spread(dict.fromkeys(self._items, False), same=True)
        self._written, self._reachable = Paths(self.paths), Paths(self._reached)
        self._methods = Paths(self._objects)

    def changed(self, at: Path) -> bool:
        """True where the memory, the binding or the elements of a path may be written."""
        return self._written.overlap(at) or self._methods.cover(at)

    def reaches(self, at: Path) -> bool:
        """True where the memory of a path may be written, bindings left aside."""
        return self._reachable.overlap(at)

    def _note(self, reg: Reg) -> None:
        made = self._function.code[reg]
        if isinstance(made, p.Store | p.Delete):
            self._bound.add(((self._function.index, made.slot),))
        elif isinstance(made, p.StoreOuter):
            bound = find(self._function.file.program, self._function.function, made.name)
            self._bound.add((bound if bound is not None else made.name,))
        elif isinstance(made, p.SetAttr):
            self._set_attribute(made)
        elif isinstance(made, p.SetItem):
            if self._kinds(made.object) & CONTAINER and not self._kinds(made.object) & (TENSOR | UNKNOWN):
                self._items.update(s.path for s in shares(self._function, made.object))
            else:
                self._write(made.object)
        elif isinstance(made, p.Binary) and made.inplace:
            if self._kinds(made.left) & ~_PLAIN:
                self._write(made.left)
        elif isinstance(made, p.Call):
            self._call(reg, made)

    def _set_attribute(self, made: p.SetAttr) -> None:
        if made.name == "data":
            self._write(made.object)
            return
        for share in shares(self._function, made.object):
            self._bound.add((*share.path, made.name))

    def _kinds(self, reg: Reg) -> int:
        return self._function.values[reg].kinds

    def _write(self, reg: Reg) -> None:
        for share in shares(self._function, reg):
            deep = share.how != SAME
            self._memory[share.path] = self._memory.get(share.path, False) or deep

    def _call(self, reg: Reg, made: p.Call) -> None:
        function = self._function
        name = function.file.placement.names.dotted(function.function, made.function)
        callee = function.code[made.function]
        given = dict(made.keywords)
        if "out" in given:
            self._write(given["out"])
        if "inplace" in given and made.args:
            self._write(made.args[0])
        last = name.rpartition(".")[2] if name else callee.name if isinstance(callee, p.Attr) else ""
        in_place = last.endswith("_") and not last.endswith("__")
        if name in _WRITERS or (name and in_place):
            for one in made.args[:1]:
                self._write(one)
                self._items.update(s.path for s in shares(function, one))
        if isinstance(callee, p.Attr) and not name.startswith(_READERS):
            self._method(callee, in_place)
        local = split(function.calls.get(reg, ""))
        if local is not None and local[0] == function.file.path:
            self._local(made, local[1])
        elif not self._reads(made, name, callee):
            for one in (*made.args, *given.values()):
                if self._kinds(one) & ~_PLAIN:
                    self._write(one)

    def _method(self, callee: p.Attr, in_place: bool) -> None:
        kinds = self._kinds(callee.object)
        if in_place or (callee.name in _ARRAY_METHODS and kinds & ~(TENSOR | CONTAINER)):
            self._write(callee.object)
        elif callee.name in _LIST_METHODS and kinds != TENSOR:
            self._items.update(s.path for s in shares(self._function, callee.object))
        elif kinds & (OBJECT | UNKNOWN) and not self._known_method(callee):
            self._objects.update(s.path for s in shares(self._function, callee.object))

    def _known_method(self, callee: p.Attr) -> bool:
        """True for methods of tensors, for attributes that are called, and for what `self` inherits."""
        if f"Tensor.{callee.name}" in effects() or callee.name in ("get", "items", "keys", "values", "format"):
            return True
        base = self._function.code[callee.object]
        return isinstance(base, p.Load) and self._function.function.slot_names[base.slot] == "self"

    def _reads(self, made: p.Call, name: str, callee: p.Instruction) -> bool:
        """True where a call is known not to write to its arguments."""
        if name.startswith("builtins."):
            return hasattr(builtins, name[9:])
        if name.startswith(_READERS):
            return True
        if self._kinds(made.function) & MODULE or self._kinds(made.function) == OPTIMIZER:
            return True
        if isinstance(callee, p.Attr):
            kinds = self._kinds(callee.object)
            if callee.name in _LIST_METHODS or f"Tensor.{callee.name}" in effects():
                return True
            return bool(kinds) and not kinds & (UNKNOWN | OBJECT | MODULE | LOADER | OPTIMIZER)
        return False

    def _local(self, made: p.Call, index: int) -> None:
        """What a function of the file writes, in the caller's words."""
        function = self._function
        inner = self._known.get(index)
        if inner is None:
            return
        given = self._arguments(made, function.file.functions[index])
        for at in inner.paths | inner._objects:
            owner = at[0]
            if not isinstance(owner, tuple) or owner[0] != index:
                self._bound.add(at)
                if at in inner._reached:
                    self._memory[at] = True
            elif owner[1] in given and (len(at) > 1 or at not in inner._bound or at in inner._reached):
                for share in shares(function, given[owner[1]]):
                    self._memory[(share.path + at[1:])[:LONGEST]] = True

    def _arguments(self, made: p.Call, callee: FunctionFacts) -> dict[int, Reg]:
        """The caller's registers by the callee's parameter slots."""
        parameters = [q for q in callee.function.parameters if q.kind in ("positional", "keyword")]
        found: dict[int, Reg] = {}
        parent = callee.function.parent
        method = parent >= 0 and callee.file.functions[parent].function.kind == "class"
        if method and "staticmethod" not in callee.function.decorators and parameters:
            own = self._function.code[made.function]
            if isinstance(own, p.Attr) and own.name == callee.function.name:
                found[parameters[0].slot] = own.object
            elif callee.function.name in ("forward", "__call__"):
                found[parameters[0].slot] = made.function
            parameters = parameters[1:]
        for parameter, reg in zip(parameters, made.args, strict=False):
            found[parameter.slot] = reg
        names = {q.name: q.slot for q in parameters}
        for key, reg in made.keywords:
            if key in names:
                found[names[key]] = reg
        return found

    def same(self, other: Writes) -> bool:
        """Whether two say the same."""
        mine, others = ((one.paths, one._reached, one._bound, one._objects, one._memory) for one in (self, other))
        return mine == others


@once
def of_file(file: FileFacts) -> FileWrites:
    """What the functions of a file write."""
    return FileWrites(file)


class FileWrites(Mapping[int, Writes]):
    """What the functions of a file write, each worked out when somebody calls it, with all that it calls: until nothing
    is added where they call one another."""

    def __init__(self, file: FileFacts) -> None:
        self._file = file
        self._found: dict[int, Writes] = {}

    def __getitem__(self, index: int) -> Writes:
        if index not in self._found:
            self._find(index)
        return self._found[index]

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._file.functions)))

    def __len__(self) -> int:
        return len(self._file.functions)

    def _find(self, index: int) -> None:
        order = self._callees_first(index)
        callers: dict[int, set[int]] = {}
        for one in order:
            for called in self._calls(one):
                callers.setdefault(called, set()).add(one)
        found: dict[int, Writes] = {}
        place = {one: number for number, one in enumerate(order)}
        turns = dict.fromkeys(order, 0)
        pending, waiting = list(range(len(order))), set(order)
        while pending:
            one = order[heapq.heappop(pending)]
            waiting.discard(one)
            turns[one] += 1
            function = self._file.functions[one]
            made = Writes(function, range(len(function.code)), ChainMap(found, self._found))
            known = found.get(one)
            found[one] = made
            if known is not None and made.same(known):
                continue
            for caller in callers.get(one, ()):
                if caller not in waiting and turns[caller] < _ROUNDS and caller in found:
                    waiting.add(caller)
                    heapq.heappush(pending, place[caller])
        self._found.update(found)

    def _callees_first(self, index: int) -> list[int]:
        """A function and what it calls, as far as that is not known, each after what it calls where that can be."""
        order: list[int] = []
        seen, pending = {index}, [(index, iter(self._calls(index)))]
        while pending:
            at, rest = pending[-1]
            following = next((one for one in rest if one not in seen and one not in self._found), None)
            if following is None:
                order.append(at)
                pending.pop()
            else:
                seen.add(following)
                pending.append((following, iter(self._calls(following))))
        return order

    def _calls(self, index: int) -> list[int]:
        """The functions of the file that a function calls, in order."""
        names = map(split, self._file.functions[index].calls.values())
        return sorted({place[1] for place in names if place is not None and place[0] == self._file.path})
