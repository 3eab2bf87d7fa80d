"""numpy and the standard library: everything they make is on the host.

A function of numpy that no row names computes on the host; its tensor operands go through `__array__`.
"""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, methods, named

TABLE: tuple[Api, ...] = (
    Api(
        named("numpy.", "asarray array ascontiguousarray asanyarray copy"),
        Effect.ARRAY_MAKER,
        "numpy.org numpy.asarray: calls __array__, which torch.Tensor raises from on a device tensor",
    ),
    Api(
        named("numpy.", "shape ndim dtype finfo iinfo result_type can_cast broadcast_shapes errstate seterr"),
        Effect.HOST,
        "numpy.org numpy.shape, numpy.ndim: ask `a.shape`, `a.ndim` before they convert; the rest takes dtypes alone",
    ),
    Api(
        methods(["numpy.ndarray"], "item tolist tobytes astype copy view reshape ravel flatten squeeze transpose"),
        Effect.HOST_DATA,
        "numpy.org 'The N-dimensional array (ndarray)': arrays live in host memory",
    ),
    Api(
        named(
            "builtins.",
            "len isinstance issubclass type id hash hasattr callable repr str ascii open input ord chr dir bytes"
            " bin hex oct format",
        ),
        Effect.HOST,
        "docs.python.org library/functions",
    ),
)

# What gives one number where no axis is named (numpy.org 'Mathematical functions', 'Statistics', 'Sorting, searching,
# and counting').
REDUCTIONS = frozenset(
    "sum prod mean std var median max min amax amin ptp argmax argmin count_nonzero average nansum nanmean nanstd"
    " nanvar nanmedian nanmax nanmin nanargmax nanargmin".split()
)

# What draws one number where no size is given, which is the argument at this position (numpy.org 'Random sampling').
DRAWS = {
    f"numpy.random.{name}": position
    for position, names in enumerate(
        (
            "rand randn random random_sample ranf sample standard_normal standard_exponential standard_cauchy",
            "choice exponential poisson chisquare standard_t standard_gamma geometric rayleigh",
            "randint random_integers normal uniform beta gamma binomial lognormal laplace logistic vonmises wald",
            "triangular",
        )
    )
    for name in names.split()
}

# What makes an array of its own values, of a size: the device could make them itself (numpy.org 'Array creation
# routines', 'Random sampling', 'Window functions').
FILLS = frozenset(
    f"numpy.{name}"
    for name in (
        "zeros ones full empty eye identity arange linspace logspace tri hanning hamming blackman bartlett kaiser"
        " random.rand random.randn random.randint random.random random.random_sample random.normal random.uniform"
        " random.standard_normal random.permutation"
    ).split()
)
