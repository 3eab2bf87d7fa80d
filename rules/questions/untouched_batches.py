"""Whether a loader's batch is left alone from when it is made until it has been copied to the device."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.sharing import path
from transferlint.flow.writes import Writes
from transferlint.knowledge.torch_names import TENSOR_DATA_SETS
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import bindings
from ..code.chains import captured, origin
from . import loaders

_POSITIONAL = 4  # dataset, batch_size, shuffle, sampler; what comes after replaces how batches are made


def left_alone(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a tensor of a loader's batch that nobody can write to before it has been copied. It rests on proofs that

    - it is a tensor: the loader's data set is a `TensorDataset`, and it collates it with its own function. Whatever
      else has `.to` may not take `non_blocking`;
    - nobody else has it: the loader makes each batch anew, and the function moves it and asks for its size, and does
      nothing else with it or with what it is a part of (`_only_moved`). Who is handed it could write to it.
    """
    subject = transfer.subject
    if subject is None or not _of_loader(function, subject, transfer.register):
        return False
    at = path(function, subject)
    if at is None or Writes(function, range(len(function.code))).reaches(at):
        return False
    return _only_moved(function, subject, transfer.register)


def _only_moved(function: FunctionFacts, reg: Reg, moved: Reg) -> bool:
    """True for a variable, or a part of one, that is only taken apart, moved and asked for its size until it is bound
    to something else."""
    made = function.code[reg]
    if isinstance(made, p.Subscript):
        return _only_moved(function, made.object, moved)
    if not isinstance(made, p.Load) or captured(function, made.slot) or function.function.kind in ("module", "class"):
        return False
    stores = [i.value for r in function.stores(made.slot) if isinstance(i := function.code[r], p.Store)]
    for value in stores:
        whole = function.code[value]
        while isinstance(whole, p.Unpack | p.Subscript):
            value = whole.value if isinstance(whole, p.Unpack) else whole.object
            whole = function.code[value]
        if isinstance(whole, p.Load) and whole.slot != made.slot and not _only_moved(function, value, moved):
            return False
    loads = [r for r, i in enumerate(function.code) if isinstance(i, p.Load) and i.slot == made.slot]
    return all(_bound_anew(function, r, made.slot, moved) or _taken_apart(function, r) for r in loads)


def _bound_anew(function: FunctionFacts, load: Reg, slot: int, moved: Reg) -> bool:
    """True where what is read is what was stored after the move, in the same turn."""
    regions = bindings.around(function, load)
    later = (r for r in function.stores(slot) if moved < r < load)
    return any(function.region(r) in regions and function.loops(r) == function.loops(moved) for r in later)


def _taken_apart(function: FunctionFacts, reg: Reg) -> bool:
    """True where a value is unpacked, indexed, moved or asked for its size, and nothing else."""
    for user in function.users(reg):
        made = function.code[user]
        if isinstance(made, p.Unpack):
            continue
        if isinstance(made, p.Subscript) and made.object == reg and isinstance(function.code[made.index], p.Const):
            if not _taken_apart(function, user):
                return False
        elif isinstance(made, p.Attr):
            moves = made.name in ("to", "cuda") and all(
                isinstance(function.code[u], p.Call) for u in function.users(user)
            )
            if not moves and made.name not in ("shape", "size", "dtype", "device", "ndim", "dim", "numel"):
                return False
        elif not isinstance(made, p.Store) or function.code[reg] == p.Load(made.slot):
            return False
    return True


def _of_loader(function: FunctionFacts, reg: Reg, moved: Reg) -> bool:
    """True for what a `DataLoader` of this file makes with its own collate function: of what that returns only tensors
    have `.to` (docs.pytorch.org torch.utils.data.default_collate)."""
    loader = loaders.batch_of(function, reg, moved)
    if loader is None or any(loader.call.stars):
        return False
    keywords = dict(loader.call.keywords)
    data = loader.argument("dataset", 0)
    made = loader.function.code[origin(loader.function, data)] if data is not None else None
    if not isinstance(made, p.Call) or bindings.api(loader.function, made.function) not in TENSOR_DATA_SETS:
        return False
    size = loader.function.code[keywords["batch_size"]] if "batch_size" in keywords else None
    single = isinstance(size, p.Const) and size.value is None
    plain = not keywords.keys() & {"", "collate_fn", "batch_sampler"}
    return plain and not single and len(loader.call.args) <= _POSITIONAL
