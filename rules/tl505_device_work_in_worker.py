"""Data is moved to the device inside a loader's workers.

What it does
------------
Reports, in code that `DataLoader` workers run:

- `.cuda()`, `.to(device)` and tensors built on the device in `__getitem__` and `__iter__` of data sets, and in
  functions that a `DataLoader` gets as `collate_fn` or `worker_init_fn`
- data sets of the `datasets` library with a device format (`with_format("torch", device=device)`, `set_format`) that
  are passed to a `DataLoader`, or that a loop reads sample by sample

Why
---
Workers are separate processes. A forked worker raises `Cannot re-initialize CUDA in forked subprocess`. A spawned
worker needs device memory for its own CUDA context, and the tensors it creates cannot be pinned and must be kept alive
for the process that reads them (docs.pytorch.org torch.utils.data, 'Multi-process data loading': it is "generally not
recommended to return CUDA tensors"). Without workers, uploading each sample separately blocks the host once per sample
instead of once per batch.

Example
-------
    class Images(Dataset):
        def __getitem__(self, index):
            return self.images[index].to(self.device)

Use instead
-----------
    class Images(Dataset):
        def __getitem__(self, index):
            return self.images[index]

    for images in DataLoader(Images(), batch_size=32, num_workers=4, pin_memory=True):
        images = images.to(device, non_blocking=True)

When it is fine
---------------
Not reported: a `collate_fn` of a loader with `num_workers=0`, which runs where the batch is used and uploads it once;
and data that is moved to the device of other data of the same sample.

Fix safety
----------
No automatic fix: the move belongs where the batches are used, which is other code.

See also
--------
- TL404 for what a loader should do instead
- https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
- https://docs.pytorch.org/docs/stable/data.html#memory-pinning
- https://huggingface.co/docs/datasets/use_with_pytorch
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.callgraph.names import split
from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import BUILD, MOVE, Transfer
from transferlint.flow.lattice.values import DEVICE, ON_DEVICE
from transferlint.knowledge.roles import DEVICE_WORDS
from transferlint.knowledge.torch_names import DATA_SETS, LOADERS
from transferlint.model import Confidence, Evidence, Finding
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .examples import beside_torch
from .questions import formatted_data, loaders
from .questions.detection import brief, clusters, each, others

_METHODS = frozenset({"__getitem__", "__getitems__", "__iter__"})


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Uploads in code that workers run, and data sets that are formatted for the device."""
    for function, reg, use in formatted_data.formatted(facts):
        yield function.finding(
            reg,
            f"`{brief(function.text(reg))}` uploads every sample separately when it is accessed",
            "set the format without `device`, and move the batch where it is used",
            (Evidence(function.site(use), "accessed here"),),
            Confidence.LIKELY,
            heated=False,
        )
    where = _workers(facts)
    found = (
        (function, transfer)
        for function, transfer in each(facts, MOVE, BUILD)
        if function.index in where and _to_device(function, transfer)
    )
    for function, group in clusters(found):
        first = group[0]
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` uses the GPU in {where[function.index]}",
            "return host data, and move the batch where it is used",
            others(function, group),
            Confidence.CERTAIN if first.places == DEVICE else Confidence.LIKELY,
            heated=False,
        )


def _target(made: p.Call, transfer: Transfer) -> Reg | None:
    """What names the device of an upload, None for nothing that is written there."""
    return dict(made.keywords).get("device", made.args[0] if made.args and transfer.kind == MOVE else None)


def _workers(facts: FileFacts) -> dict[int, str]:
    """The functions that workers run, and why: by index."""
    found: dict[int, str] = {}
    for function in facts.functions:
        info = facts.placement.class_of(function.function)
        own = info is not None and function.function.parent == info.index
        if own and info is not None and function.function.name in _METHODS and DATA_SETS & _bases(facts, info.bases):
            found[function.index] = f"`{function.function.name}` of a dataset, which runs in loader workers"
        for reg in function.of(p.Call, p.SetAttr):
            made = function.code[reg]
            if isinstance(made, p.Call) and facts.placement.names.dotted(function.function, made.function) in LOADERS:
                found |= _given(loaders.Loader(function, reg))
            elif isinstance(made, p.SetAttr) and made.name == "collate_fn":
                found |= _named(function, made.value, "collate_fn")
    return {i: why for i, why in found.items() if not facts.functions[i].role.testing}


def _bases(facts: FileFacts, bases: tuple[str, ...], depth: int = 6) -> frozenset[str]:
    """The qualified names of all that a class derives from."""
    found = set(bases)
    for base in bases:
        info = facts.placement.info_of(base)
        if info is not None and depth > 0:
            found |= _bases(facts, info.bases, depth - 1)
    return frozenset(found)


def _given(loader: loaders.Loader) -> dict[int, str]:
    """The functions that a loader's workers are given; without workers there are none."""
    if loader.workers is False:
        return {}
    given = dict(loader.call.keywords)
    found: dict[int, str] = {}
    for name in ("collate_fn", "worker_init_fn"):
        if name in given:
            found |= _named(loader.function, given[name], name)
    return found


def _named(function: FunctionFacts, reg: Reg, what: str) -> dict[int, str]:
    """The function of this file that an expression names, through `partial` too."""
    made = function.code[reg]
    names = function.file.placement.names
    if isinstance(made, p.Call) and names.dotted(function.function, made.function) == "functools.partial" and made.args:
        return _named(function, made.args[0], what)
    place = split(names.dotted(function.function, reg) or function.values[reg].name)
    if place is None or place[0] != function.file.path:
        return {}
    return {place[1]: f"a `{what}`, which runs in loader workers"}


def _to_device(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where the source names a device: "cuda", or a variable or attribute for it. Where other data is does not."""
    if not transfer.places & ON_DEVICE or transfer.before.places == DEVICE:
        return False
    if transfer.places == DEVICE:
        return True
    made = function.code[transfer.register]
    if not isinstance(made, p.Call):
        return False
    given = _target(made, transfer)
    return given is not None and _names_device(function, given)


def _names_device(function: FunctionFacts, reg: Reg) -> bool:
    made = function.code[reg]
    if isinstance(made, p.Load):
        return bool(DEVICE_WORDS.search(function.function.slot_names[made.slot]))
    if isinstance(made, p.Outer):
        return bool(DEVICE_WORDS.search(made.name))
    if not isinstance(made, p.Attr) or not DEVICE_WORDS.search(made.name):
        return False
    base = function.code[made.object]
    while isinstance(base, p.Attr) and base.name in ("model", "module", "args", "config", "cfg"):
        base = function.code[base.object]
    return isinstance(base, p.Load) and function.function.slot_names[base.slot] in ("self", "args", "cfg", "config")


RULE = Rule(
    code="TL505",
    name="device-work-in-worker",
    summary="GPU work in a dataset's `__getitem__`, a `collate_fn` or a worker's init function",
    category="mistake",
    default=True,
    fix_safety=None,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch
from torch.utils.data import Dataset


class Images(Dataset):
    def __init__(self, images):
        self.images = images

    def __getitem__(self, index):
        return torch.from_numpy(self.images[index]).cuda()  # expect: TL505
""",
            good="""\
import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, images):
        self.images = images

    def __getitem__(self, index):
        return torch.from_numpy(self.images[index])


def train(model, images):
    for batch in DataLoader(Images(images), batch_size=32, num_workers=4, pin_memory=True):
        model(batch.cuda(non_blocking=True)).sum().backward()
""",
        ),
    ),
    more_examples=beside_torch.examples("TL505"),
    detect=detect,
    advice=(
        ("jax", "format without `device`, take a batch as a slice, and upload that: `jax.device_put(data[i : j])`"),
        ("tensorflow", "format without `device`; let `data.to_tf_dataset(batch_size=...)` make batches on the host"),
    ),
    doc=__doc__,
)
