"""What a user tells of functions that no table knows."""

from __future__ import annotations

from transferlint import late

EFFECT_KEYS = ("moves", "reads", "syncs", "returns-device", "returns-host")
HEAT_KEYS = ("hot", "cold")


@late.dataclass(frozen=True, slots=True)
class UserKnowledge:
    """Patterns of qualified names (`mylib.ops.read`, `mylib.ops.*`, `*.to_gpu`) under the key that says what they do.

    `*` stands for any run of characters, dots too; `?` and `[...]` as in shell globs. A pattern that begins with "*."
    also names a function without a module in front. The most specific pattern that fits a name decides: one without
    wildcards, then the one with the most characters that are none.
    """

    moves: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    syncs: tuple[str, ...] = ()
    returns_device: tuple[str, ...] = ()
    returns_host: tuple[str, ...] = ()
    hot: tuple[str, ...] = ()
    cold: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """True where anything is said at all."""
        return self != NOTHING_SAID

    def under(self, key: str) -> tuple[str, ...]:
        """The patterns under a key as the settings spell it ("returns-device")."""
        patterns: tuple[str, ...] = getattr(self, key.replace("-", "_"))
        return patterns


NOTHING_SAID = UserKnowledge()
