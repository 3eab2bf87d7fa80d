"""The fix that reads several device values in one copy; only shown: names and shapes are for somebody to see to."""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import TENSOR
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p

from ..code import importing
from ..code.chains import called, method, origin, statement

_FEW = 4
_TITLE = "read them in one copy"
NUMBERS = frozenset({"builtins.float", "builtins.int"})
_PLAIN = NUMBERS | {"builtins.bool", "builtins.round", "builtins.abs"}
_KEPT = frozenset("item detach mean sum max min norm".split())  # methods that leave what they are called on alone


def stack(function: FunctionFacts, group: list[Transfer]) -> Fix | None:
    """Read all in one statement before, where all stand in one statement (or in one each, right after one another)."""
    if len(group) == 1:
        return _comprehension(function, group[0])
    homes = [statement(function, t.register) for t in group]
    text = function.file.text
    home = homes[0]
    if home is None or any(other is None for other in homes) or not _together(function, group):
        return None
    begin = home[1]
    subjects = [function.outer_text(t.subject) for t in group if t.subject is not None]
    if any(re.search(r"[\n\r#]|:=|await |yield ", one) for one in subjects):
        return None
    whole = _whole(function, group)
    name = _fresh("values", text)
    indent = re.compile(r"[ \t]*").match(text, begin)
    newline = "\r\n" if "\r\n" in text else "\n"
    assert indent is not None
    torch, imports = (whole, ()) if whole else importing.torch_name(function, group[0].register)
    if not torch:
        return None
    stacked = whole or f"{torch}.stack([{', '.join(subjects)}])"
    named = [] if whole else _names(subjects, text)
    line = f"{indent[0]}{', '.join(named) or name} = {stacked}.tolist(){newline}"
    edits = [*imports, Edit(begin, begin, line)]
    for number, transfer in enumerate(group):
        start, end = function.span(transfer.register)
        new = named[number] if named else f"{name}[{_index(function, transfer) if whole else number}]"
        if called(function, transfer.register) in NUMBERS:
            new = f"{called(function, transfer.register).rpartition('.')[2]}({new})"
        edits.append(Edit(start, end, new))
    return Fix(_TITLE, Safety.DISPLAY, tuple(edits))


def _names(subjects: list[str], text: str) -> list[str]:
    """Names for a few numbers: `loss_value` for `loss`; [] where they are many, or would not tell them apart."""
    words = [re.findall(r"[A-Za-z_]\w*", one.partition("(")[0]) for one in subjects]
    names = [f"{found[-1].strip('_')}_value" for found in words if found]
    plain = len(names) == len(subjects) == len(set(names)) and len(names) <= _FEW
    return names if plain and not set(names) & set(re.findall(r"\w+", text)) else []


def _whole(function: FunctionFacts, group: list[Transfer]) -> str:
    """The text of the tensor whose elements are read, by constant indices; "" where there are several tensors."""
    found = set()
    for transfer in group:
        made = function.code[transfer.subject] if transfer.subject is not None else None
        if not isinstance(made, p.Subscript) or _index(function, transfer) is None:
            return ""
        found.add(function.outer_text(made.object))
    return found.pop() if len(found) == 1 else ""


def _index(function: FunctionFacts, transfer: Transfer) -> int | None:
    made = function.code[transfer.subject] if transfer.subject is not None else None
    index = function.code[made.index] if isinstance(made, p.Subscript) else None
    return index.value if isinstance(index, p.Const) and type(index.value) is int else None


def _together(function: FunctionFacts, group: list[Transfer]) -> bool:
    """True where nothing from the first read to the last binds or changes what is read."""
    first = min(min(function.expression(t.subject)) for t in group if t.subject is not None)
    last = max(t.register for t in group)
    inside = {r for t in group for r in function.expression(t.register)}
    read = {one.slot for r in inside if isinstance(one := function.code[r], p.Load)}
    for reg in range(first, last + 1):
        made = function.code[reg]
        known = called(function, reg) in _PLAIN or (reg in inside and method(function, reg) in _KEPT)
        if isinstance(made, p.Call) and not known:
            return False
        if isinstance(made, p.Store) and made.slot in read:
            return False
        if isinstance(made, p.SetAttr | p.StoreOuter | p.Yield | p.Await | p.Delete | p.Make | p.Collect | p.Next):
            return False
        if isinstance(made, p.Binary) and (reg in inside or (made.inplace and function.values[reg].kinds & TENSOR)):
            return False
    return True


def _comprehension(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`[t.item() for t in losses]` to `torch.stack(losses).tolist()`."""
    users = function.users(transfer.register)
    made = function.code[users[0]] if len(users) == 1 else None
    loops = function.loops(transfer.register)
    if not isinstance(made, p.Collect) or made.kind != "list" or made.region != loops[0] or transfer.api != ".item()":
        return None
    loop = function.function.regions[loops[0]]
    subject = function.code[transfer.subject] if transfer.subject is not None else None
    torch, imports = importing.torch_name(function, transfer.register)
    if loop.test is None or not isinstance(subject, p.Load) or not torch:
        return None
    inner = function.within(loops[0])
    if any(isinstance(function.code[r], p.Test) for r in inner) or function.region(transfer.register) != loops[0]:
        return None
    over = function.code[origin(function, loop.test)]
    if not isinstance(over, p.Sequence | p.Collect) or over.kind not in ("list", "tuple"):
        return None
    start, end = function.span(users[0])
    text = f"{torch}.stack({function.outer_text(loop.test)}).tolist()"
    if "#" in function.file.text[start:end] or not function.file.text[start:end].startswith("["):
        return None
    return Fix(_TITLE, Safety.DISPLAY, (*imports, Edit(start, end, text)))


def _fresh(base: str, text: str) -> str:
    taken = set(re.findall(r"\w+", text))
    number, name = 2, base
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name
