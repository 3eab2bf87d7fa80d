"""The fixed point over one function: its parameters bound, then a worklist over its blocks until nothing changes."""

from __future__ import annotations

from transferlint.flow.callgraph.names import ident
from transferlint.flow.callgraph.roles import Role
from transferlint.flow.lattice.values import (
    ANYWHERE,
    CONTAINER,
    DERIVED,
    HOST_TENSOR,
    MODULE,
    OBJECT,
    TENSOR,
    UNKNOWN,
    Value,
)
from transferlint.flow.placement import operations, start
from transferlint.flow.placement.frame import Frame, State
from transferlint.knowledge.torch_names import AUTOGRAD_FUNCTIONS
from transferlint.syntax.program import Parameter

_ROUNDS = 12
_CONTEXTS = frozenset({"ctx", "context"})


def enter(frame: Frame, role: Role) -> list[tuple[Parameter, Value, Value]]:
    """Bind the parameters: each by itself, and with what its callers tell."""
    function = frame.function
    info = frame.file.class_of(function)
    entered = []
    for number, given in enumerate(function.parameters):
        alone = start.parameter(frame, given, role.host_side, role.tensors_in)
        value = frame.file.learnt(function.index, given, alone) or alone
        entered.append((given, alone, value))
        if number == 0 and info is not None and function.parent == info.index and function.kind == "function":
            own = given.name in ("self", "cls", "mcs") or "staticmethod" not in function.decorators
            if own or (given.name in _CONTEXTS and any(base in AUTOGRAD_FUNCTIONS for base in info.bases)):
                value = Value(OBJECT | (MODULE if info.module else 0), ANYWHERE, name=ident(info.key, info.index))
        elif given.name == "self":
            value = Value(OBJECT | UNKNOWN, ANYWHERE)
        elif value.kinds & (TENSOR | UNKNOWN | CONTAINER):
            value = value.but(flags=value.flags | DERIVED)
        frame.state.slots[given.slot] = value
        frame.stored[given.slot] = value
        shown = frame.usage.shown_given.get(given.slot, frozenset())
        frame.state.paths.update((given.name + path, HOST_TENSOR) for path in shown if path)
    return entered


def solve(frame: Frame) -> None:
    """Run the blocks until the states at their starts no longer grow."""
    blocks = frame.function.blocks
    if not blocks:
        return
    states: list[State | None] = [None] * len(blocks)
    states[0] = frame.state
    visits = [0] * len(blocks)
    work = [0]
    waiting = {0}
    code = frame.code
    handlers = operations.HANDLERS
    while work:
        number = min(work)  # blocks are in program order: the earliest first keeps loops from being revisited in vain
        work.remove(number)
        waiting.discard(number)
        block = blocks[number]
        begin = states[number]
        assert begin is not None
        frame.state = begin.copy()
        frame.region = block.region
        visits[number] += 1
        for reg in range(block.start, block.end):
            instruction = code[reg]
            frame.values[reg] = handlers[type(instruction)](frame, reg, instruction)
        for follower in block.successors:
            known = states[follower]
            state = frame.state
            if frame.passed and (shown := frame.passed.get((number, follower))):
                frame.state = state.copy()
                frame.show(shown)
                state, frame.state = frame.state, state
            if known is None:
                states[follower] = state.copy()
                changed = True
            else:
                changed = known.merge(state) and visits[follower] < _ROUNDS
            if changed and follower not in waiting:
                waiting.add(follower)
                work.append(follower)
