"""The fix that computes on the device what took the way through the host for no reason.

One of them is safe, `x.detach().clone()` for `torch.tensor(x.item(), dtype=x.dtype, device=x.device)`: where `x` is a
variable that is proven to hold a tensor without dimensions (`proven.scalar`; `.item()` gives a number of one element of
any shape), and its dtype is kept: asked for by name, or that of booleans, which `torch.tensor` keeps. The copy requires
no gradient, as before, and shares no memory.
"""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import TENSOR
from transferlint.knowledge.torch import CASTS
from transferlint.knowledge.torch_names import COPYING, OF_DATA
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import bindings, importing, rewriting
from ..code.chains import called, captured, method, receiver, user
from ..proofs import proven
from . import collecting

# Functions of an array alone that torch has under the same name (docs.pytorch.org torch, numpy.org reference).
_SAME = frozenset(
    "abs argsort ceil cos cosh cumsum diff exp expm1 fliplr flipud floor isfinite isinf isnan log log10 log1p log2"
    " logical_not ravel sign sin sinh sqrt square tan tanh tril triu trunc argmax argmin".split()
)


def detour(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """For the download of a round trip: `x.detach().clone()` for `torch.tensor(x.item(), device=x.device)`, and the
    function of torch for numpy's of the same name; None where more happens on the way."""
    subject = transfer.subject
    if transfer.inside is not None or subject is None or not transfer.before.is_a(TENSOR):
        return None
    tensor = base = rewriting.operand(function, subject)
    inner = receiver(function, subject)
    if method(function, subject) == "detach" and inner is not None:
        base = rewriting.operand(function, inner)
    else:
        tensor = f"{base}.detach()"
    if not base:
        return None
    if method(function, transfer.register) == "type":
        return _cast(function, transfer)
    if method(function, transfer.register) in ("item", "tolist"):
        return _listed(function, transfer, base, tensor)
    chain = collecting.bare(function, transfer)
    if chain is None or not chain[2]:
        return None
    above = user(function, chain[0])
    name = called(function, above) if above is not None else ""
    if above is not None and name in OF_DATA:
        return _whole(function, above, chain[0], base, f"{tensor}.clone()")
    root, _, last = name.rpartition(".")
    made = function.code[above] if above is not None else None
    if above is None or root != "numpy" or last not in _SAME or not isinstance(made, p.Call):
        return None
    torch, imports = importing.torch_name(function, above)
    if made.args != (chain[0],) or made.keywords or not torch:
        return None
    return _computed(function, above, f"{torch}.{last}({tensor})", base, imports)


def _cast(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`x.float()` for `x.type(torch.FloatTensor)`, where what it gives is moved at once: `.to(device)`."""
    read, subject, above = transfer.register, transfer.subject, user(function, transfer.register)
    assert subject is not None
    typed = CASTS.get(transfer.api.removeprefix(".type(").removesuffix(")"))
    moved = above is not None and receiver(function, above) == read and method(function, above) in ("to", "cuda")
    cut = rewriting.after(function, read, subject)
    if typed is None or cut is None or not moved:
        return None
    return Fix("cast it on the device", Safety.UNSAFE, (Edit(cut.start, cut.end, f".{typed}()"),))


def _listed(function: FunctionFacts, transfer: Transfer, base: str, tensor: str) -> Fix | None:
    read = transfer.register
    above = user(function, read)
    name = called(function, above) if above is not None else ""
    if above is None:
        return None
    if name == "builtins.sorted" and method(function, read) == "tolist":
        outer = user(function, above)
        made = function.code[above]
        torch, imports = importing.torch_name(function, above)
        plain = isinstance(made, p.Call) and made.args == (read,) and not made.keywords
        if outer is None or called(function, outer) not in COPYING or not plain or not torch:
            return None
        return _whole(function, outer, above, base, f"{torch}.sort({tensor}).values", imports)
    if name not in ("torch.tensor", "torch.as_tensor"):
        return None
    fix = _whole(function, above, read, base, f"{tensor}.clone()")
    if fix is None or len(fix.edits) != 1 or transfer.before.kinds != TENSOR:
        return fix
    given = _options(function, above)
    text = fix.edits[0].text
    subject = transfer.subject
    assert subject is not None
    known = given.get("dtype") == f"{base}.dtype" or ("dtype" not in given and proven.mask(function, subject))
    number = method(function, read) == "item" and proven.scalar(function, subject)
    simple = isinstance(function.code[subject], p.Load)
    made = function.code[above]
    simple = simple and isinstance(made, p.Call) and bindings.api(function, made.function) == "torch.tensor"
    safe = known and number and simple and text == f"{tensor}.clone()"
    return Fix("keep it on the device", Safety.SAFE, fix.edits) if safe else fix


def _options(function: FunctionFacts, reg: Reg) -> dict[str, str]:
    made = function.code[reg]
    assert isinstance(made, p.Call)
    return {key: function.text(value) for key, value in made.keywords}


def _whole(
    function: FunctionFacts,
    take: Reg,
    taken: Reg,
    base: str,
    new: str,
    imports: tuple[Edit, ...] = (),
) -> Fix | None:
    """Replace the making of a tensor from host data, and the move after it, by `new` and what is needed to get the
    same place and type."""
    made = function.code[take]
    if not isinstance(made, p.Call) or made.args != (taken,) or {k for k, _ in made.keywords} - {"device", "dtype"}:
        return None
    given = _options(function, take)
    end = _moved(function, take, given)
    if end is None or "device" not in given or "#" in function.text(end):
        return None
    wanted = [
        f"{key}={given[key]}" for key in ("device", "dtype") if given.get(key, f"{base}.{key}") != f"{base}.{key}"
    ]
    move = f".to({', '.join(wanted)})" if wanted else ""
    edit = Edit(*function.span(end), f"{new}{move}")
    return Fix("keep it on the device", Safety.UNSAFE, (*imports, edit))


def _moved(function: FunctionFacts, reg: Reg, given: dict[str, str]) -> Reg | None:
    """The end of `made.to(d)` or `.cuda()`, whose options are added to those given; the tensor itself without one."""
    above = user(function, reg)
    if above is None or receiver(function, above) != reg or method(function, above) not in ("to", "cuda"):
        return reg
    move = function.code[above]
    assert isinstance(move, p.Call)
    options = dict(move.keywords)
    if options.keys() - {"device", "dtype", "non_blocking"} or len(move.args) > 1 or any(move.stars):
        return None
    if method(function, above) == "cuda":
        if move.args or "device" in options:
            return None
        given["device"] = '"cuda"'
    elif move.args and not function.values[move.args[0]].is_a(TENSOR):
        name = function.file.placement.names.dotted(function.function, move.args[0])
        given["dtype" if name.startswith("torch.") else "device"] = function.text(move.args[0])
    elif move.args:
        return None
    for key in ("device", "dtype"):
        if key in options:
            given[key] = function.text(options[key])
    return above


def _computed(function: FunctionFacts, at: Reg, new: str, base: str, imports: tuple[Edit, ...]) -> Fix | None:
    """What numpy computes goes straight into a tensor, or by a variable that is read for nothing else."""
    above = function.users(at)
    store = function.code[above[0]] if len(above) == 1 else None
    if not isinstance(store, p.Store):
        take = user(function, at)
        if take is None or called(function, take) not in OF_DATA:
            return None
        return _whole(function, take, at, base, new, imports)
    loads = function.loads(store.slot)
    # The name may be bound again by what it is turned into: `order = torch.from_numpy(order)`.
    mine = [r for r in loads if r > at]
    take = user(function, mine[0]) if mine else None
    if take is None or called(function, take) not in OF_DATA or captured(function, store.slot):
        return None
    later = [r for r in function.stores(store.slot) if r > take]
    if len(mine) != 1 and not (later and later[0] < mine[1]):
        return None
    if function.loops(take) != function.loops(at) or function.region(take) != function.region(at):
        return None
    if any(r < at and function.loops(r) for r in loads) or "#" in function.text(at):
        return None
    second = _whole(function, take, mine[0], base, function.text(mine[0]))
    if second is None:
        return None
    edits = (*imports, Edit(*function.span(at), new), *second.edits)
    return Fix("keep it on the device", Safety.UNSAFE, edits)
