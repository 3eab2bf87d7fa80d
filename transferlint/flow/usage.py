"""What a function does with its variables tells what they are: the evidence that placement starts from.

One pass over the code, no flow: a variable on which a method is called that only tensors have, or that is handed to a
torch operator, is taken for a tensor; one that is handed to numpy, for an array. Where both are seen nothing is said.
"""

from __future__ import annotations

import dataclasses

from transferlint.flow.names import Names
from transferlint.flow.operands import operands
from transferlint.knowledge import roles
from transferlint.knowledge.api import Effect
from transferlint.knowledge.catalogue import effects
from transferlint.knowledge.torch import ARRAY_ONLY, TENSOR_ONLY
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
_SELVES = frozenset({"self", "cls", "ctx", "accelerator", "fabric", "args", "config", "cfg"})


@dataclasses.dataclass(slots=True)
class Usage:
    """Slots (and paths such as "self.x") with evidence that they hold a tensor, a numpy array, a module."""

    tensors: set[Slot]
    arrays: set[Slot]
    called: set[Slot]
    computed: set[Slot]  # numpy computes with their elements, or with what is compared with them: no tensor elsewhere


def usage(names: Names, function: Function) -> Usage:
    """The evidence that one function's code gives about its variables."""
    tensors: set[Slot] = set()
    arrays: set[Slot] = set()
    called: set[Slot] = set()
    shared: set[Slot] = set()
    computed: set[Slot] = set()
    numpy = False
    code = function.code
    table = effects()
    dropped = {
        call.function for made in code if isinstance(made, Discard) and isinstance(call := code[made.value], Call)
    }
    for reg, instruction in enumerate(code):
        if isinstance(instruction, Attr):
            base = code[instruction.object]
            if isinstance(base, Load):
                if reg in dropped and instruction.name in _OF_MODULES_TOO:
                    continue
                if instruction.name in TENSOR_ONLY or instruction.name == "device":
                    tensors.add(base.slot)
                elif instruction.name in ARRAY_ONLY:
                    arrays.add(base.slot)
                elif instruction.name in _ARRAYS_TOO:
                    shared.add(base.slot)
            elif isinstance(base, Subscript) and instruction.name == "item":
                _add(code, base.object, shared)
        elif isinstance(instruction, Call):
            callee = code[instruction.function]
            if isinstance(callee, Load):
                called.add(callee.slot)
                continue
            name = names.dotted(function, instruction.function)
            if name in ("torch.is_tensor", "builtins.isinstance") and instruction.args:
                if name == "torch.is_tensor" or names.dotted(function, instruction.args[-1]) in (
                    "torch.Tensor",
                    "torch.nn.Parameter",
                ):
                    _add(code, instruction.args[0], tensors)
            elif name.startswith("torch.") and instruction.args:
                effect = table.get(name)
                if name.endswith("_like"):
                    _add(code, instruction.args[0], tensors)  # of the shape and the place of a tensor
                if effect in _DATA_EFFECTS or name.startswith(
                    ("torch.nn.Module", "torch.utils", "torch.cuda", "torch.dist")
                ):
                    if effect is Effect.ARRAY:
                        _add(code, instruction.args[0], arrays)
                    continue
                if name.removeprefix("torch.") in _NOT_OPERATORS:
                    continue
                if name.count(".") == 1 or name.startswith("torch.nn.functional."):
                    count = 2 if name.rpartition(".")[2] in _TWO_TENSORS else 1
                    for argument in instruction.args[:count]:
                        _add(code, argument, tensors)
            elif name.startswith("numpy."):
                numpy = True
                for argument in instruction.args:
                    if isinstance(operation := code[argument], Binary | Compare):
                        for operand in operands(operation):
                            _add(code, operand, computed)
                for argument in instruction.args[:1]:
                    _add(code, argument, arrays)
    if tensors and not numpy and not arrays:
        tensors |= shared & {given.slot for given in function.parameters}
    both = tensors & arrays
    both |= {
        slot
        for slot in tensors
        if roles.MODEL_WORDS.search(function.slot_names[slot]) or function.slot_names[slot] in _SELVES
    }
    for instruction in code:
        if isinstance(instruction, Store) and instruction.slot in computed:
            _add(code, _gone_over(code, instruction.value), computed)
    return Usage(tensors - both - called, arrays - both, called, computed - tensors)


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


def _add(code: list[Instruction], reg: Reg, into: set[Slot]) -> None:
    instruction = code[reg]
    if isinstance(instruction, Load):
        into.add(instruction.slot)
