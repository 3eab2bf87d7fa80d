"""What is known of a function once it is placed, by which callers, rules and heat know it."""

from __future__ import annotations

from transferlint import late
from transferlint.flow.callgraph.roles import Role
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import Value
from transferlint.model import Level
from transferlint.syntax.program import Function, Reg, Slot

# A parameter, "" for its items or the part ("['x']", ".x", `ADDED`, `WITHIN`), and what that holds.
Written = tuple[tuple[Slot, str, Value], ...]
ADDED = "+"  # one item more
WITHIN = "[+]"  # one more in an item
NO_ARGUMENT = -1


@late.dataclass(frozen=True, slots=True)
class Passed:
    """A transfer that a function makes of the argument in `slot` (NO_ARGUMENT: a wait, whatever it is given), but not
    where one for `unless` is given. `returned`: what it gives is what the function returns, or part of it."""

    slot: Slot
    transfer: Transfer
    unless: frozenset[Slot] = frozenset()
    returned: bool = True


@late.dataclass(slots=True)
class Placed:
    """One function, placed: values by register, transfers in order, what it returns, which functions of the checked
    source it calls (idents, by the register of the call), which it hands to what calls them, and how often, which it
    lends to anything else, the classes (idents) of the objects whose methods it calls, which of the transfers it only
    wraps, which calls are of what a framework compiled, and what it uploads into its arguments."""

    function: Function
    role: Role
    values: list[Value]
    transfers: list[Transfer]
    returns: Value | None
    calls: dict[Reg, str]
    handed: dict[tuple[Reg, str], Level]
    lent: frozenset[tuple[Reg, str]]
    receivers: dict[Reg, str]
    passed: tuple[Passed, ...]
    compiled: frozenset[Reg] = frozenset()
    written: Written = ()
