"""What torch was at where something crosses, and what helps: one table, by torch's frames, by what a line calls and by
the operation.

What torch does below a line is told by its own frames (`SiteRecord.inside`) where it is Python, and by what the line
calls where it is not. The rows rest on torch's sources (2.13) and on the documentation of what they advise; that of a
library's names its own.
"""

from __future__ import annotations

import ast
import dataclasses
import re

from runtime_check import naming
from runtime_check.events import Frame
from runtime_check.records import SiteRecord
from transferlint.model import Direction, Site

SCALAR = "aten::_local_scalar_dense"


@dataclasses.dataclass(frozen=True, slots=True)
class Cause:
    """One row: what torch was at, and what to do about it.

    `inside`, `called` and `operation` are patterns for torch's frames, for what the line calls and for the operation,
    `library` one for the library's own line ("transformers/generation/utils.py:395 StopCheck.__call__"); one of them
    has to match. `way` limits the row to a direction, `framework` to one beside torch; what a line calls says nothing
    of what it uploads. `why` completes "torch/distributions/distribution.py:76 in Distribution.__init__: ", and `act`
    says what helps.
    `as_it_is`: nothing does, and that is no miss of the linter's.
    """

    name: str
    why: str
    act: str
    inside: str = ""
    called: str = ""
    operation: str = ""
    library: str = ""
    way: Direction | None = None
    as_it_is: bool = False
    framework: str = ""

    def fits(self, record: SiteRecord, called: str) -> bool:
        """Whether a record is of this kind; `called` is what its line calls."""
        if record.framework != self.framework or (self.way is not None and record.direction is not self.way):
            return False
        if self.operation and re.search(self.operation, record.operation):
            return True
        if self.inside and any(re.search(self.inside, one) for one in record.inside):
            return True
        if self.library and record.user is not None:
            line = f"{naming.in_library(record.site.path)}:{record.site.line} {record.function}"
            if re.search(self.library, line):
                return True
        asked = bool(self.called) and record.direction is not Direction.H2D
        return asked and re.search(self.called, called) is not None


CAUSES: tuple[Cause, ...] = (
    Cause(
        "drawing a single sample",
        "CUDA's `multinomial` checks whether the probabilities are valid before it draws one sample",
        "sample without the check, `(probs / torch.empty_like(probs).exponential_()).argmax(-1)`, or draw several"
        " samples in one call, with replacement",
        inside=r"torch/distributions/(categorical|multinomial|one_hot_categorical)\.py:\d+ .*sample",
        called=r"(^|\.)multinomial$",
    ),
    Cause(
        "the stopping criterion of `generate`",
        "`generate` checks after every token whether all sequences have ended",
        "no cheaper way is known: transformers has no option to check less often; fewer, larger batches need fewer"
        " checks",  # transformers 5: `DeferredStopCheck.is_supported` says no for all but mps
        library=r"^transformers/generation/utils\.py:\d+ (StopCheck\.|.*(_sample|_beam_search|_has_unfinished))",
        way=Direction.D2H,
        as_it_is=True,
    ),
    Cause(
        "numbers for a logger",
        "Lightning converts the values of `self.log` to numbers, for its loggers",
        "log less often (`log_every_n_steps=` of the `Trainer`)",
        library=r"^lightning(/|_)fabric/utilities/apply_func\.py:\d+ (convert_tensors_to_scalars\.|to_item$)",
        way=Direction.D2H,
    ),
    Cause(
        "indexing or assignment with a boolean mask",
        "a boolean index is converted to positions, in the backward pass too, and the host waits for their number",
        "use a fixed-size form instead of the mask index, also for its gradient: `torch.where`, `masked_fill`, a"
        " product with the mask, `ignore_index=` of a loss",
        operation=r"^aten::_?index_put",
        way=Direction.NONE,
    ),
    Cause(
        "numbers given to a distribution",
        "it copies a number argument to the device, to combine it with a tensor",
        "pass tensors that are already on the device, created once",
        inside=r"torch/distributions/utils\.py:\d+ broadcast_all",
        way=Direction.H2D,
    ),
    Cause(
        "argument checks of a distribution",
        "it checks on the device whether its arguments are valid",
        "`validate_args=False`, or once at the start"
        " `torch.distributions.Distribution.set_default_validate_args(False)`",
        inside=r"distribution\.py:\d+ (Distribution\.)?(__init__|_validate_sample)$",
    ),
    Cause(
        "sampling from a normal distribution",
        "`torch.normal` checks whether a standard deviation is negative",
        "`mean + std * torch.randn_like(mean)`",
        called=r"^torch\.normal$",
        inside=r"torch/distributions/normal\.py:\d+ .*sample$",
    ),
    Cause(
        "a mask that may be causal",
        "it compares the mask with a causal mask on the device and reads the result",
        "pass the answer with the mask: `is_causal=` of an encoder, `tgt_is_causal=` of a decoder, both of a"
        " `torch.nn.Transformer` (`src_is_causal=` there)",
        inside=r"torch/nn/modules/transformer\.py:\d+ _detect_is_causal_mask$",
    ),
    Cause(
        "nested tensors of an encoder",
        "it checks whether all padding is at the end, to skip it",
        "`torch.nn.TransformerEncoder(..., enable_nested_tensor=False)`: no check, but the padding is computed too",
        inside=r"torch/nn/modules/transformer\.py:\d+ (TransformerEncoder\.)?forward",
    ),
    Cause(
        "lengths of a packed sequence",
        "`pack_padded_sequence` needs the lengths on the host",
        "keep the lengths on the host when the batch is created, and upload only the other tensors",
        inside=r"torch/nn/utils/rnn\.py:\d+ ",
        called=r"pack_padded_sequence$",
        way=Direction.D2H,  # the order that it uploads is new with every batch
    ),
    Cause(
        "a gradient scaler",
        "it checks once per step whether a gradient was infinite",
        "nothing, with a scaler: it has to know; bfloat16 needs no scaler",
        inside=r"torch/amp/grad_scaler\.py:\d+ ",
        as_it_is=True,
    ),
    Cause(
        "an optimizer that decides on the host",
        "it decides on the host how to continue, depending on the loss",
        "nothing, with L-BFGS: it searches on the host",
        inside=r"torch/optim/lbfgs\.py:\d+ ",
        as_it_is=True,
    ),
    Cause(
        "a metric for a learning-rate schedule",
        "`ReduceLROnPlateau` converts its metric to a number",
        "step it once per epoch, with a number that was read anyway",
        inside=r"torch/optim/lr_scheduler\.py:\d+ ReduceLROnPlateau\.",
        way=Direction.D2H,
    ),
    Cause(
        "a learning rate or a step count on the device",
        "it reads a number from its state",
        "build the optimizer with `capturable=True`, or keep `lr` a Python number",
        inside=r"torch/optim/(?!lbfgs|lr_scheduler)\w+\.py:\d+ ",
        way=Direction.D2H,
    ),
    Cause(
        "a norm that must be finite",
        "`error_if_nonfinite=True` checks the norm on every step",
        "`error_if_nonfinite=False`, and check the norm when you log",
        inside=r"torch/nn/utils/clip_grad\.py:\d+ ",
    ),
    Cause(
        "formatting a tensor",
        "formatting a tensor reads it several times",
        "read the values once, when logging: `.item()`, `.tolist()`",
        inside=r"torch/_tensor_str\.py:\d+ ",
    ),
    Cause(
        "a result with a data-dependent size",
        "the host waits for the size of the result",
        "use a fixed-size form: `torch.where`, `masked_fill`, a product with the mask, `torch.nonzero_static`",
        called=r"(^|\.)(nonzero|masked_select|argwhere|unique|unique_consecutive|where)$|\]$",
    ),
    Cause(
        "repeats by counts on the device",
        "the host waits for the size of the result",
        "pass `output_size=` if it is known",
        called=r"(^|\.)repeat_interleave$",
    ),
    Cause(
        "counting into bins",
        "the host reads the smallest and the largest value",
        "`torch.zeros(n).scatter_add_` with a known size; for `histc`, pass `min=` and `max=`",
        called=r"(^|\.)(bincount|histc)$",
    ),
    Cause(
        "error checks of a decomposition",
        "the host checks whether it failed",
        "use the `_ex` form, which does not check: `torch.linalg.cholesky_ex`, `inv_ex`, `solve_ex`",
        called=r"(^|\.)(cholesky|cholesky_inverse|inv|inverse|solve|svd|eigh|eig|eigvals)$",
    ),
    Cause(
        "the larger of two tensors",
        "Python's `max` and `min` compare on the host",
        "`torch.maximum` and `torch.minimum`, or `amax` and `amin` of one tensor",
        called=r"^(max|min)$",
    ),
    Cause(
        "comparing whole tensors",
        "`torch.equal` returns a Python bool",
        "`(a == b).all()`, kept on the device",
        called=r"(^|\.)(equal|allclose)$",
    ),
    Cause(
        "a JAX result with a data-dependent size",
        "the host waits for the size of the result",
        "use a fixed-size form: `jax.numpy.where` with three arguments, or `size=` if the function takes it",
        operation=r"^jax\.(numpy\.(nonzero|flatnonzero|argwhere|unique\w*|extract|compress|where)"
        r"|Array\.(nonzero|__getitem__))$",
        way=Direction.D2H,
        framework="jax",
    ),
)


def cause_of(record: SiteRecord) -> Cause | None:
    """The row of the table for a record; None where it is of no kind that is known."""
    called = _called(record)
    return next((one for one in CAUSES if one.fits(record, called)), None)


def within(record: SiteRecord) -> str:
    """Where torch was, below the program's line: "torch/optim/lbfgs.py:330 in LBFGS.step"; in a library that the line
    calls: "torch_geometric/utils/loop.py:650 in add_self_loops"; "IndexBackward0 of the backward pass"; "" where it is
    not seen."""
    if record.backward:
        return f"{record.backward} of the backward pass"
    place, _, function = (record.inside[0] if record.inside else "").partition(" ")
    if not place and record.user is not None and record.function:
        place, function = f"{naming.in_library(record.site.path)}:{record.site.line}", record.function
    return f"{place} in {function}" if place else ""


def _called(record: SiteRecord) -> str:
    """What the expression of a record's own line calls: "torch.multinomial", "x.nonzero"; "...]" for an element that is
    asked for; "" where the source is not to be had or does neither."""
    text = naming.source(_frame(record.site))
    try:
        node = ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, ValueError):
        found = re.search(r"([\w.]+)\s*\(", text)
        return found[1] if found else ""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func)
    return ast.unparse(node) if isinstance(node, ast.Subscript) else ""


def _frame(site: Site) -> Frame:
    return Frame(site.path, site.line, "", site.column, site.end_line, site.end_column)
