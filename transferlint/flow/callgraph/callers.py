"""What the known calls of a file's functions give for their parameters."""

from __future__ import annotations

from transferlint.flow.lattice.values import DATA, HOST, KEPT, NULLABLE, OPTIONAL, PINNED, RESIDENT, SHAPES, Value, join
from transferlint.syntax.program import Reg, Slot

_TOLD = RESIDENT | PINNED | OPTIONAL | DATA | SHAPES | NULLABLE | KEPT

# A call: the file and the function that it stands in, and its register there.
Site = tuple[str, int, Reg]


class Callers:
    """By function (index) of one file: what each call gives, as values by parameter, and as registers by name."""

    def __init__(self) -> None:
        self._values: dict[int, dict[Slot, dict[Site, Value]]] = {}
        self._given: dict[int, dict[Site, dict[str, Reg] | None]] = {}
        self._joined: dict[tuple[int, Slot], Value | None] = {}

    def tell(self, index: int, slot: Slot, value: Value, site: Site) -> None:
        """Note what a call gives for a parameter; its registers mean nothing here."""
        self.note(index, slot, value.foreign().but(flags=value.flags & _TOLD), site)

    def note(self, index: int, slot: Slot, clean: Value, site: Site) -> None:
        """Note a value without registers."""
        self._joined.pop((index, slot), None)
        self._values.setdefault(index, {}).setdefault(slot, {})[site] = clean

    def called(self, index: int, site: Site, given: dict[str, Reg] | None) -> None:
        """Note a call, and what it gives by name; None where that cannot be told."""
        self._given.setdefault(index, {})[site] = given

    def value(self, index: int, slot: Slot, site: Site) -> Value | None:
        """What one call gives for a parameter."""
        return self._values.get(index, {}).get(slot, {}).get(site)

    def telling(self, index: int, slot: Slot) -> set[Site]:
        """The calls that give something for a parameter."""
        return set(self._values.get(index, {}).get(slot, {}))

    def joined(self, index: int, slot: Slot) -> Value | None:
        """What all calls together give for a parameter."""
        given = self._values.get(index, {}).get(slot)
        if given is None:
            return None
        if (index, slot) not in self._joined:
            found: Value | None = None
            for value in given.values():
                found = join(found, value)
            self._joined[index, slot] = found
        return self._joined[index, slot]

    def each_hosted(self, index: int, slot: Slot) -> bool:
        """Whether what each call gives for a parameter is on the host on some path, and on the device on none."""
        given = self._values.get(index, {}).get(slot, {}).values()
        return all(value.places & HOST and not value.on_device for value in given)

    def calls(self, index: int) -> dict[Site, dict[str, Reg] | None]:
        """What each call gives by name."""
        return self._given.get(index, {})

    def functions(self, index: int) -> set[tuple[str, int]]:
        """The functions that give something for a parameter."""
        return {(key, caller) for sites in self._values.get(index, {}).values() for key, caller, _ in sites}

    def known(
        self,
    ) -> tuple[dict[int, dict[Slot, dict[Site, Value]]], dict[int, dict[Site, dict[str, Reg] | None]]]:
        """All that is noted: values by function and parameter, and registers by function."""
        return self._values, self._given

    def callers(self, index: int) -> set[tuple[str, int]]:
        """The functions that call it, as far as is known."""
        return self.functions(index) | {(key, caller) for key, caller, _ in self._given.get(index, ())}

    def indices(self) -> set[int]:
        """The functions of which calls are known."""
        return {*self._values, *self._given}
