"""What functions store in the attributes of the classes of one file."""

from __future__ import annotations

from collections.abc import Iterable

from transferlint.flow.values import Value, join

Attribute = tuple[int, str]  # the index of a class and a name


class AttributeStores:
    """The join of what functions store, by attribute. A function that is placed again keeps what it stored the time
    before until it is placed, and loses then what it did not store anew."""

    def __init__(self, classes: Iterable[int]) -> None:
        self.joined: dict[int, dict[str, Value]] = {index: {} for index in classes}
        self.changed: set[int] = set()  # classes
        self._of: dict[Attribute, dict[int, Value]] = {}  # by the function that stores
        self._by: dict[int, dict[Attribute, Value]] = {}  # by function: what its last placing stored

    def begin(self, function: int) -> frozenset[Attribute]:
        """A function is placed from its start: what it stored the time before, for `end`."""
        return frozenset(self._by.pop(function, ()))

    def end(self, function: int, before: frozenset[Attribute]) -> None:
        """A function was placed."""
        for attribute in sorted(before - self._by.get(function, {}).keys()):
            if self._of[attribute].pop(function, None) is not None:
                self._join(attribute)

    def store(self, function: int, attribute: Attribute, value: Value) -> None:
        """Note that a function stores a value."""
        own, all_ = self._by.setdefault(function, {}), self._of.setdefault(attribute, {})
        fresh, known = own.get(attribute), all_.get(function)
        both = join(fresh, value)
        if both is None or fresh == both:
            return
        own[attribute] = all_[function] = both
        if known is None or known == fresh:
            index, name = attribute
            self._put(attribute, join(self.joined[index].get(name), both))
        elif known != both:
            self._join(attribute)

    def set(self, function: int, attribute: Attribute, value: Value) -> None:
        """Note that an attribute holds nothing but a value from now on."""
        for other in self._of.get(attribute, ()):
            self._by.get(other, {}).pop(attribute, None)
        self._by.setdefault(function, {})[attribute] = value
        self._of[attribute] = {function: value}
        self.joined[attribute[0]][attribute[1]] = value

    def _join(self, attribute: Attribute) -> None:
        found: Value | None = None
        for _, value in sorted(self._of[attribute].items()):
            found = join(found, value)
        self._put(attribute, found)

    def _put(self, attribute: Attribute, found: Value | None) -> None:
        index, name = attribute
        if found == self.joined[index].get(name):
            return
        self.changed.add(index)
        if found is None:
            del self.joined[index][name]
        else:
            self.joined[index][name] = found
