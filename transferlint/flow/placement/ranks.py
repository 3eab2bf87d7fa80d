"""How many dimensions a tensor has. One that has none is a number to torch: as an index it is read, beside tensors of
another place it is taken for what it holds."""

from __future__ import annotations

from collections.abc import Iterable

from transferlint.flow.lattice.values import (
    BOOLEAN,
    CONTAINER,
    DIMENSIONS,
    HOST_VALUE,
    NAME,
    SEVERAL,
    TENSOR,
    UNKNOWN,
    Value,
    dimensions,
    of_dimensions,
)
from transferlint.flow.placement.frame import Frame
from transferlint.knowledge import torch_ranks as rules
from transferlint.syntax.program import (
    Attr,
    Binary,
    Call,
    Compare,
    Const,
    Load,
    Outer,
    Reg,
    Sequence,
    Slice,
    Store,
    Subscript,
    Unary,
)

_RESHAPED = frozenset("unsqueeze_ squeeze_ resize_ resize_as_ set_ swapaxes_".split())
_NUMBERS = (Outer("len"), Outer("int"))
_OF_LISTS = frozenset("stack cat concat concatenate".split())
# The arguments beside the operand with which these give something else.
_PLAIN = frozenset({"unique", "nonzero", "bincount", "histc"})


def called(frame: Frame, made: Call, value: Value) -> Value:
    """The result of a call with the dimensions that torch's operators give it."""
    several = value.kinds == CONTAINER and value.items is None and value.item is not None
    one = value.item if several else value
    if one is None or one.kinds != TENSOR:
        return value
    callee, instruction = frame.values[made.function], frame.code[made.function]
    if callee.name:
        rule, name, operands = rules.of_function(callee.name), callee.name.rpartition(".")[2], list(made.args)
    elif isinstance(instruction, Attr) and frame.values[instruction.object].is_a(TENSOR | UNKNOWN):
        rule, name, operands = rules.of_method(instruction.name), instruction.name, [instruction.object, *made.args]
        if name in _RESHAPED:
            return value.but(flags=value.flags & ~DIMENSIONS)
    else:
        return value
    if not rule or any(made.stars):
        return value
    count = _ruled(frame, made, rule, name, operands, bool(callee.name))
    if count is None:
        return value
    if not several:
        return _with(value, count)
    inner = _with(one, count)
    return Value(
        CONTAINER,
        value.places,
        value.flags,
        value.why,
        inner,
        None,
        value.name,
        value.reads,
        value.uploads,
        value.fields,
    )


def _ruled(frame: Frame, made: Call, rule: str, name: str, operands: list[Reg], function: bool) -> int | None:
    fixed = {rules.NONE: 0, rules.ONE: 1, rules.TWO: 2, rules.THREE: 3}.get(rule)
    if fixed is not None:
        return None if name in _PLAIN and (len(operands) > 1 or made.keywords) else fixed
    if rule == rules.GIVEN_SIZE:
        size = dict(made.keywords).get("size", operands[0 if name == "full" else -1] if operands else None)
        return _sizes(frame, made, [size]) if size is not None else None
    if rule == rules.SIZED:
        return _sizes(frame, made, operands if function else operands[1:])
    if not operands:
        return None
    if rule in (rules.DATA, rules.DATA_OR_SIZES):
        if name == "new_tensor":
            return _of_data(frame, operands[1]) if len(operands) > 1 else None
        listed = rule == rules.DATA or frame.values[operands[0]].is_a(CONTAINER)
        return _of_data(frame, operands[0]) if listed else _sizes(frame, made, operands)
    if rule == rules.SOME:
        return SEVERAL
    first = _of(frame, operands[0], name in _OF_LISTS)
    if rule == rules.SAME:
        return first
    if rule == rules.FLATTENED:
        return _flattened(frame, made, operands[1:])
    if rule == rules.WIDENED:
        sizes = _sizes(frame, made, operands[1:])
        if name == "tile" or sizes is None:
            return SEVERAL if first or sizes else None
        return sizes
    if rule == rules.MORE:
        return None if first is None else first + 1 if first != SEVERAL else SEVERAL
    if rule == rules.LESS:
        return first - 1 if first is not None and first != SEVERAL else None
    if rule == rules.SECOND:
        return _of(frame, operands[1]) if len(operands) > 1 else None
    if rule == rules.BROADCAST:
        if name == "where" and len(operands) < 3:
            return None  # a tuple
        given = [*operands, *(reg for key, reg in made.keywords if key in ("other", "min", "max", "value"))]
        return _most(_of(frame, one) for one in given)
    if rule == rules.PRODUCT:
        return _product(first, _of(frame, operands[1])) if len(operands) > 1 else None
    return _reduced(frame, made, first, operands[2 if name == "norm" else 1 :])


def _flattened(frame: Frame, made: Call, others: list[Reg]) -> int:
    """`x.flatten(1)`: what stands behind a dimension is one."""
    if not others and not made.keywords:
        return 1
    start = frame.code[dict(made.keywords).get("start_dim", others[0] if others else made.keywords[0][1])]
    if len(others) + len(made.keywords) > 1 or not isinstance(start, Const) or not isinstance(start.value, int):
        return SEVERAL
    return start.value + 1 if start.value >= 0 else SEVERAL


def _reduced(frame: Frame, made: Call, first: int | None, others: list[Reg]) -> int | None:
    """What a reduction leaves."""
    keywords = {key: reg for key, reg in made.keywords if key != "p"}
    if set(keywords) - {"dim", "keepdim", "axis", "keepdims", "dtype"}:
        return None
    dim = keywords.get("dim", keywords.get("axis", others[0] if others else None))
    if dim is None:
        return 0
    if others and frame.values[others[0]].kinds & TENSOR:
        return _most((first, _of(frame, others[0]))) if len(others) == 1 else None  # `x.max(y)`
    kept = keywords.get("keepdim", keywords.get("keepdims", others[1] if len(others) > 1 else None))
    if kept is not None:
        flag = frame.code[kept]
        if flag == Const(True):
            return first
        if flag != Const(False):
            return None
    if first is None or first == SEVERAL or not is_number(frame, dim):
        return None
    return max(first - 1, 0)


def _sizes(frame: Frame, made: Call, given: list[Reg]) -> int | None:
    size = dict(made.keywords).get("size", dict(made.keywords).get("shape"))
    if not given and size is not None:
        given = [size]
    if len(given) != 1:
        return len(given) or None
    display = frame.code[given[0]]
    if isinstance(display, Sequence):
        return None if any(display.stars) else len(display.items)
    return 1 if is_number(frame, given[0]) else None


def _of_data(frame: Frame, reg: Reg) -> int | None:
    """What a number, and lists of numbers that are written out, make."""
    value, made = frame.values[reg], frame.code[reg]
    if value.is_a(TENSOR):
        return dimensions(value.flags)
    if isinstance(made, Const):
        return 0 if isinstance(made.value, int | float | complex) else None
    if isinstance(made, Sequence):
        inner = _of_data(frame, made.items[0]) if made.items and made.stars[:1] != (True,) else None
        return SEVERAL if inner is None or inner == SEVERAL else inner + 1
    if value.is_a(CONTAINER):
        return SEVERAL
    return 0 if is_number(frame, reg) else None


def computed(frame: Frame, made: Binary | Compare) -> int:
    """The flags that say how many dimensions the tensor has that an operator gives."""
    operands = made.operands if isinstance(made, Compare) else (made.left, made.right)
    counts = [_of(frame, one) for one in operands]
    if isinstance(made, Binary) and made.operator == "@":
        return of_dimensions(_product(*counts))
    return of_dimensions(_most(counts))


def indexed(frame: Frame, made: Subscript, base: Value) -> int:
    """The flags that say how many dimensions `x[index]` has (numpy.org "Indexing on ndarrays", which torch follows)."""
    parts = frame.code[made.index]
    several = isinstance(parts, Sequence) and parts.kind == "tuple"
    if isinstance(parts, Sequence) and several and any(parts.stars):
        return 0
    regs = parts.items if isinstance(parts, Sequence) and several else (made.index,)
    if _positions(frame, made.object):
        return of_dimensions(1) if is_number(frame, made.index) else 0
    return of_dimensions(_taken(frame, dimensions(base.flags), regs))


def _positions(frame: Frame, reg: Reg) -> bool:
    """True for the tuple of `where(mask)` and `nonzero(as_tuple=True)`: positions along each dimension."""
    made = frame.code[reg]
    if not isinstance(made, Call):
        return False
    name = frame.last_name(made.function)
    alone = len(made.args) + (frame.values[made.function].kinds != NAME)
    return (name == "where" and alone == 1) or (name == "nonzero" and bool(made.keywords))


def _taken(frame: Frame, whole: int | None, parts: Iterable[Reg]) -> int | None:
    left = removed = 0
    by_tensors = -1
    for part in parts:
        code, value = frame.code[part], frame.values[part]
        if isinstance(code, Slice):
            left += 1
            removed += 1
        elif isinstance(code, Const) and (code.value is None or code.value is ...):
            left += code.value is None
        elif is_number(frame, part):
            removed += 1
        elif value.is_a(TENSOR) and (count := dimensions(value.flags)) is not None:
            if value.flags & BOOLEAN and count == SEVERAL:
                return SEVERAL
            removed += count if value.flags & BOOLEAN else 1
            by_tensors = max(by_tensors, 1 if value.flags & BOOLEAN else count)
        elif value.is_a(CONTAINER) and isinstance(code, Sequence) and code.kind == "list":
            removed += 1
            by_tensors = max(by_tensors, 1)
        else:
            return None
    left += max(by_tensors, 0)
    if whole is None or whole == SEVERAL or left >= SEVERAL:
        return SEVERAL if left else None
    return whole - removed + left if whole >= removed else None


def _of(frame: Frame, reg: Reg, listed: bool = False) -> int | None:
    """How many dimensions an operand has; `listed`: what it holds."""
    value = frame.values[reg]
    if listed:
        return dimensions(value.item.flags) if value.item is not None and value.item.is_a(TENSOR) else None
    if value.is_a(TENSOR):
        return dimensions(value.flags)
    return 0 if value.is_a(HOST_VALUE) else None


def _most(counts: Iterable[int | None]) -> int | None:
    """Of what is broadcast."""
    known = list(counts)
    if None not in known:
        return max((one for one in known if one is not None), default=None)
    return SEVERAL if any(known) else None


def _product(left: int | None, right: int | None) -> int | None:
    """Of a matrix product (docs.pytorch.org torch.matmul)."""
    if left is None or right is None or SEVERAL in (left, right) or not left or not right:
        return None
    if left == right == 1:
        return 0
    return max(left, right) - (1 in (left, right))


def _with(value: Value, count: int | None) -> Value:
    return value.but(flags=value.flags & ~DIMENSIONS | of_dimensions(count)) if count is not None else value


def counted(frame: Frame, position: Reg) -> bool:
    """True for what a loop goes over, one at a time: of an array of one dimension, a number."""
    made = frame.code[position]
    return isinstance(made, Load) and any(made.slot in region.target_slots for region in frame.function.regions)


def number(frame: Frame, position: Reg) -> bool:
    """True for an index that is a number that is written out, or what a loop goes over on the host."""
    made = frame.code[position]
    if isinstance(made, Unary):
        made = frame.code[made.operand]
    if isinstance(made, Const):
        return type(made.value) is int
    return frame.values[position].kinds == HOST_VALUE and counted(frame, position)


def is_number(frame: Frame, reg: Reg) -> bool:
    """True for a number for certain: one that is written out, counted, computed, a length, or annotated as one."""
    return _number(frame, reg, frozenset())


def _number(frame: Frame, reg: Reg, seen: frozenset[int]) -> bool:
    if number(frame, reg):
        return True
    made = frame.code[reg]
    if frame.values[reg].kinds != HOST_VALUE:
        return False
    if isinstance(made, Binary):
        return (
            made.operator in ("-", "*", "//", "%", "+")
            and _number(frame, made.left, seen)
            and _number(frame, made.right, seen)
        )
    if isinstance(made, Call):
        callee = frame.code[made.function]
        return callee in _NUMBERS or (isinstance(callee, Attr) and callee.name in ("item", "numel", "dim"))
    if isinstance(made, Subscript):
        shape = frame.code[made.object]
        return isinstance(shape, Attr) and shape.name == "shape" and number(frame, made.index)
    if not isinstance(made, Load):
        return False
    return _only_numbers(frame, made.slot, seen)


def _only_numbers(frame: Frame, slot: int, seen: frozenset[int]) -> bool:
    """True for a variable that nothing but numbers is bound to, and that is annotated as one where it is given."""
    bound = [one.value for at in frame.function.lookup.about(Store, slot) if isinstance(one := frame.code[at], Store)]
    given = [one for one in frame.function.parameters if one.slot == slot]
    if any(one.annotation != "int" for one in given) or not (given or bound):
        return False
    return slot in seen or all(_number(frame, one, seen | {slot}) for one in bound)
