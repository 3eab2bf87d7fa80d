"""What is said of records and verdicts, one line each."""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Sequence

from runtime_check import naming
from runtime_check.findings import FoundFinding
from runtime_check.records import IMPORTED, OVERFLOW, UNPLACED, Link, LinkKind, Profile, Run, SiteRecord
from runtime_check.reports import units
from transferlint.model import Direction

_LISTED = 6  # sites that are named where several are told as one
REACH = "run a program that reaches this line"
NEVER_IMPORTED = "the run did not import its file"
WITH_STACKS = "profile again with `with_stack=True`"
NO_STEPS = (
    "no steps were seen, because no optimizer `step()` ran: numbers are for the whole run;"
    " call `transferlint.runtime.step()` at the end of a loop to mark steps"
)
NO_TIME = "time not measured"
ALONE = "run a program in which this call comes before the others"


@dataclasses.dataclass(frozen=True, slots=True)
class Scale:
    """What times of a run are held against: its length over all processes in nanoseconds (0: not known), all recorded
    waiting, the number of full steps, and whether times are modelled, by which device's model."""

    length: int
    waiting: int
    full_steps: int
    modelled: bool
    times: str = "modelled"

    def share(self, blocked: int) -> float | None:
        """What part of the run a time is; None for modelled times, which no clock that ran can be held against."""
        return blocked / self.length if self.length and not self.modelled else None


def scale_of(run: Run) -> Scale:
    """The scale of a run."""
    waiting = sum(record.blocked.total for record in run.sites)
    modelled = run.header.time_source == "modelled"
    if run.outcome is None:
        return Scale(0, waiting, 0, modelled, run.header.times)
    return Scale(run.outcome.processes, waiting, run.outcome.full_steps, modelled, run.header.times)


def times(number: int) -> str:
    """ "once", "1,000 times"."""
    return "once" if number == 1 else f"{number:,} times"


def crossed(records: Sequence[SiteRecord], scale: Scale) -> str:
    """ "1,000 times, d2h, 3.91 KiB: blocked the host for 12.3 ms (4.1 % of the run)"."""
    directions = sorted({record.direction for record in records}, key=lambda one: one.value)
    ways = " and ".join("sync" if one is Direction.NONE else one.value for one in directions)
    count, size = sum(record.count for record in records), sum(record.bytes for record in records)
    places = sites(records)
    steady = sum(record.stepped for record in records) / scale.full_steps if scale.full_steps else 0
    parts = [
        times(count) + (f" at {places}" if places else "") + (f" ({steady:.3g} a step)" if steady else ""),
        ways,
        *([units.size(size)] if size else []),
    ]
    if untimed(records):
        return f"{', '.join(parts)}: {NO_TIME}"
    return f"{', '.join(parts)}: {waited(sum(record.blocked.total for record in records), scale)}"


def untimed(records: Sequence[SiteRecord]) -> bool:
    """Whether there are records, and nothing tells how long any of them kept the host."""
    return bool(records) and all(record.untimed == record.count for record in records)


def sites(records: Sequence[SiteRecord]) -> str:
    """ "2 sites (train.py:15, 17)": where, if there is more than one place; of many, the first; a library's file from
    its package on."""
    places = sorted({(one.site.path, one.site.line, one.site.column) for one in records})
    if len(places) < 2 or any(path.startswith(UNPLACED) for path, _, _ in places):
        return ""
    once = len({(path, line) for path, line, _ in places}) == len(places)
    said: list[str] = []
    for number, (path, line, column) in enumerate(places[:_LISTED]):
        spot = f"{line}" if once or not column else f"{line}:{column}"
        said.append(spot if number and places[number - 1][0] == path else f"{naming.in_library(path)}:{spot}")
    more = f" and {len(places) - _LISTED} more" if len(places) > _LISTED else ""
    return f"{len(places)} sites ({', '.join(said)}{more})"


def one_of(records: Sequence[SiteRecord]) -> str:
    """ "at one of train.py:15, 17 in step, which the trace does not tell apart": what records may be, of which only the
    function is known."""
    places = sorted({(one.path, one.line, one.end_line) for record in records for one in record.maybe})
    functions = ", ".join(sorted({record.function for record in records if record.function}))
    if len(places) == 1 and places[0][2] > places[0][1]:
        path, line, end = places[0]
        return f"somewhere in {functions} ({naming.shown(path)}:{line}-{end}): the trace does not say in which line"
    said = [
        f"{line}" if number and places[number - 1][0] == path else f"{naming.shown(path)}:{line}"
        for number, (path, line, _) in enumerate(places[:_LISTED])
    ]
    more = f" and {len(places) - _LISTED} more" if len(places) > _LISTED else ""
    return f"at one of {', '.join(said)}{more} in {functions}, which the trace does not tell apart"


def waited(blocked: int, scale: Scale) -> str:
    """ "blocked the host for 12.3 ms (4.1 % of the run)"."""
    if blocked == 0:
        return "the host did not wait"
    text = f"blocked the host for {units.duration(blocked)}"
    if scale.modelled:
        return f"{text} ({scale.times}; {units.share(blocked / scale.waiting)} of all waiting)"
    share = scale.share(blocked)
    return text if share is None else f"{text} ({units.share(share)} of the run)"


def linked(links: Sequence[Link]) -> str:
    """What was seen of a round trip or a repeat."""
    parts = []
    for kind in dict.fromkeys(link.kind for link in links):
        of_kind = [link for link in links if link.kind is kind]
        if kind is LinkKind.EQUAL_CONTENT:
            parts.append(f"equal content was uploaded {times(sum(link.count for link in of_kind))}")
            continue
        name = {LinkKind.REPEAT: "the same data was transferred again"}.get(kind, f"round trip ({kind.value}) seen")
        how = {None: "", False: "unchanged", True: "changed in between"}
        for changed in (False, True, None):
            count = sum(link.count for link in of_kind if link.changed is changed)
            said = "" if kind is LinkKind.REPEAT else how[changed]
            if count:
                parts.append(f"{name} {times(count)}{', ' if said else ''}{said}")
    return "; ".join(parts)


def act_on(finding: FoundFinding) -> str:
    """What to do about a finding that was borne out: one line."""
    options = {"safe": "--fix", "unsafe": "--fix --unsafe-fixes"}.get(finding.fix, "")
    command = f"`transferlint check {options} {finding.shown}`" if options else ""
    advice = finding.help or finding.fix_title or f"see `transferlint rule {finding.code}`"
    return f"{advice} ({command})" if command else advice


def quiet(finding: FoundFinding) -> str:
    """What to do about a finding that was not borne out."""
    return f"if no run transfers here, suppress it: `# transferlint: ignore[{finding.code}] <reason>`"


def needed(finding: FoundFinding) -> str:
    """What to do about a move that was said to be needless, and is not."""
    return f"keep the move and suppress the finding: `# transferlint: ignore[{finding.code}] <reason>`"


def unseen(findings: Sequence[FoundFinding], run: Run) -> tuple[str, ...]:
    """That nothing can be said of findings about frameworks whose transfers were not recorded, in one line; none where
    there are none."""
    about = [one.framework for one in findings if one.framework]
    if not about:
        return ()
    names = " and ".join(sorted(set(about)))
    recorded = " and ".join(run.header.watched)
    number = units.count(len(about), "finding")
    return (f"{number} about {names} data got no verdict: only transfers of {recorded} are recorded",)


def notes(run: Run, lines_known: bool) -> tuple[str, ...]:
    """What the verdicts of a run cannot know, one line each."""
    found = list(run.header.notes)
    outcome = run.outcome
    if run.header.time_source == "modelled":
        found.append(
            f"times are {run.header.times}: they estimate the transfers, not the other work of the device"
        )
    if outcome is None or outcome.status is None:
        found.append("the run has no exit status: it was killed or still runs; what it recorded so far is shown")
    elif outcome.status < 0:
        why = "; the kernel does this if memory runs out" if outcome.status == -signal.SIGKILL else ""
        found.append(f"the program {ended(outcome.status)}{why}: what it had recorded until then is shown")
    if outcome is not None and outcome.events and not outcome.steps and run.header.level != IMPORTED:
        found.append(NO_STEPS)
    if run.truncated:
        found.append("the last line of a record file was cut off and is ignored")
    if outcome is not None:
        for missing in outcome.missing:
            count = f" ({units.count(missing.events, 'event')})" if missing.events >= 0 else ""
            found.append(f"the events of {missing.process} are missing{count}: {missing.why}")
        if outcome.overflow:
            counted = units.count(outcome.overflow, "event")
            found.append(f"{counted} came from further sites, beyond the limit: counted under {OVERFLOW}")
    found += [profiled(one) for one in run.profiles]
    cost = run.header.overhead_ns * outcome.events if outcome is not None else 0
    if cost:
        each, whole = units.duration(run.header.overhead_ns), units.duration(cost)
        found.append(f"recording took about {each} per event, {whole} in all; the blocked times do not include it")
    if not lines_known and run.header.level != IMPORTED:
        found.append("it was not recorded which lines ran: no finding can be refuted")
    return tuple(found)


def ended(status: int) -> str:
    """How a program ended that did not end well: "failed with exit status 1", "was killed by SIGKILL"."""
    if status > 0:
        return f"failed with exit status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def profiled(profile: Profile) -> str:
    """What a profile saw, in one line."""
    if profile.problem:
        return profile.problem
    steps = f"profiled after step {profile.first}: {units.count(profile.steps, 'step')} in"
    steps += f" {units.duration(profile.duration)}"
    host = f"the host was in {units.count(profile.operators, 'operator')} for {_part(profile.host, profile.duration)}"
    if profile.on_device:
        idle = max(profile.duration - profile.device, 0)
        found = f"{sum(one.count for one in profile.copies):,} of the copies are among the transfers here"
        seen = f"the device was idle for {_part(idle, profile.duration)}; copies took"
        said = f"{seen} {units.duration(profile.copied)} ({found}); {host}"
    else:
        said = f"{host}; a simulated device has no timeline of its own"
    return f"{steps}; {said}; {profile.trace} beside the records opens in ui.perfetto.dev"


def _part(time: int, whole: int) -> str:
    share = f" ({units.share(time / whole)})" if whole else ""
    return f"{units.duration(time)}{share}"
