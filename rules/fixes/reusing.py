"""The fix that writes the result of one move where the same data is moved again.

A safe one rests on these proofs (`_proven`), and is unsafe without one of them:

- what is moved is a tensor, and what it is moved to a place or a type (`proven.tensor`, `device`, `dtype`);
- nobody writes to either copy, or keeps one: then one tensor serves for two;
- nothing between the moves writes to the source (`memory.py`, in which unknown code writes to all that it can reach) or
  binds a name of the move (`proven.unchanged`; the finding itself asks less);
- the same `with` blocks stand around both, so that gradients are recorded for both or neither, and so do calls that
  could switch that;
- the variable that holds the first copy is not deleted in between.
"""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import DTYPE
from transferlint.flow.sharing import path
from transferlint.flow.writes import Writes
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import captured, statement
from ..proofs import memory as memory_of
from ..proofs import memory_effects, proven


def reuse(function: FunctionFacts, first: Transfer, second: Transfer) -> Fix | None:
    """Write the first's name for the second; give it a name where it has none."""
    title = "reuse the first copy"
    safety = Safety.SAFE if _proven(function, first, second) else Safety.UNSAFE
    start, end = function.span(second.register)
    users = function.users(first.register)
    kept = function.code[users[0]] if len(users) == 1 else None
    if isinstance(kept, p.Store):
        bound = [r for r in function.stores(kept.slot) if users[0] < r < second.register]
        bound += [r for r, i in enumerate(function.code) if isinstance(i, p.Delete) and i.slot == kept.slot]
        if not bound and len(function.stores(kept.slot)) == 1 and not captured(function, kept.slot):
            return Fix(title, safety, (Edit(start, end, function.function.slot_names[kept.slot]),))
        return None
    home = statement(function, first.register)
    text = function.file.text
    one = slice(*function.span(first.register))
    if home is None or re.search(r"[\n\r#]", text[one]) or not _settled(function, home[1], first):
        return None
    name = _fresh(function, first)
    indent = re.match(r"[ \t]*", text[home[1] :])
    newline = "\r\n" if "\r\n" in text else "\n"
    assert indent is not None
    line = f"{indent[0]}{name} = {text[one]}{newline}"
    edits = (Edit(home[1], home[1], line), Edit(one.start, one.stop, name), Edit(start, end, name))
    return Fix(title, safety if safety is Safety.SAFE else Safety.DISPLAY, edits)  # a name is a matter of taste


def _settled(function: FunctionFacts, begin: int, first: Transfer) -> bool:
    """True where the statement computes nothing before the first move that could change what is moved."""
    before = [r for r in range(first.register) if function.has_text(r) and function.span(r)[0] >= begin]
    writes = Writes(function, before)
    named = [path(function, r) for r in names(function, first.register)]
    return not any(name is None or writes.changed(name) for name in named)


def _fresh(function: FunctionFacts, first: Transfer) -> str:
    """A name nobody uses in the file: `labels_on_device` for `labels.to(device)`."""
    assert first.subject is not None
    words = re.findall(r"[A-Za-z_]\w*", function.text(first.subject))
    base = f"{words[-1] if words else 'value'}_on_device"
    taken = function.file.words
    number, name = 2, base
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name


def _proven(function: FunctionFacts, first: Transfer, second: Transfer) -> bool:
    """True where two moves are proven to give copies of the same data, that nobody tells apart."""
    between = range(first.register + 1, second.register)
    for move in (first, second):
        call, subject = function.code[move.register], move.subject
        if subject is None or not isinstance(call, p.Call) or not proven.tensor(function, subject):
            return False
        given = [*call.args, *(r for key, r in call.keywords if key != "non_blocking")]
        if not all(proven.device(function, r) or proven.dtype(function, r) for r in given):
            return False
        memory = memory_of.Memory(function, move.register)
        result = memory.of(memory_effects.RESULT)
        if result == memory.of(memory_effects.WORLD) or result in memory.everything():
            return False
        if memory.classes(subject) & memory.written(between):
            return False
        start = first.register + 1
        if move is second and not all(proven.unchanged(function, r, start, r) for r in (subject, *given)):
            return False
    if not proven.in_one_context(function, first.register, second.register):
        return False
    foreign = memory.of(memory_effects.WORLD) in memory.written(between)
    return not foreign or (second.subject is not None and proven.without_gradient(function, second.subject))


def names(function: FunctionFacts, reg: Reg) -> list[Reg]:
    """The names and paths in a move, but for functions and methods; [] where anything else is computed in it."""
    found: list[Reg] = []
    pending = [reg]
    while pending:
        at = pending.pop()
        made = function.code[at]
        if isinstance(made, p.Call) and at == reg:
            callee = function.code[made.function]
            if made.stars:
                return []
            if isinstance(callee, p.Attr):
                pending.append(callee.object)
            pending += [*made.args, *(r for _, r in made.keywords)]
        elif isinstance(made, p.Const) or function.values[at].is_a(DTYPE):
            continue
        elif path(function, at) is not None:
            found.append(at)
            pending += [r for r in function.expression(at) if _is_index(function, at, r)]
        else:
            return []
    return found


def _is_index(function: FunctionFacts, whole: Reg, reg: Reg) -> bool:
    """True for a name within the brackets of a path: `i` of `x[i]`."""
    made = function.code[reg]
    return reg != whole and isinstance(made, p.Load) and path(function, reg) != (path(function, whole) or ())[:1]
