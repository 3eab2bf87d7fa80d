"""What is known of a name: the user's rows first, then the tables.

    effect_of("torch.nn.utils.clip_grad_norm_", user, given={"error_if_nonfinite"})  -> Effect.CHECK
    hot("proj.callbacks.Watch.on_train_batch_end", user)                             -> "`on_train_batch_end` runs ..."

Names are qualified as the source imports them ("torch.amp.GradScaler.step"); methods stand with the class that the
receiver is known to be, or one of its bases.
"""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Collection

from transferlint import late
from transferlint.knowledge import catalogue
from transferlint.knowledge.api import Api, Callback, Effect
from transferlint.knowledge.ignite import EVENTS
from transferlint.knowledge.user import EFFECT_KEYS, HEAT_KEYS, NOTHING_SAID, UserKnowledge
from transferlint.model import Level

_USER_EFFECTS = {
    "moves": Effect.SEND,
    "reads": Effect.READS_ARGUMENTS,
    "syncs": Effect.SYNCHRONIZE,
    "returns-device": Effect.DEVICE_TENSOR,
    "returns-host": Effect.HOST_DATA,
}
_EVENT = late.pattern(r"\.on\(\s*(?:\w+\.)*Events\.(?P<event>[A-Z_]+)(?P<filtered>\s*\()?")


def effect_of(name: str, user: UserKnowledge = NOTHING_SAID, given: Collection[str] = ()) -> Effect | None:
    """What a call of `name` does, None where nobody says. `given` are the keywords of the call that are neither False
    nor None (some rows depend on them)."""
    if user is not NOTHING_SAID and user:
        key = _chooser(user, EFFECT_KEYS).key_of(name)
        if key:
            return _USER_EFFECTS[key]
    row = row_of(name)
    return row.of(given) if row is not None else None


@functools.lru_cache(maxsize=8192)
def row_of(name: str) -> Api | None:
    """The table's row for a name: its own, else that of the nearest name with ".*" above it."""
    rows = catalogue.rows()
    found = rows.get(name)
    if found is not None:
        return found
    below = catalogue.below()
    above = name.rpartition(".")[0]
    while above:
        found = below.get(above)
        if found is not None:
            return found
        above = above.rpartition(".")[0]
    return None


def told(name: str, user: UserKnowledge) -> str:
    """The key under which the user names this function ("moves", "hot", ...), "" where he does not."""
    if not user:
        return ""
    return _chooser(user, EFFECT_KEYS).key_of(name) or _chooser(user, HEAT_KEYS).key_of(name)


def hot(name: str, user: UserKnowledge = NOTHING_SAID) -> str:
    """Why the function `name` runs at least once a step, "" where nobody says so.

    `name` is qualified ("proj.train.Net.training_step"); a hook is known by its own name or by its base's
    ("lightning.pytorch.Callback.on_fit_end")."""
    key = _heat_key(name, user)
    if key:
        return f"`{_last(name)}` is hot by the settings" if key == "hot" else ""
    hook = catalogue.hook(name)
    if hook is not None and hook.level >= Level.PER_STEP:
        return f"`{_last(name)}` runs {hook.level.words} ({hook.source.partition(':')[0]})"
    return ""


def cold(name: str, user: UserKnowledge = NOTHING_SAID) -> str:
    """Why the function `name` runs rarely, "" where nobody says so; `name` as in `hot`."""
    key = _heat_key(name, user)
    if key:
        return f"`{_last(name)}` is cold by the settings" if key == "cold" else ""
    hook = catalogue.hook(name)
    if hook is not None and hook.level < Level.PER_STEP:
        return f"`{_last(name)}` runs {hook.level.words} ({hook.source.partition(':')[0]})"
    return ""


def heat_of(path: str, qualname: str, user: UserKnowledge, bases: tuple[str, ...] | None) -> tuple[str, str]:
    """Why the function of a file runs every step, and why it runs rarely: at most one is not "".

    `path` is the file's, `qualname` the function's in it ("Net.training_step"), `bases` the qualified names of what its
    class derives from, None for what is no method. The user decides first, then the hooks of the bases, then those that
    their own name tells, which are methods."""
    spelled = spellings(path, qualname)
    if user:
        named = next((name for name in spelled if _heat_key(name, user)), "")
        if named:
            return hot(named, user), cold(named, user)
    if bases is None:
        return "", ""
    method = _last(qualname)
    inherited = next((f"{base}.{method}" for base in bases if catalogue.hook(f"{base}.{method}")), spelled[0])
    return hot(inherited), cold(inherited)


def spellings(path: str, qualname: str) -> tuple[str, ...]:
    """The qualified names under which a function of a file may be known, the longest first: "src/mylib/ops.py" and
    "read" are "src.mylib.ops.read", "mylib.ops.read", "ops.read" and "read"."""
    stem = path.replace("\\", "/").removesuffix(".py").removesuffix("/__init__")
    folders = [part for part in stem.split("/") if part not in ("", ".", "..")]
    return tuple(".".join((*folders[start:], qualname)) for start in range(len(folders) + 1))


def event(decorator: str) -> tuple[Level, str] | None:
    """How often a handler runs that this decorator (source text without "@") attaches to an event, and what amortises
    it; None for other decorators. `trainer.on(Events.ITERATION_COMPLETED(every=100))`: per step, amortised."""
    found = _EVENT.search(decorator)
    if found is None or found["event"] not in EVENTS:
        return None
    amortised = f"by the filter of `Events.{found['event']}`" if found["filtered"] else ""
    return EVENTS[found["event"]], amortised


def callbacks(callee: str) -> tuple[Callback, ...]:
    """What is known of functions passed to `callee`."""
    return catalogue.callbacks().get(callee, ())


def _heat_key(name: str, user: UserKnowledge) -> str:
    return _chooser(user, HEAT_KEYS).key_of(name) if user is not NOTHING_SAID and user else ""


def _last(name: str) -> str:
    return name.rpartition(".")[2]


class _Chooser:
    """Finds the most specific of a user's patterns; answers are kept, as one name is asked for at every call."""

    def __init__(self, user: UserKnowledge, keys: tuple[str, ...]) -> None:
        self._exact: dict[str, str] = {}
        globs: list[tuple[int, str, str]] = []
        for key in keys:
            for pattern in user.under(key):
                if is_glob(pattern):
                    globs.append((_weight(pattern), pattern, key))
                else:
                    self._exact[pattern] = key
        self._globs = [
            (re.compile(fnmatch.translate(pattern)), pattern[2:] if pattern.startswith("*.") else "", key)
            for _, pattern, key in sorted(globs, key=lambda one: (-one[0], one[1]))
        ]
        self._bare = [re.compile(fnmatch.translate(rest)) if rest else None for _, rest, _ in self._globs]
        self._known: dict[str, str] = {}

    def key_of(self, name: str) -> str:
        """The key whose pattern fits a name best, "" for none."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._find(name)
        return known

    def _find(self, name: str) -> str:
        exact = self._exact.get(name)
        if exact is not None:
            return exact
        for (pattern, _, key), bare in zip(self._globs, self._bare, strict=True):
            if pattern.match(name) or (bare is not None and "." not in name and bare.match(name)):
                return key
        return ""


@functools.lru_cache(maxsize=8)
def _chooser(user: UserKnowledge, keys: tuple[str, ...]) -> _Chooser:
    return _Chooser(user, keys)


def is_glob(pattern: str) -> bool:
    """True where a pattern has wildcards."""
    return any(character in pattern for character in "*?[")


def _weight(pattern: str) -> int:
    return sum(character not in "*?" for character in pattern)
