"""What each instruction of a function does to memory: whose a value is, what comes to share, and what is written.

A node is a variable (its slot), `WORLD`, which is everything that code outside of the function may reach, or `RESULT`.
In-place operators and methods follow docs.pytorch.org "Tensor Views" and "In-place semantics".
"""

from __future__ import annotations

from collections.abc import Iterable

from transferlint.flow.dataflow.operands import operands
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import CONTAINER, DEVICE_NAME, DTYPE, HOST_VALUE, NAME, TENSOR
from transferlint.flow.sharing import TENSOR_ATTRIBUTES
from transferlint.knowledge.api import Effect
from transferlint.knowledge.catalogue import effects
from transferlint.knowledge.torch_names import VIEWS
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

Nodes = frozenset[int]
WORLD = -1
RESULT = -2
_WORLD, _NONE = Nodes({WORLD}), Nodes()
_IMMUTABLE = HOST_VALUE | DEVICE_NAME | DTYPE | NAME
_FRESH = frozenset({Effect.KEEP, Effect.KEEP_BOOLEAN, Effect.REDUCE, Effect.SCALAR, Effect.SHAPE, Effect.TRUTH})
_MAKERS = frozenset({Effect.FILL, Effect.LIKE, Effect.NAME_DEVICE})
_MOVES = frozenset({Effect.MOVE, Effect.CUDA, Effect.COPY, Effect.NUMPY})
_METADATA = frozenset({"size", "dim", "ndimension", "numel", "nelement", "stride", "is_contiguous", "get_device"})
_OPERATORS = frozenset(
    "cat concat concatenate stack where maximum minimum einsum exp log sqrt sin cos tanh sigmoid relu softmax"
    " log_softmax logical_and logical_or logical_not bmm matmul mm mv outer cross norm add sub mul div pow clamp"
    " cdist hstack vstack dstack baddbmm addmm lerp rsqrt round floor ceil fmod remainder".split()
)
# Functions of torch.nn.functional that only read where they are not asked for `inplace` (or another buffer).
_FUNCTIONAL = frozenset(
    "cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy kl_div linear"
    " binary_cross_entropy_with_logits cosine_similarity pairwise_distance softmax log_softmax conv1d conv2d conv3d"
    " layer_norm group_norm normalize sigmoid tanh gelu softplus grid_sample interpolate avg_pool2d max_pool2d"
    " scaled_dot_product_attention bilinear pad one_hot cosine_embedding_loss margin_ranking_loss".split()
)
_INPLACE_SECOND = frozenset("relu relu6 silu mish selu hardswish hardsigmoid".split())
_BUILTINS = frozenset(f"builtins.{n}" for n in "range len float int bool str print abs isinstance repr round".split())
_HOLDERS = frozenset({"append", "extend", "insert", "add"})


class Effects:
    """What a function's instructions do, each worked out once. Where `result` is a value to be told apart from its
    source, only what is computed from it differs from what `plain` (the same without a result) says."""

    def __init__(self, function: FunctionFacts, result: Reg | None = None, plain: Effects | None = None) -> None:
        self._function = function
        self._result = result
        self._plain = plain
        self.own = function.around(result) if result is not None else set[Reg]()
        self._known: dict[Reg, Nodes] = {}

    def roots(self, reg: Reg) -> Nodes:
        """The nodes that a value may share memory with."""
        if self._plain is not None and reg not in self.own:
            return self._plain.roots(reg)
        if reg not in self._known:
            self._known[reg] = self._found(reg)
        return self._known[reg]

    def joined(self, reg: Reg) -> Nodes:
        """The nodes that an instruction makes share."""
        made = self._function.code[reg]
        if isinstance(made, p.Store):
            return Nodes({made.slot}) | self.roots(made.value)
        if isinstance(made, p.StoreOuter | p.Yield | p.Await | p.Raise | p.Make | p.Enter):
            return _WORLD | self._all(operands(made))
        if isinstance(made, p.SetAttr | p.SetItem):
            return self.roots(made.object) | self.roots(made.value)
        if isinstance(made, p.Call):
            if self._holds(made):
                return self._all(operands(made))
            if self._kind(made) == "unknown":
                return _WORLD | self._all(operands(made))
        return _NONE

    def left(self, reg: Reg) -> Nodes:
        """The nodes of what is returned, or asked for its identity."""
        made = self._function.code[reg]
        leaves = isinstance(made, p.Return) or (isinstance(made, p.Compare) and {"is", "is not"} & set(made.operators))
        return self._all(operands(made)) if leaves else _NONE

    def _all(self, regs: Iterable[Reg]) -> Nodes:
        return Nodes(n for r in regs for n in self.roots(r))

    def written(self, reg: Reg) -> Nodes:
        """The nodes that an instruction writes to."""
        made = self._function.code[reg]
        if isinstance(made, p.SetAttr | p.SetItem):
            return self.roots(made.object)
        if isinstance(made, p.Binary):
            return self.roots(made.left) if made.inplace else _NONE
        if isinstance(made, p.Yield | p.Await | p.Enter | p.Make | p.Import):
            return _WORLD
        if isinstance(made, p.Next):
            return _NONE if self._tame(made.iterable) else _WORLD
        if isinstance(made, p.Call):
            if self._holds(made):
                return self._receiver(made)
            kind = self._kind(made)
            if kind == "unknown":
                return _WORLD
            if kind == "writes":
                return self._all(operands(made)) | self._receiver(made)
        return _NONE

    def _found(self, reg: Reg) -> Nodes:
        if reg == self._result:
            return Nodes({RESULT})
        made = self._function.code[reg]
        kinds = self._function.values[reg].kinds
        if isinstance(made, p.Const | p.Compare | p.Format | p.Import) or (kinds and not kinds & ~_IMMUTABLE):
            return _NONE
        if isinstance(made, p.Load):
            return Nodes({made.slot})
        if isinstance(made, p.Outer | p.Await | p.Yield | p.Enter | p.Exception_ | p.Make):
            return _WORLD
        if isinstance(made, p.Attr):
            plain = made.name in TENSOR_ATTRIBUTES - {"grad"}
            return self.roots(made.object) | (_NONE if plain else _WORLD)
        if isinstance(made, p.Binary | p.Unary) and kinds == TENSOR:
            return self.roots(made.left) if isinstance(made, p.Binary) and made.inplace else _NONE
        if isinstance(made, p.Call):
            kind = self._kind(made)
            if kind == "fresh":
                return _NONE
            found = self._all(r for r in operands(made) if r != made.function)
            callee = self._function.code[made.function]
            found |= self.roots(callee.object) if isinstance(callee, p.Attr) and not self._name(made) else _NONE
            return found | (_WORLD if kind == "unknown" else _NONE)
        return self._all(operands(made))

    def _receiver(self, made: p.Call) -> Nodes:
        callee = self._function.code[made.function]
        return self.roots(callee.object) if isinstance(callee, p.Attr) else _NONE

    def _tame(self, reg: Reg) -> bool:
        """True for what is gone over without running code of others."""
        made = self._function.code[reg]
        kinds = self._function.values[reg].kinds
        if isinstance(made, p.Call):
            return self._name(made) == "builtins.range"
        return kinds in (TENSOR, CONTAINER) or (bool(kinds) and not kinds & ~_IMMUTABLE)

    def _holds(self, made: p.Call) -> bool:
        """True for `append` and the like of a container that is known to be one."""
        callee = self._function.code[made.function]
        return (
            isinstance(callee, p.Attr)
            and callee.name in _HOLDERS
            and self._function.values[callee.object].kinds == CONTAINER
        )

    def _name(self, made: p.Call) -> str:
        return self._function.file.placement.names.dotted(self._function.function, made.function)

    def _kind(self, made: p.Call) -> str:
        """What a call does to memory: "fresh" (reads, gives new memory), "view" (reads, may give memory of what it
        read), "writes" (writes to what it is given and gives it back), "unknown"."""
        keys = {k for k, _ in made.keywords}
        if made.stars or keys & {"", "max_norm", "key"}:
            return "unknown"
        writes = bool(keys & {"out", "inplace"})
        name = self._name(made)
        if name:
            return "writes" if writes and name.startswith("torch.") else _function(name, len(made.args))
        callee = self._function.code[made.function]
        if not isinstance(callee, p.Attr) or self._function.values[callee.object].kinds != TENSOR:
            return "unknown"
        known = effects().get(f"Tensor.{callee.name}")
        if writes or known in (Effect.SAME, Effect.COPY_INTO):
            return "writes"
        if known in _MOVES or callee.name in VIEWS or callee.name in ("where", "align_to"):
            return "view"
        return "fresh" if known in _FRESH or callee.name in _METADATA else "unknown"


def _function(name: str, count: int) -> str:
    """`Effects._kind` for a function known by its qualified name, called with `count` positional arguments."""
    root, _, last = name.rpartition(".")
    known = effects().get(name)
    if name in _BUILTINS or name == "torch.tensor" or (known in _MAKERS and root == "torch"):
        return "fresh"
    if root == "torch.nn.functional":
        if last in _FUNCTIONAL:
            return "fresh"
        return "fresh" if last in _INPLACE_SECOND and count == 1 else "unknown"
    if root != "torch" or last.endswith("_"):
        return "unknown"
    if last in VIEWS or known is Effect.ARRAY or last in ("as_tensor", "asarray"):
        return "view"
    if last in _OPERATORS or known in _FRESH or effects().get(f"Tensor.{last}") in _FRESH:
        return "fresh"
    return "unknown"
