"""What of a project is seen to run, and to run repeatedly: a chain of calls from a loop in sight, never a name alone.

Reachability over the call graph, as rapid type analysis builds it (D. F. Bacon, P. F. Sweeney, Fast Static Analysis of
C++ Virtual Function Calls, OOPSLA 1996): what a module's own code calls or mentions is reached, and what that calls and
mentions; the methods of a class are where something makes one and calls a method of that name. Then what is called in
loops of code that is reached, or in code that runs repeatedly itself, runs repeatedly. So does the forward pass of a
module that is made: where it is a part of another module, with that; but not where others call methods of its own and
no one calls it. And so does what a package offers in its `__init__.py`, and a method that a library calls for every
step. Tests, and what stands beside a program as somebody else's, start nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from transferlint import late
from transferlint.flow.callgraph.names import ClassInfo, ident, split
from transferlint.flow.callgraph.roles import lies_in
from transferlint.flow.frequency.callees import few, methods_by_name
from transferlint.flow.frequency.uses import LOOP, RARELY, STEP, Uses
from transferlint.knowledge import roles
from transferlint.knowledge.torch_names import OWN_CALLS
from transferlint.syntax.program import Function

if TYPE_CHECKING:
    from transferlint.flow.placement.placement import FilePlacement

_INSIDE = ("forward", "__call__")


@late.dataclass(frozen=True, slots=True)
class Runs:
    """Of one file: the functions that are reached, those that run repeatedly, and of these what loops whose turns are
    steps make do so (`stepping`); `guarded`: what stands behind its main guard is reached too; `seeded`: somebody in
    its project seeds torch's generators; `placed`: the project speaks of an accelerator, of a torch whose functions
    take `device=`, and the file, or one that imports it in the end, moves something; `closed`: all programs that use
    the file are in sight."""

    reached: frozenset[int] = frozenset()
    repeated: frozenset[int] = frozenset()
    stepping: frozenset[int] = frozenset()
    guarded: bool = True
    seeded: bool = False
    placed: bool = True
    closed: bool = False

    def renumbered(self, functions: Iterable[Function], old: Mapping[str, int]) -> Runs:
        """The same of another text of the file, whose functions had these indices by their qualified names."""
        reached, repeated, stepping = (
            frozenset(f.index for f in functions if old.get(f.qualname) in among)
            for among in (self.reached, self.repeated, self.stepping)
        )
        return late.replace(self, reached=reached, repeated=repeated, stepping=stepping)


def runs(
    files: Mapping[str, tuple[FilePlacement, Uses]], closed: Callable[[str], bool] = lambda key: False
) -> dict[str, Runs]:
    """What runs of some files, by their keys; of which all programs that use them are in sight, `closed` knows."""
    found = _Search(files).found()
    if not any(one.reached - {0} for one in found.values()):
        return found  # no program among them
    return {key: late.replace(one, closed=closed(key)) for key, one in found.items()}


class _Search:
    def __init__(self, files: Mapping[str, tuple[FilePlacement, Uses]]) -> None:
        self._files = files
        self._classes: dict[str, ClassInfo] = {
            ident(key, index): info for key, (file, _) in files.items() for index, info in file.classes.items()
        }
        self._mentions: dict[str, list[tuple[bool, str, bool]]] = {}
        self._calls: dict[str, list[tuple[bool, str]]] = {}
        for key, (_, uses) in files.items():
            for function, guarded, target, sometimes in uses.mentions:
                self._mentions.setdefault(ident(key, function), []).append((guarded, target, sometimes))
            for function, target, guarded, _ in uses.calls:
                self._calls.setdefault(ident(key, function), []).append((guarded, target))
        self._all = {target for _, uses in files.values() for _, target, _, _ in uses.calls}
        self._named: dict[str, set[str]] = {}  # methods that are read, and the functions that do
        for key, (_, uses) in files.items():
            for index, name in uses.named:
                self._named.setdefault(name, set()).add(ident(key, index))
        known = methods_by_name(file for file, _ in files.values())
        self._told = {name for name, idents in known.items() if few(idents)}
        self._outside = self._mentioned_outside()
        self._broken = self._not_imported()
        # Classes, and the functions that make one: whether each does so only sometimes.
        self._makers: dict[str, dict[str, bool]] = {}
        self._reached: set[str] = set()
        self._live: set[str] = set()  # classes of which something makes objects, and their bases
        self._waiting: dict[str, set[str]] = {}  # methods that are called, by classes of which nothing does yet
        self._repeated: set[str] = set()  # of the loops that are asked about
        self._loops: tuple[str, ...] = ()
        self._always = False
        self._pending: list[str] = []
        self._callers: dict[str, set[str]] = {}
        for caller, called in self._calls.items():
            for _, target in called:
                self._callers.setdefault(target, set()).add(caller)

    def found(self) -> dict[str, Runs]:
        """What runs, by file."""
        for key, (file, _) in self._files.items():
            if self._starts(key, file) and key not in self._broken:
                self._reach(ident(key, 0))
        for target in self._offered():
            self._reach(target)
        while self._pending:
            self._enter(self._pending.pop())
        self._stepping = self._repeating((STEP,), always=True)
        self._repeated = self._repeating((STEP, LOOP), always=False)
        own = [uses for key, (file, uses) in self._files.items() if self._starts(key, file)]
        self._seeded = any(uses.seeds for uses in own)
        places = any(uses.speaks for uses in own) and not any(uses.dated for uses in own)
        self._placed = self._driven() if places else set()
        return {key: self._of(key) for key in self._files}

    def _repeating(self, loops: tuple[str, ...], always: bool) -> set[str]:
        """The functions that loops of these kinds make run repeatedly; `always`: of modules that no branch chooses."""
        self._loops, self._always, self._repeated = loops, always, set()
        while any([self._turn(key) for key in self._files]) or self._passes():
            pass
        return self._repeated

    @staticmethod
    def _starts(key: str, file: FilePlacement) -> bool:
        """True for a file that is no test, and the project's own."""
        return not file.roles[0].testing and not lies_in(key, roles.VENDORED_PATHS)

    def _driven(self) -> set[str]:
        """The files that move something, and those that they import from, and so on."""
        found = {key for key, (_, uses) in self._files.items() if uses.moves}
        pending = list(found)
        while pending:
            more = {one for one in self._files[pending.pop()][1].imports if one in self._files} - found
            found |= more
            pending.extend(more)
        return found

    def _not_imported(self) -> set[str]:
        """The files that cannot be imported: those that import what is not there, and those that need one of these."""
        users: dict[str, list[str]] = {}
        for key, (_, uses) in self._files.items():
            for one in uses.needs:
                users.setdefault(one, []).append(key)
        found = {key for key, (_, uses) in self._files.items() if uses.broken}
        pending = list(found)
        while pending:
            more = set(users.get(pending.pop(), ())) - found
            found |= more
            pending.extend(more)
        return found

    def _of(self, key: str) -> Runs:
        places = range(len(self._files[key][0].program.functions))
        reached = frozenset(at for at in places if ident(key, at) in self._reached)
        repeated, stepping = (
            frozenset(at for at in reached if ident(key, at) in among) - self._files[key][1].failing
            for among in (self._repeated, self._stepping)
        )
        return Runs(reached, repeated, stepping, key not in self._outside, self._seeded, key in self._placed)

    def _mentioned_outside(self) -> dict[str, set[str]]:
        """What other files use of each file, and it itself without its main guard: whoever is used is no program."""
        found: dict[str, set[str]] = {}
        for key, (_, uses) in self._files.items():
            for _, _, target, _ in uses.mentions:
                place = split(target)
                if place is not None and place[0] != key and place[0] in self._files:
                    found.setdefault(place[0], set()).add(target)
        for key, known in found.items():
            known |= {target for _, guarded, target, _ in self._files[key][1].mentions if not guarded}
        return found

    def _counts(self, key: str, guarded: bool, target: str) -> bool:
        """False for a use behind the main guard of a file that others use, of a class or of what is used elsewhere
        too: a test of its own. A function that only the guard calls is a program's start."""
        if not guarded or key not in self._outside:
            return True
        place = split(target)
        own = place is not None and place[0] == key
        functions = self._files[key][0].program.functions
        starts = own and place is not None and functions[place[1]].kind == "function" and not functions[place[1]].parent
        return starts and target not in self._outside[key]

    def _reach(self, target: str) -> None:
        """Reach a function or class, but for those of a file that cannot be imported, and a class that cannot be
        made, as its constructor raises."""
        place = split(target)
        broken = place is not None and place[0] in self._broken
        made = split(self._classes[target].methods.get("__init__", "")) if target in self._classes else None
        broken |= made is not None and made[0] in self._files and made[1] in self._files[made[0]][1].failing
        if target not in self._reached and not broken:
            self._reached.add(target)
            self._pending.append(target)

    def _dispatch(self, target: str) -> None:
        """Reach what is called: a method when something makes an object that has it (rapid type analysis)."""
        key, index = split(target) or ("", 0)
        functions = self._files[key][0].program.functions if key in self._files else []
        owner = functions[index].parent if functions else 0
        known = ident(key, owner) in self._classes and not functions[owner].decorators
        if known and ident(key, owner) not in self._live:
            self._waiting.setdefault(ident(key, owner), set()).add(target)
        else:
            self._reach(target)

    def _make(self, target: str) -> None:
        """Note that something makes objects of a class, and of its bases with it."""
        pending = [target]
        while pending:
            one = pending.pop()
            if one in self._classes and one not in self._live:
                self._live.add(one)
                pending.extend(self._classes[one].bases)
                for method in sorted(self._waiting.pop(one, ())):
                    self._reach(method)

    def _enter(self, target: str) -> None:
        """Reach what a function or class that was reached uses."""
        key, index = split(target) or ("", 0)
        if key not in self._files:
            return
        if target in self._classes:
            self._make(target)
            for method in self._methods_of(self._classes[target]):
                self._reach(method)
        file = self._files[key][0]
        kind = file.program.functions[index].kind
        for function in file.program.functions[1:]:
            inner = kind != "class" and (function.kind == "lambda" or _handed(function))
            if function.parent == index and inner:
                self._reach(ident(key, function.index))
        for guarded, used, sometimes in self._mentions.get(target, ()):
            if self._counts(key, guarded, used):
                if used in self._classes:
                    makers = self._makers.setdefault(used, {})
                    makers[target] = sometimes and makers.get(target, True)
                self._reach(used)
        for guarded, used in self._calls.get(target, ()):
            if self._counts(key, guarded, used):
                self._dispatch(used)

    def _methods_of(self, info: ClassInfo) -> Iterator[str]:
        """The methods of a class that is made that run: those that Python and torch call, those of which somebody calls
        one of the name, those that read like attributes, and those that a base calls of which nothing is known."""
        foreign = self._foreign(info)
        for name, method in info.methods.items():
            key, index = split(method) or ("", 0)
            decorated = key in self._files and self._files[key][0].program.functions[index].decorators
            called = method in self._all or name not in self._told or name == "forward" or decorated
            if called or name.startswith("__") or (foreign and roles.certain(name)):
                yield method

    def _foreign(self, info: ClassInfo) -> bool:
        """True for a class one of whose bases is neither known nor plain."""
        pending, seen = list(info.bases), set[str]()
        while pending:
            base = pending.pop()
            if base in seen:
                continue
            seen.add(base)
            known = self._classes.get(base)
            if known is not None:
                pending.extend(known.bases)
            elif not base.startswith(OWN_CALLS):
                return True
        return False

    def _offered(self) -> Iterator[str]:
        """The functions and classes that packages offer, and the public methods of these; but for packages that the
        project's own files use, of which none can be imported."""
        users: dict[str, set[str]] = {}
        for key, (_, uses) in self._files.items():
            for _, _, target, _ in uses.mentions:
                users.setdefault(target, set()).add(key)
        for _, uses in self._files.values():
            own = {(split(target) or ("",))[0] for target in uses.offered}
            known = set[str]().union(*(users.get(target, ()) for target in uses.offered)) - own
            for target in uses.offered if not known or known - self._broken else ():
                yield target
                info = self._classes.get(target)
                for name, method in info.methods.items() if info is not None else ():
                    if not name.startswith("_"):
                        yield method

    def _turn(self, key: str) -> bool:
        """Pass on what runs repeatedly along the calls of a file; whether anything was found."""
        before, failing = len(self._repeated), self._files[key][1].failing
        for caller, target, guarded, how in self._files[key][1].calls:
            made = ident(key, caller)
            if how == RARELY or made not in self._reached or not self._counts(key, guarded, target):
                continue
            if caller in failing:
                continue
            if how in self._loops or (made in self._repeated and not self._others_decide(made, target)):
                self._repeated.add(target)
        return len(self._repeated) > before

    def _others_decide(self, forward: str, part: str) -> bool:
        """True for a method that a forward pass of its class calls of which no call is in sight, where others call the
        method themselves: it runs as often as they do that."""
        key, index = split(forward) or ("", 0)
        file = self._files[key][0]
        info = file.class_of(file.program.functions[index])
        inside = info is not None and any(info.methods.get(name) == forward for name in _INSIDE)
        if info is None or not inside or part not in info.methods.values():
            return False
        own = set(info.methods.values())
        names = {name for name, method in info.methods.items() if method == part}
        named = set().union(*(self._named.get(name, set()) for name in names))
        return not self._callers.get(forward, set()) - own and bool((self._callers.get(part, set()) | named) - own)

    def _passes(self) -> bool:
        """Add what torch, and other libraries, call for every step; whether anything was found."""
        before = len(self._repeated)
        offered = {target for _, uses in self._files.values() for target in uses.offered}
        for name, info in self._classes.items():
            if name not in self._reached:
                continue
            if name in offered or (self._foreign(info) and self._made(name)):
                self._repeated.update(m for n, m in info.methods.items() if self._hot(m) and roles.certain(n))
            if info.module and self._made(name):
                self._repeated.update(info.methods[n] for n in _INSIDE if n in info.methods and not self._avoided(info))
        return len(self._repeated) > before

    def _hot(self, method: str) -> bool:
        key, index = split(method) or ("", 0)
        return key in self._files and bool(self._files[key][0].roles[index].hot)

    def _made(self, name: str) -> bool:
        """True for a class of which code that is reached makes one: other modules among these, if they run."""
        makers = self._makers.get(name, {}).items()
        return any(self._uses_parts(maker) for maker, sometimes in makers if not (sometimes and self._always))

    def _uses_parts(self, maker: str) -> bool:
        key, index = split(maker) or ("", 0)
        file = self._files[key][0]
        info = file.class_of(file.program.functions[index])
        if info is None or not info.module:
            return True
        return any(method in self._repeated for method in info.methods.values())

    def _avoided(self, info: ClassInfo) -> bool:
        """True for a module of which others call methods of its own, and no one the forward pass."""
        own = set(info.methods.values())
        calls = {name: self._callers.get(method, set()) - own for name, method in info.methods.items()}
        if any(calls.get(name) for name in _INSIDE):
            return False
        public = {name for name in calls if not name.startswith("_")}
        named = {name for name in public & self._named.keys() if self._named[name] - own}
        return bool(named) or any(calls[name] for name in public)


def _handed(function: Function) -> bool:
    """True for a function that a decorator gets to know, which may call it or keep it for others that do."""
    return function.kind == "function" and any(not one.startswith(roles.WRAPPERS) for one in function.decorators)


def runs_alone(file: FilePlacement, uses: Uses) -> Runs:
    """What runs of a file of which nothing else is known."""
    return runs({file.key: (file, uses)})[file.key]
