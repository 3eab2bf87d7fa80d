"""What a loop goes over: a few constants, epochs, steps, or elements of something."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from transferlint.flow.dataflow import guards
from transferlint.flow.dataflow.once import once
from transferlint.flow.dataflow.operands import operands
from transferlint.flow.lattice.values import LOADER, MODULE, Value
from transferlint.knowledge import roles
from transferlint.knowledge.frameworks import UPDATES
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg
from transferlint.syntax.regions import Region

FEW = 4
_LOOPS = frozenset({"for", "while"})
_ARMS = frozenset({"then", "else"})
_BARS = frozenset({"tqdm", "trange"})
_REQUESTS = frozenset({"recv", "broadcast", "input", "accept", "readline"})
_ENTRIES = frozenset({"items", "keys", "values"})
_DRAWING = frozenset({"next", "next_batch", "get_batch", "__next__"})
_STRIDED = 3  # range(start, stop, size): batches of something


def classify(function: Function, region: Region, value: Value | None) -> str:
    """What the loop of a region goes over, "few", "epoch", "step" or "element"; `value` is what its iterable holds."""
    if region.kind != "comprehension" and _tries(function, region):
        return "few"
    if region.test is None:
        return "epoch" if region.kind == "while" and _awaits(function, region) else "step"
    words = [function.slot_names[s] for s in region.target_slots]
    spelled = _spelled(function, region.test)
    if region.kind == "while":
        return "epoch" if any(roles.EPOCH_WORDS.search(w) for w in spelled) else "step"
    iterable = function.code[region.test]
    loader = _loads(value)
    if _few(function, iterable):
        return "few"
    if isinstance(iterable, p.Call) and _short_range(function, iterable):
        return "few"
    epochs = any(roles.EPOCH_WORDS.search(w) for w in words) and not loader
    if _strides(function, iterable):
        return "epoch" if epochs and any(roles.EPOCH_WORDS.search(w) for w in spelled) else "step"
    if epochs:
        return "epoch"
    if any(roles.FEW_WORDS.match(w) for w in spelled):
        return "few"
    if loader or any(roles.LOADER_WORDS.search(w) for w in spelled):
        return "step"
    if any(roles.EPOCH_WORDS.search(w) for w in spelled):
        return "epoch"
    if region.kind == "for" and any(roles.STEP_WORDS.search(w) for w in words + spelled):
        return "step"
    return "element"


def over_batches(function: Function, region: Region, value: Value | None) -> bool:
    """True for a `for` loop over a loader, by what its iterable holds or is called, or over the starts of batches:
    `range(0, len(rows), size)`."""
    if region.test is None:
        return False
    if _loads(value) or _strides(function, function.code[region.test]):
        return True
    return any(roles.LOADER_WORDS.search(name) for name in _spelled(function, region.test) if name not in _BARS)


def _loads(value: Value | None) -> bool:
    return value is not None and bool(value.kinds & LOADER)


def _strides(function: Function, iterable: p.Instruction) -> bool:
    """True for `range(0, len(rows), size)`."""
    return isinstance(iterable, p.Call) and len(iterable.args) == _STRIDED and _is_range(function, iterable)


def _tries(function: Function, region: Region) -> bool:
    """True for a loop that tries until it succeeds: `while True: try: ...; break`."""
    at = next(number for number, one in enumerate(function.regions) if one is region)
    tried = [n for n, one in enumerate(function.regions) if one.kind == "try" and one.parent == at]
    if len(tried) != 1 or function.regions[tried[0]].leaves not in ("break", "return"):
        return False
    suite = function.regions[tried[0]]
    return not any(
        one.leaves == "continue" and any(around is suite for around in function.ancestors(number))
        for number, one in enumerate(function.regions)
    )


def _awaits(function: Function, region: Region) -> bool:
    """True for a loop that waits for requests: each turn is a run of its own."""
    at = next(number for number, one in enumerate(function.regions) if one is region)
    for block in function.blocks:
        if block.region != at:
            continue
        for made in function.code[block.start : block.end]:
            if isinstance(made, p.Call):
                callee = function.code[made.function]
                if isinstance(callee, p.Attr | p.Outer) and callee.name in _REQUESTS:
                    return True
    return False


def sleeps(function: Function, region: Region, always: bool = False) -> bool:
    """True for a loop that lets time pass in some of its turns, until there is something to do (`time.sleep(10)`);
    `always`: in all of them."""
    at = next(number for number, one in enumerate(function.regions) if one is region)
    for reg in function.lookup.registers(at):
        if always and function.lookup.regions[reg] != at:
            continue
        made = function.code[reg]
        callee = function.code[made.function] if isinstance(made, p.Call) else None
        if isinstance(callee, p.Attr | p.Outer) and callee.name == "sleep":
            return True
    return False


def _spelled(function: Function, reg: Reg) -> list[str]:
    """The names that say what is gone over: of a call the callee and the first argument, not the options."""
    made = function.code[reg]
    if isinstance(made, p.Subscript):
        return _spelled(function, made.object)
    if not isinstance(made, p.Call):
        return list(guards.identifiers(function, reg))
    found = list(guards.identifiers(function, made.function))
    for argument in made.args if found[:1] in (["zip"], ["range"]) else made.args[:1]:
        found += _spelled(function, argument)
    return found


def _is_range(function: Function, iterable: p.Call) -> bool:
    callee = function.code[iterable.function]
    return isinstance(callee, p.Outer) and callee.name in ("range", "trange")


def _few(function: Function, iterable: p.Instruction) -> bool:
    """True for a display of a few items, also where they are counted: `enumerate([10, 20])`."""
    if isinstance(iterable, p.Call) and len(iterable.args) == 1:
        callee = function.code[iterable.function]
        if isinstance(callee, p.Outer) and callee.name in ("enumerate", "reversed", "sorted"):
            iterable = function.code[iterable.args[0]]
    return isinstance(iterable, p.Sequence) and len(iterable.items) <= FEW and not any(iterable.stars)


def _short_range(function: Function, iterable: p.Call) -> bool:
    if not _is_range(function, iterable) or len(iterable.args) != 1:
        return False
    bound = function.code[iterable.args[0]]
    return isinstance(bound, p.Const) and isinstance(bound.value, int) and bound.value <= FEW


def training(function: Function, compiled: frozenset[Reg] = frozenset()) -> frozenset[int]:
    """The innermost loops (regions) around backward passes, and what changes parameters by their gradients: each of
    their turns is a step, also where one batch is all of the data, and the loop counts epochs. Where gradients are
    added up in a loop within, both are. So are those around calls of what a framework compiled (`compiled`), but for
    loops with another such loop inside."""
    found: set[int] = set()
    steps: list[list[int]] = []
    updating = updates(function)
    for block in function.blocks:
        around = _loops_around(function, block.region)
        for at in range(block.start, block.end) if around else ():
            if _trains(function, at, updating):
                found.update(_not_over(function, around, at)[:1])
        if compiled and around and not compiled.isdisjoint(range(block.start, block.end)):
            steps.append(around)
    outer = {region for around in steps for region in around[1:]}
    return frozenset(found | {around[0] for around in steps} - outer)


def _not_over(function: Function, around: Sequence[int], call: Reg) -> list[int]:
    """The loops, innermost first, without those over what a call is about, which are parts of one step: `for loss in
    losses: loss.backward()`, `for opt in optimizers: scaler.step(opt)`."""
    made = function.code[call]
    callee = function.code[made.function] if isinstance(made, p.Call) else None
    if not isinstance(made, p.Call) or not isinstance(callee, p.Attr):
        return list(around)
    owner = function.code[callee.object]
    about = [callee.object, *made.args[:1]]
    if isinstance(owner, p.Call) and isinstance(by := function.code[owner.function], p.Attr) and by.name == "scale":
        about += owner.args[:1]
    slots = {one.slot for reg in about if isinstance(one := function.code[reg], p.Load)}
    return [at for at in around if slots.isdisjoint(function.regions[at].target_slots)]


def _loops_around(function: Function, region: int) -> list[int]:
    """The loops among a region and those around it, innermost first."""
    found = []
    while region > 0:
        if function.regions[region].kind in _LOOPS:
            found.append(region)
        region = function.regions[region].parent
    return found


@once
def takes_a_step(function: Function) -> bool:
    """True where a function goes backward, or changes parameters, outside of all loops, whatever its arguments: one
    call of it is one step of a training whose loop is its caller's. What goes backward in one arm alone may do so
    for a step or for a look."""
    return _always_outside(function, lambda at: _trains(function, at, updates(function)))


@once
def adds_up(function: Function) -> bool:
    """True where a function changes parameters once, outside of all loops: those that go backward within it add up
    gradients, and are no steps of their own."""
    return _always_outside(function, lambda at: at in updates(function))


def _always_outside(function: Function, holds: Callable[[Reg], bool]) -> bool:
    """True where code outside of all loops but those over what it is about, on whatever path, holds something."""
    seen: set[str] = set()
    for block in function.blocks:
        around = _loops_around(function, block.region)
        kinds = {region.kind for region in function.ancestors(block.region) if not region.implied}
        if any(holds(at) and not _not_over(function, around, at) for at in range(block.start, block.end)):
            seen |= kinds & _ARMS or _ARMS
    return seen == _ARMS


@once
def updates(function: Function) -> frozenset[Reg]:
    """The calls by which optimizers change parameters: `opt.step()`, and `scaler.step(opt)`, of what the function
    clears the gradients of as well (docs.pytorch.org, torch.optim 'Taking an optimization step')."""
    cleared: set[str] = set()
    stepped: list[tuple[Reg, set[str]]] = []
    for reg in function.lookup.of(p.Call):
        made = function.code[reg]
        callee = function.code[made.function] if isinstance(made, p.Call) else None
        if not isinstance(made, p.Call) or not isinstance(callee, p.Attr):
            continue
        if callee.name == "zero_grad":
            cleared.add(_spelling(function, callee.object))
        elif callee.name == "step":
            stepped.append((reg, {_spelling(function, one) for one in (callee.object, *made.args[:1])} - {""}))
    return frozenset(reg for reg, names in stepped if names & cleared)


def _spelling(function: Function, reg: Reg) -> str:
    """A variable or attribute as it is written, `self.opt`; "" for what is computed."""
    made = function.code[reg]
    if isinstance(made, p.Load):
        return function.slot_names[made.slot]
    if isinstance(made, p.Outer):
        return made.name
    owner = _spelling(function, made.object) if isinstance(made, p.Attr) else ""
    return f"{owner}.{made.name}" if isinstance(made, p.Attr) and owner else ""


def _trains(function: Function, at: Reg, updating: frozenset[Reg]) -> bool:
    return at in updating or _goes_backward(function, function.code[at])


def evaluates(function: Function, index: int, values: Sequence[Value]) -> bool:
    """True for a loop that moves what it goes over to the device, or what is made of that (`tokenizer(text)`), and
    calls a module: each turn is a batch. Not for the entries of a mapping; within another loop, only for what is moved
    as it is, as rows that are made tensors one by one are parts of a batch."""
    region, moves, calls = function.regions[index], False, False
    if over_entries(function, region, mappings=True):
        return False
    within = any(one.kind in _LOOPS for one in function.ancestors(region.parent))
    through: type = p.Subscript if within else object
    slots, derived = set(region.target_slots), set[Reg]()
    for reg in function.lookup.registers(index):
        made = function.code[reg]
        inner = function.regions[function.lookup.regions[reg]]
        if inner.kind == "comprehension" and inner.test in derived:
            slots.update(inner.target_slots)
        callee = function.code[made.function] if isinstance(made, p.Call) else None
        module = isinstance(made, p.Call) and bool(values[made.function].kinds & MODULE)
        if isinstance(made, p.Store) and made.value in derived:
            slots.add(made.slot)
        elif isinstance(made, p.Load):
            derived |= {reg} if made.slot in slots else set()
        elif isinstance(made, through) and not module and not derived.isdisjoint(operands(made)):
            derived.add(reg)
        if not isinstance(made, p.Call) or not _innermost(function, reg, region):
            continue
        if isinstance(callee, p.Attr) and callee.name in ("to", "cuda"):
            moves = moves or (callee.object in derived and not values[callee.object].kinds & MODULE)
        elif made.function not in derived:
            calls = calls or module
    return moves and calls


def _innermost(function: Function, reg: Reg, loop: Region) -> bool:
    around = function.ancestors(function.lookup.regions[reg])
    return next((one for one in around if one.kind in _LOOPS), None) is loop


def _goes_backward(function: Function, made: p.Instruction) -> bool:
    callee = function.code[made.function] if isinstance(made, p.Call) else None
    return isinstance(callee, p.Attr) and (callee.name == "backward" or callee.name in UPDATES)


def over_entries(function: Function, region: Region, mappings: bool) -> bool:
    """True for a loop over what a module is made of, or (`mappings`) over the entries of a mapping:
    `model.named_parameters()`, `metrics.items()`, `sorted(state.keys())`."""
    made = function.code[region.test] if region.test is not None else None
    while isinstance(made, p.Call):
        callee = function.code[made.function]
        if isinstance(callee, p.Attr):
            return callee.name in roles.PARTS or (mappings and callee.name in _ENTRIES and not made.args)
        made = function.code[made.args[0]] if isinstance(callee, p.Outer) and made.args else None
    return False


def draws(function: Function, index: int, values: Sequence[Value]) -> bool:
    """True for a loop that takes a batch in each turn from a loader, or from its iterator: `next(batches)`,
    `loader.next_batch()`."""
    for reg in function.lookup.registers(index):
        made = function.code[reg]
        callee = function.code[made.function] if isinstance(made, p.Call) else None
        if isinstance(callee, p.Outer) and callee.name == "next" and isinstance(made, p.Call) and made.args:
            stores, source = guards.single_stores(function), made.args[0]
            while isinstance(held := function.code[source], p.Load) and stores.get(held.slot, source) < source:
                source = stores[held.slot]
        elif isinstance(callee, p.Attr) and callee.name in _DRAWING:
            source = callee.object
        else:
            continue
        named = any(roles.LOADER_WORDS.search(word) for word in _spelled(function, source))
        if (named or values[source].kinds & LOADER) and _innermost(function, reg, function.regions[index]):
            return True
    return False


def checks(function: Function, index: int) -> bool:
    """True for a loop that does nothing but raise where something is wrong."""
    arms = [region for region in function.regions if region.parent == index]
    if not arms or any(region.leaves != "raise" for region in arms):
        return False
    blocks = (block for block in function.blocks if block.region == index)
    done = (p.SetAttr, p.SetItem, p.StoreOuter, p.Discard, p.Return, p.Yield)
    return not any(isinstance(made, done) for block in blocks for made in function.code[block.start : block.end])
