"""What placement reports: every place where data crosses, or may cross, and every sync."""

from __future__ import annotations

from transferlint import late
from transferlint.flow.lattice.values import Value
from transferlint.model import Direction
from transferlint.syntax.program import Reg

# What makes the transfer or sync.
SELECTED = "x[0-d tensor]"  # how an index without dimensions is called
SORTED = "sorted(tensors)"  # how a comparison of each pair is called
SCALAR_READ = "scalar-read"  # .item(), .tolist()
DOWNLOAD = "download"  # .cpu(), .numpy(), .to("cpu")
MOVE = "move"  # .to(device), .cuda()
BUILD = "build"  # torch.tensor(host data, device=...), new_tensor
COPY_INTO = "copy-into"  # a.copy_(b)
TRUTH = "truth"  # if t, while t, not t, t and u, assert t, torch.equal
NUMBER = "number"  # float(t), range(t), x[:t], math.f(t)
FORMAT = "format"  # print(t), f"{t}"
SHAPE = "shape"  # nonzero, x[mask], unique
HOST_INDEX = "host-index"  # device_tensor[[0, 1]]
SYNCHRONIZE = "synchronize"
ARRAY = "array"  # np.asarray(t), t.numpy() on a device tensor
CALLBACK = "callback"  # compiled code calls the host: jax.pure_callback, tf.py_function

EQUAL = ("equal(t)", ".equal()")  # how `Transfer.api` spells the question that need not look at its tensors


@late.dataclass(slots=True)
class Transfer:
    """One (possible) transfer or sync. `register` is the expression that makes it, `subject` the one whose value
    crosses (None for device-wide syncs), `before` what was known of the subject, `places` where it is afterwards
    (bits of `values`), `api` how the source spells it (".item()"), `explicit` whether the source names the transfer.
    `inside` is (file, function, register) of the expression itself where the register is a call of what wraps it."""

    register: Reg
    kind: str
    direction: Direction
    subject: Reg | None
    before: Value
    places: int
    api: str
    explicit: bool
    non_blocking: bool = False
    inside: tuple[str, int, Reg] | None = None
