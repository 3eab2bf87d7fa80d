"""A definition whose head changed: its defaults, and itself, in the code of the function that it stands in.

Where these are as many instructions as before, the rest of that code keeps its registers.
"""

from __future__ import annotations

from transferlint import late
from transferlint.syntax.portable import Shift
from transferlint.syntax.program import Function, Load, Make, Outer, Reg


@late.dataclass(frozen=True, slots=True)
class Head:
    """A definition in the code of `owner`: from `first`, its first default, up to `made`, where it is made; its name
    is bound right after."""

    owner: Function
    first: Reg
    made: Reg

    def fill(self, stand_in: Function) -> None:
        """Give what stands in the owner's place the code up to the definition, so that this is lowered as it would be
        there."""
        stand_in.slots, stand_in.slot_names = dict(self.owner.slots), list(self.owner.slot_names)
        stand_in.code, stand_in.nodes = self.owner.code[: self.first], [None] * self.first

    def fits(self, lowered: Function) -> bool:
        """Whether a definition that was lowered into a stand-in can take the place of the one that there was."""
        end, owner = self.made + 2, self.owner
        if len(lowered.code) != end or len(lowered.blocks) > 1 or len(lowered.regions) > 1:
            return False
        old, new = owner.code[self.made], lowered.code[self.made]
        if type(old) is not Make or type(new) is not Make or old.function != new.function:
            return False
        if lowered.code[end - 1] != owner.code[end - 1]:
            return False
        # What a class binds further down is not seen by its name here.
        return owner.kind != "class" or not any(
            type(one) is Load or (type(one) is Outer and one.name in owner.slots)
            for one in lowered.code[self.first : self.made]
        )

    def put(self, lowered: Function, shift: Shift, into: Function) -> None:
        """Put what was lowered, frozen and to be moved by `shift`, into the code of the owner as it is to be."""
        end, old = self.made + 2, self.owner.code[self.made]
        code = lowered.code[self.first : end]
        assert type(old) is Make
        assert type(code[-2]) is Make
        code[-2].decorators = old.decorators
        if code != self.owner.code[self.first : end]:
            into.code = [*self.owner.code[: self.first], *code, *self.owner.code[end:]]
            into.forget()
        into.nodes = into.nodes.replaced(self.first, end, lowered.nodes.moved(shift))


def head_of(owner: Function, function: Function) -> Head | None:
    """The definition of a function in its owner, both frozen; None where it cannot be told where that begins."""
    made = next((at for at in owner.lookup.of(Make) if getattr(owner.code[at], "function", -1) == function.index), -1)
    first = made
    while first > 0:
        node = owner.nodes[first - 1]
        if node is None:
            return None
        if node[0] < function.node[0]:
            break
        first -= 1
    return Head(owner, first, made) if made >= 0 else None
