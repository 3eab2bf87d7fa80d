"""What compiled code calls on the host: whether the framework could do that itself."""

from __future__ import annotations

from transferlint import late
from transferlint.flow.callgraph.names import split
from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.knowledge import frameworks, roles
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import called

_ARGUMENTS = ("func", "callback")
_SHOWS = ("jax.debug.print",)
_COMPUTES = ("numpy.", "math.", "tensorflow.", "jax.", "cv2.", "operator.")
# Builtins that compute, and make of one value another (docs.python.org, built-in functions).
_BUILTINS = frozenset(
    "abs all any bool divmod enumerate filter float int isinstance len list map max min pow range reversed round"
    " slice sorted sum tuple zip".split()
)
# What goes over elements on the device.
_LOOPS = late.pattern(r"\.(scan|fori_loop|while_loop|map|map_fn|associative_scan)$")
_DEPTH = 4


def only_computes(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where Python prints what it gets, which can be returned and printed later, or nothing but computes with it,
    as the framework's own operations can. Not where it uses what only Python has (an environment, a tokenizer, a file)
    or raises, nor where nobody knows what it does."""
    if transfer.api.startswith(_SHOWS):
        return True
    made = function.code[transfer.register]
    if not isinstance(made, p.Call):
        return False
    given = next((r for key, r in made.keywords if key in _ARGUMENTS), made.args[0] if made.args else None)
    return given is not None and _computing(function, given, _DEPTH)


@once
def loops_on_the_device(function: FunctionFacts) -> bool:
    """True for compiled code that goes over elements itself: what it does beside that is done once for all of them."""
    names = function.file.placement.names
    calls = (made for reg in function.of(p.Call) if isinstance(made := function.code[reg], p.Call))
    called_ = (names.dotted(function.function, made.function) for made in calls)
    return any(frameworks.known(name) is not None and _LOOPS.search(name) for name in called_ if name)


def _computing(function: FunctionFacts, reg: Reg, depth: int) -> bool:
    """True for a function that only computes, as an expression names it."""
    made = function.code[reg]
    if isinstance(made, p.Make):
        return depth > 0 and _body(function.file.functions[made.function], depth)
    name = function.file.placement.names.dotted(function.function, reg) or function.values[reg].name
    place = split(function.file.placement.names.resolved(name)) if name else None
    if place is not None and place[0] == function.file.path:
        return depth > 0 and _body(function.file.functions[place[1]], depth)
    if name.startswith("builtins."):
        return name[9:] in _BUILTINS
    return name.startswith(_COMPUTES) and not roles.FILES.search(name)


@once
def _body(function: FunctionFacts, depth: int) -> bool:
    """True where all that a function calls computes, on its arguments and what it made of them."""
    if function.of(p.Raise, p.StoreOuter, p.SetAttr):
        return False
    return all(_call(function, reg, depth - 1) for reg in function.of(p.Call))


def _call(function: FunctionFacts, reg: Reg, depth: int) -> bool:
    made = function.code[reg]
    assert isinstance(made, p.Call)
    callee = function.code[made.function]
    if called(function, reg) or not isinstance(callee, p.Attr):
        return _computing(function, made.function, depth)
    root = callee.object
    while isinstance(at := function.code[root], p.Attr | p.Subscript):
        root = at.object
    kept = function.code[root]
    own = isinstance(kept, p.Load) and function.function.slot_names[kept.slot] in ("self", "cls")
    return not own and not isinstance(kept, p.Outer)
