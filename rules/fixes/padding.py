"""The fixes that leave padding in, or take the size that lengths are a part of, where the longest of them is asked
for: sizes are known on the host."""

from __future__ import annotations

import ast
import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import ON_DEVICE, TENSOR
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg

from ..code import arguments, rewriting, statement_text
from ..code.chains import called, method, origin, receiver

_WHOLE = "keep the padding: the lengths mark what is valid"
_SIZE = "use the padded size, not the longest length"
_MAXIMA = frozenset({"torch.max", "torch.amax", "builtins.max"})
_NUMBERS = frozenset({"builtins.int", "builtins.float"})
_SAME = frozenset("round long int ceil floor clamp to item float max amax detach cpu".split())
_FUNCTIONS = frozenset(f"torch.{name}" for name in "round ceil floor clamp".split()) | _MAXIMA | _NUMBERS


def padded(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """What can be written for the length of the longest; None where a size is nowhere to be had."""
    if transfer.inside is not None:
        return _told(function, transfer)
    return (
        _size(function, transfer)
        or _sliced(function, transfer)
        or _narrowed(function, transfer)
        or _largest(function, transfer)
    )


def _largest(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`max(lengths)` to `lengths.max()`: Python's function compares element by element, and waits for each."""
    reg = origin(function, transfer.subject if transfer.subject is not None else transfer.register)
    made, name = function.code[reg], called(function, reg)
    if name not in ("builtins.max", "builtins.min") or not isinstance(made, p.Call) or len(made.args) != 1:
        return None
    text = rewriting.operand(function, made.args[0]) if function.values[made.args[0]].kinds == TENSOR else ""
    if not text or made.keywords or not function.has_text(reg):
        return None
    edit = Edit(*function.span(reg), f"{text}.{name.rpartition('.')[2]}()")
    return Fix("compare all elements at once", Safety.UNSAFE, (edit,))


def _size(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`(rates * x.shape[1]).round().max()` to `x.shape[1]`."""
    if transfer.subject is None:
        return None
    at = transfer.subject if not _longest(function, transfer.register) else transfer.register
    if not _longest(function, at):
        return None
    text = _scale(function, at, transfer.register)
    if not text or not function.has_text(at):
        return None
    return Fix(_SIZE, Safety.DISPLAY, (Edit(*function.outer_span(at), text),))


def _longest(function: FunctionFacts, reg: Reg) -> bool:
    """True for the largest of several lengths, or a number made of it."""
    for _ in range(4):
        made = function.code[reg]
        if called(function, reg) in _MAXIMA:
            return isinstance(made, p.Call) and len(made.args) == 1 and not made.keywords
        if method(function, reg) in ("max", "amax"):
            return isinstance(made, p.Call) and not made.args and not made.keywords
        inner = receiver(function, reg)
        if called(function, reg) in _NUMBERS and isinstance(made, p.Call) and len(made.args) == 1:
            reg = made.args[0]
        elif method(function, reg) in ("item", "long", "int", "round") and inner is not None:
            reg = inner
        else:
            return False
    return False


def _scale(function: FunctionFacts, reg: Reg, use: Reg) -> str:
    """The size that lengths were multiplied with, as the source says it: `x.shape[1]`; "" where there is none, or where
    its name stands for something else by then."""
    for _ in range(12):
        reg = origin(function, reg)
        made = function.code[reg]
        if isinstance(made, p.Binary) and made.operator == "*":
            for factor in (made.left, made.right):
                if _is_size(function, factor) and not _rebound(function, factor, use):
                    return function.text(factor)
            return ""
        inner = receiver(function, reg)
        if called(function, reg) in _FUNCTIONS and isinstance(made, p.Call) and made.args:
            reg = made.args[0]
        elif method(function, reg) in _SAME and inner is not None:
            reg = inner
        else:
            return ""
    return ""


def _is_size(function: FunctionFacts, reg: Reg) -> bool:
    """True for `x.shape[1]` and `x.size(1)`."""
    made = function.code[reg]
    if isinstance(made, p.Subscript):
        whole = function.code[made.object]
        return isinstance(whole, p.Attr) and whole.name == "shape" and isinstance(function.code[made.index], p.Const)
    return method(function, reg) == "size" and isinstance(made, p.Call) and len(made.args) == 1


def _rebound(function: FunctionFacts, reg: Reg, use: Reg) -> bool:
    slots = {one.slot for r in function.expression(reg) if isinstance(one := function.code[r], p.Load)}
    return any(reg < store < use for slot in slots for store in function.stores(slot))


def _told(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`mask(lengths)` to `mask(lengths, max_len=x.shape[1])`, where the function asks for the longest because nobody
    told it."""
    made = function.code[transfer.register]
    inner = _wrapper(function, transfer)
    if inner is None or not isinstance(made, p.Call) or any(made.stars) or not made.args:
        return None
    callee, reg = inner
    name = _missing(callee, reg)
    position = [q.name for q in callee.parameters if q.name != "self"]
    if not name or name in dict(made.keywords) or position.index(name) < len(made.args):
        return None
    size = next((s for r in made.args if (s := _scale(function, r, transfer.register))), "")
    edit = arguments.added(function, transfer.register, f"{name}={size}") if size else None
    return Fix(_SIZE, Safety.DISPLAY, (edit,)) if edit is not None else None


def _wrapper(function: FunctionFacts, transfer: Transfer) -> tuple[Function, Reg] | None:
    """The function that makes a transfer of a call, and the register there."""
    assert transfer.inside is not None
    path, index, reg = transfer.inside
    owner = function.file.owner(path, index)
    return (owner.program.functions[index], reg) if owner is not None else None


def _missing(callee: Function, reg: Reg) -> str:
    """The parameter for want of which a register is computed: `if max_len is None: max_len = lengths.max().item()`."""
    region = next((block.region for block in callee.blocks if block.start <= reg < block.end), 0)
    for around in callee.ancestors(region):
        test = callee.code[around.test] if around.kind == "then" and around.test is not None else None
        if not isinstance(test, p.Compare) or test.operators != ("is",):
            continue
        asked = callee.code[test.operands[0]]
        for parameter in callee.parameters:
            if isinstance(asked, p.Load) and parameter.slot == asked.slot and parameter.default == "None":
                stored = any(isinstance(one, p.Store) and one.slot == asked.slot for one in callee.code[reg:])
                return parameter.name if stored else ""
    return ""


def _sliced(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`x = x[:, : lengths.max()]` without the slice."""
    bound = transfer.subject
    users = function.users(bound) if bound is not None else []
    made = function.code[users[0]] if len(users) == 1 else None
    if bound is None or not isinstance(made, p.Slice) or made.upper != bound or made.step is not None:
        return None
    if made.lower is not None or not _longest(function, origin(function, bound)):
        return None
    at = function.users(users[0])[0]
    parts: tuple[Reg, ...] = (users[0],)
    if isinstance(several := function.code[at], p.Sequence):
        parts, at = several.items, function.users(at)[0]
    whole = function.code[at]
    if not isinstance(whole, p.Subscript) or not function.values[whole.object].places & ON_DEVICE:
        return None
    if not all(function.has_text(r) for r in (*parts, at)):
        return None
    rest = [part for part in parts if part != users[0]]
    if any(not _all(function, part) for part in rest):
        return _edited(function, Edit(*function.span(users[0]), ":"))
    start, end = function.outer_span(at)
    x = function.file.text[slice(*function.outer_span(whole.object))]
    stored = [function.code[r] for r in function.users(at)]
    if len(stored) == 1 and isinstance(stored[0], p.Store) and isinstance(load := function.code[whole.object], p.Load):
        begin = function.file.spans.line_start(start)
        before = re.search(r"^([ \t]*)(\w+) *= *$", function.file.text[begin:start])
        if load.slot == stored[0].slot and before is not None:
            return _edited(function, rewriting.cut(function, begin + before.start(2), end))
    return _edited(function, Edit(start, end, x))


def _all(function: FunctionFacts, reg: Reg) -> bool:
    made = function.code[reg]
    return isinstance(made, p.Slice) and made.lower is None and made.upper is None and made.step is None


def _edited(function: FunctionFacts, edit: Edit) -> Fix | None:
    if function.file.spans.commented(edit.start, edit.end):
        return None
    return Fix(_WHOLE, Safety.DISPLAY, (edit,))


def _narrowed(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`x = x.narrow(dim=1, start=0, length=int(longest))` without it."""
    at = transfer.register
    made = function.code[at]
    if method(function, at) != "narrow" and len(function.users(at)) == 1:
        at = function.users(at)[0]
        made = function.code[at]
    inner = receiver(function, at)
    if method(function, at) != "narrow" or inner is None or not isinstance(made, p.Call):
        return None
    start = dict(made.keywords).get("start", made.args[1] if len(made.args) > 1 else None)
    first = function.code[start] if start is not None else None
    if not isinstance(first, p.Const) or first.value != 0 or not function.values[inner].places & ON_DEVICE:
        return None
    region = function.function.regions[function.region(at)]
    if (
        region.kind == "then"
        and region.test is not None
        and (found := statement_text.if_statement(function, region.test)) is not None
    ):
        whole = shortened(function, *found)
        if whole is not None:
            return whole
    begin, end = function.outer_span(inner)[1], function.span(at)[1]
    return _edited(function, Edit(begin, end, ""))


def shortened(function: FunctionFacts, start: int, text: str, tree: ast.If) -> Fix | None:
    """`if x.shape[1] != longest: x = x.narrow(1, 0, longest)` without it. `tree` is the statement `text` at `start`."""
    body = tree.body[0]
    if len(tree.body) > 1 or tree.orelse or not isinstance(body, ast.Assign) or len(body.targets) != 1:
        return None
    name, test = body.targets[0], tree.test
    if not isinstance(name, ast.Name) or not isinstance(test, ast.Compare):
        return None
    value = body.value
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr != "narrow":
        value = value.func.value
    source = value.func.value if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else value
    if isinstance(source, ast.Subscript):
        source = source.value
    asked = ast.unparse(test.left), ast.unparse(test.comparators[0])
    sized = any(words.startswith((f"{name.id}.shape[", f"{name.id}.size(")) for words in asked)
    if not sized or not isinstance(source, ast.Name) or source.id != name.id or source is value:
        return None
    last = statement_text.offset(text, tree.end_lineno or 1, tree.end_col_offset or 0)
    return _edited(function, rewriting.cut(function, start, start + last))
