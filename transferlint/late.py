"""What is made when it is first used, not when it is imported: data classes, regular expressions, and modules.

A run that checks one file imports a hundred data classes and two hundred patterns, makes objects of half of those
classes, compares next to none, and uses one pattern in five. To compile them all takes as long as all else that is
done until the first file is read.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, AnyStr, NoReturn, cast

__all__ = ["dataclass", "empty", "fields", "module", "modules", "pattern", "replace"]
_METHODS = ("match", "search", "fullmatch", "finditer", "findall", "sub", "subn", "split", "pattern", "flags")
_DESCRIBING = ("__match_args__", "__dataclass_fields__")
_COMPARING = ("__repr__", "__eq__", "__hash__", "__dataclass_params__")
_FEW = 40  # objects of a class, which are made as fast without a method for it as it is compiled
_OF_WITHOUT_SLOTS = ("__dict__", "__weakref__")


def module(name: str) -> Any:
    """A module by its full name, imported when one of its names is first asked for."""
    return _Module(name)


def modules(package: str, folders: Iterable[str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package, by which `from package import name` gives `module(name)`."""

    @functools.cache
    def names() -> frozenset[str]:
        return frozenset(found.name for found in pkgutil.iter_modules(folders))

    def found(name: str) -> Any:
        if name in names():
            return module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return found


class _Module:
    """The names of a module, each taken over when it is asked for."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, value)
        return value


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """`re.compile(text, flags)`, done when a method is first called: an error in `text` is raised only then."""
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))


class _Pattern:
    """The methods of a pattern, which lie in the slots once it is compiled and are found there without detour."""

    __slots__ = ("_flags", "_text", *_METHODS)

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """What an empty slot gives."""
        compiled = re.compile(self._text, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def empty(one: object) -> None:
    """Take all attributes away from an object, which is used no more: what they held is free without a search for
    cycles."""
    if hasattr(one, "__dict__"):
        vars(one).clear()
    seen: set[str] = set()
    for cls in type(one).__mro__:
        for name in cls.__dict__.get("ATTRIBUTES", ()):  # compiled
            if name not in seen:  # by a class derived from this one, which has a property of that name
                with contextlib.suppress(AttributeError):
                    delattr(one, name)
        seen.update(cls.__dict__)


def fields(cls: type) -> tuple[str, ...]:
    """The names of the fields of a data class of this module that are all given to make one, in order;
    `dataclasses.fields` would have it made."""
    names: tuple[str, ...] = getattr(cls, "FIELDS", None) or cls.__slots__  # type: ignore[attr-defined]
    return names


if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:

    def replace(one: Any, **changes: Any) -> Any:
        """As `dataclasses.replace`, of data classes that are compiled too."""
        names = getattr(type(one), "FIELDS", None)
        if names is None:
            return dataclasses.replace(one, **changes)
        return type(one)(**{name: getattr(one, name) for name in names if name not in changes}, **changes)

    def dataclass(*, slots: bool, frozen: bool = False) -> Callable[[type], type]:
        """As `dataclasses.dataclass` with these arguments, which makes each method itself when it is first asked for.
        For classes without bases, in modules whose annotations are strings."""
        if not slots:
            raise TypeError("a data class of which parts are made late has slots")
        return functools.partial(_with_slots, frozen=frozen)


def _with_slots(cls: type, frozen: bool) -> type:
    """The class with slots for its fields, and with something in the place of each method that makes it."""
    if cls.__bases__ != (object,):
        raise TypeError(f"{cls.__name__} has bases: make it with dataclasses.dataclass")
    namespace = {name: value for name, value in cls.__dict__.items() if name not in _OF_WITHOUT_SLOTS}
    names = tuple(name for name, kind in namespace.get("__annotations__", {}).items() if "ClassVar" not in kind)
    defaults = {name: namespace.pop(name) for name in names if name in namespace}
    late: dict[str, Any] = {name: _Part(defaults, frozen, _DESCRIBING) for name in _DESCRIBING}
    late |= {name: _Part(defaults, frozen, _COMPARING) for name in _COMPARING}
    late["__init__"] = _Init(defaults, frozen, ("__init__",))
    if not frozen:
        late["__hash__"] = None
    else:
        late |= {"__setattr__": _refused, "__delattr__": _refused}
        late |= {"__getstate__": _state, "__setstate__": _set_state}
    return type(cls.__name__, (), late | namespace | {"__slots__": names})


class _Part:
    """Stands in a class for a part of it that `dataclasses.dataclass` makes, and which then takes its place, with the
    other `names` that are made along with it."""

    def __init__(self, defaults: dict[str, Any], frozen: bool, names: tuple[str, ...]) -> None:
        self._defaults = defaults
        self._names = names
        # What describes a class is there without a function that has to be compiled.
        self._asked = {"init": "__init__" in names, "repr": names is _COMPARING, "eq": names is _COMPARING}
        self._asked |= {"slots": True, "frozen": frozen and names is not _DESCRIBING}

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        self._make()
        made = self._owner.__dict__[self._name]
        return made.__get__(instance, owner) if callable(made) else made

    def _make(self) -> None:
        owner = self._owner
        namespace = {**self._defaults, "__doc__": owner.__name__, "__module__": owner.__module__}
        namespace |= {"__qualname__": owner.__qualname__, "__annotations__": owner.__annotations__}
        if hasattr(owner, "__post_init__"):
            namespace["__post_init__"] = owner.__post_init__
        twin: type = dataclasses.dataclass(**self._asked)(type(owner.__name__, (), namespace))
        for name in self._names:
            if isinstance(owner.__dict__.get(name), _Part):
                setattr(owner, name, twin.__dict__[name])


class _Init(_Part):
    """The part that makes objects. It is made for a class of which there are many; the first are made without."""

    def __init__(self, defaults: dict[str, Any], frozen: bool, names: tuple[str, ...]) -> None:
        super().__init__(defaults, frozen, names)
        self._left = _FEW

    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)
        fields = (value for value in self._defaults.values() if isinstance(value, dataclasses.Field))
        if hasattr(owner, "__post_init__") or not all(field.init for field in fields):
            self._left = 0

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None or self._left <= 0:
            return super().__get__(instance, owner)
        self._left -= 1
        return functools.partial(self._fill, instance)

    def _fill(self, instance: Any, /, *given: Any, **named: Any) -> None:
        names: tuple[str, ...] = self._owner.__slots__  # type: ignore[attr-defined]
        values = dict(zip(names, given, strict=False))
        if len(given) > len(names) or not values.keys().isdisjoint(named):
            return self._raise(instance, given, named)
        values |= named
        for name in names:
            if name not in values:
                if name not in self._defaults:
                    return self._raise(instance, given, named)
                values[name] = _default(self._defaults[name])
            object.__setattr__(instance, name, values.pop(name))
        return self._raise(instance, given, named) if values else None

    def _raise(self, instance: object, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Arguments that do not fit: the method itself says why not."""
        super().__get__(instance)(*given, **named)


def _default(value: Any) -> Any:
    if not isinstance(value, dataclasses.Field):
        return value
    return value.default if value.default_factory is dataclasses.MISSING else value.default_factory()


def _refused(self: object, name: str, *_: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot change field {name!r}")


def _state(self: Any) -> list[Any]:
    """For pickling, which would set attributes."""
    return [getattr(self, name) for name in self.__slots__]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__slots__, state, strict=True):
        object.__setattr__(self, name, value)
