"""What a creation takes of the host: data that are uploaded as before wherever it makes its tensor, and numbers that
the device fills in."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import called
from . import filling


def of_data(function: FunctionFacts, fix: Fix, made: Reg) -> bool:
    """True where what a fix writes takes data of the host, which are uploaded as before."""
    create = function.code[made] if made >= 0 else None
    if not isinstance(create, p.Call):
        return False
    span = function.span(create.function)
    text = next((one.text for one in fix.edits if (one.start, one.end) == span), function.text(create.function))
    return text.rpartition(".")[2] in ("tensor", "as_tensor")


def counts_up(function: FunctionFacts, made: Reg) -> bool:
    """True for a list of the numbers of a range: `torch.arange` makes them on the device, without an upload."""
    create = function.code[made]
    if not isinstance(create, p.Call) or len(create.args) != 1:
        return False
    data = create.args[0]
    listed, collected = function.code[data], function.code[data]
    if called(function, data) == "builtins.list" and isinstance(listed, p.Call) and len(listed.args) == 1:
        data = listed.args[0]
    if isinstance(collected, p.Collect):
        loop, value = function.function.regions[collected.region], function.code[collected.value]
        if loop.test is None or not isinstance(value, p.Load) or value.slot not in loop.target_slots:
            return False
        data = loop.test
    return called(function, data) == "builtins.range"


def without_data(function: FunctionFacts, made: Reg, fix: Fix) -> Fix | None:
    """The fix of `torch.tensor([0.0]).to(d)` that fills on the device: `torch.zeros(1, device=d)`; None for other data,
    which are uploaded."""
    create = function.code[made]
    if not isinstance(create, p.Call) or called(function, made) != "torch.tensor" or len(create.args) != 1:
        return None
    head = function.text(create.function)
    found = filling.filling(function, create.args[0], head.removesuffix("tensor"), dict(create.keywords).get("dtype"))
    spans = function.span(create.function), function.outer_span(create.args[0])
    if found is None or found.maker == "full" or found.safety is Safety.DISPLAY or not head.endswith(".tensor"):
        return None
    if any("dtype" in edit.text or (edit.start, edit.end) in spans for edit in fix.edits):
        return None
    name = Edit(*spans[0], head.removesuffix("tensor") + found.maker)
    content = Edit(*spans[1], filling.spread(function, create.args[0], found.arguments))
    return Fix(fix.title, fix.safety, (name, content, *fix.edits), fix.lines)


def longer(fix: Fix) -> bool:
    """True where the edits leave more text than there was."""
    return sum(len(edit.text) - (edit.end - edit.start) for edit in fix.edits) > 0
