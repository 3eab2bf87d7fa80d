"""What outlives a call: arms that fill what their test found missing, one-shot flags, hooks that remove themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from transferlint.flow.guards import identifiers
from transferlint.flow.names import ident
from transferlint.knowledge import roles
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Slot

if TYPE_CHECKING:
    from transferlint.flow.placement import FilePlacement

_NEGATED = {"is": "is not", "is not": "is", "==": "!=", "!=": "==", ">": "<=", "<=": ">", "<": ">=", ">=": "<"}
_NEGATED |= {"in": "not in", "not in": "in"}
_STRAIGHT = frozenset({"with", "try"})
_DEPTH = 6
_LOOPING = frozenset("zip enumerate reversed sorted list tuple items values".split())


def fills(function: Function, index: int, test: Reg, when: bool) -> bool:
    """True for an arm (a region that runs where `test` is `when`) that stores the attribute of which its test asks
    whether it is there, or large enough, puts the variable that was found missing into a table, or fills the table that
    outlives the call and in which the test found nothing."""
    asked = wanting(function, test, when)
    missing = absent(function, test) if when else None
    searched = _searched(function, test, when)
    if not asked and missing is None and searched is None:
        return False
    for made in _arm(function, index):
        if isinstance(made, p.SetAttr) and made.name in asked and _is_self(function, made.object):
            return not _takes_turns(function, made)
        if not isinstance(made, p.SetItem):
            continue
        if missing is not None and _variable(function, made.value) == missing:
            return True
        if searched is not None and _fills_table(function, searched, made):
            return True
    return False


def wanting(function: Function, test: Reg, when: bool = True) -> frozenset[str]:
    """The attributes of `self` that a test, being `when`, finds missing (`not self.x`, `self.x is None`, `not
    hasattr(self, "x")`) or small (`n > self.x`)."""
    made = function.code[test]
    if isinstance(made, p.Boolean):
        return frozenset().union(*(wanting(function, part, when) for part in made.operands))
    if isinstance(made, p.Unary) and made.operator == "not":
        return wanting(function, made.operand, not when)
    if isinstance(made, p.Attr) and not when:
        return _own(function, test)
    if isinstance(made, p.Call) and not when:
        return _looked_up(function, made, "hasattr")
    if isinstance(made, p.Compare) and len(made.operators) == 1:
        left, right = made.operands
        operator = made.operators[0] if when else _NEGATED[made.operators[0]]
        if operator in (">", ">="):
            return _own(function, right)
        if operator in ("<", "<="):
            return _own(function, left)
        constant = function.code[right]
        if operator in ("is", "==") and isinstance(constant, p.Const) and constant.value is None:
            asked = function.code[left]
            return _looked_up(function, asked, "getattr") if isinstance(asked, p.Call) else _own(function, left)
    return frozenset()


def absent(function: Function, test: Reg) -> Slot | None:
    """The variable that a test finds to be None (or nothing); None where it asks something else."""
    made = function.code[test]
    reg = made.operand if isinstance(made, p.Unary) and made.operator == "not" else None
    if isinstance(made, p.Compare) and made.operators == ("is",):
        constant = function.code[made.operands[1]]
        reg = made.operands[0] if isinstance(constant, p.Const) and constant.value is None else None
    return _variable(function, reg) if reg is not None else None


def beyond(function: Function, index: int, test: Reg) -> bool:
    """True for the arm of `n > self.max_n` that computes what the other arm reads from `self`."""
    made = function.code[test]
    if not isinstance(made, p.Compare) or made.operators[0] not in (">", ">=", "<", "<="):
        return False
    limit = function.code[made.operands[1 if made.operators[0].startswith(">") else 0]]
    if len(made.operators) != 1 or not isinstance(limit, p.Attr) or not limit.name.lstrip("_").startswith("max"):
        return False
    stored = {one.slot for one in _arm(function, index) if isinstance(one, p.Store)}
    for other, region in enumerate(function.regions):
        if region.kind == "else" and region.test == test and not region.implied:
            return any(
                isinstance(one, p.Store) and one.slot in stored and _reads_self(function, one.value)
                for one in _arm(function, other)
            )
    return False


class Flags:
    """The attributes of a file that are set to True or False, and where."""

    def __init__(self, file: FilePlacement) -> None:
        self._file = file
        self._found: dict[str, list[tuple[int, Reg, object]]] | None = None

    def once(self, function: Function, index: int, test: Reg, when: bool) -> bool:
        """True for an arm that runs where a flag of `self` stands one way, where the arm, or the function right after
        it, sets the flag the other way, and nothing but setup and the hooks of epochs sets it back."""
        return any(self._put_out(function, index, *asked) for asked in _flags(function, test, when))

    def _put_out(self, function: Function, index: int, name: str, value: bool) -> bool:
        sets = self._sets().get(name, [])
        if not any(at == function.index and self._follows(function, index, reg, value) for at, reg, _ in sets):
            return False
        return all(to is (not value) or self._rests(at) for at, _, to in sets)

    def _rests(self, index: int) -> bool:
        """True for a function that runs rarely by what it is."""
        return bool(self._file.roles[index].cold) or self._file.program.functions[index].kind != "function"

    def _follows(self, function: Function, index: int, reg: Reg, value: bool) -> bool:
        """True for `self.flag = not value` in an arm, or past it on the way that all that comes by takes."""
        made = function.code[reg]
        if not isinstance(made, p.SetAttr) or not _is_self(function, made.object):
            return False
        constant = function.code[made.value]
        if not isinstance(constant, p.Const) or constant.value is not (not value):
            return False
        at = _straight(function, region_of(function, reg), index)
        if at == index:
            return True
        around = function.regions[index].parent
        while around > 0 and around != at:
            around = function.regions[around].parent
        return around == at and reg > max((b.end for b in function.blocks if b.region == index), default=0)

    def _sets(self) -> dict[str, list[tuple[int, Reg, object]]]:
        """By attribute: the function, register and constant (None: none) of each time that it is set."""
        if self._found is None:
            self._found = {}
            for function in self._file.program.functions:
                for reg, made in enumerate(function.code):
                    if isinstance(made, p.SetAttr):
                        constant = function.code[made.value]
                        to = constant.value if isinstance(constant, p.Const) else None
                        self._found.setdefault(made.name, []).append((function.index, reg, to))
        return self._found


def passing_hooks(file: FilePlacement) -> frozenset[int]:
    """The functions that are registered as hooks, and remove the handle that they were registered with."""
    handles: dict[str, list[tuple[Function, Reg]]] = {}
    for function in file.program.functions:
        for made in function.code:
            if isinstance(made, p.SetAttr | p.Store):
                call = function.code[made.value]
                callee = function.code[call.function] if isinstance(call, p.Call) and call.args else None
                if isinstance(callee, p.Attr) and callee.name.startswith("register_") and isinstance(call, p.Call):
                    name = made.name if isinstance(made, p.SetAttr) else function.slot_names[made.slot]
                    handles.setdefault(name, []).append((function, call.args[0]))
    found = set()
    for function in file.program.functions if handles else ():
        for reg, made in enumerate(function.code):
            callee = function.code[made.function] if isinstance(made, p.Call) and not made.args else None
            if not isinstance(callee, p.Attr) or callee.name != "remove":
                continue
            spelled = next(identifiers(function, callee.object), "")
            registered = handles.get(spelled, ())
            if any(_refers(file, *one, function) for one in registered) and _always(function, reg):
                found.add(function.index)
    return frozenset(found)


def region_of(function: Function, reg: Reg) -> int:
    """The region that a register stands in."""
    return next((block.region for block in function.blocks if block.start <= reg < block.end), 0)


def _refers(file: FilePlacement, owner: Function, reg: Reg, function: Function) -> bool:
    """True where an expression names a function, as `f` or `self.f`."""
    made = owner.code[reg]
    if isinstance(made, p.Attr):
        return made.name == function.name and _is_self(owner, made.object)
    return file.names.dotted(owner, reg) == ident(file.key, function.index)


def _always(function: Function, reg: Reg) -> bool:
    return _straight(function, region_of(function, reg), 0) == 0


def _straight(function: Function, region: int, end: int) -> int:
    """The region that code stands in once bodies of `with` and `try`, and what follows arms that leave, are taken for
    part of what is around them; `end` is left as it is."""
    while region not in (0, end):
        around = function.regions[region]
        if not around.implied and around.kind not in _STRAIGHT:
            break
        region = around.parent
    return region


def _arm(function: Function, index: int) -> Iterator[p.Instruction]:
    """The instructions that stand in an arm itself."""
    return (m for b in function.blocks if b.region == index for m in function.code[b.start : b.end])


def _flags(function: Function, test: Reg, when: bool) -> Iterator[tuple[str, bool]]:
    """The attributes of `self` that have to be true, or false, for a test to be `when`."""
    made = function.code[test]
    if isinstance(made, p.Unary) and made.operator == "not":
        yield from _flags(function, made.operand, not when)
    elif isinstance(made, p.Boolean) and (made.operator == "and") == when:
        for part in made.operands:
            yield from _flags(function, part, when)
    elif isinstance(made, p.Attr):
        yield from ((name, when) for name in _own(function, test))


def _searched(function: Function, test: Reg, when: bool) -> tuple[Reg, Reg] | None:
    """The key and the table of `key not in table`, which `when` says is so; None for other tests."""
    made = function.code[test]
    if not isinstance(made, p.Compare) or made.operators != (("not in",) if when else ("in",)):
        return None
    return made.operands[0], made.operands[1]


def _fills_table(function: Function, searched: tuple[Reg, Reg], made: p.SetItem) -> bool:
    key, table = searched
    if not _same(function, table, made.object):
        return False
    found = function.code[table]
    if isinstance(found, p.Attr) and isinstance(function.code[found.object], p.Load | p.Outer):
        return True
    return _same(function, key, made.index) and _outlives(function, table)


def _same(function: Function, one: Reg, other: Reg) -> bool:
    """True for two expressions of names, attributes, items and constants that are spelled alike."""
    first, second = function.code[one], function.code[other]
    if type(first) is not type(second):
        return False
    if isinstance(first, p.Attr) and isinstance(second, p.Attr):
        return first.name == second.name and _same(function, first.object, second.object)
    if isinstance(first, p.Subscript) and isinstance(second, p.Subscript):
        return _same(function, first.object, second.object) and _same(function, first.index, second.index)
    return isinstance(first, p.Load | p.Outer | p.Const) and first == second


def _outlives(function: Function, reg: Reg, depth: int = _DEPTH) -> bool:
    """True for what belongs to `self`: an attribute, what is in it, or what a loop over it gives."""
    made = function.code[reg]
    if depth == 0:
        return False
    if isinstance(made, p.Attr) and _is_self(function, made.object):
        return not roles.LOADER_WORDS.search(made.name)
    if isinstance(made, p.Attr):
        return _outlives(function, made.object, depth - 1)
    if isinstance(made, p.Subscript):
        return _outlives(function, made.object, depth - 1)
    if isinstance(made, p.Unpack):
        return _outlives(function, made.value, depth - 1)
    if isinstance(made, p.Next):
        return _outlives(function, made.iterable, depth - 1)
    if isinstance(made, p.Load):
        bound = [m.value for m in function.code if isinstance(m, p.Store) and m.slot == made.slot]
        return len(bound) == 1 and _outlives(function, bound[0], depth - 1)
    if not isinstance(made, p.Call) or next(identifiers(function, made.function), "") not in _LOOPING:
        return False
    callee = function.code[made.function]
    over = (callee.object,) if isinstance(callee, p.Attr) else made.args
    return bool(over) and all(_outlives(function, one, depth - 1) for one in over)


def _own(function: Function, reg: Reg) -> frozenset[str]:
    """The name of an attribute of `self`."""
    made = function.code[reg]
    return frozenset([made.name]) if isinstance(made, p.Attr) and _is_self(function, made.object) else frozenset()


def _looked_up(function: Function, call: p.Call, by: str) -> frozenset[str]:
    """The attribute that `hasattr(self, "x")`, or `getattr(self, "x", None)`, looks up."""
    callee = function.code[call.function]
    if not isinstance(callee, p.Outer) or callee.name != by or len(call.args) < 2:
        return frozenset()
    if not _is_self(function, call.args[0]):
        return frozenset()
    name = function.code[call.args[1]]
    return frozenset([name.value]) if isinstance(name, p.Const) and isinstance(name.value, str) else frozenset()


def _reads_self(function: Function, reg: Reg) -> bool:
    """True for an attribute of `self`, or part of one."""
    made = function.code[reg]
    while isinstance(made, p.Subscript | p.Attr):
        if isinstance(made, p.Attr) and _is_self(function, made.object):
            return True
        made = function.code[made.object]
    return False


def _takes_turns(function: Function, made: p.SetAttr) -> bool:
    """True for a flag that is set to True in one arm of a function, and to False in another."""
    constants = (function.code[m.value] for m in function.code if isinstance(m, p.SetAttr) and m.name == made.name)
    return len({one.value for one in constants if isinstance(one, p.Const) and isinstance(one.value, bool)}) > 1


def _variable(function: Function, reg: Reg) -> Slot | None:
    made = function.code[reg]
    return made.slot if isinstance(made, p.Load) else None


def _is_self(function: Function, reg: Reg) -> bool:
    """True for `self`: the argument, or that of the method around."""
    made = function.code[reg]
    if isinstance(made, p.Load):
        return function.slot_names[made.slot] == "self"
    return isinstance(made, p.Outer) and made.name == "self"
