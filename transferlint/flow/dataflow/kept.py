"""What outlives a call: arms that fill what their test found missing, or too small."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from transferlint.flow.dataflow.guards import identifiers
from transferlint.knowledge import roles
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Slot

if TYPE_CHECKING:
    pass

_NEGATED = {"is": "is not", "is not": "is", "==": "!=", "!=": "==", ">": "<=", "<=": ">", "<": ">=", ">=": "<"}
_NEGATED |= {"in": "not in", "not in": "in"}
_DEPTH = 6
_TELLING = frozenset("shape dtype device ndim type".split())
_MEASURING = frozenset("size dim numel".split())
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
    for made in arm(function, index):
        if isinstance(made, p.SetAttr) and made.name in asked and is_self(function, made.object):
            return not _takes_turns(function, made)
        if not isinstance(made, p.SetItem):
            continue
        if missing is not None and _variable(function, made.value) == missing:
            return True
        if searched is not None and _fills_table(function, searched, made):
            return True
    return searched is not None and _hands_on(function, index, test, *searched)


def wanting(function: Function, test: Reg, when: bool = True) -> frozenset[str]:
    """The attributes of `self` that a test, being `when`, finds missing (`not self.x`, `self.x is None`, `not
    hasattr(self, "x")`), small (`n > self.x`, `self.x.size(0) < n`), or made for something else (`self.x.shape[0] !=
    n`)."""
    made = function.code[test]
    if isinstance(made, p.Boolean):
        return frozenset().union(*(wanting(function, part, when) for part in made.operands))
    if isinstance(made, p.Unary) and made.operator == "not":
        return wanting(function, made.operand, not when)
    if isinstance(made, p.Attr) and not when:
        return own(function, test)
    if isinstance(made, p.Call) and not when:
        return _looked_up(function, made, "hasattr")
    if isinstance(made, p.Compare) and len(made.operators) == 1:
        left, right = made.operands
        operator = made.operators[0] if when else _NEGATED[made.operators[0]]
        if operator in (">", ">="):
            return _told_by_own(function, right)
        if operator in ("<", "<="):
            return _told_by_own(function, left)
        if operator == "!=":
            return _told_by_own(function, left) | _told_by_own(function, right)
        constant = function.code[right]
        if operator in ("is", "==") and isinstance(constant, p.Const) and constant.value is None:
            asked = function.code[left]
            return _looked_up(function, asked, "getattr") if isinstance(asked, p.Call) else own(function, left)
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
    stored = {one.slot for one in arm(function, index) if isinstance(one, p.Store)}
    for other, region in enumerate(function.regions):
        if region.kind == "else" and region.test == test and not region.implied:
            return any(
                isinstance(one, p.Store) and one.slot in stored and _reads_self(function, one.value)
                for one in arm(function, other)
            )
    return False


def region_of(function: Function, reg: Reg) -> int:
    """The region that a register stands in."""
    return next((block.region for block in function.blocks if block.start <= reg < block.end), 0)


def arm(function: Function, index: int) -> Iterator[p.Instruction]:
    """The instructions that stand in an arm itself."""
    return (m for b in function.blocks if b.region == index for m in function.code[b.start : b.end])


def _searched(function: Function, test: Reg, when: bool) -> tuple[Reg, Reg] | None:
    """The key and the table of `key not in table`, which `when` says is so; None for other tests."""
    made = function.code[test]
    if not isinstance(made, p.Compare) or made.operators != (("not in",) if when else ("in",)):
        return None
    return made.operands[0], made.operands[1]


def _fills_table(function: Function, searched: tuple[Reg, Reg], made: p.SetItem) -> bool:
    key, table = searched
    if not same(function, table, made.object):
        return False
    found = function.code[table]
    if isinstance(found, p.Attr) and isinstance(function.code[found.object], p.Load | p.Outer):
        return True
    return same(function, key, made.index) and _outlives(function, table)


def _hands_on(function: Function, index: int, test: Reg, key: Reg, table: Reg) -> bool:
    """True where the other arm reads the item that is missing here, and after both arms it is stored again, for the
    next call: a table of states, whoever keeps it."""
    arms = [one for one in function.regions if one.test == test and not one.implied]
    other = [one for one in arms if one is not function.regions[index]]
    reads = stores = False
    for block in function.blocks:
        around = [id(one) for one in function.ancestors(block.region)]
        code = function.code[block.start : block.end]
        if any(id(one) in around for one in other):
            reads = reads or any(isinstance(m, p.Subscript) and _is_item(function, m, key, table) for m in code)
        elif not any(id(one) in around for one in arms):
            stores = stores or any(_stores_item(function, m, key, table) for m in code)
    return reads and stores


def _is_item(function: Function, made: p.Subscript | p.SetItem, key: Reg, table: Reg) -> bool:
    return same(function, table, made.object) and same(function, key, made.index)


def _stores_item(function: Function, made: p.Instruction, key: Reg, table: Reg) -> bool:
    """True for `table[key] = x` and `table.update({key: x})`."""
    if isinstance(made, p.SetItem):
        return _is_item(function, made, key, table)
    callee = function.code[made.function] if isinstance(made, p.Call) else None
    if not isinstance(made, p.Call) or not isinstance(callee, p.Attr) or callee.name != "update" or not made.args:
        return False
    given = function.code[made.args[0]]
    keys = given.keys if isinstance(given, p.Mapping) else ()
    return same(function, table, callee.object) and any(one is not None and same(function, key, one) for one in keys)


def same(function: Function, one: Reg, other: Reg) -> bool:
    """True for two expressions of names, attributes, items and constants that are spelled alike."""
    first, second = function.code[one], function.code[other]
    if type(first) is not type(second):
        return False
    if isinstance(first, p.Attr) and isinstance(second, p.Attr):
        return first.name == second.name and same(function, first.object, second.object)
    if isinstance(first, p.Subscript) and isinstance(second, p.Subscript):
        return same(function, first.object, second.object) and same(function, first.index, second.index)
    return isinstance(first, p.Load | p.Outer | p.Const) and first == second


def _outlives(function: Function, reg: Reg, depth: int = _DEPTH) -> bool:
    """True for what belongs to `self`: an attribute, what is in it, or what a loop over it gives."""
    made = function.code[reg]
    if depth == 0:
        return False
    if isinstance(made, p.Attr) and is_self(function, made.object):
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


def own(function: Function, reg: Reg) -> frozenset[str]:
    """The name of an attribute of `self`."""
    made = function.code[reg]
    return frozenset([made.name]) if isinstance(made, p.Attr) and is_self(function, made.object) else frozenset()


def _told_by_own(function: Function, reg: Reg) -> frozenset[str]:
    """The name of an attribute of `self` that an expression is, or of which it tells the size, type or device."""
    made = function.code[reg]
    if isinstance(made, p.Subscript) or (isinstance(made, p.Attr) and made.name in _TELLING):
        return _told_by_own(function, made.object)
    if not isinstance(made, p.Call):
        return own(function, reg)
    callee = function.code[made.function]
    if isinstance(callee, p.Attr) and callee.name in _MEASURING:
        return _told_by_own(function, callee.object)
    asked = made.args[0] if callee == p.Outer("len") and len(made.args) == 1 else None
    return _told_by_own(function, asked) if asked is not None else frozenset()


def _looked_up(function: Function, call: p.Call, by: str) -> frozenset[str]:
    """The attribute that `hasattr(self, "x")`, or `getattr(self, "x", None)`, looks up."""
    callee = function.code[call.function]
    if not isinstance(callee, p.Outer) or callee.name != by or len(call.args) < 2:
        return frozenset()
    if not is_self(function, call.args[0]):
        return frozenset()
    name = function.code[call.args[1]]
    return frozenset([name.value]) if isinstance(name, p.Const) and isinstance(name.value, str) else frozenset()


def _reads_self(function: Function, reg: Reg) -> bool:
    """True for an attribute of `self`, or part of one."""
    made = function.code[reg]
    while isinstance(made, p.Subscript | p.Attr):
        if isinstance(made, p.Attr) and is_self(function, made.object):
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


def is_self(function: Function, reg: Reg) -> bool:
    """True for `self`: the argument, or that of the method around."""
    made = function.code[reg]
    if isinstance(made, p.Load):
        return function.slot_names[made.slot] == "self"
    return isinstance(made, p.Outer) and made.name == "self"
