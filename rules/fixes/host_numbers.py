"""The fixes of a number that only the host wants: it is checked on the device, or handed on as it is."""

from __future__ import annotations

import ast

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import SCALAR_READ, Transfer
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p

from ..code import importing, rewriting, statement_text
from ..code.chains import method, receiver

_MOST = 20  # uses of a number that anybody would rewrite
_OPPOSITE = {"!=": "==", "==": "!=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def for_host(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """What can be written for a number that only the host wants; None for others."""
    if transfer.inside is not None or transfer.subject is None:
        return None
    return _checked(function, transfer) or _handed_on(function, transfer)


def _checked(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`n = x.sum().item()` and `if n != size: raise ...` to `torch._assert_async(x.sum() == size)`."""
    users = function.users(transfer.register)
    stored = function.code[users[0]] if len(users) == 1 else None
    if method(function, transfer.register) != "item" or not isinstance(stored, p.Store) or transfer.subject is None:
        return None
    loads = function.loads(stored.slot)
    if len(loads) > _MOST:
        return None
    asked = sorted({r for load in loads for r in function.around(load)})
    tests = [one for r in asked if isinstance(one := function.code[r], p.Test)]
    made = function.code[tests[0].value] if len(tests) == 1 and tests[0].kind == "if" else None
    if not isinstance(made, p.Compare) or len(made.operators) != 1 or made.operators[0] not in _OPPOSITE:
        return None
    found = statement_text.if_statement(function, tests[0].value)
    body = found[2].body[0] if found is not None and len(found[2].body) == 1 and not found[2].orelse else None
    if found is None or not isinstance(body, ast.Raise) or len(function.stores(stored.slot)) != 1:
        return None
    start, end = found[0], found[0] + len(found[1])
    begin = _statement_start(function, transfer)
    torch, imports = importing.torch_name(function, transfer.register)
    if begin is None or not torch or not all(start <= function.span(r)[0] < end for r in loads):
        return None
    if function.file.spans.commented(start, end):
        return None
    slot_name = function.function.slot_names[stored.slot]
    words = [
        function.file.text[slice(*function.outer_span(transfer.subject))]
        if isinstance(function.code[r], p.Load) and function.text(r) == slot_name
        else function.text(r)
        for r in made.operands
    ]
    line = f"{torch}._assert_async({words[0]} {_OPPOSITE[made.operators[0]]} {words[1]})"
    edits = (*imports, rewriting.cut(function, *begin), Edit(start, end, line))
    return Fix("check it on the device", Safety.DISPLAY, edits)


def _statement_start(function: FunctionFacts, transfer: Transfer) -> tuple[int, int] | None:
    """The offsets of the assignment that a read is."""
    text = function.file.text
    at = function.span(transfer.register)[0]
    line = function.file.spans.line_start(at)
    start = line + len(text[line:at]) - len(text[line:at].lstrip())
    found = statement_text.statement_at(text, start)
    return (start, start + len(found[0])) if found is not None and isinstance(found[1], ast.Assign) else None


def _handed_on(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`self.scores = x.tolist()` and `return x.tolist()` with the tensor itself: whoever uses it reads it once."""
    reg, subject = transfer.register, transfer.subject
    users = [function.code[r] for r in function.users(reg)]
    if transfer.kind != SCALAR_READ or method(function, reg) != "tolist" or subject is None or len(users) != 1:
        return None
    kept = isinstance(users[0], p.Return) or (isinstance(users[0], p.SetAttr) and users[0].value == reg)
    edit = rewriting.after(function, reg, subject) if kept and receiver(function, reg) == subject else None
    if edit is None or function.function.kind != "function":
        return None
    return Fix("pass the tensor on, and read it where the host needs it", Safety.DISPLAY, (edit,))
