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
_DRAWN = named(_ROOT, "Categorical OneHotCategorical Multinomial")
_NAMES = tuple(f"{_ROOT}{name}" for name in _CHECKED.values())
_INSTEAD = (
    "`validate_args=False`, or once at the start `torch.distributions.Distribution.set_default_validate_args(False)`"
)

TABLE: tuple[Api, ...] = (
    Api(
        _NAMES + tuple(f"{_ROOT}{module}.{name}" for module, name in _CHECKED.items()),
        Effect.VALIDATES,
        _PAGE + " Distribution.set_default_validate_args: 'Validation may be expensive'; source:"
        " torch/distributions/distribution.py __init__: reads whether all of each parameter meets its constraint",
        instead=_INSTEAD,
    ),
    Api(
        methods(_NAMES, "log_prob cdf icdf"),
        Effect.ASKS,
        "source: torch/distributions/distribution.py _validate_sample: reads whether the value is in the support",
        instead=_INSTEAD,
    ),
    Api(
        methods(_DRAWN, "sample"),
        Effect.ASKS,
        "source: torch/distributions/categorical.py, multinomial.py: draw by torch.multinomial",
        avoidable=False,
        instead="draw by the largest of ratios: `(probs / torch.empty_like(probs).exponential_(1)).argmax(-1)`",
    ),
    Api(
        tuple(name for name in methods(_NAMES, "sample") if name.rpartition(".")[0] not in _DRAWN)
        + methods(_NAMES, "rsample entropy"),
        Effect.DRAWS,
        _PAGE + " Distribution.sample, rsample, entropy: tensors on the device of the parameters",
    ),
    Api(
        named(_ROOT, "Distribution.set_default_validate_args distribution.Distribution.set_default_validate_args"),
        Effect.VALIDATES_NOT,
        _PAGE + " Distribution.set_default_validate_args",
    ),
)
