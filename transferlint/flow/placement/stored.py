"""What functions store in the attributes of the classes of one file, and in variables of functions they stand in."""

from __future__ import annotations

from transferlint.flow.lattice.news import News
from transferlint.flow.lattice.values import Value, join
from transferlint.syntax.program import Function, Load, Program, SetAttr, StoreOuter

Attribute = tuple[int, str]  # the index of a class or function and a name


class AttributeStores:
    """The join of what functions store, by attribute. A function that is placed again keeps what it stored the time
    before until it is placed, and loses then what it did not store anew."""

    def __init__(self, key: str, news: News) -> None:
        self._key = key
        self._news = news
        self._joined: dict[Attribute, Value] = {}
        self._of: dict[Attribute, dict[int, Value]] = {}  # by the function that stores
        self._by: dict[int, dict[Attribute, Value]] = {}  # by function: what its last placing stored

    def value(self, index: int, name: str) -> Value | None:
        """All that is stored in an attribute."""
        return self._joined.get((index, name))

    def begin(self, function: int) -> frozenset[Attribute]:
        """A function is placed from its start: what it stored the time before, for `end`."""
        return frozenset(self._by.pop(function, ()))

    def end(self, function: int, before: frozenset[Attribute]) -> None:
        """A function was placed."""
        for attribute in sorted(before.difference(self._by.get(function, {}))):
            if self._of[attribute].pop(function, None) is not None:
                self._join(attribute)

    def withdraw(self, function: int) -> None:
        """Forget what a function stored."""
        self.end(function, self.begin(function))

    def store(self, function: int, attribute: Attribute, value: Value) -> None:
        """Note that a function stores a value."""
        own, all_ = self._by.setdefault(function, {}), self._of.setdefault(attribute, {})
        fresh, known = own.get(attribute), all_.get(function)
        both = join(fresh, value)
        if both is None or fresh == both:
            return
        own[attribute] = all_[function] = both
        if known is None or known == fresh:
            self._put(attribute, join(self._joined.get(attribute), both))
        elif known != both:
            self._join(attribute)

    def set(self, function: int, attribute: Attribute, value: Value) -> None:
        """Note that an attribute holds nothing but a value from now on."""
        for other in self._of.get(attribute, ()):
            self._by.get(other, {}).pop(attribute, None)
        self._by.setdefault(function, {})[attribute] = value
        self._of[attribute] = {function: value}
        self._joined[attribute] = value

    def _join(self, attribute: Attribute) -> None:
        found: Value | None = None
        for _, value in sorted(self._of[attribute].items()):
            found = join(found, value)
        self._put(attribute, found)

    def _put(self, attribute: Attribute, found: Value | None) -> None:
        if found == self._joined.get(attribute):
            return
        self._news.add((self._key, *attribute))
        if found is None:
            del self._joined[attribute]
        else:
            self._joined[attribute] = found


def storing_methods(program: Program, cls: int) -> dict[str, list[int]]:
    """By attribute, the methods (indices) of a class that store it in the instance."""
    found: dict[str, list[int]] = {}
    for function in program.functions:
        if function.parent != cls or function.kind != "function" or not function.parameters:
            continue
        own = function.parameters[0].slot
        for reg in function.lookup.of(SetAttr):
            made = function.code[reg]
            base = function.code[made.object] if isinstance(made, SetAttr) else None
            if isinstance(made, SetAttr) and isinstance(base, Load) and base.slot == own:
                found.setdefault(made.name, []).append(function.index)
    return found


def binding_outside(program: Program) -> dict[str, list[Function]]:
    """By name, the functions that bind it outside of themselves (`global`, `nonlocal`)."""
    found: dict[str, list[Function]] = {}
    for function in program.functions:
        for reg in function.lookup.of(StoreOuter):
            if isinstance(made := function.code[reg], StoreOuter):
                found.setdefault(made.name, []).append(function)
    return found
