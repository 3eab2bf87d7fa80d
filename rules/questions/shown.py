"""Variables that a function shows to hold tensors, by what it does with them beside moving them."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import MODULE
from transferlint.knowledge.torch import TENSOR_ONLY
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import called, method

# What modules and batches that move themselves have as well, by themselves or as names of their parts.
_OTHERS_TOO = frozenset(
    "cuda cpu float half double bfloat16 requires_grad_ pin_memory numel is_cuda backward log norm softmax log_softmax"
    " sigmoid gather scatter unfold expand exp topk".split()
)
# What arrays have too. They have no `.to` and no `.cuda`, which leaves tensors.
_ARRAYS_TOO = frozenset(
    "view reshape squeeze transpose flatten argmax argsort argmin sum any all item tolist numpy cumsum".split()
)
_METHODS = (TENSOR_ONLY | _ARRAYS_TOO) - _OTHERS_TOO
_SHAPED = frozenset({"shape", "ndim"})
# Methods of tensors that take tensors (docs.pytorch.org torch.Tensor).
_TAKING = frozenset(
    "masked_fill masked_fill_ masked_scatter masked_select index_select index_add index_add_ scatter_ scatter_add"
    " scatter_add_ gather take_along_dim matmul mm bmm addmm baddbmm".split()
)
_DEPTH = 4


def moved_tensor(function: FunctionFacts, reg: Reg) -> bool:
    """True for a variable, on which a move is called, that is used as a tensor elsewhere in the function while it is
    bound once at most: computed with, sliced by several indices, or asked for what of all that moves only tensors
    have."""
    made = function.code[reg]
    if not isinstance(made, p.Load) or len(function.stores(made.slot)) > 1:
        return False
    return _stored_tensor(function, made, _DEPTH) or any(
        _as_tensor(function, load) for load in function.loads(made.slot) if load != reg
    )


def _stored_tensor(function: FunctionFacts, made: p.Load, depth: int) -> bool:
    """True for a variable that is bound once, to what a tensor's method gives, a part of that, or what a model does."""
    stores = [one.value for at in function.stores(made.slot) if isinstance(one := function.code[at], p.Store)]
    if len(stores) != 1 or len(function.stores(made.slot)) != 1 or depth == 0:
        return False
    value, name = function.code[stores[0]], method(function, stores[0])
    if isinstance(value, p.Call):
        return name in _METHODS or name == "forward" or any(key == "dim" for key, _ in value.keywords if name)
    base = function.code[value.object] if isinstance(value, p.Subscript) else None
    if isinstance(value, p.Subscript) and isinstance(base, p.Load):
        part = isinstance(function.code[value.index], p.Slice | p.Sequence)
        return part and _stored_tensor(function, base, depth - 1)
    return isinstance(value, p.Load) and _stored_tensor(function, value, depth - 1)


def _as_tensor(function: FunctionFacts, reg: Reg) -> bool:
    for user in function.users(reg):
        made = function.code[user]
        if isinstance(made, p.Attr):
            calls = any(isinstance(c := function.code[u], p.Call) and c.function == user for u in function.users(user))
            if made.name in _SHAPED or (calls and made.name in _METHODS):
                return True
        elif isinstance(made, p.Binary) and made.operator not in ("|", "&"):
            return True
        elif isinstance(made, p.Subscript) and made.object == reg:
            index = function.code[made.index]
            if isinstance(index, p.Sequence) and index.kind == "tuple":
                return True
        elif isinstance(made, p.Call) and reg in made.args and _takes_tensors(function, user, made):
            return True
    return False


def _takes_tensors(function: FunctionFacts, reg: Reg, made: p.Call) -> bool:
    """True for a call of torch.nn.functional, of one of torch's own modules, and of a tensor's method for two."""
    if method(function, reg) in _TAKING:
        return True
    callee = function.values[made.function]
    own = callee.is_a(MODULE) and callee.name.startswith("torch.nn.")
    return own or called(function, reg).startswith("torch.nn.functional.")
