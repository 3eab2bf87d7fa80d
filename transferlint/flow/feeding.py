"""Which loops feed the device: each of their turns gives it work on the next batch, or on what the turn before left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transferlint import late
from transferlint.flow.dataflow.once import once
from transferlint.flow.dataflow.operands import tree
from transferlint.flow.frequency import loops
from transferlint.flow.lattice.values import FRAMEWORKS, MODULE, framework_of
from transferlint.flow.training_steps import trains
from transferlint.knowledge import frameworks
from transferlint.knowledge.tensorflow import TENSORFLOW
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

if TYPE_CHECKING:
    from transferlint.flow.facts import FunctionFacts

LOOPS = ("for", "while", "comprehension")
_RANGES = ("builtins.range", "tqdm.trange")
_DATA_SET = late.pattern(r"(^|_)(data_?set|(data_?)?loader)$")
_WRAPS = ("builtins.enumerate", "builtins.reversed", "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm")
_UNSTRIDED = 2  # range(start, stop)
_SHORT = 16  # turns of a demonstration, or of a search


@once
def feeds(function: FunctionFacts, loop: int) -> bool:
    """True for a loop each of whose turns gives the device work on the next batch, or on what the turn before left:
    not for one over a few settings, data sets or epochs, nor for one that waits for requests."""
    region = function.function.regions[loop]
    value = function.values[region.test] if region.test is not None else None
    kind = loops.classify(function.function, region, value)
    if kind == "epoch" and any(_counts_epochs(function, at) for at in _outside(function, loop)):
        kind = "step"  # `for step in range(steps_per_epoch)`
    if kind in ("few", "epoch") or _short(function, loop) or _takes_few(function, region.test):
        return False
    if region.kind == "while" and loops.sleeps(function.function, region):
        return False
    if loops.over_entries(function.function, region, mappings=True) or _over_loaders(function, loop):
        return False
    inside = function.within(loop)
    work = [reg for reg in inside if works(function, reg)]
    if not work:
        return False
    if kind == "step" and region.kind != "while":
        return True
    if region.kind == "while" and asks_device(function, loop):
        return True
    if any(always(function, reg) for reg in work):
        return True
    return any(trains(function, reg) for reg in inside) or _carries(function, inside)


def asks_device(function: FunctionFacts, loop: int) -> bool:
    """True for a loop that asks the device in every turn whether there is another, by what was read from it too."""
    test = function.function.regions[loop].test
    parts = [function.values[one] for one in tree(function.code, test)] if test is not None else []
    return any(value.reads or (value.on_device and value.flags & FRAMEWORKS) for value in parts)


def _over_loaders(function: FunctionFacts, loop: int) -> bool:
    """True for a loop of which each turn is about a data set of its own: `for name, dataset in datasets`."""
    names = (function.function.slot_names[slot] for slot in function.function.regions[loop].target_slots)
    return any(_DATA_SET.search(name) for name in names)


def _short(function: FunctionFacts, loop: int) -> bool:
    """True for a loop over a list of constants, which are settings (`for size in [100, 1000]`), by a variable too, and
    for one of a number of turns that the source tells, and that is small: no batch is one."""
    region = function.function.regions[loop]
    made = function.code[_bound(function, region.test)] if region.test is not None else None
    while isinstance(made, p.Call) and made.args and callee_name(function, made) in _WRAPS:
        made = function.code[_bound(function, made.args[0])]
    if isinstance(made, p.Call) and len(made.args) <= _UNSTRIDED and callee_name(function, made) in _RANGES:
        turns = [_number(function, one) for one in made.args]
        return bool(turns) and None not in turns and (turns[-1] or 0) - (turns[0] or 0 if turns[1:] else 0) <= _SHORT
    return isinstance(made, p.Sequence) and all(isinstance(function.code[one], p.Const) for one in made.items)


def _bound(function: FunctionFacts, reg: Reg) -> Reg:
    """What a variable is bound to, where that is one thing; the register itself for all else."""
    made = function.code[reg]
    stores = [function.code[at] for at in function.stores(made.slot)] if isinstance(made, p.Load) else []
    return stores[0].value if len(stores) == 1 and isinstance(stores[0], p.Store) else reg


def _number(function: FunctionFacts, reg: Reg) -> int | None:
    """The number that a register is known to hold, also by a constant of the module."""
    made = function.code[_bound(function, reg)]
    if isinstance(made, p.Outer) and function.index:
        module = function.file.functions[0]
        held = [at for at, name in enumerate(module.function.slot_names) if name == made.name]
        stores = [module.code[at] for slot in held for at in module.stores(slot)]
        made = module.code[stores[0].value] if len(stores) == 1 and isinstance(stores[0], p.Store) else made
    return made.value if isinstance(made, p.Const) and type(made.value) is int else None


def _takes_few(function: FunctionFacts, over: Reg | None) -> bool:
    """True for `dataset.take(1)`, also where it is counted."""
    made = function.code[over] if over is not None else None
    if isinstance(made, p.Call) and callee_name(function, made) == "builtins.enumerate" and made.args:
        made = function.code[made.args[0]]
    callee = function.code[made.function] if isinstance(made, p.Call) else None
    if not (isinstance(made, p.Call) and isinstance(callee, p.Attr) and callee.name == "take" and len(made.args) == 1):
        return False
    count = function.code[made.args[0]]
    return isinstance(count, p.Const) and isinstance(count.value, int) and count.value <= loops.FEW


def works(function: FunctionFacts, reg: Reg) -> bool:
    """True for what the device computes: a call of what is compiled or of a model, an operation on its arrays."""
    if reg in function.compiled:
        return True
    made, value = function.code[reg], function.values[reg]
    if isinstance(made, p.Call) and _of_model(function, made.function):
        return True
    if not isinstance(made, p.Call | p.Binary | p.Compare) or not value.on_device or not value.flags & FRAMEWORKS:
        return False
    # Keys of random numbers go from turn to turn too, and tell nothing of what the device has to do.
    return not (isinstance(made, p.Call) and callee_name(function, made) in frameworks.KEYS)


def _of_model(function: FunctionFacts, reg: Reg) -> bool:
    """True for a model of the framework, and for a method of one (`model.predict`)."""
    made = function.code[reg]
    if isinstance(made, p.Attr) and frameworks.own_row(TENSORFLOW, f"keras.Model.{made.name}") is not None:
        return any(function.transfers_at(user) for user in function.users(reg))
    return is_model(function, reg) or (isinstance(made, p.Attr) and is_model(function, made.object))


def is_model(function: FunctionFacts, reg: Reg) -> bool:
    """True for a model of the framework."""
    value = function.values[reg]
    return bool(value.kinds & MODULE and value.on_device and value.flags & FRAMEWORKS)


def always(function: FunctionFacts, reg: Reg) -> bool:
    found = framework_of(function.values[reg].flags)
    return found is not None and found.always


def _carries(function: FunctionFacts, inside: tuple[Reg, ...]) -> bool:
    """True where a variable or an attribute is bound to what the device computes from it: `state = step(state)`."""
    for reg in inside:
        made = function.code[reg]
        if not isinstance(made, p.Store | p.SetAttr):
            continue
        value = function.values[made.value]
        if not (value.on_device and value.flags & FRAMEWORKS):
            continue
        parts = list(tree(function.code, made.value))
        if not any(works(function, part) for part in parts):
            continue
        for part in parts:
            one = function.code[part]
            if isinstance(made, p.Store) and isinstance(one, p.Load) and one.slot == made.slot:
                fresh = any(inside[0] <= store < part for store in function.stores(made.slot))  # made in this turn
                if not fresh:
                    return True
            if isinstance(made, p.SetAttr) and isinstance(one, p.Attr) and one.name == made.name:
                return True
    return False


def _outside(function: FunctionFacts, loop: int) -> list[int]:
    """The loops around a loop."""
    found, at = [], function.function.regions[loop].parent
    while at > 0:
        if function.function.regions[at].kind in LOOPS:
            found.append(at)
        at = function.function.regions[at].parent
    return found


def _counts_epochs(function: FunctionFacts, loop: int) -> bool:
    region = function.function.regions[loop]
    value = function.values[region.test] if region.test is not None else None
    return loops.classify(function.function, region, value) == "epoch"


def callee_name(function: FunctionFacts, made: p.Call) -> str:
    return function.file.placement.names.dotted(function.function, made.function)
