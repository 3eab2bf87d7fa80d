"""What placement knows of one value: the lattice, its order and its join.

A `Value` is a point of a product lattice. Two components are sets of bits, ordered by inclusion and joined by union:

- `kinds`: what sort of thing it can be. `UNKNOWN` is a member like any other: TENSOR | UNKNOWN says "a tensor on one
  path, who knows what on another".
- `places`: where its data can be. `HOST`; `DEVICE` where the source proves it (`.cuda()`); `GIVEN` where it is on the
  device whenever the program is given one (a `device` variable, an argument of `forward`); `ANYWHERE` where nothing is
  known. For a `DEVICE_NAME` the places say which place it names; for a `MODULE`, where its parameters are.

The others have finite height too: `flags` joins by intersection for MUST flags and by union for MAY flags; `why` (the
sites that put it there), `reads` (downloads it was computed from) and `uploads` (uploads it was computed from) are
bounded sets; `item` (what a container holds) is bounded in depth; `name` falls to "" on disagreement. So every chain of
joins is finite and the analysis of a loop ends. `None` stands for "no value yet" (bottom).
"""

from __future__ import annotations

from collections.abc import Iterable

from transferlint.knowledge.framework import Framework
from transferlint.knowledge.frameworks import FRAMEWORKS as known_frameworks

# kinds
TENSOR = 1
MODULE = 2
ARRAY = 4  # numpy
HOST_VALUE = 8  # numbers, strings, None, shapes: what Python itself computes with
CONTAINER = 16
DEVICE_NAME = 32  # torch.device, "cuda", an index
DTYPE = 64
LOADER = 128  # yields batches
OBJECT = 256  # an instance of a class of this program, `name` says which
NAME = 512  # something known by its qualified name: a module, a function, a class
UNKNOWN = 1024
OPTIMIZER = 2048

# places
HOST = 1
DEVICE = 2
GIVEN = 4
ANYWHERE = 8
ON_DEVICE = DEVICE | GIVEN

# flags that hold on every path (joined by intersection)
PINNED = 1
BOOLEAN = 2  # a tensor of booleans: a mask
PARAMETER = 4  # a leaf that the module's own `.to` moves: nn.Parameter, a buffer
FRESH = 8  # made by a creation function in this very expression or assignment, used nowhere else
SCALAR = 16  # 0-d for sure
PLAIN = 32  # a tensor kept as a plain attribute: the module's `.to` leaves it behind
LITERAL = 64  # written out in the source, or computed from what is
INTEGER = 128
MAPPING = 256  # a container whose elements are its keys
BY_ARGUMENT = 512  # where the function's device argument says: made there, or a name of that place
EXTENDED = 1024  # of one dimension at least
MUST = PINNED | BOOLEAN | PARAMETER | FRESH | SCALAR | PLAIN | LITERAL | INTEGER | MAPPING | BY_ARGUMENT | EXTENDED
# flags that hold on some path (joined by union)
RESIDENT = 2048  # computed from something that was on the device already
MOVED = 4096  # an object on which .to(device) or .cuda() was called
DATA = 8192  # loaded, or taken from a data set: host data that changes from step to step
FROM_ANOTHER = 16384  # its place is that of an argument of another function
_PARAMETER = 15  # the lowest bit of those that say of which parameters; the highest is that of all further ones
_PARAMETERS = 24
FROM_PARAMETER = FROM_ANOTHER | ((1 << _PARAMETERS) - 1 << _PARAMETER)  # any of them: its place is that of an argument
# Of which framework it is, where not of torch: the order is that of `knowledge.frameworks.FRAMEWORKS`.
_FIRST_FRAMEWORK = _PARAMETER + _PARAMETERS
FRAMEWORKS = (1 << len(known_frameworks)) - 1 << _FIRST_FRAMEWORK
# A MUST flag: what a compiled function of a framework gave, an array or a tree of arrays, and so is all in it.
TREE = 1 << _FIRST_FRAMEWORK + len(known_frameworks)
DERIVED = TREE << 1  # a MUST flag: computed from the function's own arguments and from constants alone
OPTIONAL = TREE << 2  # a MAY flag beside PINNED: only if an option asks for it that is off by default
# A MAY flag beside FROM_PARAMETER: what an unknown call made of the argument. It is on the device where that is; of an
# argument on the host it may be anywhere.
HANDED = TREE << 3
# MUST flags: of one, two, three or four dimensions exactly, EXTENDED beside it. `ranks.py` says which.
_ONE_DIMENSION = TREE << 4
_MOST_DIMENSIONS = 4
_COUNTED = (1 << _MOST_DIMENSIONS) - 1 << (_ONE_DIMENSION.bit_length() - 1)
DIMENSIONS = SCALAR | EXTENDED | _COUNTED
# None on some path, beside what it is on the others. Joined by union as MAY flags are; what is computed has it not.
NULLABLE = TREE << 4 + _MOST_DIMENSIONS
# A MUST flag: data of the host that is the same at every call, in a variable of a module or an attribute that the
# constructor alone binds.
KEPT = TREE << 5 + _MOST_DIMENSIONS
SHAPES = DIMENSIONS | BOOLEAN | INTEGER
_ALWAYS = MUST | TREE | DERIVED | _COUNTED | KEPT
MAY = FROM_PARAMETER | RESIDENT | MOVED | DATA | FRAMEWORKS | OPTIONAL | HANDED

_BOUND = 4
_DEPTH = 3
_FIELDS = 40
_DEEPEST = 6  # containers within containers; what is further in is forgotten


NO_REGISTERS: frozenset[int] = frozenset()
Fields = tuple[tuple[str, "Value"], ...]  # in the order of their names


def framework_flag(name: str) -> int:
    """The flag of what is of a framework, by its name ("jax"); 0 for torch."""
    places = (at for at, framework in enumerate(known_frameworks) if framework.name == name)
    return next((1 << _FIRST_FRAMEWORK + at for at in places), 0)


def framework_of(flags: int) -> Framework | None:
    """The framework that flags name, the first where they name several; None for torch's and what nobody knows."""
    if not flags & FRAMEWORKS:
        return None
    return next(one for at, one in enumerate(known_frameworks) if flags >> _FIRST_FRAMEWORK + at & 1)


def from_parameter(slot: int) -> int:
    """The flag of what has the place of the parameter in a slot."""
    return 1 << _PARAMETER + min(slot, _PARAMETERS - 1)


SEVERAL = 100  # dimensions: one at least


def dimensions(flags: int) -> int | None:
    """How many dimensions a tensor has, SEVERAL for one or more; None where that is not known."""
    if not flags & DIMENSIONS:
        return None
    if flags & SCALAR:
        return 0
    counted = flags & _COUNTED
    return (counted // _ONE_DIMENSION).bit_length() if counted else SEVERAL


def of_dimensions(count: int | None) -> int:
    """The flags of a tensor with so many dimensions; SEVERAL for one or more, None for any number."""
    if count is None or count < 0:
        return 0
    if count == 0:
        return SCALAR
    return EXTENDED | (_ONE_DIMENSION << count - 1 if count <= _MOST_DIMENSIONS else 0)


class Value:
    """One point of the lattice; treat as immutable. `why`, `reads`, `uploads` hold registers of the same function
    (a why below zero is a parameter: -1 - slot). `fields` are what is known under names: of a dict under keys that are
    written out, of an object in the attributes that its constructor was given."""

    __slots__ = ("depth", "fields", "flags", "item", "items", "kinds", "name", "places", "reads", "uploads", "why")

    def __init__(
        self,
        kinds: int,
        places: int,
        flags: int = 0,
        why: tuple[int, ...] = (),
        item: Value | None = None,
        items: tuple[Value, ...] | None = None,
        name: str = "",
        reads: frozenset[int] = NO_REGISTERS,
        uploads: frozenset[int] = NO_REGISTERS,
        fields: Fields | None = None,
    ) -> None:
        self.kinds = kinds
        self.places = places
        self.flags = flags
        self.why = why
        self.depth = 0
        if item is not None or items is not None or fields:
            inner = [*(items or ()), *(value for _, value in fields or ()), *([item] if item is not None else [])]
            self.depth = 1 + max((v.depth for v in inner), default=0)
            if self.depth > _DEEPEST:
                self.depth, item, items, fields = 0, None, None, None
        self.item = item
        self.items = items
        self.fields = fields
        self.name = name
        self.reads = reads or NO_REGISTERS  # each empty set that is worked out is one of its own, of 216 bytes
        self.uploads = uploads or NO_REGISTERS

    def __reduce__(self) -> tuple[type[Value], tuple[object, ...]]:
        parts = self.kinds, self.places, self.flags, self.why, self.item, self.items, self.name
        return Value, (*parts, self.reads, self.uploads, self.fields)

    def but(
        self,
        kinds: int | None = None,
        places: int | None = None,
        flags: int | None = None,
        why: tuple[int, ...] | None = None,
        name: str | None = None,
        reads: frozenset[int] | None = None,
        uploads: frozenset[int] | None = None,
        fields: Fields | None = None,
    ) -> Value:
        """The same value but for what is given."""
        return Value(
            self.kinds if kinds is None else kinds,
            self.places if places is None else places,
            self.flags if flags is None else flags,
            self.why if why is None else why,
            self.item,
            self.items,
            self.name if name is None else name,
            self.reads if reads is None else reads,
            self.uploads if uploads is None else uploads,
            self.fields if fields is None else fields,
        )

    def field(self, name: object) -> Value | None:
        """What is known under a name."""
        return next((value for own, value in self.fields or () if own == name), None)

    def or_none(self) -> Value:
        """The same, or None."""
        return self if self.flags & NULLABLE else self.but(flags=self.flags | NULLABLE)

    def tensor(self) -> Value:
        """What it is where it is a tensor."""
        return Value(TENSOR, self.places, self.flags, self.why, reads=self.reads, uploads=self.uploads)

    def foreign(self) -> Value:
        """The same value for another function, to which registers and parameters of this one mean nothing."""
        own = FROM_PARAMETER | BY_ARGUMENT | DERIVED
        if not (self.why or self.reads or self.uploads or self.depth or self.flags & own):
            return self
        flags = self.flags & ~own | (FROM_ANOTHER if self.flags & FROM_PARAMETER else 0)
        items = None if self.items is None else tuple(value.foreign() for value in self.items)
        item = None if self.item is None else self.item.foreign()
        fields = self.fields and tuple((name, value.foreign()) for name, value in self.fields)
        return Value(self.kinds, self.places, flags, (), item, items, self.name, fields=fields)

    @property
    def is_none(self) -> bool:
        """True for `None` on every path."""
        return self.name == "None" and self.kinds == HOST_VALUE

    def is_a(self, kinds: int) -> bool:
        """True where it is one of the kinds on every path."""
        return bool(self.kinds) and not self.kinds & ~kinds

    def may_be(self, kinds: int) -> bool:
        """True where it is one of the kinds on some path."""
        return bool(self.kinds & kinds)

    @property
    def on_device(self) -> bool:
        """True where it is on the device on some path, and proven on the host on none but with a device path."""
        return bool(self.places & ON_DEVICE)

    @property
    def on_host(self) -> bool:
        """True where it is on the host on every path."""
        return self.places == HOST

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and (
            self is other
            or (
                self.kinds == other.kinds
                and self.places == other.places
                and self.flags == other.flags
                and self.name == other.name
                and self.why == other.why
                and self.reads == other.reads
                and self.uploads == other.uploads
                and self.item == other.item
                and self.items == other.items
                and self.fields == other.fields
            )
        )

    def __hash__(self) -> int:
        return hash((self.kinds, self.places, self.flags, self.name))

    def __repr__(self) -> str:
        return f"Value({describe(self)})"


NOTHING = Value(UNKNOWN, ANYWHERE)
PYTHON = Value(HOST_VALUE, HOST)
CONSTANT = Value(HOST_VALUE, HOST, LITERAL)
# `None`, which stands where something else will: joined with what raises where it is None, it adds nothing.
NONE = Value(HOST_VALUE, HOST, LITERAL, name="None")
_OR_NONE = HOST_VALUE | DEVICE_NAME | DTYPE  # of which None is a value like others: `device=None` is the default
HOST_TENSOR = Value(TENSOR, HOST)
HOST_ARRAY = Value(ARRAY, HOST)
DTYPE_VALUE = Value(DTYPE, HOST)


def join(left: Value | None, right: Value | None, depth: int = 0) -> Value | None:
    """The least value that is at least as high as both; None is bottom."""
    if left is None or left is right:
        return right
    if right is None or left == right:
        return left
    if left.is_none and right.kinds and not right.kinds & _OR_NONE:
        return right.or_none()
    if right.is_none and left.kinds and not left.kinds & _OR_NONE:
        return left.or_none()
    flags = (left.flags & right.flags & _ALWAYS) | ((left.flags | right.flags) & (MAY | NULLABLE))
    item = join(left.item, right.item, depth + 1) if depth < _DEPTH else (left.item or right.item)
    if _is_untold(left) or _is_untold(right):
        item = None
    items = None
    if left.items is not None and right.items is not None and len(left.items) == len(right.items) and depth < _DEPTH:
        pairs = zip(left.items, right.items, strict=True)
        items = tuple(join(a, b, depth + 1) or NOTHING for a, b in pairs)
    return Value(
        left.kinds | right.kinds,
        left.places | right.places,
        flags,
        _first(left, right),
        item,
        items,
        left.name if left.name == right.name else "",
        _bounded(left.reads, right.reads),
        _bounded(left.uploads, right.uploads),
        _merged(left.fields, right.fields, depth),
    )


def _is_untold(value: Value) -> bool:
    """True for a loader of which nobody knows what its batches hold: that is no empty one."""
    return bool(value.kinds & LOADER) and value.item is None


def _merged(left: Fields | None, right: Fields | None, depth: int) -> Fields | None:
    """The fields of both: what only one has is read where that is at hand, as the other would raise."""
    if left is right:
        return left
    if left is None or right is None or depth >= _DEPTH:
        return None
    found = dict(left)
    for name, value in right:
        found[name] = join(found.get(name), value, depth + 1) or NOTHING
    return tuple(sorted(found.items(), key=_name_of)) if len(found) <= _FIELDS else None


def _name_of(field: tuple[str, Value]) -> str:
    return field[0]


def with_field(fields: Fields | None, name: str, value: Value) -> Fields | None:
    """Fields with what one holds from now on."""
    if fields is None or (len(fields) >= _FIELDS and all(own != name for own, _ in fields)):
        return None
    return tuple(sorted({**dict(fields), name: value}.items(), key=_name_of))


def holding(container: Value, value: Value, fields: Fields | None) -> Value:
    """A container that is given an element, after which `fields` are what is known of it by name."""
    held = container.item is not None
    places = container.places | value.places if held else value.places
    flags = container.flags & ~LITERAL & (~FRESH | value.flags)
    item, reads = join(container.item, value), _bounded(container.reads, value.reads)
    return Value(container.kinds, places, flags, container.why or value.why, item, reads=reads, fields=fields)


def returned_alike(one: Value | None, other: Value | None) -> bool:
    """Whether two results are the same but for registers, which mean nothing to a caller."""
    if one is other:
        return True
    if one is None or other is None:
        return False
    if (one.kinds, one.places, one.flags, one.name, bool(one.reads), bool(one.uploads)) != (
        other.kinds, other.places, other.flags, other.name, bool(other.reads), bool(other.uploads)
    ):  # fmt: skip
        return False
    if [name for name, _ in one.fields or ()] != [name for name, _ in other.fields or ()]:
        return False
    inner, others = ((v.item, *(v.items or ()), *(value for _, value in v.fields or ())) for v in (one, other))
    known = (one.items is None, one.fields is None) == (other.items is None, other.fields is None)
    return known and len(inner) == len(others) and all(map(returned_alike, inner, others))


def updated(fields: Fields | None, more: Fields | None) -> Fields | None:
    """Fields with what others hold from now on."""
    if more is None:
        return None
    for name, value in more:
        fields = with_field(fields, name, value)
    return fields


def _first(left: Value, right: Value) -> tuple[int, ...]:
    """Whose sites explain the join: those of the side that is on the device, the left one's where both are."""
    if left.places & ON_DEVICE and left.why:
        return left.why
    return right.why if right.places & ON_DEVICE and right.why else left.why or right.why


def _bounded(left: frozenset[int], right: frozenset[int]) -> frozenset[int]:
    if not right or left is right:
        return left
    if not left:
        return right
    if right <= left:
        return left  # no new one where most are the same
    both = left | right
    return both if len(both) <= _BOUND else frozenset(sorted(both)[:_BOUND])


def combine(values: list[Value]) -> tuple[int, tuple[int, ...], frozenset[int], frozenset[int], int]:
    """What an operation on these operands inherits: (places, why, reads, uploads, MAY flags, and BY_ARGUMENT).

    A device operand wins over ones that are on the host for sure: mixing a device tensor with numbers or 0-d host
    tensors computes on the device, and so does a tensor that is there on every path, whatever the others may be. One
    that is on the device only on some paths is so after the operation too. Where no operand is known to be on the
    device, the places are united; but with a host tensor of some dimension no tensor on the device can be computed
    (docs.pytorch.org notes/cuda: only 0-d host tensors mix with tensors of the device), so that the result is there.
    """
    places = flags = 0
    named = BY_ARGUMENT
    on_host = settled = held = others = False
    assumed = True
    why: tuple[int, ...] = ()
    reads: frozenset[int] = frozenset()
    uploads: frozenset[int] = frozenset()
    for value in values:
        flags |= value.flags & MAY
        reads = _bounded(reads, value.reads)
        uploads = _bounded(uploads, value.uploads)
        if value.kinds & (HOST_VALUE | DTYPE | DEVICE_NAME | NAME) and not value.kinds & (TENSOR | CONTAINER | UNKNOWN):
            continue
        where = value.item.places if value.kinds == CONTAINER and value.item is not None else value.places
        if where == HOST:
            on_host = True
            held = held or extended_there(value)
            continue
        places |= where
        others = others or not value.uploads
        named &= value.flags
        settled = settled or (value.is_a(TENSOR) and not where & ~ON_DEVICE)
        if value.places & ON_DEVICE:
            why = why or value.why
            assumed = assumed and only_assumed(value)
    if places & ON_DEVICE and held and assumed:
        places = HOST
    elif places & ON_DEVICE:
        nobody_knows = GIVEN if places & ANYWHERE and not settled else 0  # on a path of its own: no proof is left
        places = places & (ON_DEVICE if settled else ON_DEVICE | HOST) | nobody_knows
    elif on_host:
        places = HOST if held else places | HOST
    uploads = frozenset() if others else uploads  # it is computed of what was not uploaded here as well
    return places or HOST, why, reads, uploads, flags | (named if places & ON_DEVICE else 0)


def extended_there(value: Value) -> bool:
    """True for a tensor on the host that has a dimension: no tensor of the device can be computed with it."""
    return bool(value.places == HOST and value.flags & EXTENDED and value.is_a(TENSOR))


def only_assumed(value: Value) -> bool:
    """True for what is on the device if an argument is, of which no more is known."""
    return value.places & ON_DEVICE == GIVEN and bool(value.flags & FROM_PARAMETER)


def made_of(values: Iterable[Value]) -> int:
    """The flag of what is computed from these operands: FRESH where all are, DERIVED where the others are that."""
    flags = [value.flags for value in values]
    if all(one & FRESH for one in flags):
        return FRESH
    return DERIVED if all(one & (FRESH | DERIVED) for one in flags) else 0


def kept(value: Value) -> Value:
    """What is held under one name from the start on: tensors and arrays on the host, and tables of them."""
    if value.is_a(TENSOR | ARRAY) and value.on_host and not value.flags & DATA:
        return value.but(flags=value.flags | KEPT)
    if value.is_a(CONTAINER) and value.flags & MAPPING and value.item is not None:
        fields = value.fields and tuple((name, kept(part)) for name, part in value.fields)
        return Value(value.kinds, value.places, value.flags, value.why, kept(value.item), fields=fields)
    return value


def held_on_device(value: Value) -> bool:
    """True for what is copied to the host where it is read: a tensor on the device, on every path that gives it a kind,
    or what a compiled function of another framework gave, which is an array where anything reads it."""
    if not value.places & ON_DEVICE:
        return False
    if value.kinds and not value.kinds & ~TENSOR:
        return True
    return value.kinds == UNKNOWN and bool(value.flags & TREE)


def put_into_words(value: Value) -> bool:
    """True for what is copied to the host where a text is made of it: a tensor on the device, on some path."""
    return held_on_device(value) or on_device_or_plain(value)


def number_of_device(value: Value) -> bool:
    """True for what is copied to the host where a number is made of it: a tensor on the device on some path, on the
    others a tensor there, or nobody knows what."""
    return held_on_device(value) or (
        value.on_device and not value.places & HOST and value.may_be(TENSOR) and value.is_a(TENSOR | UNKNOWN)
    )


def on_device_or_plain(value: Value) -> bool:
    """True for what is a tensor on the device on some path, and a tensor or a number on all."""
    return value.on_device and value.may_be(TENSOR) and value.is_a(TENSOR | HOST_VALUE)


def held_on_host(value: Value, unless: int = 0) -> bool:
    """True for tensors and arrays that are on the host on every path, and for containers of nothing but these; `unless`
    they have one of some flags."""
    if value.is_a(CONTAINER):
        parts = value.items or ((value.item,) if value.item is not None else ())
        return value.on_host and bool(parts) and all(held_on_host(part, unless) for part in parts)
    return value.is_a(TENSOR | ARRAY) and value.on_host and not value.flags & unless


def element(value: Value) -> Value:
    """What iterating over a value gives."""
    if value.flags & MAPPING:
        return PYTHON
    if value.item is not None:
        either = value.kinds & TENSOR and value.kinds & CONTAINER
        return (join(value.item, element(value.tensor())) or value.item) if either else value.item
    if value.kinds & LOADER:
        return Value(UNKNOWN, HOST, value.flags | DATA)
    if value.is_a(CONTAINER):
        return Value(UNKNOWN, value.places if value.places != HOST else ANYWHERE, value.flags)
    if value.is_a(TENSOR) and value.flags & DIMENSIONS:
        count = dimensions(value.flags)
        fewer = of_dimensions(count - 1) if count is not None and count != SEVERAL else 0
        return value.but(flags=value.flags & ~DIMENSIONS | fewer)
    if value.is_a(TENSOR | ARRAY | HOST_VALUE):
        return value
    if value.kinds & MODULE:
        return Value(value.kinds & (MODULE | UNKNOWN), value.places, why=value.why)
    if value.kinds & UNKNOWN:
        return Value(UNKNOWN, value.places, value.flags, value.why, reads=value.reads, uploads=value.uploads)
    return NOTHING


_KIND_NAMES = (
    (TENSOR, "tensor"),
    (MODULE, "module"),
    (ARRAY, "array"),
    (HOST_VALUE, "python"),
    (CONTAINER, "container"),
    (DEVICE_NAME, "device-name"),
    (DTYPE, "dtype"),
    (LOADER, "loader"),
    (OBJECT, "object"),
    (NAME, "name"),
    (OPTIMIZER, "optimizer"),
    (UNKNOWN, "unknown"),
)
_PLACE_NAMES = ((HOST, "host"), (DEVICE, "device"), (GIVEN, "device-if-given"), (ANYWHERE, "anywhere"))
_FLAG_NAMES = (
    (PINNED, "pinned"),
    (BOOLEAN, "boolean"),
    (PARAMETER, "parameter"),
    (FRESH, "fresh"),
    (SCALAR, "0-d"),
    (PLAIN, "plain attribute"),
    (LITERAL, "literal"),
    (INTEGER, "integer"),
    (MAPPING, "mapping"),
    (EXTENDED, "1-d or more"),
    *((_ONE_DIMENSION << one, f"{one + 1}-d") for one in range(_MOST_DIMENSIONS)),
    (BY_ARGUMENT, "where the device argument says"),
    (FROM_PARAMETER, "from argument"),
    (RESIDENT, "resident"),
    (MOVED, "moved"),
    (DATA, "data"),
    (OPTIONAL, "if asked"),
    (DERIVED, "derived"),
    (NULLABLE, "or None"),
    (KEPT, "kept"),
)


def describe(value: Value) -> str:
    """The value in words, for `transferlint debug facts`."""
    kinds = "|".join(word for bit, word in _KIND_NAMES if value.kinds & bit)
    places = "|".join(word for bit, word in _PLACE_NAMES if value.places & bit)
    framework = framework_of(value.flags)
    named = [framework.name] if framework is not None else []
    flags = " ".join([*named, *(word for bit, word in _FLAG_NAMES if value.flags & bit)])
    rest = "".join(
        (
            f" {value.name}" if value.name else "",
            f" [{flags}]" if flags else "",
            f" of ({describe(value.item)})" if value.item else "",
            "".join(f" {name!r}: ({describe(one)})" for name, one in value.fields or ()),
            f" reads {sorted(value.reads)}" if value.reads else "",
            f" uploads {sorted(value.uploads)}" if value.uploads else "",
        )
    )
    return f"{kinds} on {places}{rest}"
