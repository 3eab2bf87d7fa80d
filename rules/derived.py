"""What is computed from a value in its function: by assignments, containers, loops over it and calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from transferlint.flow.operands import operands
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Slot

ALL = "all"  # whatever is computed from it
PARTS = "parts"  # but what a reduction leaves of it
WHOLE = "whole"  # only the value itself, its elements and its slices, in another form or by another name

_ABOUT = frozenset("shape device dtype ndim size dim numel is_cuda requires_grad element_size".split())
_REDUCE = frozenset("sum mean max min argmax argmin std var median norm all any item prod accuracy_score".split())
_FORMS = frozenset(
    "cpu detach numpy tolist clone copy contiguous long int float double half bool byte astype to type data T t squeeze"
    " unsqueeze view reshape flatten ravel transpose permute".split()
)
_WRAPS = frozenset("zip enumerate list tuple reversed sorted iter tqdm array asarray".split())
_APART = frozenset("len range isinstance type id print hasattr is_tensor".split())
# What makes text of ids: no tensor is computed of that.
TEXT = re.compile(
    r"^(batch_decode|detokenize)$"
    r"|(^|_)(ids?|tokens?|indices|index|labels?)_?(to|2)_?(str|strings?|text|words?|tokens?)(_|$)"
)
_INTO = frozenset("append extend add insert update appendleft".split())
_OPEN = ("tqdm", "reversed", "list", "tuple", "iter")  # what hands on the elements of its argument
_COUNT = -1  # stands for what `enumerate` counts
_BEFORE = -1  # where parameters are bound


def derived(function: Function, seeds: Iterable[Reg], through: str, parameters: Iterable[Slot] = ()) -> set[Reg]:
    """The registers that hold what is computed from `seeds` and from parameters; a seed itself is one. Variables are
    followed up to where they are bound to something else; text is no longer of it."""
    found = set(seeds)
    bound: dict[Slot, set[Reg]] = {slot: {_BEFORE} for slot in parameters}
    where = _Where(function)
    size = -1
    while size != len(found) + sum(map(len, bound.values())):
        size = len(found) + sum(map(len, bound.values()))
        for reg, made in enumerate(function.code):
            slot = _rebound(function, made, found)
            if slot is not None:
                bound.setdefault(slot, set()).add(reg)
            elif isinstance(made, p.Load):
                at = bound.get(made.slot, set())
                if any(where.reaches(store, reg, made.slot, at) for store in at):
                    found.add(reg)
            elif _carries(function, reg, made, found, through):
                found.add(reg)
    return found


def callee_name(function: Function, made: p.Instruction) -> str:
    """The last name of what a call calls; "" for what is no call."""
    if not isinstance(made, p.Call):
        return ""
    callee = function.code[made.function]
    if isinstance(callee, p.Load):
        return function.slot_names[callee.slot]
    return callee.name if isinstance(callee, p.Attr | p.Outer) else ""


def given(made: p.Call) -> tuple[Reg, ...]:
    """The arguments of a call, by place and by name."""
    return (*made.args, *(reg for _, reg in made.keywords))


def regions(function: Function) -> list[int]:
    """The region of every register."""
    found = [0] * len(function.code)
    for block in function.blocks:
        found[block.start : block.end] = [block.region] * (block.end - block.start)
    return found


def loops(function: Function, region: int) -> Iterator[int]:
    """The loops around a region, itself included, innermost first."""
    while region > 0:
        if function.regions[region].kind in ("for", "while", "comprehension"):
            yield region
        region = function.regions[region].parent


def _carries(function: Function, reg: Reg, made: p.Instruction, found: set[Reg], through: str) -> bool:
    """True where an instruction that is no variable gives what is computed from a register found so far."""
    if isinstance(made, p.Attr):
        if made.object not in found or made.name in _ABOUT or (through == PARTS and made.name in _REDUCE):
            return False
        return through != WHOLE or made.name in _FORMS
    if isinstance(made, p.Call):
        name = callee_name(function, made)
        if made.function in found:
            return True
        if name in _APART or TEXT.search(name) or (through == PARTS and name in _REDUCE):
            return False
        if through == WHOLE and name not in _WRAPS:
            return False
        return any(argument in found for argument in given(made))
    if isinstance(made, p.Subscript):
        return made.object in found
    if isinstance(made, p.Unpack):
        iterable = _gone_over(function, reg)
        return (made.value if iterable is None else iterable) in found
    if isinstance(made, p.Choice):
        return made.body in found or made.orelse in found
    if isinstance(made, p.Next | p.Await | p.Yield | p.Boolean):
        return any(one in found for one in operands(made))
    if through == WHOLE:
        return False
    if isinstance(made, p.Binary | p.Unary | p.Compare | p.Sequence | p.Mapping | p.Format | p.Collect):
        return any(one in found for one in operands(made))
    return False


def _gone_over(function: Function, reg: Reg) -> Reg | None:
    """What a register is an element of, in a loop over it: of `for i, (a, b) in enumerate(zip(x, y))` x for a. None
    where that is not known, `_COUNT` for a count."""
    made = function.code[reg]
    if isinstance(made, p.Next):
        at = made.iterable
        while isinstance(call := function.code[at], p.Call) and call.args and callee_name(function, call) in _OPEN:
            at = call.args[0]
        return at
    if not isinstance(made, p.Unpack) or made.star >= 0:
        return None
    outer = _gone_over(function, made.value)
    paired = function.code[outer] if outer is not None and outer >= 0 else None
    if not isinstance(paired, p.Call) or any(paired.stars):
        return None
    name = callee_name(function, paired)
    if name == "enumerate" and paired.args:
        return paired.args[0] if made.index == 1 else _COUNT
    return paired.args[made.index] if name == "zip" and made.index < len(paired.args) else None


def _rebound(function: Function, made: p.Instruction, found: set[Reg]) -> Slot | None:
    """The variable that an instruction binds to what is found, or puts it into."""
    if isinstance(made, p.Store):
        return made.slot if made.value in found else None
    if isinstance(made, p.SetItem):
        return _root(function, made.object) if made.value in found or made.index in found else None
    if isinstance(made, p.SetAttr):
        return _root(function, made.object) if made.value in found else None
    callee = function.code[made.function] if isinstance(made, p.Call) else None
    if isinstance(made, p.Call) and isinstance(callee, p.Attr) and callee.name in _INTO:
        return _root(function, callee.object) if any(argument in found for argument in given(made)) else None
    return None


def _root(function: Function, reg: Reg) -> Slot | None:
    """The variable that holds what a register is a part of; not `self`, of which all would be a part."""
    made = function.code[reg]
    while isinstance(made, p.Attr | p.Subscript):
        made = function.code[made.object]
    if not isinstance(made, p.Load) or function.slot_names[made.slot] == "self":
        return None
    return made.slot


class _Where:
    """Which bindings of a variable a use of it may see."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.regions = regions(function)
        self.stores: dict[Slot, list[Reg]] = {}
        for reg, made in enumerate(function.code):
            if isinstance(made, p.Store):
                self.stores.setdefault(made.slot, []).append(reg)

    def reaches(self, store: Reg, load: Reg, slot: Slot, bound: set[Reg]) -> bool:
        """True where no other binding, that is made whenever the use is, lies between the binding and the use."""
        others = [reg for reg in self.stores.get(slot, ()) if reg not in bound]
        if store < load:
            return not any(store < reg < load and self._encloses(reg, load) for reg in others)
        common = set(loops(self.function, self.regions[store])) & set(loops(self.function, self.regions[load]))
        return bool(common) and not any(
            reg < load and self._encloses(reg, load) and common & set(loops(self.function, self.regions[reg]))
            for reg in others
        )

    def _encloses(self, reg: Reg, inner: Reg) -> bool:
        at = self.regions[inner]
        while at > 0 and at != self.regions[reg]:
            at = self.function.regions[at].parent
        return at == self.regions[reg]
