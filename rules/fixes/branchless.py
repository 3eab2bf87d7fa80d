"""The fixes of a branch on a device value: a check that does not wait, a mask in place of the branch, fewer checks."""

from __future__ import annotations

import ast
import re

from transferlint.flow.callgraph.names import ident
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import BOOLEAN, TENSOR
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import importing, statement_text
from ..code.chains import called
from . import padding, truth_text, unbranched

_BY_ELEMENT = frozenset(
    "to float double half bfloat16 int long bool clamp abs neg exp log sqrt detach clone zeros_like ones_like full_like"
    " sum mean max min masked_fill nan_to_num type_as view minimum maximum where square new_zeros reshape flatten"
    " squeeze unsqueeze expand norm var std any all".split()
)
_PLAIN = (
    ast.BinOp, ast.UnaryOp, ast.Name, ast.Attribute, ast.Constant, ast.operator, ast.unaryop, ast.expr_context,
    ast.Call, ast.keyword, ast.Subscript, ast.Slice,
)  # fmt: skip


def without_waiting(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """The best that can be written for a truth test; None where nothing concrete is sure to mean the same."""
    asked = sorted(function.around(transfer.register))
    tests = (one for r in asked if isinstance(one := function.code[r], p.Test) and function.has_text(r))
    made = next(tests, None)
    if made is None:
        return None
    if made.kind == "assert":
        return _asserted(function, made.value)
    if made.kind == "choice":
        return _either(function, made.value)
    found = statement_text.if_statement(function, made.value) if made.kind == "if" else None
    return of_if(function, made.value, transfer.register, *found) if found is not None else None


def of_if(function: FunctionFacts, value: Reg, read: Reg, start: int, text: str, tree: ast.If) -> Fix | None:
    """The best that can be written for an `if` with the condition `value`, in which `read` waits. `tree` is the
    statement `text` at `start`."""
    return (
        _raised(function, value, start, text, tree)
        or _unguarded(function, value, start, text, tree)
        or _chosen(function, value, start, text, tree)
        or padding.shortened(function, start, text, tree)
        or unbranched.weighed(function, value, read, start, text, tree)
        or unbranched.always(function, read, start, text, tree)
        or _asked_once(function, read)
    )


def _asked_once(function: FunctionFacts, read: Reg) -> Fix | None:
    """`all(mask)` to `torch.all(mask)`: Python's function asks every element."""
    made, name = function.code[read], called(function, read)
    if name not in ("builtins.all", "builtins.any") or not isinstance(made, p.Call) or len(made.args) != 1:
        return None
    value = function.values[made.args[0]]
    torch, imports = importing.torch_name(function, read)
    if value.kinds != TENSOR or not torch:
        return None
    edit = Edit(*function.span(made.function), f"{torch}.{name.rpartition('.')[2]}")
    return Fix("check once, not for every element", Safety.UNSAFE, (*imports, edit))


def _asserted(function: FunctionFacts, value: Reg) -> Fix | None:
    """`assert t, "words"` to `torch._assert_async(t, "words")`."""
    text = function.file.text
    first = function.outer_span(value)[0]
    start = function.file.spans.line_start(first)
    start += len(text[start:first]) - len(text[start:first].lstrip())
    if not re.match(r"assert\b", text[start:]):
        return None
    end = start
    for _ in range(40):
        end = statement_text.line_end(text, end + 1)
        made = statement_text.parsed(text[start:end])
        if made is not None:
            break
    else:
        return None
    node = made[0]
    if not isinstance(node, ast.Assert) or len(made) > 1:
        return None
    last = node.msg or node.test
    stop = start + statement_text.offset(text[start:end], last.end_lineno or 1, last.end_col_offset or 0)
    close = re.match(r"[\s)]*", text[stop:end])
    assert close is not None
    stop += len(close[0].rstrip())
    words = ""
    if node.msg is not None:
        words = ast.get_source_segment(text[start:end], node.msg) or ""
    return _checked(function, value, start, stop, node.msg, words, negate=False)


def _raised(function: FunctionFacts, value: Reg, start: int, text: str, tree: ast.If) -> Fix | None:
    """`if t: raise E("words")` to `torch._assert_async(~t, "words")`."""
    body = tree.body[0]
    if len(tree.body) > 1 or tree.orelse or not isinstance(body, ast.Raise) or not isinstance(body.exc, ast.Call):
        return None
    args = body.exc.args
    words = ast.get_source_segment(text, args[0]) or "" if len(args) == 1 else ""
    return _checked(function, value, start, start + len(text), args[0] if args else None, words, negate=True)


def _observed(function: FunctionFacts, value: Reg) -> bool:
    """True where the exception of a check may be caught: in this function, or around a call of it in the file. What the
    device reports can not be: the program cannot use the device any more."""
    if _tried(function, value):
        return True
    own, others = ident(function.file.path, function.index), function.file.functions
    return any(_tried(other, at) for other in others for at, name in other.calls.items() if name == own)


def _tried(function: FunctionFacts, reg: Reg) -> bool:
    return any(region.kind == "try" for region in function.function.ancestors(function.region(reg)))


def _checked(
    function: FunctionFacts, value: Reg, start: int, end: int, message: ast.expr | None, words: str, negate: bool
) -> Fix | None:
    torch, edits = importing.torch_name(function, value)
    form = torch and truth_text.condition(function, value, torch, negated=negate)
    if not form or function.file.spans.commented(start, end) or _observed(function, value):
        return None
    constant = isinstance(message, ast.Constant) and isinstance(message.value, str)
    said = f", {words}" if constant else ""  # words that are computed would make the host wait again
    line = f"{torch}._assert_async({form}{said})"
    if statement_text.parsed(line) is None:
        return None
    return Fix("check it on the device", Safety.DISPLAY, (*edits, Edit(start, end, line)))


def _unguarded(function: FunctionFacts, value: Reg, start: int, text: str, tree: ast.If) -> Fix | None:
    """`if mask.any(): x[mask] = v` without the branch: where the mask is empty nothing is set."""
    body, test = tree.body[0], tree.test
    if len(tree.body) > 1 or tree.orelse or not isinstance(test, ast.Call) or not isinstance(test.func, ast.Attribute):
        return None
    if test.func.attr != "any" or test.keywords:
        return None
    mask = test.args[0] if len(test.args) == 1 else test.func.value if not test.args else None
    if not isinstance(body, ast.Assign | ast.AugAssign):
        return None
    target = body.target if isinstance(body, ast.AugAssign) else body.targets[0] if len(body.targets) == 1 else None
    if mask is None or not isinstance(target, ast.Subscript) or ast.dump(target.slice) != ast.dump(mask):
        return None
    inner = start + statement_text.offset(text, body.lineno, body.col_offset)
    if function.file.spans.commented(start, inner):
        return None
    given = getattr(body, "value", None)
    plain = isinstance(given, ast.Constant | ast.Name | ast.UnaryOp)  # `x[mask]` waits as the branch does
    safety = Safety.UNSAFE if plain else Safety.DISPLAY
    return Fix("remove the branch: an empty mask assigns nothing", safety, (Edit(start, inner, ""),))


def _chosen(function: FunctionFacts, value: Reg, start: int, text: str, tree: ast.If) -> Fix | None:
    """`if t: x = f(x)` to `x = torch.where(t, f(x), x)`, where both are tensors of one shape as far as can be seen."""
    one, other = _assigned(tree.body, text), _assigned(tree.orelse, text)
    if (
        one is None
        or (tree.orelse and (other is None or other[0] != one[0]))
        or not _is_tensor(function, value, one[0])
    ):
        return None
    torch, edits = importing.torch_name(function, value)
    form = torch and truth_text.condition(function, value, torch)
    if not form or function.file.spans.commented(start, start + len(text)):
        return None
    line = f"{one[0]} = {torch}.where({form}, {one[1]}, {one[0] if other is None else other[1]})"
    if statement_text.parsed(line) is None:
        return None
    return Fix("select on the device", Safety.DISPLAY, (*edits, Edit(start, start + len(text), line)))


def _either(function: FunctionFacts, value: Reg) -> Fix | None:
    """`a if t else b` to `torch.where(t, a, b)`."""
    for reg in sorted(function.around(value)):
        made = function.code[reg]
        if isinstance(made, p.Choice) and value in function.expression(made.test) and function.has_text(reg):
            break
    else:
        return None
    start, end = function.span(reg)
    tree = statement_text.parsed(f"({function.file.text[start:end]})")
    node = tree[0].value if tree is not None and isinstance(tree[0], ast.Expr) else None
    torch, edits = importing.torch_name(function, value)
    form = torch and truth_text.condition(function, made.test, torch)
    known = isinstance(function.code[made.test], p.Compare | p.Unary | p.Boolean)
    if not known and not function.values[made.test].flags & BOOLEAN:
        return None
    if not form or not isinstance(node, ast.IfExp) or not (_by_element(node.body) and _by_element(node.orelse)):
        return None
    if not (function.has_text(made.body) and function.has_text(made.orelse)):
        return None
    if not any(function.values[r].kinds == TENSOR for r in (made.body, made.orelse)):
        return None
    if function.file.spans.commented(start, end):
        return None
    one, other = function.outer_text(made.body), function.outer_text(made.orelse)
    edit = Edit(start, end, f"{torch}.where({form}, {one}, {other})")
    return Fix("select on the device", Safety.DISPLAY, (*edits, edit))


def _assigned(body: list[ast.stmt], text: str) -> tuple[str, str] | None:
    """The name and the text of the value where a suite is one assignment of what is computed by element."""
    node = body[0] if len(body) == 1 else None
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        operator = re.search(
            r"(\S+)=\s*\(*$", text[: statement_text.offset(text, node.value.lineno, node.value.col_offset)]
        )
        words = ast.get_source_segment(text, node.value)
        if operator is None or not words or not _by_element(node.value):
            return None
        return node.target.id, statement_text.filled_in(f"{node.target.id} {operator[1]} ", words)
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return None
    words = ast.get_source_segment(text, node.value)
    return (node.targets[0].id, words) if words and _by_element(node.value) else None


def _by_element(node: ast.expr) -> bool:
    for one in ast.walk(node):
        if not isinstance(one, _PLAIN):
            return False
        if isinstance(one, ast.Call):
            name = one.func.attr if isinstance(one.func, ast.Attribute) else ""
            if name not in _BY_ELEMENT:
                return False
    return True


def _is_tensor(function: FunctionFacts, test: Reg, name: str) -> bool:
    """True where the branches of a test bind the variable to tensors alone, as it was before."""
    slot = function.function.slots.get(name)
    if slot is None:
        return False
    stores = [one for r in function.stores(slot) if isinstance(one := function.code[r], p.Store)]
    return bool(stores) and all(function.values[store.value].kinds == TENSOR for store in stores)
