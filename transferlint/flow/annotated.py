"""What an annotation says of the value that it stands at: of a parameter, a variable, an attribute, a result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from transferlint import late
from transferlint.flow.names import ident
from transferlint.flow.values import (
    ANYWHERE,
    CONTAINER,
    DEVICE_NAME,
    DTYPE_VALUE,
    GIVEN,
    HOST,
    HOST_ARRAY,
    LOADER,
    MAPPING,
    MODULE,
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
    from transferlint.flow.placement import FilePlacement

_TENSOR_NAMES = late.pattern(
    r"\b(torch\.)?(Tensor|FloatTensor|LongTensor|BoolTensor|IntTensor|TensorType)\b"
    r"|\bnn\.(parameter\.)?Parameter\b|\bautograd\.Variable\b"
)
_CONTAINERS = late.pattern(r"^(typing\.|t\.)?(List|list|Tuple|tuple|Dict|dict|Sequence|Iterable|Mapping|OrderedDict)\b")
_PYTHON = late.pattern(
    r"^(Optional\[)?(int|float|bool|str|bytes|torch\.Size|Path|pathlib\.Path|None|complex|Callable|Namespace|argparse\.Namespace|"
    r"DictConfig|logging\.Logger|Logger|List\[(int|float|str|bool)\]|list\[(int|float|str|bool)\]|"
    r"Tuple\[(int|float|str|bool)\b.*\]|tuple\[(int|float|str|bool)\b.*\]|Sequence\[(int|float|str)\]|"
    r"Dict\[str, (int|float|str|bool)\]|dict\[str, (int|float|str|bool)\]|Literal\[.*)"
    r"(\])?(\s*\|\s*(int|float|str|None|bool))*$"
)


_OF_PYTHON = late.pattern(
    r"^(typing\.|t\.)?(List|list|Tuple|tuple|Sequence|Iterable|Set|set|Dict|dict|Mapping)\[((List|list|Tuple|tuple)\[|[\s,.\]]|"
    r"\b(int|float|str|bool|Path)\b)+$"
)
_CALLABLE = late.pattern(r"^((typing|collections\.abc)\.)?Callable\[")
_LIST = late.pattern(r"(?:typing\.)?(?:List|list|Sequence|Iterable)\[([A-Za-z_][\w.]*)\]$")
_PARTS = late.pattern(r"(?:typing\.|t\.)?(Tuple|tuple|List|list|Sequence|Iterable)\[(.*)\]$")
_NAME = late.pattern(r"[A-Za-z_][\w.]*$")


def annotated(file: FilePlacement, function: Function, text: str, tensor: Value) -> Value | None:
    """The value of what `text`, an annotation within `function` of `file`, stands at; `tensor` is what a tensor there
    would be. None where it says nothing."""
    text = text.strip("\"'")
    plain = re.sub(r"^(typing\.)?Optional\[(.*)\]$", r"\2", text)
    plain = re.sub(r"\s*\|\s*None$", "", plain).strip("\"'")
    if file.names.frameworks:
        found = _of_framework(file, function, plain, tensor)
        if found is not None:
            return found
    return _instance(file, function, plain) or _mixed(file, function, plain, tensor) or _known(text, plain, tensor)


def _of_framework(file: FilePlacement, function: Function, plain: str, tensor: Value) -> Value | None:
    """An array of a framework beside torch, where the name is one of its classes."""
    if not _NAME.match(plain):
        return None
    found = known(file.names.spelled(function, plain))
    if found is None or not re.match(found[0].annotation, found[1]) or found[0].name in file.tracing.host_only:
        return None
    return tensor.but(flags=tensor.flags | framework_flag(found[0].name))


def promised(file: FilePlacement, function: Function) -> Value | None:
    """What the annotation of a function's result says; None where it says nothing, and for code on the host side."""
    role = file.roles[function.index]
    if not function.returns or function.is_generator or role.host_side or role.cold:
        return None
    return annotated(file, function, function.returns, Value(TENSOR, GIVEN, RESIDENT))


def _instance(file: FilePlacement, function: Function, plain: str) -> Value | None:
    """An instance of a class of the checked source, or a list of them."""
    listed = _LIST.match(plain)
    if listed is not None:
        item = _instance(file, function, listed[1])
        return Value(CONTAINER, ANYWHERE, item=item) if item is not None and item.is_a(OBJECT) else None
    if not _NAME.match(plain):
        return None
    info = file.info_of(file.names.resolved(file.names.spelled(function, plain)))
    if info is None:
        return None
    if info.data:
        return Value(OBJECT | UNKNOWN, HOST, name=ident(info.key, info.index))
    return Value(OBJECT | (MODULE if info.module else 0), ANYWHERE, name=ident(info.key, info.index))


def _mixed(file: FilePlacement, function: Function, plain: str, tensor: Value) -> Value | None:
    """A tuple, or a list of tuples, of which some items are tensors and others are not: `List[Tuple[Tensor, int]]`."""
    found = _PARTS.match(plain)
    if found is None or not _TENSOR_NAMES.search(plain):
        return None
    parts = _split(found[2])
    if found[1] not in ("Tuple", "tuple"):
        item = _mixed(file, function, parts[0], tensor) if len(parts) == 1 else None
        return Value(CONTAINER, item.places, item.flags, item.why, item) if item is not None else None
    if len(parts) < 2 or "..." in parts:
        return None
    items = tuple(annotated(file, function, part, tensor) or NOTHING for part in parts)
    if all(item.is_a(TENSOR) for item in items):
        return None
    whole: Value | None = None
    for one in items:
        whole = join(whole, one)
    return Value(CONTAINER, tensor.places, tensor.flags, tensor.why, whole, items)


def _split(text: str) -> list[str]:
    """The parts between the commas that stand in no bracket."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _known(annotation: str, plain: str, tensor: Value) -> Value | None:
    if _CALLABLE.match(plain):
        return None  # what it takes and gives back says nothing of itself
    if _PYTHON.match(annotation) or _PYTHON.match(plain):
        return PYTHON
    if _OF_PYTHON.match(plain):
        return Value(CONTAINER, HOST, item=PYTHON)
    if _CONTAINERS.match(plain):
        item = tensor if _TENSOR_NAMES.search(plain) else None
        if item is None and "Module" in plain:
            item = Value(MODULE, ANYWHERE)
        if item is None:
            return None
        mapping = MAPPING if re.match(r"^(typing\.|t\.)?(Dict|dict|Mapping|OrderedDict)\b", plain) else 0
        return Value(CONTAINER, item.places, tensor.flags | mapping, tensor.why, item=item)
    if _TENSOR_NAMES.search(plain):
        return tensor
    if re.search(r"(nn\.Module|\bModule|PreTrainedModel|LightningModule)\b", plain):
        return Value(MODULE, ANYWHERE)
    if plain in ("torch.device", "device") or plain.endswith("Device"):
        return Value(DEVICE_NAME, GIVEN)
    if "ndarray" in plain or "ArrayLike" in plain or "Image" in plain:
        return HOST_ARRAY if "Tensor" not in plain else None
    if plain.endswith("dtype"):
        return DTYPE_VALUE
    if "DataLoader" in plain:
        return Value(LOADER, HOST)
    if "Optimizer" in plain:
        return Value(OPTIMIZER, ANYWHERE)
    return None
