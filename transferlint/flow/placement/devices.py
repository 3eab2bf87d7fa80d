"""Which expressions name a place, and which a dtype: the two things that `.to` takes."""

from __future__ import annotations

from transferlint import late
from transferlint.flow.lattice.values import (
    ANYWHERE,
    DEVICE,
    DEVICE_NAME,
    DTYPE,
    GIVEN,
    HOST,
    HOST_VALUE,
    ON_DEVICE,
    TENSOR,
    UNKNOWN,
    Value,
)
from transferlint.knowledge import roles

_ACCELERATOR = late.pattern(r"^(cuda|xpu|npu|hpu|mps|musa|mlu|xla|privateuseone|gpu)(:\d+)?$")
DTYPES = frozenset(
    [
        "float32",
        "float",
        "float64",
        "double",
        "float16",
        "half",
        "bfloat16",
        "int8",
        "int16",
        "short",
        "int32",
        "int",
        "int64",
        "long",
        "uint8",
        "bool",
        "complex64",
        "complex128",
        "cfloat",
        "cdouble",
        "complex32",
        "float8_e4m3fn",
        "float8_e5m2",
        "uint16",
        "uint32",
        "uint64",
        "quint8",
        "qint8",
        "qint32",
    ]
)


def named_place(text: str) -> int:
    """The place a device string names (0 where it is no device string). "meta" holds no data: ANYWHERE."""
    if _ACCELERATOR.match(text):
        return DEVICE
    if text == "cpu":
        return HOST
    return ANYWHERE if text == "meta" else 0


def settle(places: int) -> int:
    """A place name that is the device on one path and the host on another means "the device where there is one"; so
    does one that is not known on some path, for nobody asks which place it is if it can be the host alone."""
    return GIVEN if places & HOST and places & (ON_DEVICE | ANYWHERE) else places


def target(value: Value, spelled: str) -> tuple[int, bool]:
    """What an argument of `.to` means: (places it names, or 0 where it is no place; whether it is a dtype only).

    `spelled` is the last identifier of the argument's expression ("device" of `self.device`), "" where it has none."""
    if value.is_a(DEVICE_NAME):
        return settle(value.places), False
    if value.is_a(DTYPE):
        return 0, True
    if value.is_a(TENSOR):
        return value.places, False
    if value.kinds & DEVICE_NAME:
        text = ANYWHERE if value.kinds & HOST_VALUE else 0  # put together: it names who knows which place
        return settle(value.places | text) & ~ANYWHERE or GIVEN, False
    if spelled:
        if roles.DEVICE_WORDS.search(spelled):
            return GIVEN, False
        if spelled in ("data", "grad"):
            return GIVEN, False
        if roles.DTYPE_WORDS.search(spelled) or spelled in DTYPES:
            return 0, True
    if value.is_a(HOST_VALUE):
        return GIVEN, False  # an index, or a string that is put together
    if value.kinds & TENSOR:
        return value.places, False
    if value.kinds & UNKNOWN and value.on_device:
        return value.places & ON_DEVICE, False
    return ANYWHERE, False
