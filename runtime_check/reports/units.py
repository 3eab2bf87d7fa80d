"""Numbers as a person reads them."""

from __future__ import annotations

_BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))


def duration(nanoseconds: float) -> str:
    """ "1.24 ms": three digits that count, from nanoseconds."""
    for size, unit in _TIMES:
        if nanoseconds >= size * 0.9995:
            return f"{_three(nanoseconds / size)} {unit}"
    return f"{nanoseconds:.0f} ns"


def size(number: int) -> str:
    """ "1.5 MiB", from bytes."""
    value, power = float(number), 0
    while value >= 1023.5 and power < len(_BYTES) - 1:
        value, power = value / 1024, power + 1
    return f"{_three(value)} {_BYTES[power]}" if power else f"{number} B"


def count(number: int, noun: str = "") -> str:
    """ "12,800 reads", "1 read"."""
    return f"{number:,}" + (f" {noun}{'' if number == 1 else 's'}" if noun else "")


def share(part: float) -> str:
    """ "4.2 %", from a part of one."""
    percent = 100 * part
    return "0 %" if percent == 0 else "< 0.1 %" if percent < 0.1 else f"{percent:.1f} %"


def _three(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
