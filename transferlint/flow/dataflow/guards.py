"""Conditions that make what they guard rare: intervals, log levels, first times. Which process it is
makes nothing rare: on the one that logs, it runs as often as what is beside it, and the others wait for that one."""

from __future__ import annotations

from collections.abc import Iterator

from transferlint import late
from transferlint.flow.dataflow.operands import operands
from transferlint.knowledge import roles
from transferlint.reasons import Cause, Reason
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Slot

_FOLLOWED = 4
_SELDOM = 0.1  # of the steps, at most
_NONE = frozenset({("==", 0), ("<", 1), ("<=", 0)})
_FILLED = frozenset({("!=", 0), (">=", 1), (">", 0)})
_DEVICE_FLAGS = late.pattern(r"^_?((use|has|have|is|on|with|enable)_)?(cuda|gpu)(_is)?(_available|_enabled)?$")
_EARLIER = late.pattern(r"(^|_)(past|cache[ds]?|states?|prev(ious)?|history|memory|memories)(_|$)")
# docs.pytorch.org: `torch.onnx.is_in_onnx_export`, `torch.compiler.is_exporting`, `torch.jit.is_tracing`,
# `torch.jit.is_scripting`; and functions named after them.
_EXPORTING = late.pattern(r"_?is_(torch_)?(in_onnx_export|exporting|(jit_)?(tracing|scripting)$)")
_COUNTERS = frozenset({"i", "it", "idx", "epoch", "t"})
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def rare(function: Function, test: Reg, when: bool, stores: dict[Slot, Reg]) -> Reason | None:
    """Why `test` being `when` is rare (an interval, a switch for logging, ...), None where nothing says so.
    `stores` are the function's `single_stores`."""
    return _rare(function, test, when, stores, frozenset())


def _rare(function: Function, reg: Reg, when: bool, stores: dict[Slot, Reg], seen: frozenset[Slot]) -> Reason | None:
    """`seen`: the variables that were followed to their only assignment already; each is followed once."""
    instruction = function.code[reg]
    if isinstance(instruction, p.Unary) and instruction.operator == "not":
        if when and _is_state(function, instruction.operand):
            return Reason(Cause.FIRST_TIME)
        return _rare(function, instruction.operand, not when, stores, seen)
    if isinstance(instruction, p.Boolean):
        parts = (_rare(function, r, when, stores, seen) for r in instruction.operands)
        if (instruction.operator == "and") == when:
            return next((part for part in parts if part), None)
        found = next(parts)
        return found if found and all(parts) else None
    if isinstance(instruction, p.Compare) and len(instruction.operators) == 1:
        return _compared(function, instruction, when) or _uncounted(function, instruction, when, stores)
    if isinstance(instruction, p.Call) and when and _counted_equal(function, instruction):
        return Reason(Cause.INTERVAL)
    if isinstance(instruction, p.Call) and not when and any("version" in w for w in _called(function, instruction)):
        return Reason(Cause.OLD_VERSION)
    if isinstance(instruction, p.Call) and when and any(_EXPORTING.match(w) for w in _called(function, instruction)):
        return Reason(Cause.EXPORT)
    if _has_modulo(function, reg):
        return None if when else Reason(Cause.INTERVAL)
    if isinstance(instruction, p.Load) and instruction.slot not in seen and len(seen) < _FOLLOWED:
        source = stores.get(instruction.slot)
        found = _rare(function, source, when, stores, seen | {instruction.slot}) if source is not None else None
        if found:
            return found
    if isinstance(instruction, p.Attr) and instruction.name == "is_cpu":
        return Reason(Cause.CPU_ONLY) if when else None
    if not when:
        if _asks_for_device(function, reg):
            return Reason(Cause.CPU_ONLY)
        return Reason(Cause.NO_DATA) if _counted(function, reg, stores) else None
    return _switch(function, reg)


def _counted_equal(function: Function, call: p.Call) -> bool:
    """True for `tf.equal(step % n, 0)`."""
    return _called(function, call) == ("equal",) and any(_has_modulo(function, one) for one in call.args)


def _called(function: Function, call: p.Call) -> tuple[str, ...]:
    return tuple(identifiers(function, call.function))[:1]


def _compared(function: Function, test: p.Compare, when: bool) -> Reason | None:
    operator = test.operators[0]
    left, right = test.operands
    if isinstance(function.code[left], p.Const):
        left, right, operator = right, left, _MIRRORED.get(operator, operator)
    if function.kind != "module" and asks_for_main(function, test):
        return Reason(Cause.AS_PROGRAM) if when else None
    if _drawn(function, left) and isinstance(function.code[right], p.Const):
        return Reason(Cause.SAMPLED) if _seldom_drawn(operator, function.code[right], when) else None
    if any(_has_modulo(function, side) for side in (left, right)) and operator in ("==", "!=", "is", "in", ">"):
        return Reason(Cause.INTERVAL) if (operator != "!=") == when else None
    constant = function.code[right]
    if isinstance(constant, p.Const) and constant.value is None and operator in ("is", "is not"):
        if (operator == "is") == when and _cached(function, left):
            # What follows `if self.mode is not None: return ...` may as well be the other way to do it.
            asked = function.code[left]
            named = isinstance(asked, p.Attr) and not roles.FIRST_TIME_WORDS.search(asked.name)
            return None if named and operator == "is not" else Reason(Cause.FIRST_TIME)
        return None
    if isinstance(constant, p.Const) and constant.value in ("cpu", "mps") and operator in ("==", "!="):
        return Reason(Cause.CPU_ONLY) if (operator == "==") == when else None
    if isinstance(constant, p.Const) and constant.value == "cuda" and operator in ("==", "!="):
        return Reason(Cause.CPU_ONLY) if (operator == "!=") == when else None
    words = [w for side in (left, right) for w in identifiers(function, side)]
    if operator == "==" and when and any(roles.BEGINNING.search(w) for w in words):
        return Reason(Cause.FIRST_TIME)
    if (
        operator == "not in"
        and when
        and (
            _is_state(function, left)
            or _is_state(function, right)
            or any(roles.FIRST_TIME_WORDS.search(w) for w in words)
        )
    ):
        return Reason(Cause.FIRST_TIME)
    if operator == "==" and when and isinstance(constant, p.Const) and constant.value == 0 and _sized(function, left):
        return Reason(Cause.FIRST_TIME)
    if (
        operator in ("==", "!=")
        and (operator == "==") == when
        and isinstance(constant, p.Const)
        and constant.value in (0, 1)
        and _counter(function, left)
    ):
        return Reason(Cause.FIRST_TIME)
    if (
        operator in ("==", "!=")
        and any(w in ("last", "total_steps") or (w == "len" and not isinstance(constant, p.Const)) for w in words)
        and (operator == "==") == when
    ):
        return Reason(Cause.LAST_TIME)
    if (operator != "!=") != when:
        return None
    if operator == "==" and _turn_of_a_loop(function, test.operands):
        return Reason(Cause.ONE_ITERATION)
    return _switch_words(words) if operator in ("==", "!=", ">", ">=", "<=", "<") else None


def asks_for_main(function: Function, test: p.Instruction) -> bool:
    """True for `__name__ == "__main__"`."""
    if not isinstance(test, p.Compare) or test.operators != ("==",):
        return False
    sides = [function.code[side] for side in test.operands]
    return p.Outer("__name__") in sides and p.Const("__main__") in sides


def _drawn(function: Function, reg: Reg) -> bool:
    """True for a number drawn evenly from 0 to 1: `random.random()`, `rng.random()`, `np.random.rand()`,
    `torch.rand(1)` (docs.python.org random, numpy.org random.Generator.random, docs.pytorch.org torch.rand)."""
    made = function.code[reg]
    if not isinstance(made, p.Call) or made.keywords:
        return False
    name = next(identifiers(function, made.function), "")
    if name in ("random", "random_sample"):
        return not made.args
    return name == "rand" and all(function.code[one] == p.Const(1) for one in made.args)


def _seldom_drawn(operator: str, limit: p.Instruction, when: bool) -> bool:
    """Whether a comparison of what was drawn from 0 to 1 with a number is `when` in a small share of the draws."""
    value = limit.value if isinstance(limit, p.Const) else None
    if not isinstance(value, int | float) or operator not in ("<", "<=", ">", ">="):
        return False
    share = value if operator in ("<", "<=") else 1 - value
    return (share if when else 1 - share) <= _SELDOM


def not_finite(function: Function, test: Reg, when: bool) -> bool:
    """True where a test, being `when`, finds numbers that are none: `torch.isnan(x).any()`, `nans.any()`, `not
    torch.isfinite(x).all()`."""
    made = function.code[test]
    if isinstance(made, p.Unary) and made.operator == "not":
        return not_finite(function, made.operand, not when)
    if isinstance(made, p.Boolean):
        parts = [not_finite(function, part, when) for part in made.operands]
        return all(parts) if (made.operator == "or") == when else any(parts)
    if not isinstance(made, p.Call):
        return False
    words = list(identifiers(function, test))
    if any(roles.FINITE.match(word) for word in words):
        return when is ("any" in words)
    none = [bool(roles.NOT_FINITE.search(word)) for word in words]
    return when and any(none) and ("any" in words or "all" in words or none[0])


def _asks_for_device(function: Function, reg: Reg) -> bool:
    """True for `use_cuda`, `x.is_cuda` and `torch.cuda.is_available()`."""
    made = function.code[reg]
    if isinstance(made, p.Call):
        asked, *of = (*identifiers(function, made.function), "")
        return asked == "is_available" and of[0] in ("cuda", "get_accelerator", "accelerator")
    return isinstance(made, p.Load | p.Outer | p.Attr) and bool(_DEVICE_FLAGS.match(next(identifiers(function, reg))))


def _uncounted(function: Function, test: p.Compare, when: bool, stores: dict[Slot, Reg]) -> Reason | None:
    """A reason where a test, being `when`, finds that there is nothing: `len(rows) == 0`, `x.numel() < 1`."""
    left, right = test.operands
    operator = test.operators[0]
    if isinstance(function.code[left], p.Const):
        left, right, operator = right, left, _MIRRORED.get(operator, operator)
    constant = function.code[right]
    value = constant.value if isinstance(constant, p.Const) else None
    if type(value) is not int or (operator, value) not in (_NONE if when else _FILLED):
        return None
    empty = _counted(function, left, stores) or (when and _collected(function, left, stores))
    return Reason(Cause.NO_DATA) if empty else None


def _collected(function: Function, reg: Reg, stores: dict[Slot, Reg]) -> bool:
    """True for the length of a list that this function fills."""
    made = function.code[reg]
    callee = function.code[made.function] if isinstance(made, p.Call) else None
    if not isinstance(made, p.Call) or not isinstance(callee, p.Outer) or callee.name != "len" or len(made.args) != 1:
        return False
    listed = function.code[made.args[0]]
    source = function.code[stores[listed.slot]] if isinstance(listed, p.Load) and listed.slot in stores else None
    return isinstance(source, p.Sequence) and source.kind == "list" and not source.items


def _counted(function: Function, reg: Reg, stores: dict[Slot, Reg]) -> bool:
    """True for how much there is of something: `x.shape[0]`, `x.size(0)`, `x.numel()`, `len(rows)`; the length neither
    of what nobody has to give, nor of what `self` was set up with, nor of a list that is filled under conditions."""
    made = function.code[reg]
    if isinstance(made, p.Subscript):
        shape = function.code[made.object]
        return isinstance(shape, p.Attr) and shape.name == "shape"
    callee = function.code[made.function] if isinstance(made, p.Call) else None
    if not isinstance(made, p.Call):
        return False
    if isinstance(callee, p.Attr):
        return (callee.name in ("numel", "nelement") and not made.args) or (callee.name == "size" and bool(made.args))
    if not isinstance(callee, p.Outer) or callee.name != "len" or len(made.args) != 1:
        return False
    counted = function.code[made.args[0]]
    if isinstance(counted, p.Load):
        return _brought(function, counted.slot, stores)
    if isinstance(counted, p.Attr) and counted.name == "shape":
        return False  # that is how many dimensions it has
    return isinstance(counted, p.Attr | p.Subscript) and "self" not in tuple(identifiers(function, made.args[0]))


def _brought(function: Function, slot: Slot, stores: dict[Slot, Reg]) -> bool:
    """True for a variable that holds what every call brings, or what is computed from it: no argument that may be left
    out, nothing that was kept of calls before, no list that is filled bit by bit."""
    given = next((one for one in function.parameters if one.slot == slot), None)
    if _EARLIER.search(function.slot_names[slot]):
        return False
    if given is not None:
        return given.kind in ("positional", "keyword") and not given.default
    source = function.code[stores[slot]] if slot in stores else None
    return source is not None and not isinstance(source, p.Sequence | p.Mapping | p.Const)


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


def _counter(function: Function, reg: Reg) -> bool:
    """True for what counts steps by its name, `step`, `self.iteration`, `state["step"]`: no size, and nothing that a
    tensor tells of itself."""
    made = function.code[reg]
    if isinstance(made, p.Subscript) and isinstance(function.code[made.index], p.Const):
        name = next(iter(_spelled(function, made.index)), "")
    elif isinstance(made, p.Load | p.Outer | p.Attr):
        name = next(identifiers(function, reg))
    else:
        return False
    return name in _COUNTERS or (bool(roles.STEP_WORDS.search(name)) and not roles.SIZE_WORDS.search(name))


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


def _cached(function: Function, reg: Reg) -> bool:
    """True for what outlives a call: an attribute, an item, a name of an enclosing scope."""
    instruction = function.code[reg]
    if isinstance(instruction, p.Attr):
        base = function.code[instruction.object]
        return isinstance(base, p.Load) and function.slot_names[base.slot] in ("self", "cls")
    return isinstance(instruction, p.Subscript | p.Outer)


def _switch(function: Function, reg: Reg) -> Reason | None:
    instruction = function.code[reg]
    if isinstance(instruction, p.Load | p.Outer | p.Attr) and roles.LAST.search(next(identifiers(function, reg))):
        return Reason(Cause.LAST_TIME)
    if isinstance(instruction, p.Call):
        words = list(identifiers(function, instruction.function))
        if "hasattr" in words:
            return None
        return _switch_words([*words[:1], *_key(function, instruction)])
    if isinstance(instruction, p.Subscript):
        return _switch_words([*_spelled(function, instruction.index)] or list(identifiers(function, reg))[:1])
    return _switch_words(list(identifiers(function, reg))[:1])


def _key(function: Function, call: p.Call) -> tuple[str, ...]:
    """What a call looks up: "DEBUG" in `config.get("DEBUG")`, "verbose" in `getattr(args, "verbose", False)`."""
    at = {"get": 0, "getattr": 1}.get("".join(_called(function, call)))
    return _spelled(function, call.args[at]) if at is not None and at < len(call.args) else ()


def _spelled(function: Function, reg: Reg) -> tuple[str, ...]:
    """A constant text that reads like a name."""
    made = function.code[reg]
    return (made.value,) if isinstance(made, p.Const) and isinstance(made.value, str) else ()


def _switch_words(words: list[str]) -> Reason | None:
    for word in words:
        if roles.INTERVAL_WORDS.search(word):
            return Reason(Cause.SWITCH, word)
    return None


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
