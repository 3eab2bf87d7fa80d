"""What an annotation says of the value that it stands at: of a parameter, a variable, an attribute, a result."""

from __future__ import annotations

import ast
import functools
import re
from typing import TYPE_CHECKING

from transferlint import late
from transferlint.flow.callgraph.names import ClassInfo, ident
from transferlint.flow.lattice.values import (
    ANYWHERE,
    CONTAINER,
    DEVICE_NAME,
    DTYPE_VALUE,
    GIVEN,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    LOADER,
    MAPPING,
    MODULE,
    NAME,
    NONE,
    NOTHING,
    OBJECT,
    OPTIMIZER,
    PYTHON,
    RESIDENT,
    TENSOR,
    UNKNOWN,
    Value,
    framework_flag,
    join,
)
from transferlint.knowledge.frameworks import known
from transferlint.syntax.program import Function

if TYPE_CHECKING:
    from transferlint.flow.placement.placed_file import PlacedFile

_DEEPEST = 8
_TENSORS = frozenset(
    "Tensor FloatTensor LongTensor BoolTensor IntTensor ByteTensor HalfTensor DoubleTensor TensorType".split()
)
_SCALARS = frozenset("int float bool str bytes complex Size Path PathLike Namespace DictConfig Logger".split())
_SEQUENCES = frozenset(
    "List list Sequence MutableSequence Iterable Iterator Collection Generator Set set FrozenSet frozenset Deque"
    " deque".split()
)
_MAPPINGS = frozenset("Dict dict Mapping MutableMapping OrderedDict DefaultDict defaultdict".split())
# What stands for its first argument (docs.python.org typing).
_TRANSPARENT = frozenset("Annotated Final ClassVar Required NotRequired ReadOnly".split())
_TYPING = frozenset({"typing", "typing_extensions", "collections", "builtins"})
_DISTRIBUTIONS = "torch.distributions."
_MODULES = late.pattern(r"(^|\.)(Module|PreTrainedModel|LightningModule)$")


def annotated(file: PlacedFile, function: Function, text: str, tensor: Value) -> Value | None:
    """The value of what `text`, an annotation within `function` of `file`, stands at; `tensor` is what a tensor there
    would be. None where it says nothing: what has a member of which nothing is known may be that."""
    tree = _parsed(text)
    return _Reading(file, function, tensor).value(tree) if tree is not None else None


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> ast.expr | None:
    """The expression that an annotation is; None where it is none."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def numeric(text: str) -> bool:
    """Whether an annotation is a number's: `int`, `float | None`, `Optional[int]`."""
    tree = _parsed(text)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)] if tree is not None else []
    return bool(names) and {one.id for one in names} <= {"int", "float", "Optional", "Union"}


class _Reading:
    """One annotation being read (docs.python.org typing, "Type system reference"); `qualified`: names stand for
    themselves, as no import gives them."""

    def __init__(self, file: PlacedFile, function: Function, tensor: Value, qualified: bool = False) -> None:
        self._file = file
        self._qualified = qualified
        self._function = function
        self._tensor = tensor

    def value(self, node: ast.expr, depth: int = 0) -> Value | None:
        if depth > _DEEPEST:
            return None
        if isinstance(node, ast.Constant):
            if node.value is None:
                return PYTHON
            inner = _parsed(node.value) if isinstance(node.value, str) else None
            return self.value(inner, depth + 1) if inner is not None else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self._either([node.left, node.right], depth)
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return self._of(_dotted(node.value), parts, depth) if parts else None
        name = _dotted(node)
        return self._named(name) if name else None

    def _either(self, members: list[ast.expr], depth: int) -> Value | None:
        """A union: what each of its members is. Python's own numbers are wherever the tensors are that they stand for,
        and `None` is what nobody computes with."""
        values = [self.value(one, depth + 1) for one in members if not _is_none(one)]
        known = [value for value in values if value is not None]
        tensors = any(value.may_be(TENSOR) for value in known)
        whole: Value | None = None
        for value in known:
            there = tensors and value.kinds == HOST_VALUE
            whole = join(whole, value.but(places=self._tensor.places, flags=self._tensor.flags) if there else value)
        if whole is None:
            return None if values else PYTHON
        if len(known) < len(values):
            if not tensors:
                return None
            whole = whole.but(kinds=whole.kinds | UNKNOWN)
        return whole.or_none() if len(values) < len(members) else whole

    def _of(self, head: str, parts: list[ast.expr], depth: int) -> Value | None:
        """A generic type with its arguments."""
        last = head.rpartition(".")[2]
        if last in _TENSORS:
            return self._tensor  # jaxtyping, torchtyping: `Tensor["batch", 3]`
        if last == "Union":
            return self._either(parts, depth)
        if last == "Optional":
            return self._either([*parts[:1], ast.Constant(None)], depth)
        if last in _TRANSPARENT:
            return self.value(parts[0], depth + 1)
        if last == "Literal":
            return PYTHON
        if last in _MAPPINGS:
            held = self.value(parts[1], depth + 1) if len(parts) == 2 else None
            return self._holding(held, MAPPING)
        if last in ("Tuple", "tuple"):
            return self._tuple(parts, depth)
        if last in _SEQUENCES:
            item = self.value(parts[0], depth + 1)
            if item == PYTHON and last not in ("List", "list"):
                return PYTHON  # it may be a tuple, which indexes as numbers do
            return self._holding(item, 0)
        if len(parts) > 1 and isinstance(parts[1], ast.Constant) and isinstance(parts[1].value, str):
            inner = self.value(parts[0], depth + 1)  # docs.kidger.site jaxtyping: `Float[Tensor, "batch 3"]`
            return inner if inner is not None and inner.is_a(TENSOR) else None
        return self._named(head) if "DataLoader" in last or "ndarray" in last.lower() else None

    def _tuple(self, parts: list[ast.expr], depth: int) -> Value | None:
        """A tuple, whose items are told apart where there are several kinds: `Tuple[Tensor, int]`."""
        endless = isinstance(parts[-1], ast.Constant) and parts[-1].value is ...
        values = [self.value(one, depth + 1) for one in (parts[:1] if endless else parts)]
        if all(value is None for value in values):
            return None
        whole: Value | None = None
        for value in values:
            whole = join(whole, value or NOTHING)
        made = self._holding(whole, 0)
        alike = all(value == values[0] for value in values)
        if endless and whole == PYTHON:
            return PYTHON
        if made is None or endless or (alike and whole != PYTHON):
            return made
        items = tuple(value or NOTHING for value in values)
        return Value(CONTAINER, made.places, made.flags, made.why, whole, items)

    def _holding(self, item: Value | None, mapping: int) -> Value | None:
        """A container of these; None where nothing is known of them."""
        if item is None:
            return None
        if item.may_be(TENSOR | CONTAINER) and not item.on_host:
            return Value(CONTAINER, item.places, self._tensor.flags | mapping, self._tensor.why, item)
        return Value(CONTAINER, item.places, mapping, item=item)

    def _named(self, name: str) -> Value | None:
        file, function, tensor = self._file, self._function, self._tensor
        if file.names.frameworks:
            found = known(file.names.spelled(function, name))
            if (
                found is not None
                and re.match(found[0].annotation, found[1])
                and found[0].name not in file.tracing.host_only
            ):  # an array of a framework beside torch
                return tensor.but(flags=tensor.flags | framework_flag(found[0].name))
        qualified = name if self._qualified else file.names.spelled(function, name)
        resolved = file.names.resolved(qualified)
        info = file.info_of(resolved)
        if info is not None:
            if any(base.rpartition(".")[2] in _TENSORS for base in _outside(file, info)):
                return tensor
            if info.data:
                return Value(OBJECT | UNKNOWN, HOST, name=ident(info.key, info.index))
            return Value(OBJECT | (MODULE if info.module else 0), ANYWHERE, name=ident(info.key, info.index))
        if qualified.startswith(_DISTRIBUTIONS):
            kind = _DISTRIBUTIONS + qualified.rpartition(".")[2]
            return Value(UNKNOWN, tensor.places, tensor.flags, tensor.why, name=kind)
        alias = self._alias(name, qualified)
        if alias is not None:
            return _Reading(file, function, tensor, qualified=True).value(alias)
        return _plain(name, tensor)

    def _alias(self, name: str, qualified: str) -> ast.expr | None:
        """What a variable of a module stands for (docs.python.org typing, "Type aliases"), in qualified names."""
        file = self._file
        if self._qualified:
            return None
        bound = file.names.binding(self._function, name)
        if bound is not None and bound[0] == 0 and not qualified:
            found = file.global_value(bound[1])
        else:
            found = file.project.variable(qualified, file.key) if file.project is not None and qualified else None
        return _expression(found) if found is not None else None


def _expression(value: Value, depth: int = 0) -> ast.expr | None:
    """The annotation that a value is: a class, or a generic type with its arguments."""
    if value == NONE:
        return ast.Constant(None)
    if value.kinds != NAME or not value.name or depth > _DEEPEST:
        return None
    head = ast.Name(value.name)
    if value.items is None:
        return head
    parts = [_expression(one, depth + 1) or ast.Name("") for one in value.items]
    return ast.Subscript(head, ast.Tuple(parts))


def generic(head: Value, arguments: tuple[Value, ...]) -> Value | None:
    """What `List[Tensor]` and `Tensor | None` are where they are not annotations: names of types."""
    known = head.kinds == NAME and head.name.partition(".")[0] in _TYPING
    return Value(NAME, ANYWHERE, name=head.name, items=arguments) if known else None


def either(left: Value, right: Value) -> Value | None:
    """`Tensor | None`, likewise; None where the two are no types."""
    types = [one for one in (left, right) if one.kinds == NAME]
    if not types or any(one.kinds != NAME and one != NONE for one in (left, right)):
        return None
    return Value(NAME, ANYWHERE, name="typing.Union", items=(left, right))


def _outside(file: PlacedFile, info: ClassInfo) -> set[str]:
    """The qualified names of what a class derives from that is not of the checked source."""
    found: set[str] = set()
    pending = list(info.bases)
    while pending:
        base = pending.pop()
        parent = file.info_of(base)
        if base not in found:
            found.add(base)
            pending.extend(parent.bases if parent is not None else ())
    return found


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _dotted(node: ast.expr) -> str:
    """The name with attributes that an expression is; "" where it is none."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def _plain(name: str, tensor: Value) -> Value | None:
    """What a class outside the checked source is, by its name."""
    last = name.rpartition(".")[2]
    if last in _TENSORS or name.endswith(("nn.Parameter", "nn.parameter.Parameter", "autograd.Variable")):
        return tensor
    if last in _SCALARS:
        return PYTHON
    if _MODULES.search(name):
        return Value(MODULE, ANYWHERE)
    if last == "device" or last.endswith("Device"):
        return Value(DEVICE_NAME, GIVEN)
    if "ndarray" in last or "ArrayLike" in last or ("Image" in name and "Tensor" not in name):
        return HOST_ARRAY
    if last.endswith("dtype"):
        return DTYPE_VALUE
    if "DataLoader" in last:
        return Value(LOADER, HOST)
    return Value(OPTIMIZER, ANYWHERE) if "Optimizer" in last else None


def promised(file: PlacedFile, function: Function) -> Value | None:
    """What the annotation of a function's result says; None where it says nothing, and for code on the host side."""
    role = file.roles[function.index]
    if not function.returns or function.is_generator or role.host_side or role.cold:
        return None
    return annotated(file, function, function.returns, Value(TENSOR, GIVEN, RESIDENT))
