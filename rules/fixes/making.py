"""How a host tensor that is moved came to be: at once, over several statements, of what the host reads as well."""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.dataflow.operands import operands
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import ARRAY, FRESH, HOST, HOST_VALUE, OBJECT, ON_DEVICE, PINNED, TENSOR
from transferlint.knowledge.torch_distributions import SAMPLING
from transferlint.reasons import Cause, is_a
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import called, method, receiver
from . import creating
from .modernising import LEGACY

_OF_DATA = frozenset({"tensor", "as_tensor", *LEGACY})
_FILLS = frozenset({"empty", "zeros", "ones", "rand", "randn"})
_READS = frozenset({"item", "tolist", "numpy", "__array__"})
_MEMORY = ("data_ptr", "numpy", "untyped_storage")  # what gives the memory of a tensor to others
_VIEWED = 16  # instructions in which a tensor that was made is given a shape, before it gets a name
_MOST = 256  # steps that a variable is followed back over


def pins(function: FunctionFacts, made: Reg) -> bool:
    """True for a creation in pinned memory, which is there to be uploaded from."""
    create = function.code[made] if made >= 0 else None
    pin = dict(create.keywords).get("pin_memory") if isinstance(create, p.Call) else None
    if pin is None:
        return False
    asked = function.code[pin]
    return not (isinstance(asked, p.Const) and not asked.value)


def nothing(function: FunctionFacts, made: Reg) -> bool:
    """True for a creation of no elements, of which there is nothing to move: `torch.Tensor()`, `torch.empty(0)`."""
    create = function.code[made]
    name = called(function, made).removeprefix("torch.")
    if not isinstance(create, p.Call) or any(create.stars):
        return False
    if not create.args:
        return name in LEGACY and not create.keywords
    first = function.code[create.args[0]]
    if name in _OF_DATA and isinstance(first, p.Sequence):
        return not first.items
    none = isinstance(first, p.Const) and type(first.value) is int and first.value == 0
    return none and (name in _FILLS or name in LEGACY)


def sources(function: FunctionFacts, reg: Reg) -> Iterator[Reg]:
    """The calls that make the tensors from which a value is computed, through variables, by what was stored in them
    before."""
    seen: set[Reg] = set()
    pending = [reg]
    while pending and len(seen) < _MOST:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        made = function.code[at]
        if _makes(function, at):
            yield at
        elif isinstance(made, p.Load):
            stores = [function.code[r] for r in function.stores(made.slot) if r < at]
            pending += [one.value for one in stores if isinstance(one, p.Store)]
        else:
            pending += operands(made)


def _makes(function: FunctionFacts, reg: Reg) -> bool:
    root, _, last = called(function, reg).rpartition(".")
    return root == "torch" and (last in creating.MAKERS or last in LEGACY or last in ("as_tensor", "from_numpy"))


def creates(function: FunctionFacts, reg: Reg) -> bool:
    """True for a call of torch that fills a tensor with no data of the host."""
    return called(function, reg).removeprefix("torch.") in creating.MAKERS - _OF_DATA


def samples(function: FunctionFacts, made: Reg) -> bool:
    """True for samples of a distribution of torch, which are where its parameters are."""
    owner = receiver(function, made)
    if owner is None or method(function, made) not in SAMPLING:
        return False
    return not function.values[owner].is_a(OBJECT)  # of a class of the project's


def of_host_data(function: FunctionFacts, made: Reg) -> bool:
    """True for a tensor that is made of a list or an array of the host's, which has to cross wherever it is made; of
    one number it need not: the device can be told to fill it in."""
    last = called(function, made).rpartition(".")[2]
    create = function.code[made]
    if last not in _OF_DATA | {"from_numpy"} or not isinstance(create, p.Call) or not create.args:
        return False
    given = function.code[create.args[0]]
    return not isinstance(given, p.Const) and not function.values[create.args[0]].is_a(HOST_VALUE)


def filled_by_numpy(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a tensor that is made of an array which numpy fills there and then."""
    for at in sources(function, transfer.subject) if transfer.subject is not None else ():
        create = function.code[at]
        given = function.values[create.args[0]] if isinstance(create, p.Call) and create.args else None
        if given is not None and given.is_a(ARRAY) and given.flags & FRESH:
            return True
    return False


def read_on_host(function: FunctionFacts, transfer: Transfer, made: Reg) -> bool:
    """True where the host reads what was `made` of data, a tensor in a variable, before it is moved:
    `lengths.max().item()`."""
    if called(function, made).rpartition(".")[2] not in _OF_DATA:
        return False
    kept = [one.slot for one in function.code if isinstance(one, p.Store) and one.value == made]
    for at in range(made + 1, transfer.register):
        owner = receiver(function, at) if method(function, at) in _READS else None
        inner = function.expression(owner) if owner is not None else ()
        if any(isinstance(one := function.code[r], p.Load) and one.slot in kept for r in inner):
            return True
    return False


def instead_of_a_tensor(function: FunctionFacts, reg: Reg) -> bool:
    """True where a variable was found to be no tensor, and becomes one: `if not torch.is_tensor(x): x = ...`."""
    for number in _around(function, reg):
        region = function.function.regions[number]
        made = function.code[region.test] if region.test is not None else None
        if region.kind != "then" or not isinstance(made, p.Unary) or made.operator != "not":
            continue
        asked = _asked_for_tensor(function, made.operand)
        one = function.code[asked] if asked is not None else None
        if isinstance(one, p.Load) and any(function.inside(r, number) for r in function.stores(one.slot)):
            return True
    return False


def _around(function: FunctionFacts, reg: Reg) -> Iterator[int]:
    at = function.region(reg)
    while at > 0:
        yield at
        at = function.function.regions[at].parent


def _asked_for_tensor(function: FunctionFacts, reg: Reg) -> Reg | None:
    """What is asked whether it is a tensor; None for other tests."""
    made, name = function.code[reg], called(function, reg)
    if not isinstance(made, p.Call) or not made.args:
        return None
    if name == "torch.is_tensor":
        return made.args[0]
    kind = function.file.placement.names.dotted(function.function, made.args[1]) if len(made.args) == 2 else ""
    return made.args[0] if name == "builtins.isinstance" and kind == "torch.Tensor" else None


def made_and_moved(function: FunctionFacts, transfer: Transfer) -> Reg | None:
    """The creation of a tensor that is moved in the same turn, in code that may run often; None for other moves."""
    before = transfer.before
    if not (before.is_a(TENSOR) and before.places == HOST and before.flags & FRESH and transfer.places & ON_DEVICE):
        return None
    warmth = function.warmth(transfer.register)
    if before.reads or not before.why or (warmth.once and not is_a(warmth.amortised, Cause.NO_DATA)):
        return None  # where there is nothing may be often: on the processes that have no part in it
    made = before.why[0]
    if before.flags & PINNED or pins(function, made) or (made >= 0 and nothing(function, made)):
        return None
    if made < 0 or not function.has_text(made):
        return None
    around = function.loops(transfer.register)
    if around and function.loops(made)[-len(around) :] != around:
        return None  # made before the loop that moves it: an invariant transfer
    if _shared(function, made, transfer.register):
        return None
    return made


def _shared(function: FunctionFacts, made: Reg, until: Reg) -> bool:
    """True where somebody gets the memory of what was made before it is moved, and fills or reads it on the host:
    `out.data_ptr()`, `out.numpy()`."""
    taken = [at for name in _MEMORY for at in function.attributes(name) if made < at < until]
    views = _views(function, made) if taken else set()
    kept = {one.slot for one in function.code if isinstance(one, p.Store) and one.value in views} if taken else set()
    owners = (function.code[one.object] for at in taken if isinstance(one := function.code[at], p.Attr))
    return any(isinstance(owner, p.Load) and owner.slot in kept for owner in owners)


def _views(function: FunctionFacts, made: Reg) -> set[Reg]:
    """What was made, and what methods of it give, one after the other: `torch.empty(n).contiguous()`."""
    found = {made}
    for at in range(made + 1, min(made + _VIEWED, len(function.code))):
        owner = receiver(function, at)
        if owner in found:
            found.add(at)
    return found
