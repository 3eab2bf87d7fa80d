"""torch.distributions: validation of arguments is on by default, and reads one flag of each tensor that it looks at."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, methods, named

_ROOT = "torch.distributions."
_PAGE = "docs.pytorch.org distributions"
_CHECKED = {
    "bernoulli": "Bernoulli", "beta": "Beta", "binomial": "Binomial", "categorical": "Categorical", "cauchy": "Cauchy",
    "chi2": "Chi2", "continuous_bernoulli": "ContinuousBernoulli", "dirichlet": "Dirichlet",
    "exponential": "Exponential", "fishersnedecor": "FisherSnedecor", "gamma": "Gamma", "geometric": "Geometric",
    "gumbel": "Gumbel", "half_cauchy": "HalfCauchy", "half_normal": "HalfNormal", "kumaraswamy": "Kumaraswamy",
    "laplace": "Laplace", "log_normal": "LogNormal", "logistic_normal": "LogisticNormal",
    "lowrank_multivariate_normal": "LowRankMultivariateNormal", "multinomial": "Multinomial",
    "multivariate_normal": "MultivariateNormal", "negative_binomial": "NegativeBinomial", "normal": "Normal",
    "one_hot_categorical": "OneHotCategorical", "pareto": "Pareto", "poisson": "Poisson", "studentT": "StudentT",
    "relaxed_bernoulli": "RelaxedBernoulli", "relaxed_categorical": "RelaxedOneHotCategorical", "uniform": "Uniform",
    "von_mises": "VonMises", "weibull": "Weibull",
}  # fmt: skip
_DRAWN = named(_ROOT, "Categorical OneHotCategorical")
_SCALED = named(_ROOT, "Normal HalfNormal LogNormal LogisticNormal")
_REJECTING = named(_ROOT, "VonMises")
_COUNTING = named(_ROOT, "Binomial Multinomial")
_NAMES = tuple(f"{_ROOT}{name}" for name in _CHECKED.values())
# What has no parameters of its own, or stands for any of the others in an annotation.
_COMPOSED = named(_ROOT, "Distribution MixtureSameFamily Independent TransformedDistribution")
SAMPLING = frozenset({"sample", "rsample"})  # methods whose argument is the shape of the samples
_INSTEAD = (
    "`validate_args=False`, or once at the start `torch.distributions.Distribution.set_default_validate_args(False)`"
)


def _of(method: str, others: tuple[str, ...]) -> tuple[str, ...]:
    """A method of all these distributions but of `others`."""
    return tuple(name for name in methods(_NAMES, method) if name.rpartition(".")[0] not in others)


TABLE: tuple[Api, ...] = (
    Api(
        _NAMES + tuple(f"{_ROOT}{module}.{name}" for module, name in _CHECKED.items()),
        Effect.VALIDATES,
        _PAGE + " Distribution.set_default_validate_args: 'Validation may be expensive'; source:"
        " torch/distributions/distribution.py __init__: reads whether all of each parameter meets its constraint",
        instead=_INSTEAD,
    ),
    Api(
        methods((*_NAMES, *_COMPOSED), "log_prob cdf"),
        Effect.ASKS,
        "source: torch/distributions/distribution.py _validate_sample: reads whether the value is in the support",
        instead=_INSTEAD,
    ),
    Api(
        methods(_SCALED, "sample"),
        Effect.ASKS,
        "source: torch/distributions/normal.py: draws by torch.normal, which reads whether the scale is at least zero",
        instead="`rsample()` under `torch.no_grad()`: the same draw, which asks nothing",
    ),
    Api(
        methods(_REJECTING, "sample") + methods(_COUNTING, "entropy"),
        Effect.ASKS,
        "source: torch/distributions/von_mises.py: draws until all are accepted; binomial.py, multinomial.py: read the"
        " number of trials",
        avoidable=False,
    ),
    Api(
        _of("sample", _DRAWN + _SCALED + _REJECTING)
        + _of("entropy", _COUNTING)
        + methods(_NAMES, "rsample icdf")
        + methods(_COMPOSED, "entropy rsample icdf"),
        Effect.DRAWS,
        _PAGE + " Distribution.sample, rsample, entropy, icdf: tensors on the device of the parameters",
    ),
    Api(
        named(_ROOT, "Distribution.set_default_validate_args distribution.Distribution.set_default_validate_args"),
        Effect.VALIDATES_NOT,
        _PAGE + " Distribution.set_default_validate_args",
    ),
)
