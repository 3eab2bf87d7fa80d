"""Where transferred data came from: a state machine over the integers of events, in bounded memory, without torch.

What it does not link was *not seen* to belong together; that is no proof that it does not. Arithmetic on the host
(numpy, Python numbers) makes new data from old, and the thread is lost.
"""

from __future__ import annotations

import collections
import zlib
from typing import Generic, NamedTuple, TypeVar

from runtime_check.events import Event, Memory
from runtime_check.ranges import Ranges
from runtime_check.records import LinkKind
from transferlint.model import Direction

VALUES = 4096  # read values that are told apart by identity; whoever gives their ids keeps so many objects alive
SMALL = 64  # bytes from which equal content is more than coincidence; of less,
_STEADY = 10  # so many uploads of one site, nearly all of them of the content of the one before
_SCALAR_READ = "aten::_local_scalar_dense"
V = TypeVar("V")


class Seen(NamedTuple):
    """One link between two events: the ids of their site records, the bytes of the second, and whether the content
    differed (None: not seen)."""

    kind: LinkKind
    first: int
    second: int
    bytes: int = 0
    changed: bool | None = None


class _Copy(NamedTuple):
    """One end of a copy that was seen, the addresses it spans, and the site record of the copy; `number` counts them,
    `checksum` is that of what was copied."""

    number: int
    site: int
    memory: Memory
    span: tuple[int, int]
    checksum: int | None


class _Small(NamedTuple):
    """The small uploads of a site: what the last one held, how many there were, how many of them held what the one
    before did, and of how many that has been told."""

    checksum: int | None = None
    uploads: int = 0
    equal: int = 0
    told: int = 0


class Provenance:
    """Links each event with earlier ones.

    `lifetimes` promises that `gone` is called for every host storage that is freed: then memory is the same while it
    lives, also under another storage object (numpy's view of a tensor); without it, only where the storage object is
    the same or the content equal. `limit` bounds each kind of memory it has.
    """

    def __init__(self, limit: int = 4096, *, lifetimes: bool = False) -> None:
        self._limit = limit
        self._lifetimes = lifetimes
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        limit = self._limit
        self._count = 0
        self._downloaded: Ranges[_Copy] = Ranges(limit)  # by host address: the download that wrote there
        self._uploaded: _Bounded[int, _Copy] = _Bounded(limit)  # by device storage: its last upload
        self._sent: _Bounded[tuple[object, ...], _Copy] = _Bounded(limit)  # by host memory: its last upload
        self._content: _Bounded[tuple[int, int], int] = _Bounded(limit)  # by checksum and size: the last copy's site
        self._small: _Bounded[int, _Small] = _Bounded(limit)  # by site: its small uploads
        self._values: _Bounded[int, int] = _Bounded(min(limit, VALUES))  # by id of a value: the read it came from

    def see(self, event: Event, site: int) -> list[Seen]:
        """What an event of the site record `site` is linked with; events come in the order in which they happened."""
        self._count += 1
        found: list[Seen] = []
        if event.direction is Direction.D2H:
            self._download(event, site, found)
        else:
            detour = self._values.get(event.value) if event.value else None
            if detour is not None:
                found.append(Seen(LinkKind.SCALAR_DETOUR, detour, site, event.bytes))
            if event.direction is Direction.H2D:
                self._upload(event, site, found)
            elif event.direction is Direction.NONE and not event.sync and not event.value:
                found.append(Seen(LinkKind.NO_OP_MOVE, site, site))
        return found

    def gone(self, serial: int) -> None:
        """The host storage `serial` is freed: what comes to lie there is something else."""
        if self._lifetimes:
            self._downloaded.forget(serial)

    def _download(self, event: Event, site: int, found: list[Seen]) -> None:
        source, target = event.source, event.target
        if source is not None:
            self._link_upload(source, target, site, event.bytes, found)
        if event.operation == _SCALAR_READ and source is not None and source.dtype == "bool":
            found.append(Seen(LinkKind.HOST_DECISION, site, site, event.bytes))
        if event.value:
            self._values.put(event.value, site)
        if target is not None:
            span = extent(target)
            copy = _Copy(self._count, site, target, span, target.checksum)
            self._downloaded.put(*span, copy, target.serial)
            if target.checksum is not None:
                self._content.put((target.checksum, target.bytes), site)

    def _link_upload(self, source: Memory, target: Memory | None, site: int, size: int, found: list[Seen]) -> None:
        """h2d2h: what comes back is what was uploaded there. Where both contents are known they decide; elsewhere the
        counter of writes that torch knows of."""
        copy = self._uploaded.get(source.serial) if source.serial else None
        if copy is None or not overlap(copy.span, extent(source)):
            return
        came = source.checksum if target is None or target.checksum is None else target.checksum
        if copy.checksum is not None and came is not None and copy.memory.bytes == size:
            if came == copy.checksum:
                found.append(Seen(LinkKind.HOST_DEVICE_HOST, copy.site, site, size, False))
        elif copy.memory.version == source.version:
            found.append(Seen(LinkKind.HOST_DEVICE_HOST, copy.site, site, size))

    def _upload(self, event: Event, site: int, found: list[Seen]) -> None:
        source, target = event.source, event.target
        if source is not None:
            before, span = len(found), extent(source)
            self._link_download(source, span, site, found)
            self._link_repeat(source, span, site, found)
            if source.checksum is not None:
                equal = self._content.get((source.checksum, source.bytes))
                detour = any(seen.kind is LinkKind.SCALAR_DETOUR for seen in found)
                if len(found) == before and not detour:
                    if source.bytes < SMALL:
                        again = Seen(LinkKind.EQUAL_CONTENT, site, site, source.bytes, False)
                        found += [again] * self._same(site, source)
                    elif equal is not None:
                        found.append(Seen(LinkKind.EQUAL_CONTENT, equal, site, source.bytes, False))
                self._content.put((source.checksum, source.bytes), site)
        if target is not None and target.serial:
            checksum = target.checksum if source is None else source.checksum
            self._uploaded.put(target.serial, _Copy(self._count, site, target, extent(target), checksum))

    def _same(self, site: int, source: Memory) -> int:
        """How many small uploads of a site turn out, with this one, to have had the content of the one before. Zeros
        are none: a flag that nobody has raised yet looks like that."""
        small = self._small.get(site) or _Small()
        zeros = zlib.crc32(bytes(source.bytes))
        count, equal = small.uploads + 1, small.equal + (source.checksum == small.checksum and source.checksum != zeros)
        told = small.told
        if count >= _STEADY and equal * 10 >= (count - 1) * 9:
            told = equal
        self._small.put(site, _Small(source.checksum, count, equal, told))
        return told - small.told

    def _link_download(self, source: Memory, span: tuple[int, int], site: int, found: list[Seen]) -> None:
        """d2h2d: what is uploaded lies where a download wrote."""
        copy = max(self._downloaded.over(*span), key=_number, default=None)
        if copy is None:
            return
        old = copy.memory
        changed = None
        if (old.pointer, old.bytes, old.dtype) == (source.pointer, source.bytes, source.dtype):
            changed = different(old.checksum, source.checksum)
        if self._lifetimes or (old.serial == source.serial != 0) or changed is False:
            found.append(Seen(LinkKind.DEVICE_HOST_DEVICE, copy.site, site, source.bytes, changed))

    def _link_repeat(self, source: Memory, span: tuple[int, int], site: int, found: list[Seen]) -> None:
        if not source.serial:
            return
        key = source.serial, source.pointer, source.shape, source.stride, source.dtype
        copy = self._sent.get(key)
        if copy is not None and different(copy.checksum, source.checksum) is False:
            found.append(Seen(LinkKind.REPEAT, copy.site, site, source.bytes, False))
        self._sent.put(key, _Copy(self._count, site, source, span, source.checksum))


def different(one: int | None, other: int | None) -> bool | None:
    """Whether the contents with these checksums differ; None where one of them is not known."""
    return None if one is None or other is None else one != other


def extent(memory: Memory) -> tuple[int, int]:
    """The addresses between which a view's elements lie, the second exclusive; equal for one without elements."""
    elements, last = 1, 0
    for size, stride in zip(memory.shape, memory.stride, strict=True):
        elements *= size
        last += (size - 1) * stride
    if elements == 0:
        return memory.pointer, memory.pointer
    return memory.pointer, memory.pointer + (last + 1) * (memory.bytes // elements)


def overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """True where two extents have an address in common."""
    return max(one[0], other[0]) < min(one[1], other[1])


def _number(copy: _Copy) -> int:
    return copy.number


K = TypeVar("K")


class _Bounded(Generic[K, V]):
    """A mapping that forgets what was put longest ago."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: collections.OrderedDict[K, V] = collections.OrderedDict()

    def get(self, key: K) -> V | None:
        return self._held.get(key)

    def put(self, key: K, value: V) -> None:
        self._held[key] = value
        self._held.move_to_end(key)
        if len(self._held) > self._limit:
            self._held.popitem(last=False)
