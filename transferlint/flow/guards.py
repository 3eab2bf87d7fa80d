"""Conditions that make what they guard rare: intervals, log levels, the first or the main process, first times."""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.operands import operands
from transferlint.knowledge import roles
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Slot

_FOLLOWED = 4
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def rare(function: Function, test: Reg, when: bool, stores: dict[Slot, Reg]) -> str:
    """Why `test` being `when` is rare ("an interval", "a logging switch", ...), "" where nothing says so.
    `stores` are the function's `single_stores`."""
    return _rare(function, test, when, stores, frozenset())


def wanting(function: Function, test: Reg) -> frozenset[str]:
    """The attributes of `self` that a test finds missing (`not self.x`, `self.x is None`) or small (`n > self.x`)."""
    made = function.code[test]
    if isinstance(made, p.Boolean):
        return frozenset().union(*(wanting(function, part) for part in made.operands))
    if isinstance(made, p.Unary) and made.operator == "not":
        return _kept(function, made.operand)
    if isinstance(made, p.Compare) and len(made.operators) == 1:
        left, right = made.operands
        if made.operators[0] in (">", ">="):
            return _kept(function, right)
        if made.operators[0] in ("<", "<="):
            return _kept(function, left)
        constant = function.code[right]
        if made.operators[0] in ("is", "==") and isinstance(constant, p.Const) and constant.value is None:
            return _kept(function, left)
    return frozenset()


def absent(function: Function, test: Reg) -> Slot | None:
    """The variable that a test finds to be None (or nothing); None where it asks something else."""
    made = function.code[test]
    reg = made.operand if isinstance(made, p.Unary) and made.operator == "not" else None
    if isinstance(made, p.Compare) and made.operators == ("is",):
        constant = function.code[made.operands[1]]
        reg = made.operands[0] if isinstance(constant, p.Const) and constant.value is None else None
    found = function.code[reg] if reg is not None else None
    return found.slot if isinstance(found, p.Load) else None


def table(function: Function, test: Reg) -> tuple[str, ...]:
    """How the table is spelled in which a test finds nothing, `key not in self.cache`, where it outlives the call."""
    made = function.code[test]
    if not isinstance(made, p.Compare) or made.operators != ("not in",):
        return ()
    found = function.code[made.operands[1]]
    if not isinstance(found, p.Attr) or not isinstance(function.code[found.object], p.Load | p.Outer):
        return ()
    return tuple(identifiers(function, made.operands[1]))


def _kept(function: Function, reg: Reg) -> frozenset[str]:
    made = function.code[reg]
    base = function.code[made.object] if isinstance(made, p.Attr) else None
    own = isinstance(base, p.Load) and function.slot_names[base.slot] == "self"
    return frozenset([made.name]) if isinstance(made, p.Attr) and own else frozenset()


def _rare(function: Function, reg: Reg, when: bool, stores: dict[Slot, Reg], seen: frozenset[Slot]) -> str:
    """`seen`: the variables that were followed to their only assignment already; each is followed once."""
    instruction = function.code[reg]
    if isinstance(instruction, p.Unary) and instruction.operator == "not":
        if when and _is_state(function, instruction.operand):
            return "only the first time"
        return _rare(function, instruction.operand, not when, stores, seen)
    if isinstance(instruction, p.Boolean):
        parts = (_rare(function, r, when, stores, seen) for r in instruction.operands)
        if (instruction.operator == "and") == when:
            return next((part for part in parts if part), "")
        found = next(parts)
        return found if found and all(parts) else ""
    if isinstance(instruction, p.Compare) and len(instruction.operators) == 1:
        return _compared(function, instruction, when)
    if isinstance(instruction, p.Call) and not when and any("version" in w for w in _called(function, instruction)):
        return "with an old version only"
    if _has_modulo(function, reg):
        return "" if when else "only every so many steps"
    if isinstance(instruction, p.Load) and instruction.slot not in seen and len(seen) < _FOLLOWED:
        source = stores.get(instruction.slot)
        found = _rare(function, source, when, stores, seen | {instruction.slot}) if source is not None else ""
        if found:
            return found
    if isinstance(instruction, p.Attr) and instruction.name in ("is_cuda", "is_cpu"):
        return "on the host only" if (instruction.name == "is_cpu") == when else ""
    if not when:
        return ""
    return _switch(function, reg)


def _called(function: Function, call: p.Call) -> tuple[str, ...]:
    return tuple(identifiers(function, call.function))[:1]


def _compared(function: Function, test: p.Compare, when: bool) -> str:
    operator = test.operators[0]
    left, right = test.operands
    if isinstance(function.code[left], p.Const):
        left, right, operator = right, left, _MIRRORED.get(operator, operator)
    if any(_has_modulo(function, side) for side in (left, right)) and operator in ("==", "!=", "is", "in", ">"):
        return "only every so many steps" if (operator != "!=") == when else ""
    constant = function.code[right]
    if isinstance(constant, p.Const) and constant.value is None and operator in ("is", "is not"):
        if (operator == "is") == when and _cached(function, left):
            return "only the first time"
        return ""
    if isinstance(constant, p.Const) and constant.value == "cpu" and operator in ("==", "!="):
        return "on the host only" if (operator == "==") == when else ""
    words = [w for side in (left, right) for w in identifiers(function, side)]
    if operator == "==" and when and any(roles.BEGINNING.search(w) for w in words):
        return "only the first time"
    if operator == "not in" and when and (
        _is_state(function, left) or _is_state(function, right) or any(roles.FIRST_TIME_WORDS.search(w) for w in words)
    ):
        return "only the first time"
    if operator == "==" and when and isinstance(constant, p.Const) and constant.value == 0 and _sized(function, left):
        return "only the first time"
    if (
        operator in ("==", "!=")
        and (operator == "==") == when
        and isinstance(constant, p.Const)
        and constant.value in (0, 1)
    ) and any(roles.STEP_WORDS.search(w) or w in ("i", "it", "idx", "epoch", "t") for w in words):
        return "only the first time"
    if (
        operator in ("==", "!=")
        and any(w in ("len", "last", "total_steps") for w in words)
        and (operator == "==") == when
    ):
        return "only the last time"
    if (operator != "!=") != when:
        return ""
    if operator == "==" and _turn_of_a_loop(function, test.operands):
        return "in one turn of the loop only"
    if operator in ("==", "!=", "in") and any(roles.RANK_WORDS.search(w) for w in words) and _constant(constant):
        return "on one process only"
    return _switch_words(words) if operator in ("==", "!=", ">", ">=", "<=", "<") else ""


def _turn_of_a_loop(function: Function, operands: tuple[Reg, ...]) -> bool:
    """True for `step == last`: a counter that a loop binds, against what no loop binds."""
    targets = {slot for region in function.regions for slot in region.target_slots}
    made = [function.code[r] for r in operands]
    bound = [isinstance(one, p.Load) and one.slot in targets for one in made]
    if sum(bound) != 1:
        return False
    counter = made[bound.index(True)]
    assert isinstance(counter, p.Load)
    return bool(roles.COUNTER_WORDS.search(function.slot_names[counter.slot]))


def _sized(function: Function, reg: Reg) -> bool:
    """True for `len(state)`."""
    made = function.code[reg]
    if not isinstance(made, p.Call) or not isinstance(function.code[made.function], p.Outer):
        return False
    return function.code[made.function].name == "len" and _is_state(function, reg)  # type: ignore[union-attr]


def _is_state(function: Function, reg: Reg) -> bool:
    """True for what an optimizer keeps of a parameter: it is empty only once."""
    instruction = function.code[reg]
    if isinstance(instruction, p.Call):
        return bool(instruction.args) and _is_state(function, instruction.args[0])
    return next(iter(identifiers(function, reg)), "").endswith("state")


def _has_modulo(function: Function, reg: Reg) -> bool:
    """True for `step % n`: a counter, not a size, whose remainder is taken."""
    instruction = function.code[reg]
    if not isinstance(instruction, p.Binary) or instruction.operator != "%":
        return False
    return any(roles.COUNTER_WORDS.search(w) for w in identifiers(function, instruction.left))


def _constant(instruction: p.Instruction) -> bool:
    return isinstance(instruction, p.Const | p.Sequence | p.Unary)


def _cached(function: Function, reg: Reg) -> bool:
    """True for what outlives a call: an attribute, an item, a name of an enclosing scope."""
    instruction = function.code[reg]
    if isinstance(instruction, p.Attr):
        base = function.code[instruction.object]
        return isinstance(base, p.Load) and function.slot_names[base.slot] in ("self", "cls")
    return isinstance(instruction, p.Subscript | p.Outer)


def _switch(function: Function, reg: Reg) -> str:
    instruction = function.code[reg]
    if isinstance(instruction, p.Call):
        words = list(identifiers(function, instruction.function))
        if "hasattr" in words:
            return ""
        return _switch_words(words[:1])
    return _switch_words(list(identifiers(function, reg))[:1])


def _switch_words(words: list[str]) -> str:
    for word in words:
        if roles.INTERVAL_WORDS.search(word):
            return f"behind `{word}`"
    return ""


def identifiers(function: Function, reg: Reg) -> Iterator[str]:
    """The names that an expression is spelled with, the outermost attribute first."""
    pending = [reg]
    while pending:
        instruction = function.code[pending.pop()]
        if isinstance(instruction, p.Load):
            yield function.slot_names[instruction.slot]
        elif isinstance(instruction, (p.Outer, p.Attr)):
            yield instruction.name
        elif isinstance(instruction, p.Const) and isinstance(instruction.value, str) and len(instruction.value) < 40:
            yield instruction.value
        pending.extend(reversed(operands(instruction)))


def single_stores(function: Function) -> dict[Slot, Reg]:
    """The value of each variable that is bound exactly once, by an assignment."""
    found: dict[Slot, Reg] = {}
    several: set[Slot] = set()
    for instruction in function.code:
        if isinstance(instruction, p.Store):
            if instruction.slot in found:
                several.add(instruction.slot)
            found[instruction.slot] = instruction.value
    unpacked = (p.Next, p.Unpack)
    return {s: r for s, r in found.items() if s not in several and not isinstance(function.code[r], unpacked)}
