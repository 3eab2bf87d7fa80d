"""One object for all values that are the same."""

from __future__ import annotations

from transferlint.flow.lattice.values import Value


class Shared:
    """Of each value one, for many functions: of those of a project, four in five are the same as another."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Value] = {}

    def of(self, values: list[Value]) -> list[Value]:
        """A function's values."""
        own: dict[int, Value] = {}
        found = []
        for value in values:
            one = own.get(id(value))
            if one is None:
                one = own[id(value)] = self.one(value)
            found.append(one)
        return found

    def one(self, value: Value) -> Value:
        """The value that stands for all that are the same."""
        item = None if value.item is None else self.one(value.item)
        items = None if value.items is None else tuple(map(self.one, value.items))
        inner = None if items is None else tuple(map(id, items))
        fields = value.fields and tuple((name, self.one(under)) for name, under in value.fields)
        named = None if fields is None else tuple((name, id(under)) for name, under in fields)
        key = (
            value.kinds, value.places, value.flags, value.name, value.why, id(item), inner, value.reads, value.uploads,
            named,
        )  # fmt: skip
        known = self._known.get(key)
        if known is None:
            value.item, value.items, value.fields = item, items, fields
            known = self._known[key] = value
        return known

    def clear(self) -> None:
        """Forget what there is: the values stay with those that have them."""
        self._known.clear()
