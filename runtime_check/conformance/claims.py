"""What a row of knowledge says of one call, in terms of what can be observed."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Collection, Mapping

KINDS = ("h2d", "d2h", "sync")


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """What must be seen (`must`) and may be seen (`may`) of KINDS, everything else must not; where the first tensor of
    the result must be: "device", "host", or "" where the row does not say."""

    must: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    place: str = ""

    def wrong(self, seen: Collection[str]) -> tuple[str, ...]:
        """What was seen and must not be, and the other way round, in words."""
        extra = [kind for kind in KINDS if kind in seen and kind not in self.must | self.may]
        lacking = [kind for kind in KINDS if kind in self.must and kind not in seen]
        return (*(f"unexpected {kind}" for kind in extra), *(f"no {kind}" for kind in lacking))

    @property
    def text(self) -> str:
        """ "d2h, sync"."""
        words = [kind for kind in KINDS if kind in self.must] or ["nothing"]
        maybe = [f"({kind})" for kind in KINDS if kind in self.may]
        return ", ".join([*words, *maybe])


def _claim(must: str = "", may: str = "", place: str = "") -> Claim:
    return Claim(frozenset(must.split()), frozenset(may.split()), place)


NOTHING = _claim()
HOST = _claim(place="host")
_DEVICE = _claim(place="device")
_UPLOAD = _claim("h2d", "sync", "device")
_DOWNLOAD = _claim("d2h sync")
_WAIT = _claim("sync", "d2h")

# By the name of the effect. A pageable upload waits and a pinned one may not, so that the rows leave open whether an
# upload does; nor does the rank that broadcasts objects download any.
OF_EFFECT: Mapping[str, Claim] = types.MappingProxyType(
    {
        "FILL": _DEVICE,
        "DATA": _UPLOAD,
        "LIKE": _DEVICE,
        "NEW": _UPLOAD,
        "ARRAY": HOST,
        "KEEP": _DEVICE,
        "KEEP_BOOLEAN": _DEVICE,
        "REDUCE": _DEVICE,
        "SAME": _DEVICE,
        "HOST": NOTHING,
        "NOTHING": NOTHING,
        "SCALAR": _DOWNLOAD,
        "COPY": _claim("d2h sync", place="host"),
        "NUMPY": NOTHING,
        "SHAPE": _claim("sync", "d2h h2d"),
        "TRUTH": _WAIT,
        "MOVE": _UPLOAD,
        "CUDA": _UPLOAD,
        "PIN": HOST,
        "COPY_INTO": _UPLOAD,
        "SYNCHRONIZE": _claim("sync"),
        "BACKWARD": NOTHING,
        "MODULE": NOTHING,
        "OPTIMIZER": NOTHING,
        "LOADER": HOST,
        "ITERATE": _WAIT,
        "NAME_DEVICE": NOTHING,
        "ARRAY_MAKER": NOTHING,
        "OBJECT": NOTHING,
        "WRAP": NOTHING,
        "PREPARE": _claim("h2d", "sync d2h"),
        "SEND": _UPLOAD,
        "CHECK": _claim("sync", "d2h h2d"),
        "COPIES_OPERAND": _claim("d2h sync", "h2d", "device"),
        "READS_ARGUMENTS": _DOWNLOAD,
        "FORMATS_ARGUMENTS": _claim("d2h sync"),
        "READS_STATE": _claim("d2h sync", "h2d"),
        "COLLECTIVE": NOTHING,
        "EXCHANGES_OBJECTS": _claim("h2d sync", "d2h"),
        "DEVICE_TENSOR": _claim("", "h2d d2h sync", "device"),
        "HOST_DATA": NOTHING,
        "VALIDATES": _claim("sync", "d2h h2d"),
        "VALIDATES_NOT": NOTHING,
        "ASKS": _WAIT,
        "DRAWS": _DEVICE,
    }
)
