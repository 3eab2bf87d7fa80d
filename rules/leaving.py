"""The edit, shown only, that leaves a value on the device where whoever takes it can take a tensor as well."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.transfers import DOWNLOAD, NUMBER, SCALAR_READ, Transfer
from transferlint.flow.values import TENSOR, UNKNOWN
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .chains import called, method
from .collecting import bare, collected, kept
from .reading_ahead import ahead

_TAKES = frozenset({"append", "log", "log_dict", "add", "extend"})
_JOINS = frozenset("torch.cat torch.stack torch.concat torch.hstack torch.vstack".split())
_ARITHMETIC = frozenset({"+", "-", "*", "/", "**"})
_MOST = 40  # registers to follow


def offered(function: FunctionFacts, group: list[Transfer]) -> Fix | None:
    """What is offered for reads that stand together: a fix of the first, else edits that are shown only."""
    function, group = made_in(function, group)
    first = collected(function, group[0]) or ahead(function, group[0])
    if first is not None:
        return first
    edits: set[Edit] = set()
    for transfer in group:
        edit = left(function, transfer)
        if edit is not None:
            edits.add(edit)
    if not edits:
        return None
    word = "copy" if all(t.kind == DOWNLOAD for t in group) else "read"
    ordered = tuple(sorted(edits, key=lambda edit: (edit.start, edit.end)))
    return Fix(f"keep it on the device, and {word} it once where the host needs it", Safety.DISPLAY, ordered)


def made_in(function: FunctionFacts, group: list[Transfer]) -> tuple[FunctionFacts, list[Transfer]]:
    """Where the first of several reads is a call of what wraps it: the function of this file that does, and the read
    in it."""
    if group[0].inside is None or group[0].inside[0] != function.file.path:
        return function, [transfer for transfer in group if transfer.inside is None] or group
    _, index, reg = group[0].inside
    inner = function.file.functions[index]
    found = [transfer for transfer in inner.transfers if transfer.register == reg]
    return (inner, found[:1]) if found else (function, group)


def left(function: FunctionFacts, transfer: Transfer) -> Edit | None:
    """The edit for one read; None where the host needs the value at once."""
    if not transfer.before.kinds & (TENSOR | UNKNOWN) or not function.has_text(transfer.register):
        return None
    if transfer.kind == DOWNLOAD:
        chain = bare(function, transfer)
        return chain[1] if chain is not None and _taken(function, chain[0]) else None
    if transfer.kind in (SCALAR_READ, NUMBER) and _taken(function, transfer.register):
        return kept(function, transfer)
    return None


def _taken(function: FunctionFacts, reg: Reg) -> bool:
    """True where everybody who uses a value computes with it, keeps it or hands it on, as they can with a tensor."""
    pending, seen = [reg], set[Reg]()
    while pending:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        for user in function.users(at):
            more = _onward(function, at, user)
            if more is None or len(seen) > _MOST:
                return False
            pending += more
    return bool(function.users(reg))


def _onward(function: FunctionFacts, reg: Reg, user: Reg) -> list[Reg] | None:
    """The registers that hold a value after one use of it; None for a use that needs a number or an array."""
    made = function.code[user]
    if isinstance(made, p.Store):
        if any(made.slot in region.target_slots for region in function.function.regions):
            return None
        return [r for r, one in enumerate(function.code) if isinstance(one, p.Load) and one.slot == made.slot]
    if isinstance(made, p.Return | p.Yield | p.Discard):
        return []
    if isinstance(made, p.SetAttr | p.SetItem):
        return [] if made.value == reg else None
    if isinstance(made, p.Mapping):
        return [user] if reg in made.values else None
    if isinstance(made, p.Sequence):
        return [user] if made.kind != "set" else None
    if isinstance(made, p.Collect):
        return [user] if made.kind == "list" and made.value == reg else None
    if isinstance(made, p.Binary):
        return [user] if made.operator in _ARITHMETIC else None
    if isinstance(made, p.Unary):
        return [user] if made.operator in ("+", "-") else None
    if isinstance(made, p.Call) and made.function != reg:
        return [] if method(function, user) in _TAKES or called(function, user) in _JOINS else None
    return None
