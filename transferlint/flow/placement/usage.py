"""What a function does with its variables tells what they are: the evidence that placement starts from.

One pass over the code, no flow: a variable on which a method is called that only tensors have, or that is handed to a
torch operator, is taken for a tensor; one that is handed to numpy, for an array. Where both are seen nothing is said,
and what is done behind a test of its type says nothing of the others: `np.max(x) if isinstance(x, np.ndarray) else x`.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint import late
from transferlint.flow.callgraph.names import Names, split
from transferlint.flow.dataflow.operands import operands, tree
from transferlint.flow.placement.narrowing import Place, Told, narrowed
from transferlint.flow.placement.proofs import Proofs, proofs
from transferlint.knowledge import roles
from transferlint.knowledge.api import Effect
from transferlint.knowledge.catalogue import effects
from transferlint.knowledge.torch import ARRAY_ONLY, TENSOR_ONLY
from transferlint.knowledge.torch_names import MOVES
from transferlint.syntax.program import (
    Attr,
    Binary,
    Call,
    Compare,
    Discard,
    Function,
    Instruction,
    Load,
    Next,
    Outer,
    Reg,
    Slot,
    Store,
    Subscript,
    Unpack,
)

_DATA_EFFECTS = frozenset({Effect.DATA, Effect.ARRAY, Effect.HOST, Effect.NOTHING, Effect.FILL, Effect.MODULE})
_BOUNDS = frozenset({"start", "end", "steps", "n", "m"})
# Operators whose second operand is a tensor too; the others take numbers and sizes there.
_TWO_TENSORS = frozenset(
    [
        "where",
        "matmul",
        "bmm",
        "mm",
        "mv",
        "dot",
        "cross_entropy",
        "nll_loss",
        "mse_loss",
        "l1_loss",
        "smooth_l1_loss",
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
        "kl_div",
        "cosine_similarity",
        "pairwise_distance",
        "linear",
        "embedding",
        "einsum",
        "outer",
        "cross",
        "maximum",
        "minimum",
        "logaddexp",
        "atan2",
        "scaled_dot_product_attention",
        "conv1d",
        "conv2d",
        "conv3d",
        "grid_sample",
        "cdist",
        "baddbmm",
        "addmm",
    ]
)
# Functions of `torch` itself that take no tensor first.
_NOT_OPERATORS = frozenset(
    "load save autocast device compile dtype Generator Size set_default_device set_default_dtype set_num_threads"
    " manual_seed get_device_module typename export vmap set_grad_enabled set_float32_matmul_precision".split()
)
_OF_MODULES_TOO = frozenset({"cuda", "cpu", "float", "half", "double", "requires_grad_"})
# What arrays have too: evidence of a tensor where a function works on tensors and knows nothing of numpy.
_ARRAYS_TOO = frozenset({"shape", "ndim"})
_TENSOR = late.pattern(r"(torch\.)?Tensor$")
# Types of what is counted, which a model never has: who asks for one asks a tensor.
_COUNTING = frozenset(f"torch.{name}" for name in ("long", "int", "int64", "int32", "bool", "uint8", "int8", "short"))
# What makes a tensor of a list or an array.
_OF_DATA = frozenset(
    f"torch.{name}" for name in ("tensor", "from_numpy", "Tensor", "LongTensor", "FloatTensor", "IntTensor")
)
_SELVES = frozenset({"self", "cls", "ctx", "accelerator", "fabric", "args", "config", "cfg"})


@late.dataclass(slots=True)
class Usage:
    """Slots (and paths such as "self.x") with evidence that they hold a tensor, a numpy array, a module."""

    tensors: set[Slot]
    given: set[Slot]  # of those, the parameters that hold one when the function is entered
    arrays: set[Slot]
    called: set[Slot]
    numbered: set[Slot]  # numbers are made of their elements: `int(lengths[i])`
    sizes: set[Slot]  # given as a size or a bound, `torch.arange(n)`, `range(n)`: a number, or a tensor like one
    computed: set[Slot]  # numpy computes with their elements, or with what is compared with them: no tensor elsewhere
    opened: set[Slot]  # of which an item or an attribute is taken: no number
    last: dict[Slot, Reg]  # where the last evidence is that a variable holds a tensor
    shown: Proofs  # what is shown to be on the host where it is stored
    shown_given: dict[Slot, frozenset[str]]  # and of parameters
    cast: frozenset[Reg]  # the stores of what `.astype` is called on: numpy's arrays
    narrowed: dict[int, dict[Place, tuple[Told, Reg]]]  # what tests of their types show of variables: see `narrowing`


def usage(names: Names, function: Function) -> Usage:
    """The evidence that one function's code gives about its variables."""
    tensors: dict[Slot, Reg] = {}  # with the first evidence
    arrays: set[Slot] = set()
    called: set[Slot] = set()
    shared: set[Slot] = set()
    computed: set[Slot] = set()
    numbered: set[Slot] = set()
    sizes: set[Slot] = set()
    opened: set[Slot] = set()
    numpy = False
    last: dict[Slot, Reg] = {}
    converted: list[Reg] = []
    cast: list[Reg] = []
    code = function.code
    table = effects()
    foreign = bool(names.frameworks) and not names.torch  # what torch's tensors alone have says nothing of others
    lookup = function.lookup
    tested = narrowed(names, function)
    apart = _behind_tests(function, tested)
    left = [made.value for at in lookup.of(Discard) if isinstance(made := code[at], Discard)]
    dropped = {call.function for at in left if isinstance(call := code[at], Call)}
    in_place = {
        base.slot
        for at in dropped
        if isinstance(move := code[at], Attr) and move.name in MOVES and isinstance(base := code[move.object], Load)
    }
    for reg in lookup.of(Attr, Subscript, Compare, Call):
        instruction = code[reg]
        if isinstance(instruction, Attr | Subscript):
            _add(code, instruction.object, opened)
        if isinstance(instruction, Attr):
            base = code[instruction.object]
            if isinstance(base, Load):
                if reg in dropped and instruction.name in _OF_MODULES_TOO:
                    continue
                if foreign:
                    continue
                # Models of libraries have a `device` too, and who drops what a move gives takes it for a model: of 167
                # such variables in 7 of 48 projects 2 are tensors.
                if instruction.name in TENSOR_ONLY or (instruction.name == "device" and base.slot not in in_place):
                    _see(code, instruction.object, reg, tensors, last)
                elif instruction.name in ARRAY_ONLY and not _tested(code, instruction.object, reg, apart):
                    arrays.add(base.slot)
                elif instruction.name in _ARRAYS_TOO:
                    shared.add(base.slot)
            elif isinstance(base, Subscript) and instruction.name == "item":
                _add(code, base.object, shared)
        elif isinstance(instruction, Subscript):
            if isinstance(asked := code[instruction.index], Compare):  # a mask: of a tensor, or of an array
                for masked in (instruction.object, *asked.operands):
                    _add(code, masked, shared)
        elif isinstance(instruction, Compare):
            if any(names.dotted(function, operand) in _COUNTING for operand in instruction.operands):
                for operand in instruction.operands:
                    if isinstance(asked := code[operand], Attr) and asked.name == "dtype":
                        _see(code, asked.object, reg, tensors, last)
        elif isinstance(instruction, Call):
            callee = code[instruction.function]
            if isinstance(callee, Load):
                called.add(callee.slot)
                continue
            bare = not (instruction.args or instruction.keywords)
            if isinstance(callee, Attr) and callee.name == "numpy" and bare and not foreign:
                converted.append(reg)
            if isinstance(callee, Attr) and callee.name == "astype" and not names.frameworks:
                cast.append(reg)
            name = names.dotted(function, instruction.function)
            if name in ("builtins.int", "builtins.float") and len(instruction.args) == 1:
                numbered.update(_element_of(code, instruction.args[0]))
            elif name in ("torch.is_tensor", "builtins.isinstance") and instruction.args:
                if name == "torch.is_tensor" or names.dotted(function, instruction.args[-1]) in (
                    "torch.Tensor",
                    "torch.nn.Parameter",
                ):
                    _see(code, instruction.args[0], reg, tensors, last)
            elif name == "builtins.range":
                for argument in instruction.args:
                    _add(code, argument, sizes)
            elif name.startswith("torch.") and (instruction.args or table.get(name) is Effect.FILL):
                effect = table.get(name)
                if effect is Effect.FILL:
                    for argument in (*instruction.args, *(r for key, r in instruction.keywords if key in _BOUNDS)):
                        _add(code, argument, sizes)
                if name.endswith("_like"):
                    _see(code, instruction.args[0], reg, tensors, last)  # of the shape and the place of a tensor
                if effect in _DATA_EFFECTS or name.startswith(
                    ("torch.nn.Module", "torch.utils", "torch.cuda", "torch.dist")
                ):
                    if effect is Effect.ARRAY and not _tested(code, instruction.args[0], reg, apart):
                        _add(code, instruction.args[0], arrays)
                    continue
                if name.removeprefix("torch.") in _NOT_OPERATORS:
                    continue
                if name.count(".") == 1 or name.startswith("torch.nn.functional."):
                    count = 2 if name.rpartition(".")[2] in _TWO_TENSORS else 1
                    for argument in instruction.args[:count]:
                        _see(code, argument, reg, tensors, last)
            elif "#" in name:
                for argument in _tensors_of(names, name, instruction):
                    _see(code, argument, reg, tensors, last)
            elif name.startswith("numpy."):
                numpy = True
                for argument in instruction.args:
                    if isinstance(operation := code[argument], Binary | Compare):
                        for operand in operands(operation):
                            _add(code, operand, computed)
                for argument in instruction.args[:1]:
                    if not _tested(code, argument, reg, apart):
                        _add(code, argument, arrays)
    if tensors and not numpy and not arrays:
        tensors |= dict.fromkeys(shared & {given.slot for given in function.parameters} - tensors.keys(), 0)
    both = tensors.keys() & arrays
    both |= {
        slot
        for slot in tensors
        if roles.MODEL_WORDS.search(function.slot_names[slot]) or function.slot_names[slot] in _SELVES
    }
    for at in lookup.of(Store) if computed else ():
        instruction = code[at]
        if isinstance(instruction, Store) and instruction.slot in computed:
            _add(code, _gone_over(code, instruction.value), computed)
    found = tensors.keys() - both - called
    again = _made_of_data(names, function)
    given = {slot for slot in found if tensors[slot] < again.get(slot, len(code))}
    stored, shown = proofs(function, converted)
    made_arrays = proofs(function, cast, plainly=True)[0]  # of parameters, `arrays` tells
    held = frozenset(at for at, paths in made_arrays.items() if "" in paths)
    return Usage(
        found, given, arrays - both, called, numbered, sizes, computed - tensors.keys(), opened, last, stored, shown,
        held, tested,
    )  # fmt: skip


def _made_of_data(names: Names, function: Function) -> dict[Slot, Reg]:
    """Where parameters are bound, whatever else happens, to tensors that are made of what was given for them: what is
    done with them after that says nothing of what was given."""
    code = function.code
    parameters = {given.slot for given in function.parameters}
    found: dict[Slot, Reg] = {}
    for reg in function.lookup.of(Store):
        made = code[reg]
        if not isinstance(made, Store) or made.slot not in parameters or function.lookup.regions[reg]:
            continue
        for part in tree(code, made.value):
            call = code[part]
            if isinstance(call, Call) and names.dotted(function, call.function) in _OF_DATA:
                data = code[call.args[0]] if call.args else None
                if isinstance(data, Load) and data.slot == made.slot:
                    found.setdefault(made.slot, reg)
    return found


def _tensors_of(names: Names, name: str, call: Call) -> Iterator[Reg]:
    """The arguments of a call of a function of this file that its annotations say are tensors."""
    key, index = split(name) or ("", 0)
    callee = names.program.functions[index] if key == names.program.path else None
    if callee is None or callee.kind != "function" or any(call.stars):
        return
    wanted = {given.name for given in callee.parameters if _TENSOR.match(given.annotation)}
    positional = [given.name for given in callee.parameters if given.kind == "positional"]
    given = (*zip(positional, call.args, strict=False), *call.keywords)
    yield from (reg for name, reg in given if name in wanted)


def _element_of(code: list[Instruction], reg: Reg) -> Iterator[Slot]:
    """The variable of which an expression is one element, itself or times something: `x` of `x[i] * ratio`."""
    made = code[reg]
    if isinstance(made, Binary) and made.operator == "*":
        made = next((code[r] for r in operands(made) if isinstance(code[r], Subscript)), made)
    base = code[made.object] if isinstance(made, Subscript) else None
    if isinstance(base, Load):
        yield base.slot


def _gone_over(code: list[Instruction], reg: Reg) -> Reg:
    """What a loop goes over to bind a variable to a register's value: `x` of `for i, v in enumerate(x)`, for v."""
    made, index = code[reg], -1
    if isinstance(made, Unpack):
        index = made.index
        made = code[made.value]
    if not isinstance(made, Next):
        return reg
    iterable = code[made.iterable]
    callee = code[iterable.function] if isinstance(iterable, Call) else None
    if isinstance(iterable, Call) and isinstance(callee, Outer):
        if callee.name == "enumerate" and index == 1 and iterable.args:
            return iterable.args[0]
        if callee.name == "zip" and 0 <= index < len(iterable.args):
            return iterable.args[index]
    return made.iterable


def _see(code: list[Instruction], reg: Reg, at: Reg, first: dict[Slot, Reg], last: dict[Slot, Reg]) -> None:
    instruction = code[reg]
    if isinstance(instruction, Load):
        first.setdefault(instruction.slot, at)
        last[instruction.slot] = at


def _add(code: list[Instruction], reg: Reg, into: set[Slot]) -> None:
    instruction = code[reg]
    if isinstance(instruction, Load):
        into.add(instruction.slot)


def _tested(code: list[Instruction], reg: Reg, at: Reg, apart: dict[Slot, frozenset[Reg]]) -> bool:
    """True for a variable whose type is tested before the register `at` comes by."""
    instruction = code[reg]
    return isinstance(instruction, Load) and at in apart.get(instruction.slot, ())


def _behind_tests(function: Function, tested: dict[int, dict[Place, tuple[Told, Reg]]]) -> dict[Slot, frozenset[Reg]]:
    """By variable: what stands in an arm that a test of its type guards."""
    found: dict[Slot, set[Reg]] = {}
    for number, facts in tested.items():
        inside = function.lookup.registers(number)
        for place in facts:
            if isinstance(place, int):
                found.setdefault(place, set()).update(inside)
    return {slot: frozenset(registers) for slot, registers in found.items()}
