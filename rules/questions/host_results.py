"""Whether the copy of a whole tensor is the one that spares many: the host goes over it element by element, makes text
of it, and nothing of that goes back to the device."""

from __future__ import annotations

import re

from transferlint import late
from transferlint.flow.dataflow.once import once
from transferlint.flow.dataflow.operands import users
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import BUILD, COPY_INTO, HOST_INDEX, MOVE, Transfer
from transferlint.flow.lattice.values import HOST, ON_DEVICE, SCALAR, TENSOR
from transferlint.knowledge import roles
from transferlint.model import Level
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg

from ..code import derived
from ..code.chains import called

# What makes files of results, pictures of arrays, models of the host.
_MADE = late.pattern(
    r"(^|_)(to|2)_\w*file$|^fromarray$|(^|_)(to|2)_?pil(_|$)|^ToPILImage$|^(Video|Image|Audio|Histogram)$|^(partial_fit|fit|fit_predict)$"
)
# Libraries of the host that draw, and that write pictures and sound (matplotlib.org, pillow.readthedocs.io, ...).
_MEDIA = (
    "matplotlib.", "seaborn.", "plotly.", "PIL.", "imageio.", "soundfile.", "scipy.io.wavfile.", "librosa.display.",
    "cv2.imwrite", "cv2.imshow",
)  # fmt: skip
_DECODERS = late.pattern(r"(^|_)(tokeni[sz]er|processor|vocab\w*|label_encoder|sp|bpe|detokeni[sz]er)$", re.IGNORECASE)
# Functions and classes whose result is what was recognised, decoded or sampled.
_DECIDING = late.pattern(r"(?i)infer|decod|search|generat|predict|transcri|recogni")
# What runs to be learnt from: what it computes belongs on the device.
_LEARNING = late.pattern(
    r"^(forward|__call__|training_step|train_step|fit_batch|compute_objectives)$|(^|_)(loss|losses)(_|$)"
)
_EVERYTHING = late.pattern(
    r"(^|_)(logits?|log_?probs?|probs|posteriors?|outputs?|hidden\w*|feats?|features|encoded)(_|$)"
)
_PLAIN = frozenset({"int", "float", "str", "bool", "round", "item"})
_BACK = frozenset({MOVE, BUILD, COPY_INTO})


def host_result(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for the one copy of a whole tensor that the host has to have, where what becomes of it can be followed."""
    try:
        return _host_result(function, transfer)
    except derived.TooLong:
        function.file.cut.add(function.function.qualname)
        return False


def _host_result(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for the one copy of a whole tensor that the host has to have, where nothing of it goes back to the device:
    text, pictures or a model of numpy are made of it; or, outside all loops, it is gone over."""
    reg, around = transfer.register, function.loops(transfer.register)
    if function.warmth(reg).level >= Level.PER_ELEMENT or len(around) > 1 or transfer.before.flags & SCALAR:
        return False
    if around and _element(function, transfer, around[0]):
        return False
    if transfer.inside is not None and not roles.SERVING.search(
        derived.callee_name(function.function, function.code[reg])
    ):
        return False
    computed = derived.derived(function.function, {reg}, derived.ALL)
    if _goes_back(function, computed):
        return False
    parts = derived.derived(function.function, {reg}, derived.PARTS)
    if _consumed(function.function, parts) or _drawn(function, parts):
        return True
    if (
        function.framework(reg)
        and transfer.before.places
        and gone_over(function.function, derived.derived(function.function, {reg}, derived.WHOLE))
    ):
        return True  # the arrays of a batch: those of the loop around are other ones
    if around or transfer.inside is not None:
        return False
    if _gives_tensors(function, computed):
        return False
    if not _DECIDING.search(function.function.qualname) and _LEARNING.search(function.function.name):
        return False
    if _large(function, transfer):
        return False
    return gone_over(function.function, derived.derived(function.function, {reg}, derived.WHOLE))


def _large(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for what a model computes of everything, by its name: the host should have no more than what is decided."""
    reg = transfer.subject
    while reg is not None:
        made = function.code[reg]
        if isinstance(made, p.Call) and isinstance(callee := function.code[made.function], p.Attr):
            reg = callee.object
            continue
        named = function.function.slot_names[made.slot] if isinstance(made, p.Load) else getattr(made, "name", "")
        return bool(_EVERYTHING.search(named))
    return False


def gone_over(function: Function, whole: set[Reg]) -> bool:
    """True where a loop goes over the value of some registers, or looks up one element of it after the other. One that
    only makes a list of it does not count."""
    where = function.lookup.regions
    for reg in whole:
        made = function.code[reg]
        if isinstance(made, p.Next) and not _listed(function, made.region):
            return True
        if isinstance(made, p.Subscript) and any(derived.loops(function, where[reg])) and _varies(function, made.index):
            return True
    return False


def _varies(function: Function, index: Reg) -> bool:
    made = function.code[index]
    if isinstance(made, p.Sequence):
        return any(_varies(function, item) for item in made.items)
    return not isinstance(made, p.Const | p.Slice)


def _listed(function: Function, region: int) -> bool:
    """True for a comprehension of the elements themselves, or of each as a number."""
    for reg in function.lookup.of(p.Collect):
        made = function.code[reg]
        if isinstance(made, p.Collect) and made.region == region:
            value = function.code[made.value]
            return isinstance(value, p.Load) or derived.callee_name(function, value) in _PLAIN
    return False


def _element(function: FunctionFacts, transfer: Transfer, loop: int) -> bool:
    """True for what a loop takes element by element from a tensor, or by its index."""
    region = function.function.regions[loop]
    if region.test is None or region.kind != "for":
        return True
    counted = derived.callee_name(function.function, function.code[region.test]) == "range"
    if counted or function.values[region.test].is_a(TENSOR):
        return True
    return any(
        isinstance(made := function.code[reg], p.Subscript)
        and any(
            isinstance(one := function.code[at], p.Load) and one.slot in region.target_slots
            for at in function.expression(made.index)
        )
        for reg in function.expression(transfer.register)
    )


def _goes_back(function: FunctionFacts, computed: set[Reg]) -> bool:
    """True where something computed of the copy is put on the device, or meets there what is on it."""
    return not computed.isdisjoint(_put_back(function))


@once
def _put_back(function: FunctionFacts) -> frozenset[Reg]:
    """The registers of what is put on the device, or meets there what is on it."""
    found: set[Reg | None] = set()
    for transfer in function.transfers:
        if (transfer.kind in _BACK and transfer.places & ~HOST) or transfer.kind == HOST_INDEX:
            made = function.code[transfer.register]
            parts = (
                derived.given(made)
                if isinstance(made, p.Call)
                else (made.index,)
                if isinstance(made, p.Subscript)
                else ()
            )
            found.update((transfer.subject, *parts))
    for reg in function.of(p.SetItem, p.Binary):
        made = function.code[reg]
        if isinstance(made, p.SetItem) and _there(function, made.object):
            found.add(made.value)
        elif isinstance(made, p.Binary):
            found.update([made.left] if _there(function, made.right) else [])
            found.update([made.right] if _there(function, made.left) else [])
    return frozenset(reg for reg in found if reg is not None)


def _there(function: FunctionFacts, reg: Reg) -> bool:
    """True for a tensor on the device."""
    value = function.values[reg]
    return value.is_a(TENSOR) and bool(value.places) and not value.places & ~ON_DEVICE


def _gives_tensors(function: FunctionFacts, computed: set[Reg]) -> bool:
    """True where the function gives back tensors that are computed of the copy: its callers may put them back."""
    for at in function.of(p.Return):
        made = function.code[at]
        if isinstance(made, p.Return) and made.value is not None:
            value = function.code[made.value]
            for reg in value.items if isinstance(value, p.Sequence) else (made.value,):
                if reg in computed and function.values[reg].is_a(TENSOR):
                    return True
    return False


def _consumed(function: Function, parts: set[Reg]) -> bool:
    """True where a call makes text, files, pictures or a model of the host of what is computed of the copy."""
    for user in sorted({user for part in parts for user in users(function)[part]}):
        made = function.code[user]
        if not isinstance(made, p.Call) or not any(argument in parts for argument in derived.given(made)):
            continue
        name = derived.callee_name(function, made)
        if derived.TEXT.search(name) or _MADE.search(name):
            return True
        callee = function.code[made.function]
        if isinstance(callee, p.Attr) and name.startswith("decode"):
            owner = function.code[callee.object]
            spelled = function.slot_names[owner.slot] if isinstance(owner, p.Load) else getattr(owner, "name", "")
            if _DECODERS.search(spelled):
                return True
    return False


def _drawn(function: FunctionFacts, parts: set[Reg]) -> bool:
    """True where a library that draws or writes media on the host is given what is computed of the copy."""
    using = {user for part in parts for user in users(function.function)[part]}
    return any(called(function, user).startswith(_MEDIA) for user in sorted(using))
