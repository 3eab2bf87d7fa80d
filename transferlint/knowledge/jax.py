"""JAX: arrays live on the default device, which is the accelerator where there is one; numpy and Python numbers are
uploaded by whatever computes with them.

A function of `jax.numpy`, `jax.lax`, `jax.nn`, `jax.random`, `jax.scipy` that no row names computes on the device
(docs.jax.dev 'jax.numpy': functions give `jax.Array`; 'FAQ': 'Controlling data and computation placement on devices').
"""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, methods, named
from transferlint.knowledge.framework import Framework, Tracer

_ARRAY = ("jax.Array",)
_PAGE = "docs.jax.dev jax.Array"
_NUMPY = "docs.jax.dev jax.numpy"
_DISPATCH = "docs.jax.dev 'Asynchronous dispatch'"
_TREES = "docs.jax.dev jax.tree"

TABLE: tuple[Api, ...] = (
    Api(
        named("jax.numpy.", "zeros ones full empty arange linspace logspace geomspace eye identity tri indices"),
        Effect.FILL,
        _NUMPY + ".zeros: made on the default device",
        example="jax.numpy.zeros(3)",
    ),
    Api(
        named("jax.numpy.", "array asarray copy"),
        Effect.DATA,
        _NUMPY + ".asarray: 'Convert an object to a JAX array': of host data, an upload",
        example="jax.numpy.asarray([1.0, 2.0])",
    ),
    Api(
        named("jax.", "device_put device_put_replicated device_put_sharded make_array_from_process_local_data"),
        Effect.SEND,
        "docs.jax.dev jax.device_put: 'Transfers x to device'",
        example="jax.device_put(numpy.zeros(2))",
    ),
    Api(
        ("jax.device_get", "flax.training.common_utils.get_metrics"),
        Effect.COPY,
        "docs.jax.dev jax.device_get: 'Transfer x to host'; flax.readthedocs.io get_metrics: device_get of stacked"
        " metrics",
        example="jax.device_get(jax.numpy.zeros(2))",
    ),
    Api(
        ("jax.block_until_ready", "jax.effects_barrier"),
        Effect.SYNCHRONIZE,
        _DISPATCH + "; jax.block_until_ready: 'Tries to call a block_until_ready method on pytree leaves'",
        example="jax.block_until_ready(jax.numpy.zeros(2))",
    ),
    Api(
        named("jax.numpy.", "nonzero flatnonzero argwhere unique unique_values unique_counts unique_inverse unique_all"
              " union1d intersect1d setdiff1d setxor1d extract compress trim_zeros"),
        Effect.SHAPE,
        _NUMPY + ".nonzero: 'Because the size of the output of nonzero is data-dependent', `size` settles it",
        unless=("size",),
        example="jax.numpy.nonzero(jax.numpy.ones(2))",
    ),
    Api(
        named("jax.numpy.", "shape ndim size dtype finfo iinfo issubdtype result_type promote_types can_cast isdtype"
              " broadcast_shapes iscomplexobj isrealobj isscalar set_printoptions einsum_path iterable"),
        Effect.HOST,
        _NUMPY + ".shape: of metadata, which the host has",
        example="jax.numpy.shape(jax.numpy.zeros(2))",
    ),
    Api(
        named("jax.", "lax.axis_size lax.conv_dimension_numbers lax.broadcast_shapes lax.padtype_to_pads"
              " devices local_devices device_count local_device_count process_index process_count host_id"
              " host_count default_backend eval_shape make_jaxpr typeof ensure_compile_time_eval"
              " live_arrays tree_util.tree_structure tree.structure"),
        Effect.HOST,
        "docs.jax.dev jax: 'Parallelization', 'Just-in-time compilation': answered on the host",
        example="jax.device_count()",
    ),
    Api(
        named("jax.", "tree_map tree.map tree_util.tree_map tree.leaves tree_leaves tree_util.tree_leaves tree.flatten"
              " tree_util.tree_flatten tree_flatten tree.unflatten tree_util.tree_unflatten tree_unflatten"
              " tree.transpose tree_util.tree_transpose tree.reduce tree_util.tree_reduce tree_multimap"),
        Effect.TREE,
        _TREES + ".map: 'Maps a multi-input function over pytree args'",
        example="jax.tree_util.tree_map(lambda x: x + 1, [jax.numpy.zeros(2)])",
    ),
    Api(
        ("flax.jax_utils.replicate", "flax.jax_utils.unreplicate", "flax.training.common_utils.shard",
         "flax.training.common_utils.stack_forest", "flax.training.train_state.TrainState.create",
         "optax.apply_updates", "optax.global_norm", "flax.core.freeze", "flax.core.unfreeze"),
        Effect.TREE,
        "flax.readthedocs.io 'flax.jax_utils', 'TrainState'; optax.readthedocs.io 'apply_updates': trees of arrays on"
        " the device",
        example="optax.apply_updates([jax.numpy.zeros(2)], [jax.numpy.ones(2)])",
    ),
    Api(
        ("jax.pure_callback", "jax.experimental.io_callback", "jax.debug.print", "jax.debug.callback",
         "jax.debug.breakpoint", "jax.experimental.host_callback.call", "jax.experimental.host_callback.id_tap",
         "jax.experimental.host_callback.id_print"),
        Effect.CALLBACK,
        "docs.jax.dev 'External callbacks': 'calls a Python function from within a JIT-compiled function'",
        example="jax.debug.print('{}', jax.numpy.zeros(1))",
    ),
    Api(
        ("jax.dlpack.from_dlpack",),
        Effect.KEEP,
        "docs.jax.dev jax.dlpack.from_dlpack: 'Returns a jax.Array representation of a DLPack tensor': copies nothing",
        example="jax.dlpack.from_dlpack(numpy.zeros(2))",
    ),
    Api(
        ("jax.config.update", "jax.clear_caches", "jax.profiler.start_trace", "jax.profiler.stop_trace",
         "jax.distributed.initialize", "jax.profiler.start_server", "jax.profiler.save_device_memory_profile"),
        Effect.NOTHING,
        "docs.jax.dev jax: 'Configuration', 'jax.profiler'",
        example="jax.config.update('jax_log_compiles', False)",
    ),
    Api(
        named("jax.numpy.", "all any isnan isinf isfinite equal not_equal less less_equal greater greater_equal"
              " logical_and logical_or logical_not logical_xor isclose isin allclose array_equal"),
        Effect.KEEP_BOOLEAN,
        _NUMPY + ".isnan: an array of booleans; allclose and array_equal give arrays too",
        example="jax.numpy.allclose(jax.numpy.zeros(2), 0)",
    ),
    Api(
        ("jax.numpy.*", "jax.lax.*", "jax.nn.*", "jax.scipy.*", "jax.image.*", "jax.ops.*", "jax.random.*"),
        Effect.KEEP,
        _NUMPY + ": computed on the device",
        example="jax.numpy.exp(jax.numpy.zeros(2))",
    ),
    Api(
        named("optax.", "softmax_cross_entropy softmax_cross_entropy_with_integer_labels sigmoid_binary_cross_entropy"
              " l2_loss huber_loss squared_error cosine_similarity ctc_loss smooth_labels losses.*"),
        Effect.KEEP,
        "optax.readthedocs.io 'Losses': computed where the operands are",
        example="optax.l2_loss(jax.numpy.ones(2))",
    ),
    Api(
        methods(_ARRAY, "item tolist __float__ __int__ __bool__ __index__ __complex__"),
        Effect.SCALAR,
        _PAGE + ".item: 'Copy an element of an array to a standard Python scalar'; " + _DISPATCH + ": it waits",
        example="jax.numpy.ones(()).item()",
    ),
    Api(
        methods(_ARRAY, "__array__"),
        Effect.COPY,
        _DISPATCH + ": 'converting it to a numpy.ndarray' blocks until it is computed",
        example="jax.numpy.ones(2).__array__()",
    ),
    Api(
        methods(_ARRAY, "block_until_ready"),
        Effect.SYNCHRONIZE,
        _DISPATCH + ": block_until_ready waits for the computation",
        example="jax.numpy.ones(2).block_until_ready()",
    ),
    Api(
        methods(_ARRAY, "devices is_deleted delete copy_to_host_async on_device_size_in_bytes is_ready"
                " unsafe_buffer_pointer"),
        Effect.HOST,
        _PAGE + ": metadata, and what is only begun",
        example="jax.numpy.ones(2).devices()",
    ),
    Api(
        methods(_ARRAY, "nonzero"),
        Effect.SHAPE,
        _NUMPY + ".nonzero",
        unless=("size",),
        example="jax.numpy.ones(2).nonzero()",
    ),
    Api(
        methods(_ARRAY, "all any"),
        Effect.KEEP_BOOLEAN,
        _NUMPY + ".all",
        example="jax.numpy.ones(2).all()",
    ),
    Api(
        methods(_ARRAY, "*"),
        Effect.KEEP,
        _PAGE + ": computed on the device",
        example="jax.numpy.ones(2).sum()",
    ),
)  # fmt: skip

_JIT = "docs.jax.dev jax.jit: 'Sets up fun for just-in-time compilation with XLA'; docs.jax.dev 'Key concepts', tracing"

TRACERS: tuple[Tracer, ...] = (
    Tracer(
        (*named("jax.", "jit pmap experimental.pjit.pjit"), *named("flax.nnx.", "jit pmap"),
         *named("equinox.", "filter_jit filter_pmap")),
        _JIT,
        runs=True,
    ),
    Tracer(
        (*named("jax.", "vmap grad value_and_grad jacfwd jacrev hessian checkpoint remat linearize"
                " experimental.shard_map.shard_map shard_map custom_vjp custom_jvp named_call experimental.maps.xmap"),
         *named("flax.nnx.", "grad value_and_grad vmap scan remat"),
         *named("flax.linen.", "jit vmap remat scan checkpoint"),
         *named("equinox.", "filter_grad filter_value_and_grad filter_vmap")),
        _JIT,
    ),
    Tracer(named("jax.", "lax.scan lax.map lax.associative_scan lax.custom_root eval_shape make_jaxpr vjp jvp"),
           "docs.jax.dev jax.lax.scan: traces f", compiled=False),
    Tracer(named("jax.lax.", "while_loop"), "docs.jax.dev jax.lax.while_loop", (0, 1), compiled=False),
    Tracer(named("jax.lax.", "fori_loop"), "docs.jax.dev jax.lax.fori_loop", (2,), compiled=False),
    Tracer(named("jax.lax.", "cond"), "docs.jax.dev jax.lax.cond", (1, 2), compiled=False, branches=True),
    Tracer(named("jax.lax.", "switch"), "docs.jax.dev jax.lax.switch", (1,), compiled=False, branches=True),
    Tracer(named("haiku.", "transform transform_with_state without_apply_rng multi_transform"),
           "dm-haiku.readthedocs.io transform: pure functions, to be jitted", compiled=False),
)  # fmt: skip

JAX = Framework(
    name="jax",
    title="JAX",
    roots=("jax", "flax", "optax", "haiku", "equinox", "chex"),
    array="jax.Array",
    annotation=r"^(jax\.Array|jax\.numpy\.ndarray|chex\.Array(Device)?|jaxtyping\.(Float|Int|Bool)\b.*)$",
    table=TABLE,
    tracers=TRACERS,
    traced_bases=r"^(flax\.(linen|nn|nnx)\.(\w+\.)?Module|haiku\.\w*Module|equinox\.Module)$",
    traced_methods=None,
    on_host=frozenset(
        "shape ndim size dtype nbytes itemsize sharding weak_type aval committed is_fully_addressable"
        " is_fully_replicated global_shards addressable_shards".split()
    ),
    from_dlpack="jax.dlpack.from_dlpack(t)",
    # flax.readthedocs.io 'TrainState' apply_gradients: 'Updates step, params, opt_state'; optax.readthedocs.io
    # apply_updates: 'Applies an update to the corresponding parameters'
    updates=frozenset({"apply_gradients", "apply_updates"}),
    # docs.jax.dev jax.random; dm-haiku.readthedocs.io next_rng_key
    keys=frozenset(
        "jax.random.split jax.random.fold_in jax.random.PRNGKey jax.random.key jax.random.clone haiku.next_rng_key"
        " haiku.next_rng_keys".split()
    ),
    host_settings=(
        ("jax.config.update", "jax_platform_name", "cpu"),
        ("jax.config.update", "jax_platforms", "cpu"),
        ("JAX_PLATFORMS", "cpu"),
        ("JAX_PLATFORM_NAME", "cpu"),
        ("CUDA_VISIBLE_DEVICES", ""),
        ("CUDA_VISIBLE_DEVICES", "-1"),
    ),
)
