"""Links between transfers: each class on its own, then random histories against an oracle that forgets nothing."""

from __future__ import annotations

import dataclasses
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_check.collect import Collector
from runtime_check.events import Event, Frame, Memory
from runtime_check.provenance import Provenance, Seen, extent
from runtime_check.ranges import Ranges
from runtime_check.records import LinkKind
from transferlint.model import Direction

D2H, H2D, NONE = Direction.D2H, Direction.H2D, Direction.NONE
SCALAR = "aten::_local_scalar_dense"


def memory(pointer: int, content: bytes | None = None, *, serial: int = 1, size: int = 256, **more: object) -> Memory:
    fields: dict[str, object] = {
        "pointer": pointer,
        "storage": pointer,
        "storage_bytes": size,
        "bytes": size,
        "shape": (size,),
        "stride": (1,),
        "dtype": "uint8",
        "serial": serial,
        "checksum": None if content is None else zlib.crc32(content),
    }
    return Memory(**{**fields, **more})  # type: ignore[arg-type]


def event(direction: Direction, source: Memory | None = None, target: Memory | None = None, **more: object) -> Event:
    size = (source or target or memory(0, size=4)).bytes
    made = Event(direction, "aten::copy_", size, 0, 0, True, (), source=source, target=target)
    return dataclasses.replace(made, **more)  # type: ignore[arg-type]


def seen(provenance: Provenance, *events: Event) -> list[tuple[str, int, int, bool | None]]:
    """The links that the events make; the n-th event is of the site record n."""
    links = [link for site, one in enumerate(events) for link in provenance.see(one, site)]
    return [(link.kind.value, link.first, link.second, link.changed) for link in links]


DEVICE = memory(9000, serial=70)
FRESH = memory(9500, serial=71)


def test_downloaded_and_uploaded_unchanged() -> None:
    host = memory(100, b"a")
    assert seen(Provenance(), event(D2H, DEVICE, host), event(H2D, host, FRESH)) == [("d2h2d", 0, 1, False)]


def test_downloaded_changed_on_the_host_and_uploaded() -> None:
    links = seen(Provenance(), event(D2H, DEVICE, memory(100, b"a")), event(H2D, memory(100, b"b"), FRESH))
    assert links == [("d2h2d", 0, 1, True)]


def test_a_part_of_a_download_is_uploaded() -> None:
    part = memory(110, b"p", size=7)
    assert seen(Provenance(), event(D2H, DEVICE, memory(100, b"a")), event(H2D, part, FRESH)) == [("d2h2d", 0, 1, None)]


@pytest.mark.parametrize(("lifetimes", "content", "links"), [(True, 1, 1), (True, 0, 1), (False, 1, 1), (False, 0, 0)])
def test_through_numpy_the_storage_is_another(lifetimes: bool, content: int, links: int) -> None:
    """`torch.from_numpy(x.cpu().numpy())` has the memory of the download under a new storage."""
    back = memory(100, b"a" if content else b"b", serial=2)
    found = seen(Provenance(lifetimes=lifetimes), event(D2H, DEVICE, memory(100, b"a")), event(H2D, back, FRESH))
    assert [link[0] for link in found] == ["d2h2d"] * links


def test_memory_that_is_used_again_makes_no_link() -> None:
    provenance = Provenance(lifetimes=True)
    assert seen(provenance, event(D2H, DEVICE, memory(100, b"a"))) == []
    provenance.gone(1)
    assert seen(provenance, event(H2D, memory(100, b"b", serial=2), FRESH)) == []


def test_uploaded_and_downloaded_again() -> None:
    host = memory(100, b"a")
    for back in (memory(500, b"a", serial=5), memory(500, serial=5)):
        changed = False if back.checksum else None
        assert seen(Provenance(), event(H2D, host, DEVICE), event(D2H, DEVICE, back)) == [("h2d2h", 0, 1, changed)]


@pytest.mark.parametrize("known", [True, False])
def test_what_the_device_computed_in_place_is_no_round_trip(known: bool) -> None:
    came = memory(500, b"b" if known else None, serial=5)
    written = dataclasses.replace(DEVICE, version=1)
    assert seen(Provenance(), event(H2D, memory(100, b"a"), DEVICE), event(D2H, written, came)) == []


def test_another_part_of_the_device_buffer_is_no_round_trip() -> None:
    other = dataclasses.replace(DEVICE, pointer=9256)
    assert seen(Provenance(), event(H2D, memory(100), DEVICE), event(D2H, other, memory(500, serial=5))) == []


def test_the_same_memory_uploaded_again() -> None:
    uploads = [event(H2D, memory(100, content), FRESH) for content in (b"a", b"a", b"b", b"b")]
    assert seen(Provenance(), *uploads) == [("repeat", 0, 1, False), ("repeat", 2, 3, False)]


@pytest.mark.parametrize(("size", "links"), [(64, [("equal content", 0, 1, False)]), (63, [])])
def test_equal_content_of_another_buffer(size: int, links: list[object]) -> None:
    one, other = memory(100, b"a", size=size), memory(800, b"a", serial=2, size=size)
    assert seen(Provenance(), event(H2D, one, FRESH), event(H2D, other, DEVICE)) == links


@pytest.mark.parametrize(
    ("contents", "told"),
    [
        ("aaaaaaaaaaaa", 11),  # at the tenth what was equal before it is told, and then each
        ("aaaaaaaaa", 0),
        ("aaaaaaaaabaaaaaaaaaaa", 18),  # nearly all
        ("abababababab", 0),
        ("0" * 12, 0),  # a flag that nobody has raised
    ],
)
def test_small_equal_content_at_one_site_is_no_chance(contents: str, told: int) -> None:
    provenance = Provenance()
    uploads = [
        event(H2D, memory(100 * n, bytes(8) if one == "0" else one.encode(), serial=n + 1, size=8), FRESH)
        for n, one in enumerate(contents)
    ]
    links = [link for one in uploads for link in provenance.see(one, 5)]
    assert [(link.kind, link.first, link.second) for link in links] == [(LinkKind.EQUAL_CONTENT, 5, 5)] * told


def test_a_copy_of_a_download_is_of_equal_content() -> None:
    links = seen(Provenance(), event(D2H, DEVICE, memory(100, b"a")), event(H2D, memory(800, b"a", serial=2), FRESH))
    assert links == [("equal content", 0, 1, False)]


def test_a_scalar_that_goes_back() -> None:
    read = event(D2H, memory(9000, serial=70, size=4), operation=SCALAR, value=12345)
    sent = event(H2D, memory(100, b"v", size=4), FRESH, value=12345)
    filled = event(NONE, value=12345, sync=False, bytes=0)
    other = event(H2D, memory(100, b"w", size=4), FRESH, value=54321)
    links = seen(Provenance(), read, sent, filled, other)
    assert links == [("scalar detour", 0, 1, None), ("scalar detour", 0, 2, None)]


def test_a_bool_that_is_read_decides() -> None:
    flag = memory(9000, serial=70, size=1, dtype="bool")
    assert seen(Provenance(), event(D2H, flag, operation=SCALAR)) == [("host decision", 0, 0, None)]


def test_a_move_that_moves_nothing() -> None:
    assert seen(Provenance(), event(NONE, sync=False, bytes=0)) == [("no-op move", 0, 0, None)]
    assert seen(Provenance(), event(NONE, sync=True, bytes=0)) == []


def test_extents_of_views() -> None:
    assert extent(memory(100, size=0)) == (100, 100)
    assert extent(memory(100, shape=(3, 4), stride=(8, 2), size=48)) == (100, 100 + (2 * 8 + 3 * 2 + 1) * 4)
    assert extent(memory(100, shape=(), stride=(), size=4)) == (100, 104)


def test_a_collector_sums_links() -> None:
    collector = Collector(provenance=Provenance())
    host = memory(100, b"a")
    down, up = Frame("a.py", 1, "f"), Frame("a.py", 2, "f")
    for _ in range(5):
        collector(event(D2H, DEVICE, host, frames=(down,)))
        collector(event(H2D, host, FRESH, frames=(up,)))
    found = {(link.kind, link.first, link.second): (link.count, link.bytes) for link in collector.links()}
    assert found[LinkKind.DEVICE_HOST_DEVICE, 0, 1] == (5, 1280)
    assert found[LinkKind.REPEAT, 1, 1] == (4, 1024)


# -- against an oracle ------------------------------------------------------------------------------------------------

Item = Event | int  # a number is that of a host storage that was freed


class Oracle:
    """The same classes, said over the whole history, address by address, without bounds."""

    def __init__(self, lifetimes: bool) -> None:
        self.lifetimes = lifetimes
        self.past: list[Item] = []
        self.at: dict[int, int] = {}  # address: index of the download that wrote it last

    def take(self, item: Item) -> list[Seen]:
        number = len(self.past)
        found = self.gone(item) if isinstance(item, int) else self.see(item, number)
        self.past.append(item)
        return found

    def events(self) -> list[tuple[int, Event]]:
        """The past events, the latest first."""
        return [(n, one) for n, one in reversed(list(enumerate(self.past))) if isinstance(one, Event)]

    def gone(self, serial: int) -> list[Seen]:
        if self.lifetimes:
            self.at = {a: n for a, n in self.at.items() if self.download(n).serial != serial}
        return []

    def download(self, number: int) -> Memory:
        one = self.past[number]
        assert isinstance(one, Event)
        assert one.target is not None
        return one.target

    def see(self, one: Event, number: int) -> list[Seen]:
        found: list[Seen] = []
        read = next((n for n, e in self.events() if e.direction is D2H and one.value == e.value != 0), None)
        if one.direction is not D2H and read is not None:
            found.append(Seen(LinkKind.SCALAR_DETOUR, read, number, one.bytes))
        if one.direction is NONE and not one.sync and not one.value:
            found.append(Seen(LinkKind.NO_OP_MOVE, number, number))
        if one.direction is D2H:
            found += self.down(one, number)
        if one.direction is H2D and one.source is not None:
            found += self.up(one, one.source, number, bool(found))
        return found

    def down(self, one: Event, number: int) -> list[Seen]:
        found = []
        source, target = one.source, one.target
        assert source is not None
        assert target is not None
        last = next(((n, e) for n, e in self.events() if e.direction is H2D and e.target
                     and e.target.serial == source.serial != 0), None)  # fmt: skip
        if last is not None:
            n, up = last
            assert up.source is not None
            assert up.target is not None
            if spread(up.target) & spread(source):
                came = source.checksum if target.checksum is None else target.checksum
                if None not in (came, up.source.checksum) and up.target.bytes == one.bytes:
                    if came == up.source.checksum:
                        found.append(Seen(LinkKind.HOST_DEVICE_HOST, n, number, one.bytes, False))
                elif up.target.version == source.version:
                    found.append(Seen(LinkKind.HOST_DEVICE_HOST, n, number, one.bytes))
        if one.operation == SCALAR and source.dtype == "bool":
            found.append(Seen(LinkKind.HOST_DECISION, number, number, one.bytes))
        self.at.update(dict.fromkeys(spread(target), number))
        return found

    def up(self, one: Event, source: Memory, number: int, detour: bool) -> list[Seen]:
        links = []
        writers = [self.at[address] for address in spread(source) if address in self.at]
        if writers:
            old = self.download(max(writers))
            same = (old.pointer, old.bytes, old.dtype) == (source.pointer, source.bytes, source.dtype)
            known = same and None not in (old.checksum, source.checksum)
            changed = old.checksum != source.checksum if known else None
            if self.lifetimes or old.serial == source.serial != 0 or changed is False:
                links.append(Seen(LinkKind.DEVICE_HOST_DEVICE, max(writers), number, source.bytes, changed))
        layout = ("serial", "pointer", "shape", "stride", "dtype")
        before = next(((n, e.source) for n, e in self.events() if e.direction is H2D and e.source and source.serial
                       and all(getattr(e.source, f) == getattr(source, f) for f in layout)), None)  # fmt: skip
        if before is not None and before[1].checksum == source.checksum is not None:
            links.append(Seen(LinkKind.REPEAT, before[0], number, source.bytes, False))
        if not links and not detour and source.bytes >= 64 and source.checksum is not None:
            for n, e in self.events():
                end = e.target if e.direction is D2H else e.source
                equal = end is not None and (end.checksum, end.bytes) == (source.checksum, source.bytes)
                if equal and e.direction in (D2H, H2D):
                    links.append(Seen(LinkKind.EQUAL_CONTENT, n, number, source.bytes, False))
                    break
        return links


def spread(view: Memory) -> set[int]:
    """Every address from a view's first to its last."""
    if 0 in view.shape:
        return set()
    offsets = [0]
    for size, stride in zip(view.shape, view.stride, strict=True):
        offsets = [offset + index * stride for offset in offsets for index in range(size)]
    count = len(offsets)
    return set(range(view.pointer, view.pointer + (max(offsets) + 1) * (view.bytes // count)))


@st.composite
def views(draw: st.DrawFn) -> Memory:
    shape = draw(st.sampled_from([(0,), (), (1,), (4,), (2, 3), (16,), (64,)]))
    stride = {(2, 3): (4, 1), (4,): (2,)}.get(shape, (1,) * len(shape))
    count = 1
    for size in shape:
        count *= size
    width = draw(st.sampled_from([1, 4]))
    return Memory(
        pointer=draw(st.sampled_from([0, 4, 16, 64])),
        storage=0,
        storage_bytes=1024,
        bytes=count * width,
        shape=shape,
        stride=stride,
        dtype=draw(st.sampled_from(["bool", "uint8"] if width == 1 else ["float32", "int32"])),
        version=draw(st.integers(0, 1)),
        serial=draw(st.integers(0, 3)),
        checksum=draw(st.sampled_from([None, 1, 2])),
    )


@st.composite
def histories(draw: st.DrawFn) -> list[Item]:
    items: list[Item] = []
    for _ in range(draw(st.integers(1, 25))):
        if draw(st.integers(0, 4)) == 0:
            items.append(draw(st.integers(0, 3)))
            continue
        direction = draw(st.sampled_from([D2H, D2H, H2D, H2D, NONE]))
        source, target = (None, None) if direction is NONE else (draw(views()), draw(views()))
        items.append(
            event(
                direction,
                source,
                target,
                operation=draw(st.sampled_from([SCALAR, "aten::copy_"])),
                sync=draw(st.booleans()),
                value=draw(st.sampled_from([0, 0, 1000, 2000])),
                thread=draw(st.sampled_from("ab")),
            )
        )
    return items


def run(provenance: Provenance, items: list[Item]) -> list[list[Seen]]:
    steps = []
    for site, item in enumerate(items):
        if isinstance(item, int):
            provenance.gone(item)
            steps.append([])
        else:
            steps.append(provenance.see(item, site))
    return steps


def order(links: list[Seen]) -> list[str]:
    return sorted(map(str, links))


@settings(max_examples=200, deadline=None)
@given(histories(), st.booleans())
def test_random_histories_give_what_the_oracle_says(items: list[Item], lifetimes: bool) -> None:
    oracle = Oracle(lifetimes)
    expected = [order(oracle.take(item)) for item in items]
    got = [order(links) for links in run(Provenance(lifetimes=lifetimes), items)]
    assert got == expected


@settings(max_examples=50, deadline=None)
@given(histories(), st.integers(1, 3))
def test_memory_is_bounded(items: list[Item], limit: int) -> None:
    provenance = Provenance(limit, lifetimes=True)
    run(provenance, items * 3)
    held = [vars(provenance)[name] for name in vars(provenance) if hasattr(vars(provenance)[name], "_limit")]
    assert len(held) == 6
    assert all(len(one._held) <= limit for one in held)
    provenance.reset()
    assert seen(provenance, event(H2D, memory(0, b"a"), FRESH)) == []


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12), st.booleans()), max_size=25), st.integers(0, 42))
def test_ranges_are_what_was_put_last_on_each_address(puts: list[tuple[int, int, bool]], asked: int) -> None:
    ranges: Ranges[int] = Ranges(1000)
    addresses: dict[int, int] = {}
    for number, (start, size, forget) in enumerate(puts):
        ranges.put(start, start + size, number, number % 3)
        addresses.update(dict.fromkeys(range(start, start + size), number))
        if forget:
            ranges.forget(number % 3)
            addresses = {a: n for a, n in addresses.items() if n % 3 != number % 3}
    for end in range(asked, 45):
        expected = {addresses[a] for a in range(asked, end) if a in addresses}
        assert set(ranges.over(asked, end)) == expected


def test_ranges_forget_the_oldest() -> None:
    ranges: Ranges[str] = Ranges(2)
    for number, name in enumerate("abc"):
        ranges.put(number * 10, number * 10 + 5, name)
    assert len(ranges) == 2
    assert ranges.over(0, 100) == ["b", "c"]
