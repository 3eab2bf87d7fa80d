"""A proof that a value is not written: what may share its memory, and who may write to that.

Everything is taken to be the same memory (`WORLD`) that code outside of this function may reach: arguments, what other
names refer to, attributes of objects, what unknown calls are handed or give. Within it a write to one is a write to
all, and an unknown call writes to all. What the function makes itself and hands to nobody is told apart by variable.
The order of the code plays no role. In-place operators and methods follow docs.pytorch.org "Tensor Views" and
"In-place semantics".
"""

from __future__ import annotations

from collections.abc import Iterable

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.names import find
from transferlint.flow.operands import operands
from transferlint.flow.sharing import TENSOR_ATTRIBUTES, VIEWS
from transferlint.flow.values import CONTAINER, DEVICE_NAME, DTYPE, HOST_VALUE, NAME, TENSOR
from transferlint.knowledge.api import Effect
from transferlint.knowledge.catalogue import effects
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

WORLD = -1
RESULT = -2
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


class Memory:
    """The sharing of one function's values, and the writes of the registers in `writers`; `result` is a value to be
    told apart from its source although it may be the same object."""

    def __init__(self, function: FunctionFacts, result: Reg | None = None) -> None:
        self._function = function
        self._result = result
        self._parent: dict[int, int] = {}
        for parameter in function.function.parameters:
            self._join((parameter.slot, WORLD))
        self._capture()
        for reg in range(len(function.code)):
            self._settle(reg)
        for reg in range(len(function.code)):
            self._leave(reg)

    def written(self, regs: Iterable[Reg]) -> set[int]:
        """The classes of memory that the registers write."""
        found: set[int] = set()
        for reg in regs:
            found.update(self._find(n) for n in self._writes(reg))
        return found

    def classes(self, reg: Reg) -> set[int]:
        """The classes of memory that a register's value may lie in."""
        return {self._find(n) for n in self._roots(reg)}

    def of(self, node: int) -> int:
        """The class of `WORLD` or `RESULT`."""
        return self._find(node)

    def _find(self, node: int) -> int:
        while (up := self._parent.get(node, node)) != node:
            node = up
        return node

    def _join(self, nodes: Iterable[int]) -> None:
        first, *others = [self._find(n) for n in nodes] or [WORLD]
        for one in others:
            self._parent[self._find(one)] = self._find(first)

    def _capture(self) -> None:
        """What functions of the file read by name is in everybody's hands."""
        program = self._function.file.program
        own = self._function.index
        for inner in program.functions:
            for made in inner.code:
                if isinstance(made, p.Outer | p.StoreOuter):
                    bound = find(program, inner, made.name)
                    if bound is not None and bound[0] == own:
                        self._join((bound[1], WORLD))

    def _settle(self, reg: Reg) -> None:
        """Join what one instruction makes share."""
        made = self._function.code[reg]
        if isinstance(made, p.Store):
            self._join((made.slot, *self._roots(made.value)))
        elif isinstance(made, p.StoreOuter | p.Yield | p.Await | p.Raise | p.Make | p.Enter):
            self._join((WORLD, *(n for r in operands(made) for n in self._roots(r))))
        elif isinstance(made, p.SetAttr | p.SetItem):
            self._join((*self._roots(made.object), *self._roots(made.value)))
        elif isinstance(made, p.Call):
            if self._holds(made):
                self._join(n for r in operands(made) for n in self._roots(r))
            elif self._kind(made) == "unknown":
                self._join((WORLD, *(n for r in operands(made) for n in self._roots(r))))

    def _leave(self, reg: Reg) -> None:
        """The result is in everybody's hands where it is returned, or asked for its identity."""
        made = self._function.code[reg]
        leaves = isinstance(made, p.Return) or (isinstance(made, p.Compare) and {"is", "is not"} & set(made.operators))
        if leaves and any(self._find(RESULT) in self.classes(r) for r in operands(made)):
            self._join((WORLD, RESULT))

    def _roots(self, reg: Reg) -> set[int]:
        """The nodes that a value may share memory with."""
        if reg == self._result:
            return {RESULT}
        made = self._function.code[reg]
        kinds = self._function.values[reg].kinds
        if isinstance(made, p.Const | p.Compare | p.Format | p.Import) or (kinds and not kinds & ~_IMMUTABLE):
            return set()
        if isinstance(made, p.Load):
            return {made.slot}
        if isinstance(made, p.Outer | p.Await | p.Yield | p.Enter | p.Exception_ | p.Make):
            return {WORLD}
        if isinstance(made, p.Attr):
            plain = made.name in TENSOR_ATTRIBUTES - {"grad"}
            return self._roots(made.object) | (set() if plain else {WORLD})
        if isinstance(made, p.Binary | p.Unary) and kinds == TENSOR:
            return self._roots(made.left) if isinstance(made, p.Binary) and made.inplace else set()
        if isinstance(made, p.Call):
            kind = self._kind(made)
            if kind == "fresh":
                return set()
            found = {n for r in operands(made) for n in self._roots(r) if r != made.function}
            callee = self._function.code[made.function]
            found |= self._roots(callee.object) if isinstance(callee, p.Attr) and not self._name(made) else set()
            return found | ({WORLD} if kind == "unknown" else set())
        return {n for r in operands(made) for n in self._roots(r)}

    def _writes(self, reg: Reg) -> set[int]:
        made = self._function.code[reg]
        if isinstance(made, p.SetAttr | p.SetItem):
            return self._roots(made.object)
        if isinstance(made, p.Binary):
            return self._roots(made.left) if made.inplace else set()
        if isinstance(made, p.Yield | p.Await | p.Enter | p.Make | p.Import):
            return {WORLD}
        if isinstance(made, p.Next):
            return set() if self._tame(made.iterable) else {WORLD}
        if isinstance(made, p.Call):
            if self._holds(made):
                return self._roots(self._function.code[made.function].object)  # type: ignore[union-attr]
            kind = self._kind(made)
            if kind == "unknown":
                return {WORLD}
            if kind == "writes":
                return {n for r in operands(made) for n in self._roots(r)} | self._receiver(made)
        return set()

    def _receiver(self, made: p.Call) -> set[int]:
        callee = self._function.code[made.function]
        return self._roots(callee.object) if isinstance(callee, p.Attr) else set()

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
    """`Memory._kind` for a function known by its qualified name, called with `count` positional arguments."""
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
