"""Fixes that keep on the device what a loop adds up or collects, and read it once after the loop."""

from __future__ import annotations

from collections.abc import Iterator

from transferlint import late
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.invariance import invariance
from transferlint.flow.lattice.transfers import ARRAY, DOWNLOAD, NUMBER, SCALAR_READ, TRUTH, Transfer
from transferlint.flow.lattice.values import HOST, HOST_VALUE, INTEGER, ON_DEVICE, SCALAR, TENSOR
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import bindings, importing, rewriting, waiting
from ..code.chains import called, captured, method, receiver, user
from ..questions import number_kinds
from ..questions.detection import likely
from . import keeping, making, remaining

_ARITHMETIC = frozenset({"+", "-", "*", "/", "**"})
_COPIES = late.pattern(r"\.clone\(\)")
_CHAIN = frozenset({"cpu", "numpy", "detach", "to"})
_BARE = ("list", "List", "typing.List")
# How a list of tensors becomes one, in numpy and in torch (docs.pytorch.org torch "Joining").
_JOINS = {
    "torch.cat": "cat", "torch.concat": "cat", "torch.stack": "stack", "torch.vstack": "vstack",
    "torch.hstack": "hstack", "numpy.concatenate": "cat", "numpy.stack": "stack", "numpy.vstack": "vstack",
    "numpy.hstack": "hstack",
}  # fmt: skip


def collected(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """The fix for a read that is added to a number or appended to a list which nobody looks at before the loop ends;
    None for others."""
    if transfer.inside is not None or transfer.subject is None or not transfer.before.is_a(TENSOR):
        return None
    if function.function.kind == "class":
        return None
    fix = _kept_up(function, transfer)
    copied = fix is not None and any(_COPIES.search(edit.text) for edit in fix.edits)  # more than the read cost
    if fix is not None and (copied or _of_one_turn(function, transfer) or _waits_anyway(function, transfer)):
        return late.replace(fix, safety=Safety.DISPLAY)
    return fix


def _says_otherwise(function: FunctionFacts, slot: int) -> bool:
    """True where an annotation says of a sum, or of what a list holds, that it is no tensor."""
    said = function.function.annotations.get(slot, "")
    return bool(said) and "Tensor" not in said and said not in _BARE


def _kept_up(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    if transfer.kind == DOWNLOAD:
        return _joined(function, transfer)
    return _added(function, transfer) or _listed(function, transfer)


def _of_one_turn(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where the loop that would be read after has one turn, unless somebody asks for more: nothing is saved."""
    around = function.loops(transfer.register)[:1]
    return any(function.file.heat.seen.single(function.function, at) for at in around)


def _waits_anyway(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where every turn of the same loop also copies to the host what is not known to be there, or reads something
    that stays there, in a loop of its own or not; and where it waits for the device by name, or for an upload."""
    if remaining.waits_for_all(function, transfer.register) or remaining.uploads_other_data(
        function, transfer.register
    ):
        return True
    turn, before = function.loops(transfer.register), bindings.around(function, transfer.register)
    if any(
        _raises_there(function, reg) and function.loops(reg)[-len(turn) :] == turn
        for reg in function.attributes("numpy")
    ):
        return True
    for reg in function.calls:
        inside = function.loops(reg)[-len(turn) :] == turn and all(one in before for one in _regions(function, reg))
        if inside and waiting.called(function, reg):
            return True
    for one in function.transfers:
        own = function.loops(one.register)
        if not _waits(function, one) or own[-len(turn) :] != turn:
            continue
        deeper = len(own) > len(turn)
        if not deeper and _has_own(function, one):
            continue
        if all(
            number in before or number in own or _chosen(function, number, turn)
            for number in _regions(function, one.register)
        ):
            return True
    return False


def _raises_there(function: FunctionFacts, reg: Reg) -> bool:
    """True for `x.numpy()` of what is taken to be on the device, which raises there: whoever writes it has none."""
    made = function.code[reg]
    value = function.values[made.object] if isinstance(made, p.Attr) else None
    return value is not None and value.is_a(TENSOR) and bool(value.places & ON_DEVICE)


def _chosen(function: FunctionFacts, number: int, turn: list[int]) -> bool:
    """True for an arm that either every turn of a loop takes, or none: its test asks attributes that do not change in
    the loop, settings of an object. What a parameter says differs from call to call."""
    region = function.function.regions[number]
    if not turn or region.test is None or region.kind not in ("then", "else"):
        return False
    inside = list(function.expression(region.test))
    objects = {made.object for r in inside if isinstance(made := function.code[r], p.Attr)}
    loads = {r for r in inside if isinstance(function.code[r], p.Load)}
    return bool(objects) and loads <= objects and invariance(function, turn[0]).holds(region.test)


def _has_own(function: FunctionFacts, one: Transfer) -> bool:
    """True for a read of a number, or a copy, that is found as well, and has an edit that is more than shown."""
    if one.kind not in (SCALAR_READ, DOWNLOAD) or not one.before.is_a(TENSOR) or not likely(function, one):
        return False
    fix = _kept_up(function, one)
    return fix is not None and fix.safety is not Safety.DISPLAY


def _waits(function: FunctionFacts, one: Transfer) -> bool:
    if one.kind in (DOWNLOAD, SCALAR_READ):
        return one.before.places != HOST
    told = one.kind in (TRUTH, ARRAY) and one.before.is_a(TENSOR) and bool(one.before.places & ON_DEVICE)
    return told and likely(function, one)


def _regions(function: FunctionFacts, reg: Reg) -> Iterator[int]:
    """The regions around a register in which it may not run, from the innermost."""
    at = function.region(reg)
    while at > 0:
        if function.function.regions[at].kind not in ("with", "try"):
            yield at
        at = function.function.regions[at].parent


def _loads(function: FunctionFacts, slot: int) -> list[Reg]:
    return function.loads(slot)


def _held(function: FunctionFacts, slot: int) -> bool:
    """True for a variable of this function alone."""
    if any(q.slot == slot for q in function.function.parameters) or captured(function, slot):
        return False
    return not function.function.lookup.about(p.Delete, slot)


def _read(function: FunctionFacts, slot: int, own: set[Reg]) -> bool:
    """True where a variable is read beside the registers `own`, for more than another variable that nobody reads: who
    finds that nobody does leaves the sum out."""
    for load in _loads(function, slot):
        users = [function.code[r] for r in function.users(load)] if load not in own else []
        kept = [one.slot for one in users if isinstance(one, p.Store)]
        if len(kept) < len(users) or any(_loads(function, other) or captured(function, other) for other in kept):
            return True
    return False


def _loop(function: FunctionFacts, reg: Reg, slot: int, own: set[Reg]) -> int | None:
    """The outermost loop around a register in which nobody but the registers `own` reads or binds the variable."""
    found = None
    for region in function.loops(reg):
        if function.function.regions[region].kind == "comprehension":
            return None
        touched = {*_loads(function, slot), *function.stores(slot)} - own
        if any(rewriting.within(function, r, region) for r in touched):
            break
        found = region
    return found


def _added(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`total += loss.item()`, with `total` a number before the loop and read after it."""
    sums = _sum(function, transfer.register)
    edit = keeping.kept(function, transfer)
    if sums is None or edit is None:
        return None
    slot, own = sums
    region = _loop(function, transfer.register, slot, own)
    if region is None or not _held(function, slot) or not _read(function, slot, own):
        return None
    others = [function.code[r] for r in function.stores(slot) if r not in own]
    starts = [function.code[s.value] for s in others if isinstance(s, p.Store)]
    numbers = [b.value for b in starts if isinstance(b, p.Const) and type(b.value) in (int, float)]
    if not numbers or len(starts) < len(others) or not all(_number(function, s) for s in others):
        return None
    name = function.function.slot_names[slot]
    imports: tuple[Edit, ...] = ()
    # A sum of many stands still in the 8 or 11 bits of half precision.
    halved = number_kinds.halved(function.file.functions[0])
    unsure = halved or _says_otherwise(function, slot) or _sent_back(function, slot, own)
    safety = Safety.DISPLAY if unsure else Safety.UNSAFE
    if all(type(number) is float for number in numbers) or number_kinds.fraction(function, transfer):
        line = f"{name} = float({name})"
    elif number_kinds.counts(function, transfer):
        line = f"{name} = int({name})"
    else:
        torch, imports = importing.torch_name(function, transfer.register)
        line = f"{name} = {torch}.as_tensor({name}).item()" if torch else ""
        safety = Safety.DISPLAY  # nobody writes that who knows what it adds up
    lines = rewriting.after_loop(function, region, line) if line else None
    if lines is None:
        return None
    return Fix("accumulate on the device, read once after the loop", safety, (*imports, edit, *lines))


def _sent_back(function: FunctionFacts, slot: int, own: set[Reg]) -> bool:
    """True where a sum is made a tensor again: `torch.tensor([correct]).to(device)`. Whoever keeps it on the device
    leaves that out as well."""
    sums = {load for load in _loads(function, slot) if load not in own}
    makers = (reg for reg in function.of(p.Call) if making.of_host_data(function, reg)) if sums else ()
    return any(not sums.isdisjoint(function.expression(reg)) for reg in makers)


def _number(function: FunctionFacts, made: p.Instruction) -> bool:
    """True for an assignment of a number: a constant, or what was read after the loop."""
    if not isinstance(made, p.Store):
        return False
    value = function.code[made.value]
    if isinstance(value, p.Const):
        return type(value.value) in (int, float)
    reads = called(function, made.value) in ("builtins.float", "builtins.int") or method(function, made.value) == "item"
    return isinstance(value, p.Call) and reads


def _sum(function: FunctionFacts, reg: Reg) -> tuple[int, set[Reg]] | None:
    """The variable that a number is added to, and the registers that read and bind it in doing so (also those of other
    additions); None where it is not added."""
    at = reg
    while True:
        users = function.users(at)
        made = function.code[users[0]] if len(users) == 1 else None
        if isinstance(made, p.Binary) and made.inplace:
            break
        if isinstance(made, p.Binary) and made.operator in _ARITHMETIC:
            other = made.right if made.left == at else made.left
            if not function.values[other].is_a(HOST_VALUE) or function.values[other].reads:
                return None
        elif not (isinstance(made, p.Unary) and made.operator in "+-"):
            return None
        at = users[0]
    left = function.code[made.left]
    if made.operator not in ("+", "-") or made.right != at or not isinstance(left, p.Load):
        return None
    own: set[Reg] = set()
    for number, one in enumerate(function.code):
        if isinstance(one, p.Binary) and one.inplace and one.operator in ("+", "-"):
            load, uses = function.code[one.left], function.users(number)
            if isinstance(load, p.Load) and load.slot == left.slot and len(uses) == 1:
                own |= {one.left, uses[0]}
    stores = set(function.stores(left.slot))
    return (left.slot, own) if function.users(users[0])[0] in stores else None


def _appended(function: FunctionFacts, reg: Reg) -> tuple[int, int] | None:
    """The variable of the list that a value is appended to, and the loop after which the list is first looked at."""
    users = function.users(reg)
    made = function.code[users[0]] if len(users) == 1 else None
    if not isinstance(made, p.Call) or method(function, users[0]) != "append" or made.args != (reg,):
        return None
    target = receiver(function, users[0])
    held = function.code[target] if target is not None else None
    ends = [function.code[r] for r in function.users(users[0])]
    if target is None or not isinstance(held, p.Load) or len(ends) != 1 or not isinstance(ends[0], p.Discard):
        return None
    region = _loop(function, reg, held.slot, {target})
    if region is None or not _held(function, held.slot):
        return None
    for store in function.stores(held.slot):
        stored = function.code[store]
        value = function.code[stored.value] if isinstance(stored, p.Store) else None
        if not isinstance(value, p.Sequence) or value.kind != "list" or value.items:
            return None
    start = function.file.spans.of(function.function.regions[region].node)[0]
    loads = [r for r in _loads(function, held.slot) if r != target]
    read = bool(loads) and all(function.span(r)[0] >= start for r in loads)
    return (held.slot, region) if read else None


def _listed(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`values.append(x.item())`, with `values` an empty list before the loop and read after it."""
    if transfer.kind not in (SCALAR_READ, NUMBER):
        return None
    found = _appended(function, transfer.register)
    edit = keeping.kept(function, transfer, snapshot=True)
    torch, imports = importing.torch_name(function, transfer.register)
    if found is None or edit is None or not torch or called(function, transfer.register) == "builtins.int":
        return None
    if called(function, transfer.register) == "builtins.float" and transfer.before.flags & INTEGER:
        return None
    name = function.function.slot_names[found[0]]
    flat = "" if transfer.before.flags & SCALAR or number_kinds.single(function, transfer.subject) else ".flatten()"
    line = f"{name} = {torch}.stack({name}){flat}.tolist()"
    lines = rewriting.after_loop(
        function, found[1], *((line,) if _filled(function, transfer, found[1]) else (f"if {name}:", f"\t{line}"))
    )
    if lines is None:
        return None
    safety = Safety.DISPLAY if flat or _says_otherwise(function, found[0]) else Safety.UNSAFE
    return Fix("collect on the device, read once after the loop", safety, (*imports, edit, *lines))


def _filled(function: FunctionFacts, transfer: Transfer, loop: int) -> bool:
    """True where a loop has turns for certain, and each of them reads: over `range(100)`, in no arm, and no turn ends
    before its time."""
    regions = function.function.regions
    if function.loops(transfer.register)[:1] != [loop] or function.region(transfer.register) != loop:
        return False
    test = regions[loop].test
    made = function.code[test] if test is not None and regions[loop].kind == "for" else None
    if test is None or not isinstance(made, p.Call) or len(made.args) != 1:
        return False
    if called(function, test) != "builtins.range":
        return False
    turns = function.code[made.args[0]]
    ends = any(
        region.leaves and any(one is regions[loop] for one in function.function.ancestors(region.parent))
        for region in regions
    )
    return isinstance(turns, p.Const) and type(turns.value) is int and turns.value > 0 and not ends


def bare(function: FunctionFacts, transfer: Transfer) -> tuple[Reg, Edit, bool] | None:
    """For `x.detach().cpu().numpy()`: the register at its end, the edit that leaves the tensor on the device, and
    whether an array was made."""
    at, subject = transfer.register, transfer.subject
    if subject is None or transfer.inside is not None or not function.has_text(subject):
        return None
    first = method(function, at)
    made = function.code[at]
    if first not in _CHAIN or receiver(function, at) != subject or not isinstance(made, p.Call):
        return None
    given = [*made.args, *(value for _, value in made.keywords)]
    if first == "to" and (len(given) != 1 or getattr(function.code[given[0]], "value", None) != "cpu"):
        return None
    if first != "to" and given:
        return None
    wanted, array = "", first == "numpy"
    while (above := user(function, at)) is not None and method(function, above) in ("detach", "numpy", "cpu"):
        call = function.code[above]
        if receiver(function, above) != at or not isinstance(call, p.Call) or call.args or call.keywords:
            break
        wanted = ".detach()" if method(function, above) == "detach" else wanted
        array |= method(function, above) == "numpy"
        at = above
    wanted = "" if keeping.detached(function, subject) else wanted
    cut = rewriting.after(function, at, subject)
    return None if cut is None else (at, Edit(cut.start, cut.end, wanted), array)


def _joined(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`parts.append(x.cpu())`, with `parts` an empty list before the loop and joined once after it."""
    chain = bare(function, transfer)
    found = _appended(function, chain[0]) if chain is not None else None
    if chain is None or found is None or transfer.subject is None:
        return None
    _, edit, array = chain
    joins = [r for r in _loads(function, found[0]) if not rewriting.within(function, r, found[1])]
    users = function.users(joins[0]) if len(joins) == 1 else []
    join = function.code[users[0]] if len(users) == 1 else None
    name = called(function, users[0]) if users else ""
    if not isinstance(join, p.Call) or join.args[:1] != (joins[0],) or name not in _JOINS or any(join.stars):
        return None
    torch, imports = importing.torch_name(function, transfer.register)
    if not torch or {key for key, _ in join.keywords} - {"axis", "dim"} or array != name.startswith("numpy."):
        return None
    kept = Edit(edit.start, edit.end, edit.text + _snapshot(function, transfer.subject))
    edits = [*imports, rewriting.unbracketed(function, transfer.subject, kept)]
    start, stop = function.span(join.function)
    if array:
        edits.append(Edit(start, stop, f"{torch}.{_JOINS[name]}"))
        for key, value in join.keywords:
            at = function.file.text.rfind(key, stop, function.span(value)[0])
            edits.append(Edit(at, at + len(key), "dim"))
    whole = function.span(users[0])[1]
    edits.append(Edit(whole, whole, ".cpu().numpy()" if array else ".cpu()"))
    copied = any(_COPIES.search(edit.text) for edit in edits)
    safety = Safety.UNSAFE if number_kinds.reduced(function, transfer.subject) and not copied else Safety.DISPLAY
    if _says_otherwise(function, found[0]):
        safety = Safety.DISPLAY
    return Fix("collect on the device, copy once after the loop", safety, tuple(edits))


def _snapshot(function: FunctionFacts, subject: Reg) -> str:
    return "" if keeping.fresh(function, subject) else ".clone()"
