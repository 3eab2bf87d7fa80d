"""What kind a value is, by proof alone: what a safe fix may rest on.

`Inference().of(function, reg)` is the set of kinds that a value can have in a run that gets there, None where anything
else is possible. Proof is what the source itself says: constants, operators, calls of torch and builtins through names
that nothing but an import binds, annotations (a contract of the function that carries them), and what is stored in a
variable or, by the whole file, in an attribute. No proof are names of variables, what a method of an unknown object
is called, defaults of parameters and placement's values, which say what is likely. docs.pytorch.org "Tensor",
"Tensor Attributes"; docs.python.org "Built-in Functions"; PEP 484 (an `int` serves where `float` is annotated).
"""

from __future__ import annotations

from collections.abc import Iterable

from transferlint.flow.callgraph.names import find, split
from transferlint.flow.facts import FunctionFacts
from transferlint.knowledge.torch_kinds import (
    A_DEVICE,
    A_SHAPE,
    A_TENSOR,
    A_TEXT,
    ANSWERS,
    BOOLEAN,
    DTYPE,
    DTYPES,
    FLOAT,
    INTEGER,
    MAKERS,
    NONE,
    NUMBERS,
    OF_TENSOR,
    OPERATIONS,
    OPERATIONS_OF_TENSORS,
    REDUCTIONS_BY_NAME,
    SHAPE,
    TENSOR,
    TENSOR_METHODS,
    TEXT,
    TEXT_METHODS,
    Kinds,
)
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import bindings, closed_classes
from ..code.annotations import annotated

_STEPS = 3000  # of one question; what takes more is not known
_DEEPEST = 40


class Inference:
    """One question: bounded in steps, so that it ends in time whatever it is asked about."""

    def __init__(self) -> None:
        self._steps = 0
        self._assumed: dict[tuple[int, int], Kinds] = {}
        self._depth = 0
        self._cut = False

    def of(self, function: FunctionFacts, reg: Reg) -> Kinds | None:
        """The kinds that a register's value can have; None where they are not known."""
        self._steps += 1
        if self._steps > _STEPS or self._depth > _DEEPEST:
            self._cut = True
            return None
        self._depth += 1
        try:
            return self._of(function, reg)
        finally:
            self._depth -= 1

    def _of(self, function: FunctionFacts, reg: Reg) -> Kinds | None:
        made = function.code[reg]
        if isinstance(made, p.Const):
            known = {bool: BOOLEAN, int: INTEGER, float: FLOAT, str: TEXT, type(None): NONE}.get(type(made.value))
            return frozenset({known}) if known else None
        if isinstance(made, p.Format):
            return frozenset({TEXT})
        if isinstance(made, p.Load):
            return self.variable(function, made.slot)
        if isinstance(made, p.Outer):
            bound = find(function.file.program, function.function, made.name)
            return self.variable(function.file.functions[bound[0]], bound[1]) if bound is not None else None
        if isinstance(made, p.Choice):
            return self._union(function, (made.body, made.orelse))
        if isinstance(made, p.Boolean):
            return self._union(function, made.operands)
        if isinstance(made, p.Unary):
            return self._unary(function, made)
        if isinstance(made, p.Binary):
            return self._binary(function, made)
        if isinstance(made, p.Compare):
            return self._compared(function, made)
        if isinstance(made, p.Attr):
            return self._attribute(function, reg, made)
        if isinstance(made, p.Call):
            return self._call(function, reg, made)
        return self._part(function, made)

    def _union(self, function: FunctionFacts, regs: Iterable[Reg]) -> Kinds | None:
        found: Kinds = frozenset()
        for reg in regs:
            kinds = self.of(function, reg)
            if kinds is None:
                return None
            found |= kinds
        return found

    def variable(self, owner: FunctionFacts, slot: int) -> Kinds | None:
        """What a variable of a function can hold: the union over all that is stored there. What is stored may rest on
        the variable itself; the answer is a fixed point."""
        key = (owner.index, slot)
        if key in self._assumed:
            return self._assumed[key]
        if self._assumed:
            return self._worked_out(owner, slot)
        kept = (Inference, slot)  # with the function: whatever asks, it rests on nothing that is only assumed
        if kept not in owner.kept:
            found = self._worked_out(owner, slot)
            if self._cut:
                return found
            owner.kept[kept] = found
        known: Kinds | None = owner.kept[kept]
        return known

    def _worked_out(self, owner: FunctionFacts, slot: int) -> Kinds | None:
        key = (owner.index, slot)
        declared = owner.function.annotations.get(slot, "")
        start: Kinds | None = frozenset()
        for parameter in owner.function.parameters:
            if parameter.slot == slot:
                plain = parameter.kind in ("positional", "keyword")
                start = annotated(owner, parameter.annotation, parameter.default) if plain else None
        if declared and not start:
            return annotated(owner, declared, "")
        if start is None or bindings.bound_elsewhere(owner, slot):
            return None
        stores = [i.value for i in map(owner.code.__getitem__, owner.stores(slot)) if isinstance(i, p.Store)]
        found = start
        while True:
            self._assumed[key] = found
            stored = self._union(owner, stores)
            del self._assumed[key]
            if stored is None or stored | start == found:
                return None if stored is None else found or None
            found = stored | start

    def _unary(self, function: FunctionFacts, made: p.Unary) -> Kinds | None:
        if made.operator == "not":
            return frozenset({BOOLEAN})
        kinds = self.of(function, made.operand)
        if kinds is None or kinds - NUMBERS - {TENSOR}:
            return None
        return frozenset(INTEGER if kind == BOOLEAN else kind for kind in kinds)

    def _binary(self, function: FunctionFacts, made: p.Binary) -> Kinds | None:
        left, right = self.of(function, made.left), self.of(function, made.right)
        if left is None or right is None:
            return None
        if made.operator in ("+", "%") and left == A_TEXT and (made.operator == "%" or right == A_TEXT):
            return frozenset({TEXT})
        return _computed(made.operator, left, right)

    def _compared(self, function: FunctionFacts, made: p.Compare) -> Kinds | None:
        if not set(made.operators) - {"is", "is not"}:
            return frozenset({BOOLEAN})
        kinds = [self.of(function, r) for r in made.operands]
        if frozenset() in kinds:
            return frozenset()
        if len(kinds) == 2 and None not in kinds and not set(made.operators) & {"in", "not in"}:
            both = (kinds[0] or frozenset()) | (kinds[1] or frozenset())
            if A_TENSOR in kinds and not both - NUMBERS - {TENSOR}:
                return frozenset({TENSOR})
            return frozenset({BOOLEAN}) if TENSOR not in both else None
        return None

    def _attribute(self, function: FunctionFacts, reg: Reg, made: p.Attr) -> Kinds | None:
        name = bindings.api(function, reg)
        if name:
            if name.removeprefix("torch.") in DTYPES and name.startswith("torch."):
                return frozenset({DTYPE})
            return frozenset({FLOAT}) if name in ("math.pi", "math.e", "math.inf", "math.nan", "math.tau") else None
        kinds = self.of(function, made.object)
        if kinds == frozenset():
            return kinds
        if kinds == A_TENSOR:
            return OF_TENSOR.get(made.name)
        if kinds == A_DEVICE:
            return {"type": frozenset({TEXT}), "index": frozenset({INTEGER, NONE})}.get(made.name)
        return self._kept(function, made) if kinds is None else None

    def _kept(self, function: FunctionFacts, made: p.Attr) -> Kinds | None:
        """An attribute of `self`: what every assignment of the file to an attribute of that name stores, where the
        class has one and nothing but classes of the file and torch's own modules stands above it."""
        info = (
            function.file.placement.class_of(function.function) if closed_classes.own(function, made.object) else None
        )
        if info is None or info.key != function.file.path or not closed_classes.closed(function, info.index, set()):
            return None
        getter = split(info.methods.get(made.name, ""))
        if getter is not None:
            method = function.file.functions[getter[1]]
            return self._returned(method) if method.function.decorators == ["property"] else None
        found: Kinds = frozenset()
        mine = False
        for other, one in function.file.attribute_stores.get(made.name, []):
            kinds = self.of(other, one.value)
            if kinds is None:
                return None
            found |= kinds
            mine = mine or closed_classes.own(other, one.object)
        return found if mine else None

    def _returned(self, function: FunctionFacts) -> Kinds | None:
        """What a function of the file returns: what its annotation says, else what all its returns give."""
        own = function.function
        if own.kind != "function" or own.is_async or own.is_generator or set(own.decorators) - {"property"}:
            return None
        if own.returns:
            return annotated(function, own.returns, "")
        last = function.code[-1] if function.code else None
        given = [i.value for i in function.code if isinstance(i, p.Return)]
        if not isinstance(last, p.Return) or function.region(len(function.code) - 1) != 0 or None in given:
            return None
        return self._union(function, (r for r in given if r is not None))

    def _call(self, function: FunctionFacts, reg: Reg, made: p.Call) -> Kinds | None:
        name = bindings.api(function, made.function)
        if name:
            return self._named(function, name, made)
        place = split(function.calls.get(reg, ""))
        if place is not None and place[0] == function.file.path and isinstance(function.code[made.function], p.Outer):
            target = find(function.file.program, function.function, getattr(function.code[made.function], "name", ""))
            owner = function.file.functions[target[0]] if target is not None else None
            alone = owner is not None and target is not None and len(owner.stores(target[1])) == 1
            return self._returned(function.file.functions[place[1]]) if alone else None
        callee = function.code[made.function]
        return self._method(function, callee, made) if isinstance(callee, p.Attr) else None

    def _named(self, function: FunctionFacts, name: str, made: p.Call) -> Kinds | None:
        if name in ANSWERS:
            return ANSWERS[name]
        if name in MAKERS or name in OPERATIONS:
            return frozenset({TENSOR})
        if name in REDUCTIONS_BY_NAME and len(made.args) == 1 and not made.keywords and not any(made.stars):
            return frozenset({TENSOR})
        if name in ("builtins.min", "builtins.max") and len(made.args) > 1 and not made.keywords:
            found = self._union(function, made.args) if not any(made.stars) else None
            return found if found is not None and not found - NUMBERS else None
        return frozenset({TENSOR}) if name == "builtins.next" and closed_classes.of_parameters(function, made) else None

    def _method(self, function: FunctionFacts, callee: p.Attr, made: p.Call) -> Kinds | None:
        kinds = self.of(function, callee.object)
        if kinds == frozenset():
            return kinds
        if kinds == A_TEXT:
            return TEXT_METHODS.get(callee.name)
        if kinds != A_TENSOR:
            return None
        if callee.name == "size":
            return frozenset({INTEGER if made.args or made.keywords else SHAPE})
        if callee.name in ("max", "min", "median") and (made.args or made.keywords):
            return None
        if callee.name in TENSOR_METHODS:
            return TENSOR_METHODS[callee.name]
        return frozenset({TENSOR}) if callee.name in OPERATIONS_OF_TENSORS else None

    def _part(self, function: FunctionFacts, made: p.Instruction) -> Kinds | None:
        """An element: of a tensor, a shape, a display, a range."""
        if isinstance(made, p.Subscript):
            kinds = self.of(function, made.object)
            if kinds == A_SHAPE:
                sliced = isinstance(function.code[made.index], p.Slice)
                return frozenset({SHAPE if sliced else INTEGER})
            return kinds if kinds is not None and kinds <= {TENSOR, TEXT} else None
        if isinstance(made, p.Unpack) and made.star < 0:
            whole = function.code[made.value]
            if isinstance(whole, p.Sequence) and len(whole.items) == made.count and not any(whole.stars):
                return self.of(function, whole.items[made.index])
            if isinstance(whole, p.Next) and made.index == 0 and made.count == 2:
                over = function.code[whole.iterable]
                if not isinstance(over, p.Call) or bindings.api(function, over.function) != "builtins.enumerate":
                    return None
                return frozenset({INTEGER}) if len(over.args) == 1 and not over.keywords else None
            return _element(self.of(function, made.value))
        if isinstance(made, p.Next):
            over = function.code[made.iterable]
            if isinstance(over, p.Call) and bindings.api(function, over.function) == "builtins.range":
                return frozenset({INTEGER})
            return _element(self.of(function, made.iterable))
        return None


def _element(kinds: Kinds | None) -> Kinds | None:
    if kinds == A_SHAPE:
        return frozenset({INTEGER})
    return kinds if kinds is not None and kinds <= {TENSOR} else None


def _computed(operator: str, left: Kinds, right: Kinds) -> Kinds | None:
    """The kinds of an operator's result on numbers and tensors."""
    both = left | right
    if not left or not right:
        return frozenset()  # nothing known yet of a variable that it rests on
    if both - NUMBERS - {TENSOR}:
        return None
    found: set[str] = {TENSOR} if TENSOR in both else set()
    if left & NUMBERS and right & NUMBERS:
        whole = {INTEGER, BOOLEAN}
        if operator in ("/", "**") or FLOAT in both:
            found.add(FLOAT)
        if operator != "/" and left & whole and right & whole:
            found.add(INTEGER)
    return frozenset(found) if operator != "@" or both == A_TENSOR else None
