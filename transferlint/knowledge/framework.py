"""What a framework beside torch consists of, as far as placement asks: one table each, in a file of its own."""

from __future__ import annotations

from transferlint import late
from transferlint.knowledge.api import Api


@late.dataclass(frozen=True, slots=True)
class Tracer:
    """A function that traces others: what it is given runs once, with placeholders in the place of data, and never
    reads any (that raises, or is quiet). `positions` are those of the arguments it traces. `compiled`: what it gives
    back is called in their place, and gives device data. `runs`: it compiles what is called, so that who calls that is
    most likely not traced himself. `branches`: a test on the device says which of them runs."""

    names: tuple[str, ...]
    source: str
    positions: tuple[int, ...] = (0,)
    compiled: bool = True
    runs: bool = False
    branches: bool = False


@late.dataclass(frozen=True, slots=True)
class Framework:
    """A framework: `name` in settings and rules, `title` in texts, `roots` the imports that show that a file uses it.

    `array` is the class of its arrays; rows of `table` name its methods with it ("jax.Array.item"). `annotation`
    matches the qualified name of what an annotation calls such an array. `always` says that its arrays are on the
    device for certain, and not only where the program is given one, and that its code runs as it stands. `renamed`
    are beginnings of names that stand for others. `traced_bases` matches the qualified names of classes whose
    methods (`traced_methods`, all where that is None) are traced. `on_host` are attributes of an array that are
    known without its data. `host_settings` are calls (name, arguments that are constants) and environment variables
    (name, value) that leave a program without device. A call of one of `deferred` (their last names) shows a
    program that builds graphs and runs them later: what is computed in it has no data. `from_dlpack` takes another
    framework's tensor, as source spells it. `autograph` says that branches on its tensors are traced too, and that
    tensors serve as bounds of slices. `copies` are methods of an array that copy it to the host and give an array of
    the framework there. `replicas` are methods of a distribution strategy (what is called so) that run a function on
    each device and give a value for each, and `replicated` the names under which these are taken apart. `numpy` is the
    beginning of the names of what numpy's functions call instead, given such an array; "" where they copy it. `updates`
    are the last names of what changes parameters by gradients, methods of optimizers, models and states of a training
    that no other library has; `ints_on_host` the names of what leaves whole numbers of Python in host memory, where no
    type is asked for, and `host_types` the types of numbers whose kernels take and give host memory, wherever the rest
    computes; `keys` the qualified names of what makes keys of random numbers.
    """

    name: str
    title: str
    roots: tuple[str, ...]
    array: str
    annotation: str
    table: tuple[Api, ...]
    tracers: tuple[Tracer, ...]
    traced_bases: str
    traced_methods: frozenset[str] | None
    on_host: frozenset[str]
    host_settings: tuple[tuple[str, ...], ...]
    from_dlpack: str
    always: bool = False
    numpy: str = ""
    deferred: frozenset[str] = frozenset()
    autograph: bool = False
    copies: frozenset[str] = frozenset()
    replicas: frozenset[str] = frozenset()
    replicated: frozenset[str] = frozenset()
    renamed: tuple[tuple[str, str], ...] = ()
    updates: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
    ints_on_host: frozenset[str] = frozenset()
    host_types: frozenset[str] = frozenset()
