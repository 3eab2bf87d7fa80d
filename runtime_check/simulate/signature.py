"""What a kernel must know of its operator, taken once from the operator's schema."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any


class Kind(enum.IntEnum):
    """What an argument can hold that a kernel has to look at."""

    OTHER = 0
    TENSOR = 1
    TENSORS = 2
    DEVICE = 3
    GENERATOR = 4


KINDS = {
    "Tensor": Kind.TENSOR,
    "Optional[Tensor]": Kind.TENSOR,
    "Device": Kind.DEVICE,
    "Optional[Device]": Kind.DEVICE,
    "Generator": Kind.GENERATOR,
    "Optional[Generator]": Kind.GENERATOR,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Signature:
    """`name` is without namespace and overload, `full` has the overload. `returned` says for each result which argument
    it is (None: a new value); `written` are the arguments that the operator writes; `resizes` says that it may give
    them another shape (`out=`). Arguments are numbered as in the schema."""

    name: str
    full: str
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    returned: tuple[int | None, ...]
    written: tuple[int, ...]
    resizes: bool

    @property
    def kind_of(self) -> dict[str, Kind]:
        """Argument name to kind."""
        return dict(zip(self.names, self.kinds, strict=True))


def signature(operator: Any) -> Signature:
    """The signature of a `torch._ops.OpOverload`."""
    schema = operator._schema
    name = schema.name.partition("::")[2]
    written: dict[str, int] = {}  # alias set to argument
    for index, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            written.update(dict.fromkeys(argument.alias_info.before_set, index))
    returned = tuple(
        next((written[alias] for alias in result.alias_info.before_set if alias in written), None)
        if result.alias_info is not None and result.alias_info.is_write
        else None
        for result in schema.returns
    )
    return Signature(
        name=name,
        full=f"{name}.{schema.overload_name}" if schema.overload_name else name,
        names=tuple(argument.name for argument in schema.arguments),
        kinds=tuple(_kind(str(argument.type)) for argument in schema.arguments),
        returned=returned,
        written=tuple(written.values()),
        resizes=bool(written)
        and ("out" in schema.overload_name or any(argument.is_out for argument in schema.arguments)),
    )


def _kind(type_name: str) -> Kind:
    if type_name in KINDS:
        return KINDS[type_name]
    return Kind.TENSORS if "Tensor" in type_name else Kind.OTHER
