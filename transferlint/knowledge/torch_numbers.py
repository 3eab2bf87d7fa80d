"""Which arguments of torch's operators are numbers in every overload, so that a tensor given there is read: sizes,
scales, counts (docs.pytorch.org "torch.Tensor", "torch.nn.functional"; `torch._C._jit_get_all_schemas()` of torch 2.13,
which a test holds this against).

A row is an operator with its arguments behind the tensor: the position, "" for one that is given by name alone, and the
name; position "*" for a size that may be given as one sequence or as several numbers. In-place forms (`add_`) are those
without the underscore unless they have a row.
"""

from __future__ import annotations

import functools

from transferlint import late

_ROWS = """
view *size
reshape *shape
repeat *repeats
expand *size
broadcast_to *size
new_zeros *size
new_ones *size
new_empty *size
new_full 0size 1fill_value
full_like 0fill_value
fill_diagonal 0fill_value
unflatten 1sizes
pad 0pad 2value
interpolate 0size 1scale_factor
topk 0k
kthvalue 0k
multinomial 0num_samples
one_hot 0num_classes
chunk 0chunks
split 0split_size
roll 0shifts
narrow 2length
unfold 1size 2step
select 1index
tril 0diagonal
triu 0diagonal
diag 0diagonal
diagonal 0offset
matrix_power 0n
bincount 1minlength
histc 0bins 1min 2max
repeat_interleave output_size
add alpha
sub alpha
index_add alpha
addmm alpha beta
addmv alpha beta
addr alpha beta
addbmm alpha beta
baddbmm alpha beta
addcmul value
addcdiv value
normal_ 0mean 1std
uniform_ 0from 1to
exponential_ 0lambd
log_normal_ 0mean 1std
leaky_relu 0negative_slope
elu 0alpha
celu 0alpha
softplus 0beta 1threshold
threshold 0threshold 1value
hardtanh 0min_val 1max_val
hardshrink 0lambd
softshrink 0lambd
dropout 0p
nan_to_num 0nan 1posinf 2neginf
isclose 1rtol 2atol
allclose 1rtol 2atol
dist 1p
renorm 0p 2maxnorm
layer_norm 0normalized_shape 3eps
group_norm 0num_groups 3eps
smooth_l1_loss beta
huber_loss delta
pixel_shuffle 0upscale_factor
pixel_unshuffle 0downscale_factor
"""


@late.dataclass(frozen=True, slots=True)
class Numbers:
    """Of an operator: the `positions` (behind the tensor) and `names` of arguments that are numbers; `rest`: all that
    is given by position is."""

    positions: frozenset[int]
    names: frozenset[str]
    rest: bool = False

    def takes(self, position: int) -> bool:
        """Whether the argument at a position behind the tensor is a number."""
        return self.rest or position in self.positions


def numbers(operator: str) -> Numbers | None:
    """The row of an operator by its name ("topk", "add_"), None for one that takes no number."""
    table = _table()
    return table.get(operator) or table.get(operator.removesuffix("_"))


@functools.cache
def _table() -> dict[str, Numbers]:
    found = {}
    for line in _ROWS.strip().splitlines():
        name, *arguments = line.split()
        positions = frozenset(int(one[0]) for one in arguments if one[0].isdecimal())
        rest = any(one.startswith("*") for one in arguments)
        found[name] = Numbers(positions, frozenset(one.lstrip("*0123456789") for one in arguments), rest)
    return found


def names() -> tuple[str, ...]:
    """The operators that have a row."""
    return tuple(_table())
