"""Calls of what torch offers beside tensor methods; see `calls`."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

_ON = "device='cuda'"
_TYPES = "Float Double Half BFloat16 Long Int Short Char Byte Bool".split()
_PAIRS = "isclose eq ne lt le gt ge less less_equal greater greater_equal not_equal".split()
_STEP = {"setup": "p = torch.nn.Parameter(v.clone()); p.grad = v.clone(); o = Owner([p], lr=0.1)"}
_SCALED = "p = torch.nn.Parameter(v.clone()); o = torch.optim.SGD([p], lr=0.1); s = Owner{}; s.scale((p * v).sum())"
_SCALER = {"setup": _SCALED.format("('cuda')") + ".backward()"}
_OLD_SCALER = {"setup": _SCALED.format("()") + ".backward()"}
_PARAMETERS = "p = torch.nn.Parameter(v.clone()); p.grad = v.clone()"


def _scaler(owner: str, setup: dict[str, str]) -> dict[str, Any]:
    calls = {
        "get_scale": "s.get_scale()",
        "step": "s.step(o)",
        "unscale_": "s.unscale_(o)",
        "scale": "s.scale(v)",
        "state_dict": "s.state_dict()",
        "is_enabled": "s.is_enabled()",
        "get_growth_factor": "s.get_growth_factor()",
        "get_backoff_factor": "s.get_backoff_factor()",
        "get_growth_interval": "s.get_growth_interval()",
        "set_growth_factor": "s.set_growth_factor(2.0)",
        "set_backoff_factor": "s.set_backoff_factor(0.5)",
        "set_growth_interval": "s.set_growth_interval(100)",
        "load_state_dict": "s.load_state_dict(d)",
        "update": "s.update()",
    }
    more = {"load_state_dict": "; d = s.state_dict()", "update": "; s.step(o)"}
    made: dict[str, Any] = {
        f"{owner}.{name}": {"setup": setup["setup"] + more.get(name, ""), "call": call} for name, call in calls.items()
    }
    made[owner] = f"F{'()' if setup is _OLD_SCALER else repr(('cuda',)).replace(',', '')}"
    return made


_MADE = {
    "zeros": f"F(3, {_ON})", "ones": f"F(3, {_ON})", "empty": f"F(3, {_ON})", "full": f"F((3,), 2.0, {_ON})",
    "rand": f"F(3, {_ON})", "randn": f"F(3, {_ON})", "randint": f"F(5, (3,), {_ON})", "randperm": f"F(5, {_ON})",
    "arange": f"F(5, {_ON})", "range": f"F(0, 4, {_ON})", "linspace": f"F(0, 1, 5, {_ON})",
    "logspace": f"F(0, 1, 5, {_ON})", "eye": f"F(3, {_ON})", "scalar_tensor": f"F(2.0, {_ON})",
    "empty_strided": f"F((2, 3), (3, 1), {_ON})", "tril_indices": f"F(3, 3, {_ON})", "triu_indices": f"F(3, 3, {_ON})",
    **{f"{name}_window": f"F(8, {_ON})" for name in "hann hamming bartlett blackman kaiser".split()},
    **{name: f"F([1.0, 2.0], {_ON})" for name in ("tensor", "as_tensor", "asarray")},
    "Tensor": {"call": "F([1.0, 2.0])", "claim": "host"},
    **{f"{kind}Tensor": {"call": "F([1, 2])", "claim": "host"} for kind in _TYPES},
    **{f"cuda.{kind}Tensor": "F([1, 2])" for kind in _TYPES},
    "full_like": "F(x, 2.0)", "randint_like": "F(x, 5)",
    "from_numpy": "F(numpy.ones(3))", "frombuffer": "F(bytearray(8), dtype=torch.uint8)",
}  # fmt: skip
_FUNCTIONS: dict[str, Any] = {
    "masked_select": "F(x, b)", "unique": "F(i)", "unique_consecutive": "F(i)", "bincount": "F(i)",
    "equal": "F(x, y)", "allclose": "F(x, y)", "is_nonzero": "F(z)",
    **{name: "F(x, y)" for name in _PAIRS},
    **{name: "F(b, b)" for name in ("logical_and", "logical_or", "logical_xor")},
    "isin": "F(i, i)", "trace": "F(m)", "dot": "F(v, v)", "logsumexp": "F(x, 0)",
    "is_storage": "F(x)", "is_grad_enabled": "F()", "get_default_dtype": "F()", "get_default_device": "F()",
    "get_rng_state": "F()", "initial_seed": "F()", "seed": "F()", "get_num_threads": "F()",
    "is_inference_mode_enabled": "F()", "iinfo": "F(torch.int32)", "finfo": "F(torch.float32)",
    "result_type": "F(x, 2.0)", "promote_types": "F(torch.int32, torch.float32)",
    "can_cast": "F(torch.int32, torch.float32)", "broadcast_shapes": "F((3, 4), (4,))", "Size": "F((3, 4))",
    "is_autocast_enabled": "F('cuda')", "are_deterministic_algorithms_enabled": "F()",
    **{
        f"cuda.{name}": "F()"
        for name in "is_available device_count current_device get_device_name get_device_capability memory_allocated"
        " max_memory_allocated memory_reserved max_memory_reserved mem_get_info is_bf16_supported"
        " reset_peak_memory_stats".split()
    },
    "cuda.synchronize": "torch.cuda.synchronize()",  # by its name, which the recorder replaces
    "cuda.empty_cache": {"setup": "t = torch.empty(1 << 25, device='cuda'); del t", "call": "torch.cuda.empty_cache()"},
    "cuda.get_device_properties": "F(0)", "backends.mps.is_available": "F()",
    "manual_seed": "F(0)", "set_grad_enabled": "F(True)", "set_default_dtype": "F(torch.float32)",
    "set_num_threads": "F(torch.get_num_threads())", "no_grad": "F()", "enable_grad": "F()", "inference_mode": "F()",
    "save": {"setup": "import io", "call": "F(host, io.BytesIO())"},
    "cuda.manual_seed": "F(0)", "cuda.manual_seed_all": "F(0)", "cuda.set_device": "F(0)",
    "cuda.stream": "F(torch.cuda.current_stream())", "use_deterministic_algorithms": "F(False)",
    "set_printoptions": "F(profile='default')", "set_float32_matmul_precision": "F('highest')",
    "autograd.set_detect_anomaly": "F(False)", "_assert_async": "F(z > -1)", "cuda.nvtx.range_push": "F('here')",
    "cuda.nvtx.range_pop": {"setup": "torch.cuda.nvtx.range_push('here')", "call": "F()"},
    "profiler.record_function": "F('here')", "Generator": "F('cuda')",
    "autograd.Variable": "F(x)",
    "autograd.backward": {"setup": "t = (g * 2).sum()", "call": "F(t)"},
    "accelerator.synchronize": "torch.accelerator.synchronize()",
    "xpu.synchronize": "!needs an Intel GPU", "mps.synchronize": "!needs Apple's GPU",
    "xpu.empty_cache": "!needs an Intel GPU", "mps.empty_cache": "!needs Apple's GPU",
    "mtia.synchronize": "!needs an accelerator of Meta",
    **dict.fromkeys(
        ("npu.synchronize", "hpu.synchronize", "mlu.synchronize", "musa.synchronize", "npu.empty_cache",
         "mlu.empty_cache", "musa.empty_cache"),
        "!needs a package of its vendor",
    ),
    "device": "F('cuda')",
}  # fmt: skip
_OPTIMIZERS: dict[str, Any] = {
    "step": {**_STEP, "setup": _STEP["setup"] + "; o.step()", "call": "o.step()"},
    "zero_grad": {**_STEP, "call": "o.zero_grad()"},
    "add_param_group": {**_STEP, "call": "o.add_param_group({'params': [torch.nn.Parameter(v.clone())]})"},
    "state_dict": {**_STEP, "setup": _STEP["setup"] + "; o.step()", "call": "o.state_dict()"},
    "load_state_dict": {"setup": _STEP["setup"] + "; o.step(); d = o.state_dict()", "call": "o.load_state_dict(d)"},
}
_SPARSE = "p = torch.nn.Parameter(v.clone()); p.grad = v.clone().to_sparse(); o = Owner([p], lr=0.1)"
_NAMES = "Adadelta Adafactor Adagrad Adam AdamW Adamax ASGD NAdam RAdam RMSprop Rprop SGD".split()
_CLOSURE = "p = torch.nn.Parameter(v.clone()); o = Owner([p], lr=0.1)\ndef c():\n o.zero_grad(); t = (p * p).sum();"
_CLIPPED = [
    {"setup": _PARAMETERS, "call": "F([p], 1.0)"},
    {"setup": _PARAMETERS, "call": "F([p], 1.0, error_if_nonfinite=True)", "given": "error_if_nonfinite"},
]
_TRAINING: dict[str, Any] = {
    **{f"optim.{name}.{method}": call for name in _NAMES for method, call in _OPTIMIZERS.items()},
    **{f"optim.{name}": "F([torch.nn.Parameter(v)], lr=0.1)" for name in (*_NAMES, "SparseAdam", "LBFGS")},
    **{
        f"optim.SparseAdam.{name}": {"setup": call["setup"].replace(_STEP["setup"], _SPARSE), "call": call["call"]}
        for name, call in _OPTIMIZERS.items()
    },
    **{
        f"optim.LBFGS.{name}": {**call, "setup": call["setup"].replace("; o.step()", "")}
        for name, call in _OPTIMIZERS.items()
    },
    "optim.LBFGS.step": {"setup": _CLOSURE + " t.backward(); return t", "call": "o.step(c)"},
    **{f"optim.Optimizer.{name}": "!an abstract class" for name in _OPTIMIZERS},
    "utils.clip_grad_norm_": _CLIPPED,
    "clip_grad.clip_grad_norm_": _CLIPPED,
    "utils.get_total_norm": [
        {"call": "F([v])"},
        {"call": "F([v], error_if_nonfinite=True)", "given": "error_if_nonfinite"},
    ],
    "utils.clip_grads_with_norm_": {"setup": _PARAMETERS, "call": "F([p], 1.0, v.norm())", "claim": "nothing"},
    "utils.clip_grad_value_": {"setup": _PARAMETERS, "call": "F([p], 1.0)", "claim": "nothing"},
    "utils.parameters_to_vector": {"setup": _PARAMETERS, "call": "F([p])"},
    "utils.vector_to_parameters": {"setup": _PARAMETERS, "call": "F(v, [p])", "claim": "nothing"},
    "swa_utils.AveragedModel": "F(torch.nn.Linear(4, 4))",
    "AveragedModel.update_parameters": {
        "setup": "t = torch.nn.Linear(4, 4).to('cuda'); a = Owner(t, device='cuda')",
        "call": "a.update_parameters(t)",
    },
    "rnn.pad_sequence": "F([v, v[:2]])",
    "rnn.pack_sequence": "F([v, v[:2]])",
    "rnn.unpad_sequence": "F(x, torch.tensor([3, 2, 1, 1], device='cuda'))",
    "rnn.pack_padded_sequence": "F(x[:, :, None], torch.tensor([3, 2, 1, 1]))",
    "rnn.pad_packed_sequence": {
        "setup": "q = torch.nn.utils.rnn.pack_padded_sequence(x[:, :, None], torch.tensor([3, 2, 1, 1]))",
        "call": "F(q)",
    },
    **_scaler("amp.GradScaler", _SCALER),
    **_scaler("cuda.amp.GradScaler", _OLD_SCALER),
    **_scaler("amp.grad_scaler.GradScaler", _SCALER),
    **_scaler("cuda.amp.grad_scaler.GradScaler", _OLD_SCALER),
    **{name: "F('cuda')" for name in ("amp.autocast", "torch.autocast", "autocast_mode.autocast")},
    "cuda.amp.autocast": "F()",
    "cpu.amp.autocast": "F()",
}
_DISTRIBUTIONS = {
    **dict.fromkeys(
        "Beta Cauchy FisherSnedecor Gamma Gumbel Kumaraswamy Laplace LogNormal LogisticNormal Normal Pareto VonMises"
        " Weibull".split(),
        "v, v",
    ),
    **dict.fromkeys(
        "Bernoulli Categorical Chi2 ContinuousBernoulli Dirichlet Exponential Geometric HalfCauchy HalfNormal"
        " OneHotCategorical Poisson StudentT".split(),
        "v",
    ),
    "Binomial": "10, v",
    "LowRankMultivariateNormal": "v, m[:, :1], v",
    "Multinomial": "3, v",
    "MultivariateNormal": "v, m",
    "NegativeBinomial": "3, v",
    "RelaxedBernoulli": "z, v",
    "RelaxedOneHotCategorical": "z, v",
    "Uniform": "v, v + 1",
    "Independent": "torch.distributions.Normal(v, v), 1",
    "MixtureSameFamily": "torch.distributions.Categorical(v), torch.distributions.Normal(v, v)",
    "TransformedDistribution": "torch.distributions.Normal(v, v), [torch.distributions.ExpTransform()]",
}
_DRAWING = {
    "log_prob": "d.log_prob(s)",
    "cdf": "d.cdf(s)",
    "icdf": "d.icdf(v)",
    "sample": "d.sample()",
    "rsample": "d.rsample()",
    "entropy": "d.entropy()",
}
_LENGTHS = "s = x[:, None].log_softmax(-1); n = torch.tensor([2], device='cuda')"
_CHECKING: dict[str, Any] = {
    **{
        f"linalg.{name}": "F(m)"
        for name in "inv cholesky lu_factor ldl_factor eig eigh eigvals eigvalsh svd svdvals matrix_rank pinv".split()
    },
    "linalg.cond": "F(m)",
    "linalg.tensorinv": "F(m.reshape(2, 2, 4), ind=2)",
    "linalg.tensorsolve": "F(m.reshape(2, 2, 4), v.reshape(2, 2))",
    "torch.svd_lowrank": "F(m, q=2)",
    "torch.pca_lowrank": "F(m, q=2)",
    "torch.cov": "F(x)",
    "torch.corrcoef": "F(x)",
    "torch.combinations": "F(v)",
    "functional.gaussian_nll_loss": "F(x, y, y.exp())",
    "nn.GaussianNLLLoss.forward": {"setup": "c = Owner()", "call": "c(x, y, y.exp())"},
    **{name: {"setup": _LENGTHS, "call": "F(s, i[:4], n, n)"} for name in ("torch.ctc_loss", "functional.ctc_loss")},
    "nn.CTCLoss.forward": {"setup": _LENGTHS + "; c = Owner()", "call": "c(s, i[:4], n, n)"},
    **{f"distributions.Distribution.{name}": "!an abstract class" for name in _DRAWING},
    "lr_scheduler.ReduceLROnPlateau": {
        "setup": "o = torch.optim.SGD([torch.nn.Parameter(v.clone())], lr=0.1)",
        "call": "F(o)",
    },
    "ReduceLROnPlateau.step": {
        "setup": "s = Owner(torch.optim.SGD([torch.nn.Parameter(v.clone())], lr=0.1))",
        "call": "s.step(z)",
    },
    "linalg.solve": "F(m, m)",
    "torch.inverse": "F(m)",
    "torch.cholesky": "F(m)",
    "torch.multinomial": "F(v, 2)",
    "torch.svd": "F(m)",
    "torch.pinverse": "F(m)",
    "torch.cholesky_inverse": "F(m)",
    "torch.istft": {
        "setup": "s = torch.ones(9, 4, dtype=torch.complex64, device=x.device); w = torch.ones(16, device=x.device)",
        "call": "F(s, 16, window=w)",
    },
    "torch.normal": "F(0.0, v)",
    **{
        f"distributions.{name}.{method}": {"setup": f"d = Owner({arguments}); s = d.sample()", "call": call}
        for name, arguments in _DISTRIBUTIONS.items()
        for method, call in _DRAWING.items()
    },
    "Distribution.set_default_validate_args": "F(True)",
}


def distribution(name: str) -> str | None:
    """The call that makes a distribution, under whichever of its two names."""
    start, _, last = name.rpartition(".")
    return f"F({_DISTRIBUTIONS[last]})" if last in _DISTRIBUTIONS and start.startswith("torch.distributions") else None


CALLS: Mapping[str, Any] = types.MappingProxyType(
    {f"torch.{name}": call for name, call in {**_MADE, **_FUNCTIONS}.items()} | _TRAINING | _CHECKING
)
