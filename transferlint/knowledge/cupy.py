"""CuPy: arrays live on the device, always; what its names mean is what numpy's mean, and numpy's arrays have to be
brought there by name.

A function of `cupy` that no row names computes on the device (docs.cupy.dev 'Basics of CuPy': 'cupy.ndarray ... is
allocated on the current device').
"""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, methods, named
from transferlint.knowledge.framework import Framework, Tracer

_ARRAY = ("cupy.ndarray",)
_BASICS = "docs.cupy.dev 'Basics of CuPy'"
_API = "docs.cupy.dev reference cupy."

TABLE: tuple[Api, ...] = (
    Api(
        named("cupy.", "zeros ones full empty arange linspace logspace eye identity tri zeros_like ones_like full_like"
              " empty_like"),
        Effect.FILL,
        _API + "zeros: made on the current device",
        example="cupy.zeros(3)",
    ),
    Api(
        named("cupy.", "array asarray asanyarray ascontiguousarray"),
        Effect.DATA,
        _BASICS + ", 'Move arrays from the host to a device': cupy.asarray 'can be used to move a numpy.ndarray'",
        example="cupy.asarray([1.0, 2.0])",
    ),
    Api(
        named("cupy.", "asnumpy"),
        Effect.COPY,
        _BASICS + ", 'Move array from a device to the host': cupy.asnumpy",
        example="cupy.asnumpy(cupy.zeros(2))",
    ),
    Api(
        named("cupy.", "from_dlpack fromDlpack"),
        Effect.KEEP,
        "docs.cupy.dev 'Interoperability', DLPack: 'Zero-copy conversion'",
        example="cupy.from_dlpack(cupy.zeros(2))",
    ),
    Api(
        named("cupy.", "nonzero argwhere flatnonzero unique extract compress union1d intersect1d setdiff1d"),
        Effect.SHAPE,
        _API + "nonzero: as many elements as the data says",
        example="cupy.nonzero(cupy.ones(2))",
    ),
    Api(
        named("cupyx.scipy.", "get_array_module sparse.issparse sparse.isspmatrix sparse.isspmatrix_csr"
              " sparse.isspmatrix_csc sparse.isspmatrix_coo sparse.isspmatrix_dia"),
        Effect.HOST,
        "docs.cupy.dev cupyx.scipy.sparse.issparse: 'Checks if a given matrix is a sparse matrix': its type",
        example="cupyx.scipy.sparse.issparse(cupy.zeros(2))",
    ),
    Api(
        named("cupy.", "shape ndim size dtype finfo iinfo issubdtype result_type can_cast isscalar get_array_module"
              " iscomplexobj isrealobj shares_memory may_share_memory broadcast_shapes"
              " get_default_memory_pool get_default_pinned_memory_pool is_available"
              " cuda.runtime.getDeviceCount cuda.is_available cuda.get_current_stream cuda.get_elapsed_time"),
        Effect.HOST,
        _API + "shape: of metadata, which the host has",
        example="cupy.ndim(cupy.zeros(2))",
    ),
    Api(
        named("cupy.", "cuda.runtime.deviceSynchronize cuda.Device.synchronize cuda.Stream.null.synchronize"
              " cuda.stream.Stream.null.synchronize cuda.Stream.synchronize cuda.stream.Stream.synchronize"
              " cuda.Event.synchronize cuda.runtime.streamSynchronize"),
        Effect.SYNCHRONIZE,
        "docs.cupy.dev cupy.cuda.Device.synchronize: 'Synchronizes the current thread to the device'",
        example="cupy.cuda.runtime.deviceSynchronize()",
    ),
    Api(
        ("cupy.cuda.*", "cupy.cuda", "cupy.random.seed", "cupy.testing.*", "cupyx.profiler.*", "cupy.show_config",
         "cupyx.time.*", "cupy.RawKernel", "cupy.RawModule", "cupy.ElementwiseKernel", "cupy.ReductionKernel",
         "cupy.save", "cupy.savez", "cupyx.distributed.*", "cupy.fuse"),
        Effect.NOTHING,
        _API + "cuda: handles of the driver",
        example="cupy.random.seed(0)",
    ),
    Api(
        named("cupy.", "all any isnan isinf isfinite equal not_equal less less_equal greater greater_equal logical_and"
              " logical_or logical_not isclose isin allclose array_equal"),
        Effect.KEEP_BOOLEAN,
        _API + "allclose: an array of no dimensions",
        example="cupy.isnan(cupy.zeros(2))",
    ),
    Api(
        ("cupy.*", "cupyx.scipy.*", "cupyx.*"),
        Effect.KEEP,
        _API + "ndarray: computed on the device",
        example="cupy.exp(cupy.zeros(2))",
    ),
    Api(
        methods(_ARRAY, "item tolist __float__ __int__ __bool__ __index__ __complex__"),
        Effect.SCALAR,
        _API + "ndarray.item: 'Converts the array with one element to a Python scalar'",
        example="cupy.ones(()).item()",
    ),
    Api(
        methods(_ARRAY, "get __array__ tobytes dump dumps tofile"),
        Effect.COPY,
        _API + "ndarray.get: 'Returns a copy of the array on host memory'",
        example="cupy.ones(2).get()",
    ),
    Api(
        methods(_ARRAY, "nonzero"),
        Effect.SHAPE,
        _API + "nonzero",
        example="cupy.ones(2).nonzero()",
    ),
    Api(
        methods(_ARRAY, "all any"),
        Effect.KEEP_BOOLEAN,
        _API + "ndarray.all",
        example="cupy.ones(2).all()",
    ),
    Api(
        methods(_ARRAY, "*"),
        Effect.KEEP,
        _API + "ndarray: computed on the device",
        example="cupy.ones(2).sum()",
    ),
)  # fmt: skip

CUPY = Framework(
    name="cupy",
    title="CuPy",
    roots=("cupy", "cupyx"),
    array="cupy.ndarray",
    annotation=r"^cupy\.ndarray$",
    table=TABLE,
    tracers=(
        Tracer(("cupy.fuse", "cupyx.jit.rawkernel"), "docs.cupy.dev cupy.fuse: 'Decorator that fuses a function'",
               compiled=False),
    ),
    traced_bases=r"^$",
    traced_methods=frozenset(),
    on_host=frozenset("shape ndim size dtype nbytes itemsize strides flags device cstruct nnz format".split()),
    from_dlpack="cp.from_dlpack(t)",
    host_settings=(),
    always=True,
    # docs.cupy.dev 'Interoperability', NumPy: `__array_ufunc__` and `__array_function__` compute on the device
    numpy="cupy.",
)  # fmt: skip
