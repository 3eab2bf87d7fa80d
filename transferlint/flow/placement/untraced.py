"""What of the transfers of a function that uses a framework counts: those that it makes when it runs on data.

Traced code cannot read a tensor (that raises), so that nothing in it is a transfer but what calls the host back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transferlint.flow.lattice.transfers import (
    BUILD,
    CALLBACK,
    DOWNLOAD,
    FORMAT,
    MOVE,
    NUMBER,
    SCALAR_READ,
    SYNCHRONIZE,
    TRUTH,
    Transfer,
)
from transferlint.flow.lattice.values import framework_of
from transferlint.knowledge.framework import Framework
from transferlint.syntax import program as p

if TYPE_CHECKING:
    from transferlint.flow.callgraph.roles import Role
    from transferlint.flow.placement.frame import Frame

_READS = frozenset({SCALAR_READ, DOWNLOAD, NUMBER})
_QUIET = frozenset({BUILD, MOVE, FORMAT, TRUTH})


def run_on_data(frame: Frame, role: Role, transfers: list[Transfer]) -> list[Transfer]:
    """The transfers of a function that it makes when it runs. In traced code that is what calls the host alone, and not
    where the device decides whether it does (an arm of `jax.lax.cond`). Who is not seen to be traced may be, by code
    elsewhere: then it makes constants and prints once. It is not where it reads data, which raises while it is traced,
    or calls what is compiled."""
    if role.traced:
        asked = frame.function.index in frame.file.tracing.arms
        return [one for one in transfers if one.kind == CALLBACK and not asked]
    transfers = [one for one in transfers if not _of_several(frame, one) and not _bound(frame, one)]
    if frame.function.kind == "module" or frame.runs or any(_reads(frame, one) for one in transfers):
        return transfers
    return [one for one in transfers if not (one.kind in _QUIET and _may_be_traced(frame, one))]


def _reads(frame: Frame, transfer: Transfer) -> bool:
    """True for what raises while it is traced."""
    if transfer.kind == TRUTH:
        framework = _framework(frame, transfer)
        return framework is None or not framework.autograph
    return transfer.kind in _READS


def _bound(frame: Frame, transfer: Transfer) -> bool:
    """True for `x[:t]` where a tensor serves as it is."""
    framework = _framework(frame, transfer) if transfer.api == "x[:t]" else None
    return framework is not None and framework.autograph


def _framework(frame: Frame, transfer: Transfer) -> Framework | None:
    return framework_of(frame.values[transfer.register].flags | transfer.before.flags)


def _of_several(frame: Frame, transfer: Transfer) -> bool:
    """True for a wait in `with cupy.cuda.Device(number)`: where several devices work, each is waited for in turn."""
    if transfer.kind != SYNCHRONIZE:
        return False
    function = frame.function
    for region in function.ancestors(function.lookup.regions[transfer.register]):
        made = function.code[region.test] if region.kind == "with" and region.test is not None else None
        varies = isinstance(made, p.Call) and made.args and not isinstance(function.code[made.args[0]], p.Const)
        if isinstance(made, p.Call) and varies and frame.dotted(made.function) == "cupy.cuda.Device":
            return True
    return False


def _may_be_traced(frame: Frame, transfer: Transfer) -> bool:
    """True for data of a framework that traces functions, other than those that it is told of here."""
    framework = _framework(frame, transfer)
    return framework is not None and not framework.always
