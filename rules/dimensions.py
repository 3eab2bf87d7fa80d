"""Which tensors have a dimension for certain: one that has none is a number to torch, wherever it lives."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.values import CONTAINER, SCALAR, TENSOR
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from . import creating
from .chains import origin

_DEPTH = 10
# docs.pytorch.org torch "Creation Ops" and "Indexing, Slicing, Joining": never 0-d.
_ALWAYS = frozenset(
    "arange range linspace logspace randperm eye triu_indices tril_indices combinations cartesian_prod nonzero argwhere"
    " stack cat concat concatenate hstack vstack dstack column_stack meshgrid unique masked_select bincount topk"
    " atleast_1d atleast_2d hann_window hamming_window flatten repeat_interleave tile from_file multinomial".split()
)
_SHAPED = frozenset("zeros ones empty rand randn".split())
_OF_DATA = frozenset("tensor as_tensor asarray LongTensor IntTensor FloatTensor BoolTensor ByteTensor Tensor".split())
_TWO = frozenset({"triu_indices", "tril_indices", "combinations", "argwhere", "eye"})
_PAIRS = frozenset({"sort", "topk", "where", "nonzero", "meshgrid"})
_SAME = frozenset(
    "to cpu cuda long int float bool half double type clone detach contiguous pin_memory flip roll argsort cumsum"
    " clamp abs neg add sub mul div eq ne lt le gt ge logical_not logical_and logical_or requires_grad_ fill_ add_"
    " sub_ mul_ div_ clamp_ masked_fill scatter_ bernoulli type_as share_memory_ t".split()
)
_GIVES = frozenset({"unsqueeze", "unsqueeze_", "nonzero", "argwhere", "flatten", "ravel", "topk", "repeat", "unfold"})


def dimensional(function: FunctionFacts, reg: Reg, depth: int = _DEPTH) -> bool:
    """True where the tensor of a register has at least one dimension on every path."""
    if depth == 0 or function.values[reg].flags & SCALAR:
        return False
    made = function.code[reg]
    if isinstance(made, p.Call):
        return _called(function, made, depth - 1)
    if isinstance(made, p.Binary):
        return any(dimensional(function, r, depth - 1) for r in (made.left, made.right))
    if isinstance(made, p.Compare):
        return any(dimensional(function, r, depth - 1) for r in made.operands)
    if isinstance(made, p.Unary):
        return dimensional(function, made.operand, depth - 1)
    if isinstance(made, p.Choice):
        return dimensional(function, made.body, depth - 1) and dimensional(function, made.orelse, depth - 1)
    if isinstance(made, p.Attr):
        return made.name in ("T", "data") and dimensional(function, made.object, depth - 1)
    if isinstance(made, p.Subscript):
        return _part(function, made, depth - 1)
    if isinstance(made, p.Unpack):
        return _one_of(function, made.value)
    if isinstance(made, p.Load):
        given = any(q.slot == made.slot for q in function.function.parameters)
        stores = [i for r in function.stores(made.slot) if isinstance(i := function.code[r], p.Store)]
        return bool(stores) and not given and all(dimensional(function, i.value, depth - 1) for i in stores)
    if isinstance(made, p.Next):
        rows = function.values[made.iterable]  # a list of tensors: whoever wants numbers makes one tensor of them
        return rows.kinds == CONTAINER and rows.item is not None and rows.item.is_a(TENSOR)
    return False


def _called(function: FunctionFacts, made: p.Call, depth: int) -> bool:
    name = function.file.placement.names.dotted(function.function, made.function)
    if name:
        root, _, last = name.rpartition(".")
        if root != "torch" or any(made.stars):
            return False
        if last in _ALWAYS:
            return True
        if last in _SHAPED:
            return _sized(function, made.args)
        if last == "full":
            return bool(made.args) and _display(function, made.args[0])
        if last == "randint":
            size = dict(made.keywords).get("size", made.args[-1] if made.args else None)
            return size is not None and _display(function, size)
        if last in _OF_DATA:
            return bool(made.args) and function.values[made.args[0]].kinds == CONTAINER
        return last in _SAME and bool(made.args) and dimensional(function, made.args[0], depth)
    callee = function.code[made.function]
    if not isinstance(callee, p.Attr):
        return False
    if callee.name in _GIVES:
        return True
    if callee.name in ("view", "reshape", "expand", "new_zeros", "new_ones"):
        return _sized(function, made.args)
    return callee.name in _SAME and dimensional(function, callee.object, depth)


def _sized(function: FunctionFacts, args: tuple[Reg, ...]) -> bool:
    """True for sizes of which there is at least one: `(3)`, `(n, m)`, `((n,))`; not `()` nor another tensor's shape."""
    return len(args) > 1 or (len(args) == 1 and (_display(function, args[0]) or creating.integer(function, args[0])))


def _display(function: FunctionFacts, reg: Reg) -> bool:
    made = function.code[reg]
    return isinstance(made, p.Sequence) and bool(made.items)


def _part(function: FunctionFacts, made: p.Subscript, depth: int) -> bool:
    """A slice keeps the dimension; an index of a matrix of indices leaves one."""
    index = function.code[made.index]
    if isinstance(index, p.Slice):
        return dimensional(function, made.object, depth)
    if isinstance(index, p.Const):
        return _one_of(function, made.object) or _matrix(function, made.object)
    return False


def _one_of(function: FunctionFacts, reg: Reg) -> bool:
    """True for the tuple of `where(mask)`, `nonzero(as_tuple=True)`, `sort` and the like: its parts have dimensions."""
    made = function.code[origin(function, reg)]
    if not isinstance(made, p.Call):
        return False
    last = _last(function, made)
    return last in _PAIRS and (last != "where" or len(made.args) == 1)


def _matrix(function: FunctionFacts, reg: Reg) -> bool:
    made = function.code[origin(function, reg)]
    return isinstance(made, p.Call) and _last(function, made) in _TWO


def _last(function: FunctionFacts, made: p.Call) -> str:
    callee = function.code[made.function]
    return callee.name if isinstance(callee, p.Attr) else ""
