"""TensorFlow and Keras, run eagerly: tensors live on the accelerator where there is one, and what is given to an
operation is brought there.

A function of `tensorflow` that no row names computes on the device (tensorflow.org guide 'Use a GPU': 'If a TensorFlow
operation has both CPU and GPU implementations, by default, the GPU device is prioritized').
"""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, methods, named
from transferlint.knowledge.framework import Framework, Tracer

_TENSOR = ("tensorflow.Tensor",)
_API = "tensorflow.org api_docs tf."
_GPU = "tensorflow.org guide 'Use a GPU'"
_EAGER = "tensorflow.org guide 'Introduction to Tensors'"
_KERAS = "keras.io api "

TABLE: tuple[Api, ...] = (
    Api(
        named("tensorflow.", "zeros ones fill eye zeros_like ones_like linspace random.uniform random.normal"
              " random.truncated_normal"),
        Effect.FILL,
        _API + "zeros: made where the operation runs",
        example="tensorflow.zeros(3)",
    ),
    Api(
        named("tensorflow.", "constant convert_to_tensor Variable cast"),
        Effect.DATA,
        _API + "constant, tf.convert_to_tensor: 'Converts the given value to a Tensor': of host data, an upload",
        example="tensorflow.constant([1.0, 2.0])",
    ),
    Api(
        named("tensorflow.", "identity experimental.dlpack.from_dlpack"),
        Effect.KEEP,
        _API + "identity: 'Return a Tensor with the same shape and contents as input'; tf.experimental.dlpack: shares"
        " memory",
        example="tensorflow.identity(tensorflow.zeros(2))",
    ),
    Api(
        (*named("tensorflow.", "shape size rank range shape_n"), "tensorflow.strings.*", "tensorflow.io.*",
         "tensorflow.audio.*", "tensorflow.lookup.*", "tensorflow.queue.*",
         *named("tensorflow.image.", "decode_image decode_jpeg decode_png encode_jpeg encode_png")),
        Effect.ARRAY,
        _GPU + "; source: tensorflow/core/kernels: int32 shapes, strings and files have kernels in host memory",
        example="tensorflow.shape(tensorflow.zeros(2))",
    ),
    Api(
        (*named("tensorflow.", "is_tensor executing_eagerly get_logger device GradientTape name_scope TensorShape"
                " TensorSpec as_dtype init_scope no_op random.set_seed random.Generator.*"),
         *named("tensorflow.", "config.* distribute.* dtypes.* debugging.* errors.* test.* train.* saved_model.*"
                " summary.* profiler.* types.* version.* python.* tpu.* experimental.* lite.* compat.* autograph.*"
                " feature_column.* nest.*"),
         # of TensorFlow 1: layers and losses of graphs
         *named("tensorflow.", "examples.* core.* tools.* layers.* losses.* metrics.* initializers.*")),
        Effect.NOTHING,
        "tensorflow.org api_docs: nothing that holds data is given back, or nothing is known of it",
        example="tensorflow.is_tensor(1)",
    ),
    Api(
        named("tensorflow.", "make_ndarray make_tensor_proto get_static_value"),
        Effect.NOTHING,
        _API + "make_ndarray: 'Create a numpy ndarray from a tensor', which is a message on the host",
        example="tensorflow.get_static_value(tensorflow.constant(1))",
    ),
    Api(
        ("tensorflow.config.experimental.get_memory_info",),
        Effect.NOTHING,
        _API + "config.experimental.get_memory_info: of the allocator, on the host",
        example="tensorflow.config.experimental.list_logical_devices('CPU')",
    ),
    Api(
        ("tensorflow.test.experimental.sync_devices",),
        Effect.SYNCHRONIZE,
        _API + "test.experimental.sync_devices: 'Synchronizes all devices'",
        example="tensorflow.test.experimental.sync_devices()",
    ),
    Api(
        named("tensorflow.", "where"),
        Effect.KEEP,
        _API + "where: with x and y, computed where the operands are",
        example="tensorflow.where([True], 1.0, 2.0)",
    ),
    Api(
        named("tensorflow.", "boolean_mask unique unique_with_counts setdiff1d dynamic_partition"),
        Effect.SHAPE,
        _API + "boolean_mask, tf.unique: as many elements as the data says",
        example="tensorflow.boolean_mask([1.0, 2.0], [True, False])",
    ),
    Api(
        named("tensorflow.", "py_function numpy_function"),
        Effect.CALLBACK,
        _API + "py_function: 'Wraps a python function into a TensorFlow op that executes it eagerly': on the host;"
        " tf.numpy_function: its inputs and outputs are host arrays",
        example="tensorflow.numpy_function(lambda x: x, [tensorflow.zeros(2)], tensorflow.float32)",
    ),
    Api(
        ("tensorflow.print",),
        Effect.FORMATS_ARGUMENTS,
        _API + "print: 'prints the specified inputs in the desired output stream': on the host",
        example="tensorflow.print(tensorflow.zeros(1))",
    ),
    Api(
        ("tensorflow.data.Dataset.*", "tensorflow.data.TFRecordDataset", "tensorflow.data.TextLineDataset",
         "tensorflow.data.experimental.*", "tensorflow_datasets.load", "tensorflow_datasets.as_numpy",
         "keras.utils.image_dataset_from_directory", "keras.utils.text_dataset_from_directory",
         "keras.utils.timeseries_dataset_from_array", "keras.preprocessing.image_dataset_from_directory",
         "keras.preprocessing.text_dataset_from_directory"),
        Effect.LOADER,
        "tensorflow.org guide 'tf.data': elements are made on the host",
        example="tensorflow.data.Dataset.from_tensor_slices([1.0, 2.0])",
    ),
    Api(
        ("keras.Sequential", "keras.Model", "keras.models.Sequential", "keras.models.Model", "keras.models.load_model",
         "keras.models.clone_model", "keras.models.model_from_json", "keras.applications.*", "keras.losses.*",
         "keras.metrics.*", "tensorflow.saved_model.load"),
        Effect.MODULE,
        _KERAS + "'Models API', 'Losses', 'Metrics': called on data, they give tensors on the device",
        example="keras.Sequential([keras.layers.Dense(1)])",
    ),
    Api(
        ("keras.layers.*",),
        Effect.MODULE,
        _KERAS + "'Layers API'",
        example="keras.layers.Dense(1)",
    ),
    Api(
        ("keras.optimizers.*",),
        Effect.OPTIMIZER,
        _KERAS + "'Optimizers'",
        example="keras.optimizers.SGD()",
    ),
    Api(
        methods(("keras.Model", "keras.Sequential"), "predict predict_on_batch"),
        Effect.COPY,
        _KERAS + "'Model training APIs' predict: 'Returns: Numpy array(s) of predictions'; predict_on_batch",
        example="keras.Sequential([keras.layers.Dense(1)]).predict(numpy.zeros((1, 2)), verbose=0)",
    ),
    Api(
        methods(("keras.Model", "keras.Sequential"), "train_on_batch test_on_batch fit evaluate"),
        Effect.HOST,
        _KERAS + "'Model training APIs' train_on_batch: 'A scalar loss value' as a Python number, whoever asks for it;"
        " fit: 'A History object'; evaluate: 'Scalar test loss'",
        example="keras.Sequential([keras.layers.Dense(1)]).predict_on_batch(numpy.zeros((1, 2)))",
    ),
    Api(
        ("keras.backend.get_value", "keras.ops.convert_to_numpy"),
        Effect.COPY,
        _KERAS + "'Backend utilities' get_value; 'Core ops' convert_to_numpy: a numpy array",
        example="keras.ops.convert_to_numpy(keras.ops.ones(2))",
    ),
    Api(
        ("keras.ops.convert_to_tensor",),
        Effect.DATA,
        _KERAS + "'Core ops' convert_to_tensor",
        example="keras.ops.convert_to_tensor([1.0])",
    ),
    Api(
        ("keras.ops.shape", "keras.ops.ndim", "keras.ops.size", "keras.backend.floatx", "keras.backend.clear_session",
         "keras.backend.set_floatx", "keras.backend.image_data_format", "keras.backend.learning_phase",
         "keras.backend.int_shape", "keras.backend.ndim", "keras.backend.is_keras_tensor", "keras.backend.epsilon",
         "keras.backend.set_value", "keras.backend.backend"),
        Effect.HOST,
        _KERAS + "'Core ops' shape, 'Backend utilities': answered on the host",
        example="keras.backend.floatx()",
    ),
    Api(
        ("keras.ops.*", "keras.backend.*", "keras.random.*", "keras.activations.*"),
        Effect.KEEP,
        _KERAS + "'Ops API': computed by the backend",
        example="keras.ops.exp(keras.ops.zeros(2))",
    ),
    Api(
        ("keras.*",),
        Effect.NOTHING,
        _KERAS + ": nothing is known of it",
        example="keras.utils.set_random_seed(0)",
    ),
    Api(
        ("tensorflow.*",),
        Effect.KEEP,
        _GPU + ": computed on the device",
        example="tensorflow.exp(tensorflow.zeros(2))",
    ),
    Api(
        methods(_TENSOR, "numpy __array__"),
        Effect.COPY,
        _API + "Tensor.numpy: 'Copy of the contents of this Tensor into a NumPy array'",
        example="tensorflow.zeros(2).numpy()",
    ),
    Api(
        methods(_TENSOR, "__float__ __int__ __bool__ __index__ item tolist"),
        Effect.SCALAR,
        _API + "Tensor.__bool__: of an eager tensor, its value",
        example="float(tensorflow.zeros(()))",
    ),
    Api(
        methods(_TENSOR, "get_shape set_shape"),
        Effect.HOST,
        _API + "Tensor.get_shape: static shape",
        example="tensorflow.zeros(2).get_shape()",
    ),
    Api(
        methods(_TENSOR, "cpu"),
        Effect.COPY,
        "source: tensorflow/python/framework/ops.py _EagerTensorBase.cpu: 'A copy of this Tensor with contents backed"
        " by host memory'",
        example="tensorflow.zeros(2).cpu()",
    ),
    Api(
        methods(_TENSOR, "gpu"),
        Effect.SEND,
        "source: tensorflow/python/framework/ops.py _EagerTensorBase.gpu: 'A copy of this Tensor with contents backed"
        " by memory on the GPU'",
        example="tensorflow.identity(tensorflow.zeros(2))",
    ),
    Api(
        methods(_TENSOR, "*"),
        Effect.KEEP,
        _API + "Tensor: computed where it is",
        example="tensorflow.zeros(2) + 1",
    ),
)  # fmt: skip

_FUNCTION = _API + "function: 'Compiles a function into a callable TensorFlow graph'"
TRACERS: tuple[Tracer, ...] = (
    Tracer(("tensorflow.function",), _FUNCTION, runs=True),
    Tracer(("tensorflow.recompute_grad", "tensorflow.custom_gradient", "tensorflow.autograph.to_graph"), _API
           + "custom_gradient", compiled=False),
    Tracer(("tensorflow.map_fn", "tensorflow.vectorized_map", "tensorflow.scan", "tensorflow.foldl"), _API + "map_fn",
           compiled=False),
    Tracer(("tensorflow.while_loop",), _API + "while_loop", (0, 1), compiled=False),
    Tracer(("tensorflow.cond",), _API + "cond", (1, 2), compiled=False, branches=True),
)  # fmt: skip
# Methods of a data set that trace what they are given (tensorflow.org guide 'tf.data').
DATASET_METHODS = frozenset("map filter flat_map interleave reduce scan take_while apply group_by_window".split())

TENSORFLOW = Framework(
    name="tensorflow",
    title="TensorFlow",
    roots=("tensorflow", "keras", "tensorflow_datasets", "tensorflow_probability"),
    array="tensorflow.Tensor",
    annotation=r"^(tensorflow\.(Tensor|Variable)|keras\.KerasTensor)$",
    table=TABLE,
    tracers=TRACERS,
    traced_bases=(
        r"^keras\.(models\.|layers\.|losses\.|metrics\.|engine\.)?(\w*Model|Sequential|Layer|\w*Loss|\w*Metric|Mean"
        r"|\w+Cell|Regularizer|Constraint|Optimizer)$"
    ),
    traced_methods=frozenset(
        "call build train_step test_step predict_step compute_loss compute_metrics update_state result __call__"
        " compute_output_shape get_config".split()
    ),
    on_host=frozenset("shape dtype ndim name op graph trainable device ref".split()),
    from_dlpack="tf.experimental.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(t))",
    host_settings=(
        ("tensorflow.config.set_visible_devices", "", "GPU"),
        ("tensorflow.config.experimental.set_visible_devices", "", "GPU"),
        ("CUDA_VISIBLE_DEVICES", ""),
        ("CUDA_VISIBLE_DEVICES", "-1"),
    ),
    autograph=True,
    # source: tensorflow/core/kernels: those of int32, which whole numbers of Python become, take and give host memory
    ints_on_host=frozenset({"tensorflow.constant", "tensorflow.convert_to_tensor", "tensorflow.Variable"}),
    host_types=frozenset({"tensorflow.int32"}),
    # keras.io api optimizers 'apply_gradients method', 'Model training APIs' train_on_batch
    updates=frozenset({"apply_gradients", "train_on_batch"}),
    copies=frozenset({"cpu"}),
    # tensorflow.org api_docs tf.distribute.Strategy.run: 'a tf.distribute.DistributedValues' of a value per replica;
    # experimental_local_results: 'A tuple of values contained in value'
    replicas=frozenset({"run", "experimental_run_v2"}),
    replicated=frozenset({"experimental_local_results", "values"}),
    deferred=frozenset(
        "Session InteractiveSession placeholder placeholder_with_default disable_v2_behavior disable_eager_execution"
        " global_variables_initializer ConfigProto get_variable variable_scope MonitoredTrainingSession"
        " make_one_shot_iterator".split()
    ),
    renamed=(
        ("tensorflow.compat.v2.", "tensorflow."),
        ("tensorflow.python.keras.", "keras."),
        ("tensorflow.keras.", "keras."),
        ("tf_keras.", "keras."),
        ("tensorflow.math.", "tensorflow."),
        ("tensorflow.raw_ops.", "tensorflow."),
    ),
)
