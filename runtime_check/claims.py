"""What a finding says will be seen at run time: which way data crosses, and what has to come with it."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping

from runtime_check.findings import FoundFinding
from runtime_check.records import LinkKind, SiteRecord
from transferlint.model import Direction, Part, Site

_H2D, _D2H, _NONE = Direction.H2D, Direction.D2H, Direction.NONE
_READ = frozenset({_D2H})
_WAIT = frozenset({_D2H, _NONE})
_UPLOAD = frozenset({_H2D})
_ANY = frozenset({_H2D, _D2H, _NONE, Direction.D2D})
_SCALAR = "aten::_local_scalar_dense"
_COPY = "aten::copy_"
RECORDED = ("jax",)  # frameworks beside torch whose transfers are recorded
# What stands for torch's operation in another framework.
_ALSO: Mapping[str, frozenset[str]] = types.MappingProxyType(
    {
        _SCALAR: frozenset(
            f"jax.Array.{name}" for name in "item __float__ __int__ __bool__ __index__ __complex__".split()
        ),
        _COPY: frozenset(("jax.Array.__array__", "jax.device_get")),
    }
)


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """A rule's claim.

    `directions` are those of the records that bear it out, `operation` the one that it is mostly about ("" for none),
    which tells findings of one line apart where records have no columns. `links` are what proves a round trip or a
    repeat, `hints` what is worth a remark; `back` is the direction of the other end of a round trip.
    `framework` is the one beside torch whose data it is about.
    `manner` says how it is to cross: "waits" (the host does), "pageable", "ignored" (a hint that was ignored),
    "unsynchronized", "needless" (nothing crosses).
    """

    directions: frozenset[Direction] = _ANY
    operation: str = ""
    links: frozenset[LinkKind] = frozenset()
    hints: frozenset[LinkKind] = frozenset()
    back: Direction = _NONE
    manner: str = ""
    framework: str = ""

    @property
    def returns(self) -> bool:
        """Whether it is about a round trip."""
        return self.back is not _NONE

    def bears_out(self, record: SiteRecord) -> bool:
        """True where a record is of the kind that the claim is about."""
        if record.framework != self.framework:
            return False
        if self.manner == "unsynchronized" and record.direction is _D2H:
            return record.non_blocking > 0
        return record.crossed and record.direction in self.directions

    def names(self, operation: str) -> bool:
        """True where a record's operation is the one that the claim is mostly about."""
        return operation == self.operation or operation in _ALSO.get(self.operation, ())


_BACK = frozenset({LinkKind.DEVICE_HOST_DEVICE, LinkKind.SCALAR_DETOUR, LinkKind.EQUAL_CONTENT})
_SAME = frozenset({LinkKind.REPEAT, LinkKind.EQUAL_CONTENT})
_THERE = frozenset({LinkKind.HOST_DEVICE_HOST})
_CLAIMS: Mapping[str, Claim] = types.MappingProxyType(
    {
        "TL101": Claim(_WAIT, _SCALAR),
        "TL102": Claim(_READ, _COPY),
        "TL103": Claim(hints=_SAME),
        "TL104": Claim(_UPLOAD, hints=_SAME),
        "TL106": Claim(_WAIT, _SCALAR),
        "TL107": Claim(_WAIT),
        "TL201": Claim(
            _READ,
            _COPY,
            _BACK,
            back=_H2D,
        ),
        "TL202": Claim(_READ, _COPY, _THERE, back=_H2D),
        "TL203": Claim(_WAIT, _SCALAR),
        "TL204": Claim(_UPLOAD, links=_SAME),
        "TL301": Claim(_WAIT, _SCALAR),
        "TL302": Claim(_WAIT, _SCALAR),
        "TL303": Claim(_WAIT),
        "TL304": Claim(_WAIT),
        "TL305": Claim(frozenset({_H2D, _NONE})),
        "TL306": Claim(frozenset({_NONE})),
        "TL401": Claim(_UPLOAD, hints=_SAME),
        "TL402": Claim(_UPLOAD, manner="waits"),
        "TL403": Claim(_UPLOAD, manner="ignored"),
        "TL404": Claim(_UPLOAD, manner="pageable"),
        "TL405": Claim(_READ, _COPY),
        "TL406": Claim(_UPLOAD),
        "TL407": Claim(manner="needless"),
        "TL503": Claim(_READ, manner="unsynchronized"),
    }
)
NO_TRANSFER = ("TL0", "TL502", "TL504")  # about the linter itself, and about operations that raise


def claim_of(finding: FoundFinding) -> Claim | None:
    """What the finding claims: anything that crosses, for a rule that is not known here; None where a run cannot tell:
    it is not about transfers, or about data of a framework that no hooks are for."""
    if finding.framework not in ("", *RECORDED) or finding.code.startswith(NO_TRANSFER):
        return None
    claim = _CLAIMS.get(finding.code, Claim())
    return dataclasses.replace(claim, framework=finding.framework) if finding.framework else claim


def sites_of(finding: FoundFinding) -> tuple[Site, ...]:
    """The finding's own site, and those that it stands for."""
    return (finding.site, *(link.site for link in finding.evidence if link.part in (Part.SAME, Part.TRANSFER)))


def sites(finding: FoundFinding) -> tuple[Site, ...]:
    """The sites that have to run for a verdict on a finding."""
    return () if claim_of(finding) is None else sites_of(finding)


def ends_of(finding: FoundFinding) -> tuple[Site, ...]:
    """The other ends of a round trip."""
    return tuple(link.site for link in finding.evidence if link.part is Part.RETURN)


def made_within(finding: FoundFinding) -> tuple[Site, ...]:
    """Where a function makes the transfer that its call, the finding's site, is reported for."""
    return tuple(link.site for link in finding.evidence if link.part is Part.CALLEE)
