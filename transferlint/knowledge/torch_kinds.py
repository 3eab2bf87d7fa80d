"""The kinds that proofs speak of, and which APIs give which (docs.pytorch.org "torch", "torch.Tensor", "Tensor
Attributes"; docs.python.org "Built-in Functions", "Text Sequence Type")."""

from __future__ import annotations

Kinds = frozenset[str]

TENSOR, DEVICE, DTYPE, SHAPE, TEXT, NONE = "tensor", "device", "dtype", "shape", "text", "none"
INTEGER, FLOAT, BOOLEAN = "integer", "float", "boolean"
A_TENSOR, A_DEVICE, A_DTYPE, A_SHAPE, A_TEXT, AN_INTEGER = (
    frozenset({kind}) for kind in (TENSOR, DEVICE, DTYPE, SHAPE, TEXT, INTEGER)
)
NUMBERS: Kinds = frozenset({INTEGER, FLOAT, BOOLEAN})


def _each(names: str, *kinds: str) -> dict[str, Kinds]:
    return dict.fromkeys(names.split(), frozenset(kinds))


DTYPES = frozenset(
    "float16 float32 float64 half float double bfloat16 int8 int16 int32 int64 short int long uint8 uint16 uint32"
    " uint64 bool complex32 complex64 complex128 cfloat cdouble float8_e4m3fn float8_e5m2".split()
)
# Functions whose result is of one kind whatever they are given (else they raise).
ANSWERS: dict[str, Kinds] = {
    **_each("torch.device torch.get_default_device", DEVICE),
    **_each("torch.get_default_dtype", DTYPE),
    **_each("torch.cuda.current_device torch.cuda.device_count builtins.len builtins.ord builtins.int", INTEGER),
    **_each("builtins.float", FLOAT),
    **_each("torch.cuda.is_available builtins.bool builtins.isinstance builtins.hasattr builtins.callable", BOOLEAN),
    **_each("torch.backends.mps.is_available torch.is_tensor torch.is_grad_enabled", BOOLEAN),
    **_each("builtins.str builtins.repr builtins.format", TEXT),
}
# Functions that make a tensor of what is none.
MAKERS = frozenset(
    f"torch.{name}"
    for name in (
        "zeros ones empty full rand randn randint randperm arange linspace logspace eye scalar_tensor tril_indices"
        " triu_indices tensor from_numpy hann_window hamming_window"
    ).split()
)
# Functions that torch itself annotates as giving one tensor (`torch/_C/__init__.pyi`, `torch/nn/functional.py`), and
# the methods of tensors of the same names.
_ONE = (
    "zeros_like ones_like empty_like full_like rand_like randn_like randint_like abs exp log log1p log2 sqrt rsqrt"
    " sin cos tan tanh sigmoid relu softmax log_softmax neg sign floor ceil round trunc square reciprocal erf clamp"
    " maximum minimum add sub mul div pow matmul mm bmm mv outer dot tril triu diag flip roll cumsum"
    " cumprod sum mean prod std var norm argmax argmin all any isnan isinf isfinite isclose eq ne lt le gt ge"
    " logical_and logical_or logical_not logical_xor gather index_select masked_fill repeat_interleave unsqueeze"
    " squeeze reshape transpose permute flatten remainder fmod lerp addmm baddbmm clone detach"
).split()
_FUNCTIONAL = (
    "mse_loss l1_loss smooth_l1_loss huber_loss cross_entropy nll_loss binary_cross_entropy kl_div linear relu gelu"
    " silu binary_cross_entropy_with_logits softmax log_softmax softplus sigmoid tanh layer_norm dropout one_hot"
    " normalize pad interpolate cosine_similarity embedding conv1d conv2d conv3d"
).split()
_FUNCTIONS = "where einsum as_tensor cat concat concatenate stack hstack vstack dstack".split()
OPERATIONS_OF_TENSORS = frozenset(_ONE)
OPERATIONS = frozenset(f"torch.{name}" for name in [*_ONE, *_FUNCTIONS]) | frozenset(
    f"torch.nn.functional.{name}" for name in _FUNCTIONAL
)

REDUCTIONS = frozenset("sum mean max min prod median argmax argmin amax amin".split())  # 0-d without a dimension
REDUCTIONS_BY_NAME = frozenset(f"torch.{name}" for name in REDUCTIONS)
COMPARISONS = frozenset(
    "bool eq ne lt le gt ge isnan isinf isfinite isclose logical_and logical_or logical_not logical_xor".split()
)
# Methods of a tensor that give the same kind whatever they are given (else they raise).
TENSOR_METHODS: dict[str, Kinds] = {
    **_each("dim ndimension numel nelement get_device element_size __len__", INTEGER),
    **_each("is_contiguous is_floating_point is_complex is_pinned", BOOLEAN),
    **_each(
        "to cpu cuda detach clone contiguous view reshape permute transpose t squeeze unsqueeze flatten ravel expand"
        " repeat float half double bfloat16 long int short byte char bool max min median detach_ requires_grad_"
        " pin_memory zero_ zeros_like new_zeros new_ones new_empty new_full new_tensor swapaxes movedim flip roll tril"
        " triu tile narrow select unfold",
        TENSOR,
    ),
}
OF_TENSOR: dict[str, Kinds] = {
    **_each("device", DEVICE),
    **_each("dtype", DTYPE),
    **_each("shape", SHAPE),
    **_each("ndim itemsize nbytes", INTEGER),
    **_each("T mT H mH data real imag", TENSOR),
    **_each("is_cuda requires_grad is_leaf is_sparse is_quantized", BOOLEAN),
}
TEXT_METHODS = _each("format lower upper strip lstrip rstrip replace join title removeprefix removesuffix", TEXT)
