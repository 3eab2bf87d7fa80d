"""How many dimensions the results of torch's operators have, by those of their operands (docs.pytorch.org "torch",
"torch.Tensor", "torch.nn.functional"; a test holds each row against torch itself).

A row is a rule and the operators, functions or methods, that follow it; in-place forms (`add_`) are those without the
underscore.
"""

from __future__ import annotations

import functools

SAME = "as many as the first operand"
BROADCAST = "as many as the operand with most"
REDUCED = "none; along `dim` one fewer, or as many where `keepdim` is true"
SIZED = "as many as sizes are given"
GIVEN_SIZE = "as many as a size that is one argument has"
MORE = "one more than the first operand"
LESS = "one fewer than the first operand"
SECOND = "as many as the second operand"
NONE, ONE, TWO, THREE = "none", "one", "two", "three"
PRODUCT = "those of a matrix product"
DATA = "those of what is made a tensor"
DATA_OR_SIZES = "those of a list that is made a tensor, or as many as sizes are given"
WIDENED = "as many as sizes are given, or the operand has"
FLATTENED = "one, and those before `start_dim`"
SOME = "one at least"

_MODULES = frozenset({"torch", "torch.cuda", "torch.nn.functional", "torch.special", "torch.nn.utils.rnn"})
_ROWS = {
    SAME: (
        "abs absolute neg negative sign sgn exp exp2 expm1 log log1p log2 log10 sqrt rsqrt square sigmoid"
        " logit tanh sin cos tan asin acos atan sinh cosh erf erfc reciprocal frac trunc round floor ceil"
        " relu relu6 gelu silu mish elu selu celu leaky_relu hardtanh hardswish hardsigmoid softplus"
        " softsign softmax log_softmax softmin logsigmoid dropout nan_to_num isnan isinf isfinite"
        " logical_not bitwise_not cumsum cumprod logcumsumexp flip roll argsort triu tril float double"
        " half bfloat16 long int bool short byte to type cpu cuda clone contiguous detach requires_grad_"
        " pin_memory zeros_like ones_like empty_like rand_like randn_like full_like randint_like renorm"
        " normalize layer_norm bernoulli gather index_select index_add scatter scatter_add masked_fill"
        " index_fill index_copy narrow transpose swapaxes swapdims movedim permute mT t type_as diff sort"
        " topk cummax cummin chunk split tensor_split bucketize batch_norm rms_norm clip clamp_min"
        " clamp_max fliplr flipud cat concat concatenate positive deg2rad rad2deg conj angle"
        " char signbit isposinf isneginf isin multinomial"
    ).split(),
    BROADCAST: (
        "add sub subtract mul multiply div divide true_divide floor_divide remainder fmod pow maximum"
        " minimum fmax fmin atan2 hypot eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and"
        " bitwise_or bitwise_xor where lerp addcmul addcdiv isclose clamp"
        " greater greater_equal less less_equal not_equal logaddexp"
    ).split(),
    REDUCED: (
        "sum mean prod std var any all amax amin argmax argmin logsumexp nansum nanmean max min median norm"
        " count_nonzero"
    ).split(),
    SIZED: "zeros ones empty rand randn view reshape new_zeros new_ones new_empty broadcast_to".split(),
    WIDENED: "expand repeat tile".split(),
    FLATTENED: ["flatten"],
    GIVEN_SIZE: ["full", "randint"],
    MORE: "unsqueeze one_hot stack embedding".split(),
    LESS: "unbind select".split(),
    SECOND: "searchsorted take expand_as view_as reshape_as".split(),
    SOME: (
        "hstack vstack dstack column_stack meshgrid pad_sequence repeat_interleave atleast_1d cartesian_prod"
        " combinations"
    ).split(),
    NONE: "dot trace".split(),
    ONE: (
        "arange range linspace logspace randperm hann_window hamming_window bartlett_window"
        " blackman_window kaiser_window ravel unique masked_select bincount mv histc"
    ).split(),
    TWO: "eye tril_indices triu_indices nonzero argwhere mm outer addmm".split(),
    THREE: "bmm baddbmm".split(),
    PRODUCT: ["matmul"],
    DATA: ["tensor", "as_tensor", "asarray", "new_tensor"],
    DATA_OR_SIZES: (
        "Tensor FloatTensor DoubleTensor HalfTensor BFloat16Tensor LongTensor IntTensor ShortTensor CharTensor"
        " ByteTensor BoolTensor"
    ).split(),
}


def of_method(name: str) -> str:
    """How many dimensions the result of a tensor's method has; "" where no row tells."""
    known = _by_name()
    return known.get(name) or (known.get(name[:-1], "") if name.endswith("_") else "")


def of_function(name: str) -> str:
    """The same for a function by its qualified name."""
    head, _, last = name.rpartition(".")
    return of_method(last) if head in _MODULES else ""


@functools.cache
def _by_name() -> dict[str, str]:
    return {name: rule for rule, names in _ROWS.items() for name in names}


def rows() -> dict[str, str]:
    """Each operator with its rule."""
    return dict(_by_name())
