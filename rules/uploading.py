"""The fixes of an upload of host numbers: fill them in on the device, or upload them without waiting."""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.invariance import invariance
from transferlint.flow.transfers import Transfer
from transferlint.flow.values import ARRAY, CONTAINER, TENSOR
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from . import proven
from .arguments import parses
from .bindings import api
from .chains import called
from .creating import integer, outer
from .hoisting import hoist
from .recreating import modernised
from .rewriting import newline, switched
from .widths import BYTES

_SAME_MEANING = frozenset({"device", "dtype", "requires_grad"})  # of torch.tensor and torch.full
_SMALL = 2**7  # what every type holds
_TITLE = "fill it on the device"
_NUMBERS = frozenset(
    {"builtins.float", "builtins.int", "builtins.len", "builtins.bool"}
    | {f"{root}.{name}" for root in ("math", "numpy") for name in ("pi", "e", "inf", "nan")}
)
_ANNOTATIONS = frozenset({"int", "float", "bool"})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "%", "**"})
_DEEP = 8


def filled(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`torch.tensor(2.0, device=d)` to `torch.full((), 2.0, device=d)`: numbers alone, of a dtype that is the same.

    Safe where it is proven that the value is a number of Python (`proven.number`), which both functions take alike
    (`proven.representable`: one raises for what is too large, where the other gives inf or another error) and make the
    same of in the type that is asked for (`_fits`), and that `torch` is torch (`api`). Its keywords mean the same in
    both and stay where they are; whatever else `device` is, both refuse. No fix with `*`, `**` or any other keyword.
    """
    made = function.code[transfer.register]
    if not isinstance(made, p.Call) or transfer.api != "torch.tensor" or len(made.args) != 1 or any(made.stars):
        return None
    shape, value, safety = _content(function, made.args[0])
    head = function.text(made.function)
    start, end = function.file.spans.outer(function.function.nodes[made.args[0]])
    if value is None or not {key for key, _ in made.keywords} <= _SAME_MEANING or not head.endswith(".tensor"):
        return None
    if "#" in function.file.text[start:end]:
        return None
    if api(function, made.function) != "torch.tensor" or not _fits(function, made, value):
        safety = Safety.UNSAFE
    maker, content = _maker(function, shape, value, any(_typed(function, key, r) for key, r in made.keywords))
    text = function.file.text
    line = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    after = re.match(r"\s*,[ \t]*[\r\n]", text[end:])
    if maker == "full" and made.keywords and not text[line:start].strip() and after is not None:
        content = content.replace(f"{shape}, ", f"{shape},{newline(function)}{text[line:start]}", 1)
    edits = (Edit(*function.span(made.function), head.removesuffix("tensor") + maker), Edit(start, end, content))
    if safety is Safety.UNSAFE and shape == "()" and _seldom(function, transfer.register):
        safety = Safety.DISPLAY  # it reads no better, and is hardly run
    return Fix(_TITLE, safety, edits)


def _seldom(function: FunctionFacts, reg: Reg) -> bool:
    """True under a condition of the function, and in code of which nothing says that it is hot."""
    if not function.warmth(reg).hot:
        return True
    around = function.function.regions[function.region(reg)]
    return around.kind in ("then", "else") and around.test is not None and not around.implied


def _typed(function: FunctionFacts, key: str, reg: Reg) -> bool:
    """True for a dtype that is named, or that of a tensor: with `dtype=None` the number would say which one it is."""
    made = function.code[reg]
    owned = isinstance(made, p.Attr) and made.name == "dtype" and function.values[made.object].is_a(TENSOR)
    return key == "dtype" and (owned or api(function, reg).startswith("torch."))


def _maker(function: FunctionFacts, shape: str, value: Reg, typed: bool) -> tuple[str, str]:
    """The function that fills, and its first arguments: `zeros` and `ones` where they give the same dtype."""
    made = function.code[value]
    number = made.value if isinstance(made, p.Const) else None
    if number in (0, 1) and (typed or type(number) is float):
        size = re.fullmatch(r"\((\w+),\)", shape)
        return ("ones" if number else "zeros"), size[1] if size is not None else shape
    return "full", f"{shape}, {outer(function, value)}"


def _fits(function: FunctionFacts, made: p.Call, value: Reg) -> bool:
    """True where the number is the same in the type that is asked for: none, one of those that both functions convert
    to alike, or any, for a number that each of them holds."""
    asked = dict(made.keywords).get("dtype")
    if asked is None or api(function, asked).removeprefix("torch.") in BYTES:
        return True
    number = function.code[value]
    return isinstance(number, p.Const) and type(number.value) in (int, bool) and 0 <= number.value < _SMALL


def _content(function: FunctionFacts, reg: Reg) -> tuple[str, Reg | None, Safety]:
    """The shape and the number that fills it; None where it is not one number."""
    made = function.code[reg]
    if isinstance(made, p.Binary) and made.operator == "*" and not made.inplace:
        inner, value, _ = _content(function, made.left)
        if inner == "(1,)" and value is not None and _countable(function, made.right):
            return f"({outer(function, made.right)},)", value, Safety.UNSAFE
        return "", None, Safety.UNSAFE
    if isinstance(made, p.Sequence):
        if made.kind != "list" or len(made.items) != 1 or any(made.stars):
            return "", None, Safety.UNSAFE
        how = _number(function, made.items[0])
        return ("(1,)", made.items[0], how) if how is not None else ("", None, Safety.UNSAFE)
    how = _number(function, reg)
    return ("()", reg, how) if how is not None else ("", None, Safety.UNSAFE)


def written(function: FunctionFacts, reg: Reg) -> bool:
    """True for a number of the source, or a list of one."""
    made = function.code[reg]
    if isinstance(made, p.Sequence):
        return len(made.items) == 1 and isinstance(function.code[made.items[0]], p.Const)
    return isinstance(made, p.Const)


def _countable(function: FunctionFacts, reg: Reg) -> bool:
    value = function.values[reg]
    return integer(function, reg) or not value.kinds & (TENSOR | ARRAY | CONTAINER)


def _number(function: FunctionFacts, reg: Reg) -> Safety | None:
    """Safe for what is a number of Python for certain, unsafe for what its annotation says is one; None for all else:
    a list, a size or a tensor would be another tensor."""
    made = function.code[reg]
    if isinstance(made, p.Const):
        known = type(made.value) in (int, float, bool) and proven.representable(function, reg)
        return Safety.SAFE if known else None
    if proven.number(function, reg) and proven.representable(function, reg):
        return Safety.SAFE
    if isinstance(made, p.Unary) and made.operator in ("-", "+"):
        how = _number(function, made.operand)
        return Safety.UNSAFE if how is not None else None
    name = called(function, reg) or function.file.placement.names.dotted(function.function, reg)
    if name in _NUMBERS:
        return Safety.UNSAFE
    value = function.values[reg]
    if value.kinds & (TENSOR | ARRAY | CONTAINER) or isinstance(made, p.Sequence | p.Collect | p.Mapping):
        return None
    return Safety.UNSAFE if _numeric(function, reg, _DEEP) else None


def _numeric(function: FunctionFacts, reg: Reg, depth: int) -> bool:
    """True for a number by all that is written: constants, annotations, and what is computed from numbers."""
    made = function.code[reg]
    if depth == 0:
        return False
    if isinstance(made, p.Const):
        return type(made.value) in (int, float, bool)
    if isinstance(made, p.Load):
        given = next((one for one in function.function.parameters if one.slot == made.slot), None)
        if given is not None and given.annotation not in _ANNOTATIONS:
            return False
        stores = [one.value for r in function.stores(made.slot) if isinstance(one := function.code[r], p.Store)]
        known = all(_numeric(function, r, depth - 1) for r in stores) and len(stores) == len(function.stores(made.slot))
        return known and (bool(stores) or given is not None)
    if isinstance(made, p.Binary) and made.operator in _ARITHMETIC:
        return _numeric(function, made.left, depth - 1) and _numeric(function, made.right, depth - 1)
    if isinstance(made, p.Unary) and made.operator in ("-", "+"):
        return _numeric(function, made.operand, depth - 1)
    if isinstance(made, p.Choice):
        return _numeric(function, made.body, depth - 1) and _numeric(function, made.orelse, depth - 1)
    name = called(function, reg) or function.file.placement.names.dotted(function.function, reg)
    return name in _NUMBERS or integer(function, reg)


def made_before(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """The upload before the outermost loop that leaves it alone; only where somebody has looked: who writes to the
    tensor in the loop would write to the same one in every turn."""
    outermost: int | None = None
    for region in function.loops(transfer.register):
        loop = function.function.regions[region]
        if loop.kind not in ("for", "while") or not invariance(function, region).holds(transfer.register, makes=True):
            break
        outermost = region
    if outermost is None or switched(function, transfer.register, outermost, any_test=True):
        return None
    fix = hoist(function, transfer.register, outermost)
    return fix and Fix("build it once, before the loop", min(fix.safety, Safety.UNSAFE), fix.edits)


def modern(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`torch.cuda.LongTensor([0])` to `torch.full((1,), 0, dtype=torch.long, device="cuda")`, for a number."""
    made = function.code[transfer.register]
    if not isinstance(made, p.Call) or not called(function, transfer.register).startswith("torch.cuda."):
        return None
    changed = modernised(function, transfer.register, '"cuda"')
    if changed is None or len(made.args) != 1:
        return None
    (head, tail), _ = changed
    shape, value, _ = _content(function, made.args[0])
    start, end = function.file.spans.outer(function.function.nodes[made.args[0]])
    if value is None or not head.text.endswith("tensor"):
        return None
    maker, content = _maker(function, shape, value, typed=True)
    edits = (Edit(head.start, head.end, head.text.removesuffix("tensor") + maker), Edit(start, end, content), tail)
    return Fix(_TITLE, Safety.UNSAFE, edits)


def unawaited(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`torch.tensor(v, device=d)` to `torch.tensor(v).pin_memory().to(d, non_blocking=True)`: only shown, since pinned
    memory has a price too, and there is none without an accelerator."""
    made = function.code[transfer.register]
    if not isinstance(made, p.Call) or transfer.api not in ("torch.tensor", "torch.as_tensor") or any(made.stars):
        return None
    given = dict(made.keywords)
    device = given.pop("device", None)
    if device is None or len(made.args) != 1 or given.keys() - {"dtype"}:
        return None
    if function.values[made.args[0]].kinds & TENSOR:
        return None
    text = function.file.text
    head = function.text(made.function)
    start, end = function.span(transfer.register)
    where = outer(function, device)
    if re.search(r"[\n\r#]", where) or function.file.spans.commented(start, end):
        return None
    first, last = function.file.spans.outer(function.function.nodes[device])
    keyword = re.search(r",\s*device\s*=\s*$", text[start:first])
    if keyword is None:
        return None
    edits = [Edit(start + keyword.start(), last, ""), Edit(end, end, f".pin_memory().to({where}, non_blocking=True)")]
    if head.endswith(".as_tensor"):
        callee = function.span(made.function)
        edits.insert(0, Edit(callee[0], callee[1], head.removesuffix("as_tensor") + "tensor"))
    before = text[start : start + keyword.start()]
    if not parses(f"{before}{text[last:end]}.pin_memory()"):
        return None
    return Fix("upload it from pinned memory, without waiting", Safety.DISPLAY, tuple(edits))
