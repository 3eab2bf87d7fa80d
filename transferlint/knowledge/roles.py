"""Which functions are hot and which are cold, by the names that the field gives them.

Each row rests on the documentation of the library that calls such a method, or on the convention it names.
"""

from __future__ import annotations

import re

from transferlint import late

# Called once a step by the library named before the colon; by nobody in particular where that is "convention".
HOT_METHODS: dict[str, str] = {
    "forward": "torch.nn.Module: called for every input",
    "backward": "torch.autograd.Function: called for every backward pass",
    "__next__": "docs.python.org iterator types: called for every item",
    "training_step": "lightning.LightningModule: called for every batch",
    "validation_step": "lightning.LightningModule: called for every batch",
    "test_step": "lightning.LightningModule: called for every batch",
    "predict_step": "lightning.LightningModule: called for every batch",
    "train_step": "convention: one step of a training loop",
    "eval_step": "convention: one step of an evaluation loop",
    "val_step": "convention: one step of an evaluation loop",
    "prediction_step": "transformers.Trainer: called for every batch",
    "compute_loss": "transformers.Trainer: called for every batch",
    "on_train_batch_end": "lightning.Callback: called for every batch",
    "on_train_batch_start": "lightning.Callback: called for every batch",
    "on_before_optimizer_step": "lightning: called for every optimizer step",
    "on_step_end": "transformers.TrainerCallback: called for every step",
    "step": "torch.optim.Optimizer, schedulers, diffusers: called for every step",
    "update": "torchmetrics.Metric, ignite: called for every batch",
    "add_noise": "diffusers schedulers: called for every training step",
    "scale_model_input": "diffusers schedulers: called for every denoising step",
    "clip_grad_norm": "called for every optimizer step",
    "clip_grad_norm_": "torch.nn.utils: called for every optimizer step",
    "clip_gradients": "called for every optimizer step",
    "loss": "convention: called for every batch",
    "loss_fn": "convention: called for every batch",
    "get_loss": "convention: called for every batch",
    "calc_loss": "convention: called for every batch",
    "fit_batch": "speechbrain.Brain: called for every batch",
    "evaluate_batch": "speechbrain.Brain: called for every batch",
    "compute_forward": "speechbrain.Brain: called for every batch",
    "compute_objectives": "speechbrain.Brain: called for every batch",
    "attention": "convention: called for every forward",
}
# Names of hooks, which are methods, and words that functions have for other ends.
METHODS_ALONE = frozenset(
    name for name, caller in HOT_METHODS.items() if caller.startswith(("lightning", "transformers", "speechbrain"))
) | {"step", "update", "loss", "backward"}
HOT_PATTERN = late.pattern(
    r"^_*(forward|fwd|training_step|train_step|train_batch|train_on_batch|forward_backward|compute_.*loss|decode|decode_.*|"
    r".*_loss|loss_.*|.*_forward|forward_.*|fwd_.*|.*_fwd|.*loss_func|.*loss_fn|get_.*_norm|.*grad_norm.*|"
    r"sample|sample_.*|denoise.*|get_(global|total|grad|param\w*|weight)_\w*norm\w*|\w+_(iter|iteration|batch|step)_callback|"
    r"(all_?gather|all_?reduce|reduce_scatter)_(\w+_)?(params?|parameters|grads?|gradients|weights|buckets?|partitions?)(_\w+)?|"
    r"(finalize|reduce|allreduce|all_reduce|sync|synchronize|average|scale|unscale|accumulate)_(model_|all_)?grad(s|ients?)?(_func)?)$"
)

# Of those, what libraries call, or what is chosen by name in a configuration.
_CALLED_ELSEWHERE = late.pattern(r"loss|forward|fwd|step|batch|iter|callback|^__")

COLD_PATTERN = late.pattern(
    r"^_*(init|new|setup|create_model|create_optimizer|load|save|from_|export|plot|draw|show|visuali[sz]e|"
    r"parse|download|configure|register|reset_parameters|state_dict|save_checkpoint|load_checkpoint|resume|restore|dump|write|"
    r"extra_repr|repr|str|getstate|setstate|get_config|to_json|to_dict|from_dict|serialize|deserialize|install|"
    r"initiali[sz]e|init_.*|warm_?up|calibrate|quantize_model|fuse|prune|merge_and|merge_weights|summary|count_param|"
    r"print|assert|ensure|(\w+_)?reinitiali[sz]e|log_model|get_args|get_parser|add_.*_args|make_parser|on_load|on_save|upgrade|migrate|benchmark|profile|"
    r"reduce_ex|deepcopy|del|enter|exit|close|teardown|cleanup|shutdown|prepare_data|train_dataloader|"
    r"val_dataloader|test_dataloader|set_up|reload|load_state|tie_weights|unload|get_extra_state|"
    r"set_extra_state|pickle|unpickle|apply_to_model|post_init|test|cache_(data|manifest|file)\w*|(\w+_)?input_examples?|dummy_inputs?|example_inputs?|"
    r"(get|make|create|build)_(\w+_)?(dummy|example|sample|static)_(inputs?|args|arguments|kwargs)|"
    r"handle_(\w+_)?(overflow|errors?|failures?|exceptions?|oom)|"
    r"calib|calibration|get_calib|sanity|generate_artifacts?)(_|$)|\w+_(for_export|debug)$"
    r"|^_*log_(\w+_)?(samples?|examples?|images?|audios?|videos?|figures?|artifacts?|attention\w*|spectrograms?)$"
    r"|^_*(build|convert|make|create|get)_?(\w*_)?(model|models|optimizer|scheduler|dataset|datasets|dataloader|loader|network|parser|config|"
    r"tokenizer|transform|transforms|vocab|checkpoint|ckpt|state_dict|weights|hf|pretrained|keys|onnx|backbone|layer|layers)$"
    r"|^_*(build|convert)$|^convert_(checkpoint|state_dict|weights|model|hf|ckpt|keys|to_hf|to_onnx)\w*$|^_*build_(model|dataset|optimizer)\w*$"
)
COLD_EXACT: frozenset[str] = frozenset(
    [
        "from_pretrained",
        "from_config",
        "from_checkpoint",
        "from_file",
        "from_state_dict",
        "__init__",
        "__init_subclass__",
        "__post_init__",
        "__repr__",
        "__str__",
        "__len__",
        "__del__",
        "__getstate__",
        "__setstate__",
        "__reduce__",
        "__deepcopy__",
        "__copy__",
        "__new__",
        "__enter__",
        "__exit__",
        "cpu",
        "cuda",
        "to",
        "half",
        "float",
        "double",
        "bfloat16",
        "_apply",
        "share_memory",
        "pin_memory",
    ]
)
# Running statistics, fed with every batch (torchnet.meter, catalyst, timm's `AverageMeter`).
METERS = late.pattern(r"(Meter|Metric|Metrics|MeterGroup)$")
METER_METHODS = frozenset({"add", "append", "accumulate", "add_batch"})
# Called once an epoch or once a run (lightning.Callback, transformers.TrainerCallback, speechbrain.Brain, by name).
EPOCH_HOOKS = late.pattern(
    r"^_?(on_\w*epoch_(end|start|begin)|on_stage_(end|start)|\w+_epoch_end|on_(fit|train|test|validation|predict)_(end|start|begin))$"
)
# The host side of the pipeline: what these take and give is on the host, and workers run them.
DATA_PATTERN = late.pattern(
    r"^_*(getitem__|collat\w*|transforms?|preprocess\w*|augment\w*|tokeniz\w*|read|load|open|decode_images?|resize|crop|"
    r"normalize_images?|get_transforms?|pad_collate|worker_init|seed_worker|encode_text_file|get_dataset|prepare_dataset)(?![a-z])"
)
# Of those, what may as well be done on the device.
WORK_PATTERN = late.pattern(r"^_*(transforms?|preprocess\w*|augment\w*|resize|crop|normalize_images?)(?![a-z])")
DATA_BASES = late.pattern(
    r"(Dataset|DataModule|DataPipe|Collator|Transform|Augment\w*|Sampler_?Worker|DataReader|DatasetReader)$"
    r"|^torchvision\.datasets\."
)
MODULE_BASES: frozenset[str] = frozenset(
    [
        "torch.nn.Module",
        "torch.nn.Sequential",
        "torch.nn.ModuleList",
        "torch.nn.ModuleDict",
        "lightning.LightningModule",
        "pytorch_lightning.LightningModule",
        "lightning.pytorch.LightningModule",
        "torchmetrics.Metric",
        "torch.nn.modules.Module",
        "torch.nn.modules.module.Module",
        "torch.jit.ScriptModule",
        "transformers.PreTrainedModel",
        "torch.nn.modules.loss._Loss",
    ]
)
MODULE_BASE_PATTERN = late.pattern(
    r"(^|\.)(\w*Module|\w*Model|\w*Layer|\w*Loss|\w*Encoder|\w*Decoder|\w*Net|\w*Metric|ModelMixin)$"
)

# "ep" alone is an epoch; with a size or a group it is expert parallelism (`ep_size`), as tp, dp and pp are, and with a
# length an episode (`max_ep_len`).
EPOCH_WORDS = late.pattern(
    r"(^|_)(n_?)?(epochs?|ep(?!_(size|rank|group|degree|mesh|world|len|length|steps?|horizon)))(_|$|s$|\d)",
    re.IGNORECASE,
)
LOADER_WORDS = late.pattern(
    r"(loader|batches|minibatch|mini_batch|data_?iter|iterator|dataset|stream|tqdm|prefetch|train_data|val_data|test_data)",
    re.IGNORECASE,
)
STEP_WORDS = late.pattern(r"(step|iter|batch|timestep|tick|frame|rollout|episode|token|decode|update)", re.IGNORECASE)
# Names of how much there is of something: they count nothing up. Of the 245 comparisons with 0 or 1 of names such as
# those above, in 420 projects, 46 are of these, of which 41 are sizes.
SIZE_WORDS = late.pattern(r"(^|_)(n|num|nb|max|min|per)_|(size|len|length|dim|ratio)s?$", re.IGNORECASE)
# How many devices there are. Of 140 ranges up to `device_count` and the like, in 32 of 73 projects, all but one, which
# is in a text, go over devices.
FEW_WORDS = late.pattern(r"^((n|num)_?(gpus?|devices)|gpus|devices|world_size|(gpu|device)_count)$", re.IGNORECASE)

_SWITCHES = (
    r"log|logs|logging|print|prints|verbose|debug|vi[sz]|visuali[sz]e|plot|report|summary|summaries|profile|profiling|interval|every|freq|"
    r"frequency|period|save|saving|ckpt|eval|validate|wandb|tensorboard|tb|writer|dump|trace|monitor|sanity|"
    r"display|record|stats|verify|dry_run|synchroni[sz]ed?|sync_cuda|cuda_sync|breakdown|timers?|verbosity|logger|test_mode|diagnostics?|assertions?|validation"
)
INTERVAL_WORDS = late.pattern(
    rf"((^|_)({_SWITCHES})$)|((^|_)(should|do|is|need|needs|to|enable|enabled|with|return)_({_SWITCHES})(_|$))"
    rf"|^_?({_SWITCHES})_(interval|every|freq|frequency|enabled|metrics|step|steps|this_step|stats|level|args|now|info|grad\w*)"
    r"|^_?(print|save)_\w+$|isenabledfor"
    r"|^_?(log|record|print|save)_\w+_(metrics|stats)$|(^|_)(check_nan|check_inf|detect_anomaly|sync_timing)|(^|_)its_?time(_|$)",
    re.IGNORECASE,
)
COUNTER_WORDS = late.pattern(
    r"(step|iter|epoch|batch|idx|index|count|counter|update|episode|tick|frame|^[eijkntx]$|^it$|^ep$|_i$|_it$|seen|round|^bi$|^num$|(^|_)calls?$)",
    re.IGNORECASE,
)
LAST = late.pattern(r"(^|_)is_(the_)?(last|final)_(step|iter|iteration|epoch)$")
BEGINNING = late.pattern(r"(^|_)(begin|beginning|start|first)$")
FIRST_TIME_WORDS = late.pattern(
    r"(cache|initiali[sz]ed|initted|is_init|built|loaded|ready|warm|created)", re.IGNORECASE
)

# Names of tensors that are on the host by everybody's convention: `cu_seqlens_cpu`, `host_mask`.
LENGTH_WORDS = late.pattern(r"len(g?ths?|s)?(_|$)")
# Numbers that a module keeps of how it was made.
SETTING_WORDS = late.pattern(
    r"^(n|num)_|(^|_)(dim|size|rate|rc|lc|factor|ratio|chunk_len|channels|heads|layers|stride|period|threshold)$"
)
HOST_WORDS = late.pattern(r"(^|_)(cpu|host)(_|$)")
# How many neighbours to draw at each layer: what samplers of graphs take as a list of numbers, or a tensor of them on
# the host (docs.dgl.ai graphbolt.NeighborSampler, cugraph-pyg NeighborLoader).
DRAWN_WORDS = late.pattern(r"(^|_)fan_?outs?$")
# Arguments that ask for a result on the host (sbert.net SentenceTransformer.encode: `convert_to_numpy`).
ASKS_FOR_HOST = late.pattern(r"(^|_)(to|as|return|on)_(numpy|np|cpu|host)$")
DEVICE_WORDS = late.pattern(
    r"(^|_)(device|devices|dev|gpu|cuda|ctx|local_rank|gpu_id|device_id|execution_device|accelerator)(_?\d*|_id|s)?$",
    re.IGNORECASE,
)
DTYPE_WORDS = late.pattern(
    r"(^|_)(dtype|weight_type|precision|torch_dtype|float_type|compute_type|type)(_|$|s$)", re.IGNORECASE
)
MODEL_WORDS = late.pattern(
    r"(^|_)(model|net|network|module|encoder|decoder|backbone|generator|discriminator|unet|vae|transformer|policy|actor|critic"
    r"|classifier|embedder|vocoder|head|pipe|pipeline|ema|teacher|student|netg|netd)(_?\d*)$",
    re.IGNORECASE,
)
CONFIG_WORDS = late.pattern(
    r"^(args|arg|cfg|config|conf|opt|opts|options|hparams|params_?cfg|flags|FLAGS|settings|hp|self_?args|kwargs)$"
)
# Functions that give the result of a model to people or programs outside of it.
SERVING = late.pattern(
    r"(^|_)(predict|transcribe|translate|generate|infer|inference|recogni[sz]e|diari[sz]e|synthesi[sz]e|detect|classify|vocode|"
    r"decode|complete|respond|chat)(_|$)|(^|_)(to|2)_?(str|strings?|text|list|images?|wavs?|numpy|np)(_|$)|\dlist$"
)
# What they choose.
ACTIONS = late.pattern(r"(^|_)actions?$|^a_t$")
# What draws a figure (matplotlib.org): a loop that does is as slow as that.
DRAWING = frozenset({"imshow", "subplot", "subplots", "set_title", "savefig", "figure"})
# Functions that choose what an environment, which the host steps, is given.
ACTING = late.pattern(r"(^|_)(act|(sample|select|get|choose|compute|predict|draw)_actions?)(_|$)")
# Functions of which one call is one request, however many tokens it makes.
GENERATING = late.pattern(r"(^|_)generate(_|$)")
# What judges one batch, with metrics that are mostly computed on the host.
JUDGING = frozenset({"validation_step", "test_step", "predict_step", "evaluate_batch", "eval_step", "val_step"})
# Classes that make pictures, files and reports of what a run gives.
DISPLAY_CLASSES = late.pattern(r"(Artifact|Visuali[sz]|Plot|Profiler|Analy[sz]er$|Exporter$)")
# Classes that serve one request at a time (diffusers, transformers): their `__call__` runs once for each.
REQUEST_CLASSES = late.pattern(r"Pipeline$")
# Classes that run what was exported: most of what they compute with is the other runtime's, on the host.
EXPORTED_CLASSES = late.pattern(r"^_?(Exported|ONNX|Onnx|TensorRT|TRT|OpenVINO)[A-Z]")
# Folders of what serves requests, one a call.
SERVING_PATHS: tuple[str, ...] = ("**/inference/**", "**/deploy/**", "**/serving/**")
# What hooks itself in to measure, for as long as somebody does.
PROFILING = late.pattern(r"(^|[._])profil(e|er|ing)(_|$|\.)")
# Code for the host: what it takes is there, by everybody's convention.
HOST_FUNCTIONS = late.pattern(r"^(?!.*(to|from|onto|offload|move|copy|for|on|and|use)_cpu$)\w+_cpu$")
HOST_CLASSES = late.pattern(r"^_?CPU[A-Z]")
HOST_PATHS: tuple[str, ...] = ("**/cpu/**", "**/cpu_*/**", "**/*_cpu.py", "**/cpu_*.py", "**/*_numpy.py", "**/*_np.py")
# What writes a whole file: torch, numpy, soundfile, scipy, torchaudio, torchvision, OpenCV, imageio.
FILE_WRITERS = late.pattern(
    r"^torch\.save$|^numpy\.savez?(_compressed)?$|(^|\.)(soundfile|sf|wavfile)\.write$|(^|\.)\w*audio(_?io)?\.(save|write)$"
    r"|\.(save_image|write_video|write_png|write_jpeg|imwrite|imsave)$"
)
# What reads or writes a file: numpy, OpenCV, scipy.
FILES = late.pattern(r"\.(load|loadtxt|genfromtxt|fromfile|memmap|loadmat|imread|VideoCapture|\w*save\w*|imwrite)$")
# Plain twins of what is fast: `scan_ref` beside `scan`. A method of the second kind may ask a reference model.
REFERENCES = late.pattern(r"^(\w+?)_(naive|ref|reference)$")
NAIVE = late.pattern(r"^(\w+?)_naive$")
# Methods that make the next call begin anew.
RESETTING = late.pattern(r"^_*(re_?set|clear|invalidate|restart)(_|$)")
# What tells of trouble, and the words for numbers that are none, or are some.
WARNINGS = late.pattern(r"(^|_)warn(ings?|ing_once|_once)?(_|$)")
NOT_FINITE = late.pattern(r"(^|_)(is|has|any)?_?(nans?|infs?|non_?finite)(_|$)", re.IGNORECASE)
FINITE = late.pattern(r"^_*(is|all)_?finite$", re.IGNORECASE)
# Loops over the parts of a module: as many as it has, however much data there is.
PARTS = frozenset(
    "parameters named_parameters buffers named_buffers modules named_modules children named_children".split()
)
# What passes objects between processes (docs.python.org multiprocessing.Queue).
QUEUES = late.pattern(r"(^|_)(queue|q)$")
# Counters of what went wrong.
FAILURES = late.pattern(r"(^|_)(non_?finite|nans?|skipped|bad|failed|failures?|errors?|overflows?)(_|$)")
# Where what is converted, exported or prepared once has its place.
OFFLINE_PATHS: tuple[str, ...] = (
    "**/export/**", "**/exporters/**", "**/export_*.py", "**/convert_*.py", "**/*_converter.py", "**/*conversion/**",
    "**/*converters/**", "**/data*_processing/**", "**/data*_prep*/**", "**/prepare_*.py", "**/*_prepare.py",
    "**/preprocess_*.py", "**/*data_simulat*.py", "**/*data_analy*.py", "**/debug*.py",
    "**/*_to_universal.py", "**/*_export.py", "**/*change_num_partition*.py",
    *(f"**/{folder}/**/{what}" for folder in ("scripts", "tools", "recipes", "examples") for what in (
        "extract_*.py", "compute_*.py", "make_*.py", "create_*.py", "eval_*.py", "*_generate.py", "*_generation.py",
    )),
)  # fmt: skip
# What others wrote and a project only carries with it, by the folders that GitHub's linguist takes for that
# (github.com/github-linguist/linguist, lib/linguist/vendor.yml), and git submodules.
# What is somebody else's, and what Sphinx writes (sphinx-doc.org: the folders of its HTML output).
VENDORED_PATHS: tuple[str, ...] = tuple(
    f"**/{name}/**"
    for name in (
        "submodules", "third_party", "third-party", "thirdparty", "3rdparty", "vendor", "vendors", "vendored",
        "external", "externals", "extern", "deps", "_downloads", "_sources", "_static",
    )
)  # fmt: skip
# What seeds torch's generators: its own functions (docs.pytorch.org 'Reproducibility'), and those of Lightning,
# transformers and accelerate.
SEEDING = frozenset({"manual_seed", "manual_seed_all", "seed_everything", "set_seed"})
# Libraries that place the models and batches that they are given.
PLACING = frozenset(
    "accelerate colossalai composer deepspeed fastai horovod ignite lightning lightning_fabric"
    " pytorch_lightning".split()
)
# What does so of transformers, whose models stay where they are made (huggingface.co docs transformers 'Trainer',
# 'Pipelines').
TRAINERS = frozenset("Trainer Seq2SeqTrainer TrainingArguments Seq2SeqTrainingArguments pipeline device_map".split())
# What moves a tensor or a module, or says where one is made.
MOVING = frozenset({"cuda", "device", "to", "xpu", *PLACING, *TRAINERS})
# Texts that name an accelerator, or an option for one: "cuda:0", "--gpu".
ACCELERATOR = late.pattern(r"(cuda|xpu|mps|npu|hpu)(:\d*)?$|-{1,2}[\w-]*(cuda|gpu|device)")
# Keywords that torch took until 0.4, which brought `device=` (docs.pytorch.org 'PyTorch 0.4.0 Migration Guide').
BEFORE_DEVICES = frozenset({"volatile"})
# Modules that building a package makes, so that its source has none: extensions, as `torch._C`, what setuptools-scm
# writes (setuptools-scm.readthedocs.io 'version_file'), and what protoc does (protobuf.dev 'Python Generated Code').
BUILT = late.pattern(r"_|version$|\w+_pb2(_grpc)?$")
# Decorators that give a function back as it was, or wrapped, and keep none.
WRAPPERS = ("torch.", "functools.", "contextlib.", "jit", "staticmethod", "classmethod", "typing.", "no_grad")
TEST_PATHS: tuple[str, ...] = (
    "**/tests/**", "**/test/**", "**/testing/**", "**/test_*.py", "**/*_test.py", "**/*_tests.py", "**/conftest.py",
    "**/benchmarks/**", "**/benchmark/**", "**/bench_*.py", "**/benchmark_*.py", "**/unit_tests/**", "**/test_utils/**",
)  # fmt: skip


def certain(name: str) -> bool:
    """True where a library calls a function of this name for every step, whoever else does."""
    return name.lstrip("_") in HOT_METHODS or name in METER_METHODS or name.startswith("__")


def called_by_libraries(name: str) -> bool:
    """True where libraries call a function of this name, with arguments of which no code in sight tells."""
    return certain(name) and HOT_METHODS.get(name.lstrip("_"), "").partition(":")[0] != "convention"


def told_by_name(name: str) -> bool:
    """True where a function's name alone says how often it runs, so that its callers do not matter."""
    plain = name.lstrip("_")
    return bool(
        plain in HOT_METHODS
        or name in COLD_EXACT
        or (name.startswith("__") and name != "__call__")
        or any(pattern.match(name) for pattern in (HOT_PATTERN, COLD_PATTERN, EPOCH_HOOKS, DATA_PATTERN))
    )


def called_in_source(name: str) -> bool:
    """True for a function whose name tells how often it runs, though nobody calls it but the checked source: what a
    loop does to its gradients, norms and samples. Such a method that a library calls too is `certain`."""
    if name.lstrip("_").startswith("clip_grad"):
        return True
    return bool(HOT_PATTERN.match(name)) and not _CALLED_ELSEWHERE.search(name)


def sought(name: str) -> bool:
    """True where the callers of a function of this name matter: for how often it runs, or for what of it does."""
    return not told_by_name(name) or called_in_source(name)
