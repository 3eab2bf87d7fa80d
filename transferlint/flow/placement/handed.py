"""Functions of the checked source that are passed to what calls them, now or later."""

from __future__ import annotations

from transferlint.flow.lattice.values import NAME, NOTHING, Value, element
from transferlint.flow.placement import effects, known_calls
from transferlint.flow.placement.frame import Frame
from transferlint.knowledge.lookup import callbacks
from transferlint.model import Level
from transferlint.syntax.program import Attr, Call, Instruction, Reg, Sequence

_THREADS = ("threading.Thread", "threading.Timer")
_BINDS = ("types.MethodType", "functools.partial")
_STARTS = ("functools.partial", *_THREADS)


def hand_over(frame: Frame, reg: Reg, made: Call, callee: Value, instruction: Instruction) -> None:
    """Note the functions of the checked source that are passed to what will, or may, call them."""
    for argument in (*made.args, *(r for _, r in made.keywords)):
        value = frame.values[argument]
        if value.kinds == NAME and value.name:
            target = frame.file.names.resolved(value.name)
            if "#" in target:
                frame.lent.add((reg, target))
    _started(frame, reg, made, callee, instruction)
    for name in frame.file.targets.of(frame.file.names, frame.function, made.function):
        if "#" in name:
            frame.lent.add((reg, name))
            if callee.kinds != NAME or not callee.name:
                known_calls.offer(frame, reg, made, name)
    if callee.kinds == NAME:
        names = _callees(frame, callee.name)
    elif isinstance(instruction, Attr) and instruction.name.startswith(("register_", "set_", "saved_", "map_")):
        names = tuple(f"{owner}.{instruction.name}" for owner in ("Module", "Tensor", "torch.optim.Optimizer"))
    else:
        return
    for name in names:
        for row in callbacks(name):
            given = effects.keyword(made, row.argument)
            if given is None and 0 <= row.position < len(made.args):
                given = made.args[row.position]
            called = _called(frame, given) if given is not None else _unpacked(frame, made, row.argument)
            if called.kinds == NAME:
                target = frame.file.names.resolved(called.name)
                if "#" in target:
                    frame.handed[reg, target] = row.level


def _callees(frame: Frame, name: str) -> tuple[str, ...]:
    """A function or class by its name, and what a class of the checked source derives from."""
    info = frame.file.info_of(name)
    return (name, *(base for one in frame.file.family(info) for base in one.bases)) if info is not None else (name,)


def _unpacked(frame: Frame, made: Call, name: str) -> Value:
    """What a mapping holds under a name that is given by `**mapping`."""
    mappings = (frame.values[reg].fields or () for key, reg in made.keywords if not key)
    return next((value for fields in mappings for key, value in fields if key == name), NOTHING)


def patched(frame: Frame, reg: Reg, given: Reg) -> None:
    """Note the function that becomes the `forward` of a module: `m.forward = f`, `m.forward = MethodType(f, m)`."""
    called = _called(frame, given)
    target = frame.file.names.resolved(called.name) if called.kinds == NAME and called.name else ""
    if "#" in target:
        frame.handed[reg, target] = Level.PER_STEP


def _called(frame: Frame, given: Reg) -> Value:
    """The function that is passed, itself or with some of its arguments: `partial(self._hook, name)`."""
    made = frame.code[given]
    if isinstance(made, Call) and made.args and frame.dotted(made.function) in _BINDS:
        return frame.values[made.args[0]]
    return frame.values[given]


def _started(frame: Frame, reg: Reg, made: Call, callee: Value, instruction: Instruction) -> None:
    """Tell a function of the checked source what it will be called with: `partial(f, x)`, `pool.submit(f, x)`,
    `pool.map(f, xs)`, `Thread(target=f, args=(x,))` (docs.python.org, library/functools, concurrent.futures,
    threading)."""
    named = callee.name if callee.kinds == NAME else ""
    method = instruction.name if isinstance(instruction, Attr) and not named else ""
    if named not in _STARTS and method not in ("map", "submit"):
        return
    run: Reg | None = made.args[0] if made.args else None
    given = [frame.values[one] for one in made.args[1:]]
    if named in _THREADS:
        run = effects.keyword(made, "target")
        packed = effects.keyword(made, "args")
        display = frame.code[packed] if packed is not None else None
        given = [frame.values[one] for one in display.items] if isinstance(display, Sequence) else []
    elif method == "map":
        given = [element(one) for one in given]
    if run is None or any(made.stars) or frame.values[run].kinds != NAME:
        return
    found = frame.file.located(frame.file.names.resolved(frame.values[run].name))
    if found is not None and found[0].program.functions[found[1]].kind != "class":
        known_calls.tell(frame, reg, *found, given)
