"""What torch's own table of operators says of each: who checks its places, and whether CUDA has a kernel for it.

The table is torchgen/packaged/ATen/native/native_functions.yaml of the installed torch. It is half a megabyte and only
three of its fields matter, so it is scanned by line, not parsed.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path


@dataclasses.dataclass(frozen=True, slots=True)
class Declaration:
    """`checks_places`: the code that torch generates for CUDA refuses tensors on several devices, also 0-dimensional
    ones (`device_check: ExactSame`, the default). `backends`: the keys under `dispatch`."""

    checks_places: bool = True
    backends: tuple[str, ...] = ()
    delegates: bool = False

    @property
    def host_only(self) -> bool:
        """There is a kernel for the CPU and none that CUDA could use."""
        usable = ("CUDA", "Composite", "Python", "Meta", "Autograd")
        return "CPU" in self.backends and not self.delegates and not any(b.startswith(usable) for b in self.backends)


def read(torch_folder: Path) -> dict[str, Declaration]:
    """Name with overload ("add.Tensor") to declaration; empty where torch lies there without its table."""
    path = torch_folder.parent / "torchgen/packaged/ATen/native/native_functions.yaml"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return {}
    found: dict[str, Declaration] = {}
    for entry in text.split("\n- func: ")[1:]:
        name = entry[: entry.index("(")]
        backends: list[str] = []
        in_dispatch = False
        for line in entry.splitlines()[1:]:
            if line.startswith("    ") and in_dispatch:
                keys = line.partition(":")[0].partition("#")[0]
                backends.extend(key.strip() for key in keys.split(",") if key.strip())
            else:
                in_dispatch = line.startswith("  dispatch:")
        found[name] = Declaration(
            checks_places="\n  device_check: NoCheck" not in entry,
            backends=tuple(backends),
            delegates="\n  structured_delegate:" in entry,
        )
    return found
