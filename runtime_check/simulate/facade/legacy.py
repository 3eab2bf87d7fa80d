"""The old tensor types, `torch.cuda.FloatTensor(...)` and its like, which older programs still construct."""

from __future__ import annotations

from typing import Any

from runtime_check.simulate.changes import Changes
from runtime_check.simulate.internals import Tensor, torch
from runtime_check.simulate.ordinals import current

TYPES = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}


class OldType(type):
    """A class that is called for tensors of its `dtype`, and of which they are instances. `Tensor.type` knows it by the
    name that it was made with, module and all (`tp_name`: torch/csrc/autograd/python_variable_methods.cpp)."""

    dtype: Any

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        return type.__getattribute__(cls, "__qualname__")  # type: ignore[no-any-return]

    def __call__(cls, *data: Any, **_options: Any) -> Any:
        place = torch.device("cuda", current())
        if len(data) == 1 and isinstance(data[0], Tensor):
            return data[0].to(place, cls.dtype)
        if len(data) == 1 and not isinstance(data[0], (int, torch.Size)):
            return torch.tensor(data[0], dtype=cls.dtype, device=place)
        sizes = data[0] if len(data) == 1 and isinstance(data[0], torch.Size) else data or (0,)
        return torch.empty(tuple(sizes), dtype=cls.dtype, device=place)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.is_cuda and instance.dtype is cls.dtype


def install(changes: Changes) -> None:
    """Replace torch.cuda's old types and the old way of making one the default."""
    for name, dtype in TYPES.items():
        said = {"dtype": getattr(torch, dtype), "__module__": "torch.cuda", "__qualname__": name}
        made = OldType(f"torch.cuda.{name}", (), said)
        changes.attribute(torch.cuda, name, made)
    set_type = torch.set_default_tensor_type

    def set_default_tensor_type(kind: Any) -> None:
        name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__name__}"
        if not name.startswith("torch.cuda."):
            set_type(kind)
            return
        torch.set_default_dtype(getattr(torch, TYPES[name.rpartition(".")[2]]))
        torch.set_default_device("cuda")

    changes.attribute(torch, "set_default_tensor_type", set_default_tensor_type)
