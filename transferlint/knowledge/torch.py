"""torch: what its functions and tensor methods do with places.

A function of `torch` or `torch.nn.functional` that no row names computes where its operands are; that is the contract
of ATen operators (docs.pytorch.org: "Tensor Attributes", torch.device; "CUDA semantics": operations run on the device
of their operands, and cross-device operations are not allowed, copy_, to and cuda excepted).
"""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect

_CREATION = "docs.pytorch.org torch 'Creation Ops': device= (default: the current default device)"
_SEMANTICS = "docs.pytorch.org notes/cuda 'Asynchronous execution', 'Use pinned memory buffers'"
_TENSOR = "docs.pytorch.org tensors"


def _torch(names: str, prefix: str = "torch.") -> tuple[str, ...]:
    return tuple(prefix + name for name in names.split())


# The tensor types of the host, and the method that casts to each where a tensor is; torch.cuda has the GPU's under the
# same names.
CASTS: dict[str, str] = {
    "torch.FloatTensor": "float", "torch.DoubleTensor": "double", "torch.HalfTensor": "half",
    "torch.BFloat16Tensor": "bfloat16", "torch.LongTensor": "long", "torch.IntTensor": "int",
    "torch.ShortTensor": "short", "torch.CharTensor": "char", "torch.ByteTensor": "byte", "torch.BoolTensor": "bool",
}  # fmt: skip

TABLE: tuple[Api, ...] = (
    Api(
        _torch(
            "zeros ones empty full rand randn randint randperm arange range linspace logspace eye scalar_tensor"
            " empty_strided tril_indices triu_indices hann_window hamming_window bartlett_window blackman_window"
            " kaiser_window"
        ),
        Effect.FILL,
        _CREATION,
    ),
    Api(_torch("tensor as_tensor asarray"), Effect.DATA, _CREATION),
    Api(
        ("torch.Tensor", *CASTS),
        Effect.DATA,
        _TENSOR + ": 'torch.Tensor is an alias for the default tensor type', host by default",
    ),
    Api(
        tuple(name.replace("torch.", "torch.cuda.") for name in CASTS),
        Effect.DATA,
        _TENSOR + ": torch.cuda.*Tensor are the CUDA types",
    ),
    Api(
        _torch("zeros_like ones_like empty_like full_like rand_like randn_like randint_like"),
        Effect.LIKE,
        _CREATION + "; *_like: the device of input",
    ),
    Api(_torch("from_numpy frombuffer"), Effect.ARRAY, "docs.pytorch.org torch.from_numpy: shares memory, host only"),
    Api(
        _torch("autograd.Variable"),
        Effect.KEEP,
        "docs.pytorch.org torch.autograd 'Variable (deprecated)': Variable(tensor) returns a Tensor",
    ),
    Api(
        _torch("nonzero masked_select unique unique_consecutive argwhere bincount"),
        Effect.SHAPE,
        "docs.pytorch.org torch.nonzero: 'When input is on CUDA, torch.nonzero() causes host-device synchronization'",
    ),
    Api(
        _torch("histc"),
        Effect.SHAPE,
        "source: aten/src/ATen/native/cuda/SummaryOps.cu _histc_cuda_template: where `min` equals `max`, as by default,"
        " the smallest and the largest element are read",
        unless=("max",),
        otherwise=Effect.KEEP,
    ),
    Api(
        _torch("to_sparse to_sparse_coo to_sparse_csr to_sparse_csc", "Tensor."),
        Effect.SHAPE,
        "aten/src/ATen/native/TensorConversions.cpp: dense_to_sparse finds what is there by nonzero",
    ),
    Api(
        _torch("equal allclose is_nonzero"),
        Effect.TRUTH,
        "docs.pytorch.org torch.equal, torch.allclose: return a Python bool",
    ),
    Api(
        _torch(
            "isnan isinf isfinite isposinf isneginf isclose eq ne lt le gt ge less less_equal greater greater_equal"
            " not_equal logical_and logical_or logical_not logical_xor isin signbit"
        ),
        Effect.KEEP_BOOLEAN,
        "docs.pytorch.org torch 'Comparison Ops': a boolean tensor",
    ),
    Api(
        _torch("all any"),
        Effect.KEEP_BOOLEAN,
        "docs.pytorch.org torch.all, torch.any: a boolean tensor",
    ),
    Api(
        _torch("sum mean max min prod std var norm median argmax argmin logsumexp count_nonzero trace dot"),
        Effect.REDUCE,
        "docs.pytorch.org torch 'Reduction Ops'",
    ),
    Api(
        _torch(
            "numel is_tensor is_floating_point is_complex is_storage is_grad_enabled get_default_dtype is_inference"
            " is_conj is_neg is_same_size is_signed is_distributed q_scale q_zero_point q_per_channel_axis"
            " get_num_interop_threads is_anomaly_enabled"
            " get_default_device get_rng_state initial_seed seed get_num_threads is_inference_mode_enabled iinfo finfo"
            " result_type promote_types can_cast broadcast_shapes Size typename is_autocast_enabled"
            " are_deterministic_algorithms_enabled"
            " cuda.is_available cuda.device_count cuda.current_device cuda.get_device_name cuda.get_device_capability"
            " cuda.memory_allocated cuda.max_memory_allocated cuda.memory_reserved cuda.max_memory_reserved"
            " cuda.get_device_properties cuda.mem_get_info cuda.is_bf16_supported"
            " backends.mps.is_available"
        ),
        Effect.HOST,
        "docs.pytorch.org: answered on the host from metadata",
    ),
    Api(
        _torch(
            "manual_seed set_grad_enabled set_default_dtype set_num_threads save no_grad enable_grad inference_mode"
            " cuda.manual_seed cuda.manual_seed_all cuda.set_device cuda.stream use_deterministic_algorithms"
            " set_printoptions set_float32_matmul_precision autograd.set_detect_anomaly"
            " cuda.reset_peak_memory_stats _assert_async cuda.nvtx.range_push cuda.nvtx.range_pop"
            " profiler.record_function Generator"
            " autograd.backward"
        ),
        Effect.NOTHING,
        "docs.pytorch.org: returns nothing that holds data",
    ),
    Api(
        _torch(
            "cuda.synchronize cuda.empty_cache accelerator.synchronize xpu.synchronize mps.synchronize mtia.synchronize"
            " xpu.empty_cache mps.empty_cache"
        ),
        Effect.SYNCHRONIZE,
        _SEMANTICS + "; torch.cuda.synchronize: 'Wait for all kernels in all streams on a CUDA device to complete'",
    ),
    Api(_torch("device"), Effect.NAME_DEVICE, "docs.pytorch.org Tensor Attributes: torch.device"),
    Api(
        _torch(
            "item tolist __int__ __float__ __bool__ __index__",
            "Tensor.",
        ),
        Effect.SCALAR,
        "docs.pytorch.org Tensor.item, Tensor.tolist; torch.cuda.set_sync_debug_mode warns on them",
    ),
    Api(_torch("cpu", "Tensor."), Effect.COPY, "docs.pytorch.org Tensor.cpu: 'a copy of this object in CPU memory'"),
    Api(
        _torch("numpy __array__", "Tensor."), Effect.NUMPY, "docs.pytorch.org Tensor.numpy: force=False raises off host"
    ),
    Api(_torch("to type", "Tensor."), Effect.MOVE, "docs.pytorch.org Tensor.to"),
    Api(_torch("cuda xpu", "Tensor."), Effect.CUDA, "docs.pytorch.org Tensor.cuda"),
    Api(_torch("pin_memory", "Tensor."), Effect.PIN, "docs.pytorch.org Tensor.pin_memory"),
    Api(
        _torch("copy_", "Tensor."),
        Effect.COPY_INTO,
        "docs.pytorch.org Tensor.copy_: 'may reside on a different device'",
    ),
    Api(_torch("backward", "Tensor."), Effect.BACKWARD, "docs.pytorch.org Tensor.backward"),
    Api(_torch("new_tensor", "Tensor."), Effect.NEW, "docs.pytorch.org Tensor.new_tensor: copies data"),
    Api(
        _torch("new", "Tensor."),
        Effect.NEW,
        "source: torch/csrc/utils/tensor_new.cpp legacy_tensor_new: of the type and on the device of this tensor",
    ),
    Api(
        _torch("new_zeros new_ones new_empty new_full", "Tensor."),
        Effect.LIKE,
        "docs.pytorch.org Tensor.new_zeros: 'same torch.dtype and torch.device as this tensor' by default",
    ),
    Api(
        _torch("nonzero masked_select unique unique_consecutive argwhere bincount", "Tensor."),
        Effect.SHAPE,
        "docs.pytorch.org torch.nonzero and the methods' pages",
    ),
    Api(_torch("equal allclose is_nonzero", "Tensor."), Effect.TRUTH, "docs.pytorch.org torch.equal: a Python bool"),
    Api(
        _torch(
            "isnan isinf isfinite isclose eq ne lt le gt ge bool logical_and logical_or logical_not"
            " logical_xor all any",
            "Tensor.",
        ),
        Effect.KEEP_BOOLEAN,
        "docs.pytorch.org torch 'Comparison Ops'",
    ),
    Api(
        _torch("sum mean max min prod std var norm median argmax argmin logsumexp count_nonzero trace dot", "Tensor."),
        Effect.REDUCE,
        "docs.pytorch.org torch 'Reduction Ops'",
    ),
    Api(
        _torch(
            "size dim ndimension numel nelement stride is_contiguous is_floating_point is_complex data_ptr element_size"
            " storage_offset get_device is_pinned is_shared untyped_storage storage storage_type is_signed"
            " is_inference nbytes register_hook register_post_accumulate_grad_hook record_stream retain_grad is_set_to"
            " share_memory_ __len__",
            "Tensor.",
        ),
        Effect.HOST,
        _TENSOR + ": metadata, kept on the host",
    ),
    Api(
        _torch(
            "add_ sub_ mul_ div_ zero_ fill_ clamp_ clamp_min_ clamp_max_ masked_fill_ scatter_ scatter_add_ index_add_"
            " index_copy_ index_fill_ requires_grad_ detach_ normal_ uniform_ unsqueeze_ squeeze_ t_ transpose_"
            " resize_ set_ lerp_ addcmul_ addcdiv_ sqrt_ pow_ neg_ exp_ log_ sigmoid_ tanh_ relu_ floor_ round_ random_"
            " bernoulli_ logical_and_ logical_or_ logical_not_ masked_scatter_ put_ index_put_ triu_ tril_ "
            " eq_ ne_ lt_ gt_ le_ ge_",
            "Tensor.",
        ),
        Effect.SAME,
        _TENSOR + ": in-place methods end in an underscore and give the tensor back",
    ),
    Api(
        _torch(
            "detach clone contiguous view view_as reshape reshape_as permute transpose swapaxes t squeeze unsqueeze"
            " flatten unflatten expand expand_as repeat tile float double half bfloat16 long int short char byte"
            " abs neg exp log log1p log2 sqrt rsqrt square pow sigmoid tanh relu softmax log_softmax cumsum cumprod"
            " sort argsort topk kthvalue gather scatter scatter_add index_select index_add masked_fill clamp clamp_min"
            " clamp_max clip round floor ceil trunc frac add sub mul div true_divide matmul mm bmm mv addmm"
            " chunk split unbind narrow select diagonal diag triu tril flip roll unfold to_dense type_as"
            " where lerp sign cos sin tan acos asin atan atan2 erf fmod remainder maximum minimum amax amin"
            " aminmax quantile nan_to_num nansum nanmean renorm cross outer det logdet"
            " movedim moveaxis broadcast_to take take_along_dim repeat_interleave conj real imag angle"
            " nanmedian mode cummax cummin diff logcumsumexp logaddexp bernoulli baddbmm tensor_split"
            " hsplit vsplit floor_divide dequantize",
            "Tensor.",
        ),
        Effect.KEEP,
        _TENSOR + ": computed where the tensor is",
    ),
)
# What vendors' packages add to torch; not there without them.
VENDORS: tuple[Api, ...] = (
    Api(
        _torch("npu.synchronize hpu.synchronize mlu.synchronize musa.synchronize"),
        Effect.SYNCHRONIZE,
        "torch_npu, habana_frameworks, torch_mlu, torch_musa: as torch.cuda's",
    ),
    Api(
        _torch("npu.empty_cache mlu.empty_cache musa.empty_cache"),
        Effect.SYNCHRONIZE,
        "torch_npu, torch_mlu, torch_musa: as torch.cuda's",
    ),
    Api(
        _torch("npu hpu mlu musa", "Tensor."),
        Effect.CUDA,
        "torch_npu, habana_frameworks, torch_mlu, torch_musa: as Tensor.cuda",
    ),
)

# Methods that only torch tensors have (numpy arrays, containers and strings do not): calling one tells a tensor.
TENSOR_ONLY: frozenset[str] = frozenset(
    [
        "detach",
        "backward",
        "cuda",
        "cpu",
        "unsqueeze",
        "unsqueeze_",
        "masked_fill",
        "masked_fill_",
        "scatter_",
        "scatter_add_",
        "scatter",
        "gather",
        "index_select",
        "index_add_",
        "index_fill_",
        "expand_as",
        "expand",
        "contiguous",
        "type_as",
        "new_zeros",
        "new_ones",
        "new_tensor",
        "new_full",
        "new_empty",
        "numel",
        "permute",
        "requires_grad_",
        "clamp_",
        "mul_",
        "add_",
        "div_",
        "zero_",
        "copy_",
        "clone",
        "narrow",
        "unbind",
        "log_softmax",
        "bmm",
        "masked_select",
        "view_as",
        "clamp_min",
        "clamp_max",
        "is_cuda",
        "grad_fn",
        "pin_memory",
        "unfold",
        "baddbmm",
        "sigmoid",
        "softmax",
        "topk",
        "scatter_add",
        "index_copy_",
        "logical_not",
        "fill_",
        "bfloat16",
        "addmm",
        "matmul_",
        "element_size",
        "retain_grad",
        "nelement",
        "float",
        "long",
        "double",
        "half",
        "norm",
        "abs",
        "exp",
        "log",
        "sqrt",
        "pow",
        "type_as",
        "squeeze_",
        "detach_",
    ]
)
# Methods of tensors that compute where their operands are, of which no row says more (docs.pytorch.org torch.Tensor).
# The names are too common to make a tensor of an unknown object: they count only where it is proven to be one. Those of
# the first set give booleans.
COMPUTING_BOOLEANS: frozenset[str] = frozenset(
    "greater greater_equal isneginf isposinf isreal less less_equal not_equal signbit".split()
)
COMPUTING: frozenset[str] = frozenset(
    "absolute addbmm addcdiv addcmul addmv addr adjoint arccos arccosh arcsin arcsinh arctan arctan2 arctanh"
    " as_strided as_strided_scatter bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift"
    " bitwise_xor ccol_indices chalf cholesky_solve col_indices conj_physical crow_indices deg2rad"
    " diag_embed diagflat diagonal_scatter digamma dist divide dsplit erfinv exp2 fix fliplr flipud float_power"
    " fmax fmin geqrf ger hardshrink heaviside histc histogram hypot i0 igamma igammac index_copy index_fill"
    " index_put index_reduce indices inner kron lcm logaddexp2 logit lu_solve masked_scatter matrix_exp"
    " matrix_power msort multiply mvlgamma nanquantile narrow_copy negative new_empty_strided nextafter"
    " nonzero_static orgqr ormqr positive prelu put qr rad2deg ravel reciprocal resolve_conj resolve_neg rot90"
    " row_indices scatter_reduce select_scatter sgn sinc slice_scatter slogdet sparse_mask split_with_sizes stft"
    " subtract sum_to_size swapdims triangular_solve unsafe_chunk vdot xlogy".split()
)
# Functions that have several results, of torch, torch.linalg and methods; ALONG those that do along a dimension, with
# another argument than a tensor (torch.return_types; docs.pytorch.org "torch" for those that give a plain tuple).
SEVERAL = frozenset(
    "topk sort chunk split unbind aminmax var_mean std_mean cummax cummin tensor_split hsplit vsplit dsplit frexp geqrf"
    " histogram histogramdd cholesky_ex eig eigh inv_ex ldl_factor ldl_factor_ex lstsq lu lu_factor lu_factor_ex"
    " lu_unpack qr slogdet solve_ex split_with_sizes svd triangular_solve unsafe_chunk unsafe_split".split()
)
ALONG = frozenset("max min median nanmedian mode kthvalue".split())
# The names of what functions with several results give (torch.return_types): `x.max(dim=1).values`.
RESULTS = frozenset(
    "L LD LU P Q R S U V Vh bin_edges eigenvalues eigenvectors exponent hist indices info inverse logabsdet mantissa"
    " max min pivots primal rank residuals result sign singular_values solution tangent tau values".split()
)
# Distributions that make a number among their parameters a tensor where the others are (torch/distributions/utils.py,
# broadcast_all).
BROADCAST = frozenset(
    f"torch.distributions.{name}"
    for name in (
        "Normal LogNormal Cauchy Gumbel Laplace Uniform Gamma Beta Binomial NegativeBinomial FisherSnedecor Kumaraswamy"
        " Pareto StudentT VonMises Weibull"
    ).split()
)
# Functions that call the first one that they are given with the arguments behind it, and give what that gives, with the
# keywords that are their own (docs.pytorch.org torch.utils.checkpoint, torch.jit.fork; docs.python.org asyncio).
APPLIES: dict[str, frozenset[str]] = {
    "torch.utils.checkpoint.checkpoint": frozenset(
        {"use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop"}
    ),
    "deepspeed.checkpointing.checkpoint": frozenset(),
    "torch.jit.fork": frozenset(),
    "asyncio.to_thread": frozenset(),
}
# Methods that say "numpy array" (or something else that is not a tensor).
ARRAY_ONLY: frozenset[str] = frozenset(["astype", "tobytes", "ravel_", "itemset", "dumps", "tofile", "newbyteorder"])

SOURCES = {
    "CASTS": _TENSOR + " 'Data types': the legacy constructors, torch.FloatTensor and torch.cuda.FloatTensor",
    "TENSOR_ONLY": _TENSOR + " against numpy.org 'The N-dimensional array': methods of the one and not of the other",
}
