"""Names of torch that rules and their fixes look for, by what they have in common (docs.pytorch.org torch, by name)."""

from __future__ import annotations

# What makes indices of a triangle.
INDICES = frozenset({"torch.triu_indices", "torch.tril_indices"})
# What makes a tensor of data that is given.
OF_DATA = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray", "torch.from_numpy"})
# Of those, what always copies.
COPYING = frozenset({"torch.tensor"})
# What draws numbers.
RANDOM = frozenset(f"torch.{name}" for name in "randint rand randn randperm".split())
# What shuffles: often on the host, where 1 of 4 moves of the order to the device was worth taking.
SHUFFLED = "torch.randperm"
# What makes a tensor of a size that is given.
SIZED = frozenset(f"torch.{name}" for name in "arange zeros ones empty full eye randperm randn rand randint".split())
# Contexts and decorators without gradients (docs.pytorch.org 'Locally disabling gradient computation').
NO_GRADIENT = ("torch.no_grad", "torch.inference_mode")
# What puts tensors together.
JOINS = frozenset("torch.cat torch.stack torch.concat torch.hstack torch.vstack".split())
# Methods of tensors and modules that move them: the former give a copy, the latter move in place.
MOVES = frozenset({"to", "cuda", "cpu"})
# What seeds the generators.
SEEDS = frozenset({"torch.manual_seed", "torch.random.manual_seed"})
# Queues of work, and marks in them (docs.pytorch.org torch.cuda.Stream, torch.cuda.Event).
QUEUES = frozenset(f"torch.{root}.{name}" for root in ("cuda", "xpu") for name in ("Stream", "Event"))
# What a `collate_fn` whose batches are tensors is written with; graphs and the like say themselves how they are pinned.
COLLATING = ("torch.stack", "torch.cat", "torch.tensor", "torch.from_numpy", "pad_sequence", "default_collate")
# Bases of data sets (docs.pytorch.org torch.utils.data).
DATA_SETS = frozenset(f"torch.utils.data.{name}" for name in "Dataset IterableDataset dataset.Dataset".split())
# Of those, what takes tensors of equal shape, or one more dimension.
STACKS = frozenset({"torch.stack", "torch.cat"})
# Data sets of tensors alone.
TENSOR_DATA_SETS = frozenset({"torch.utils.data.TensorDataset", "torch.utils.data.dataset.TensorDataset"})
# Functions of one number that keep its shape.
ROUNDING = frozenset(f"torch.{name}" for name in "round floor ceil abs exp log".split())
# The class of loaders (docs.pytorch.org torch.utils.data.DataLoader).
LOADERS = frozenset({"torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"})
# Half precision, as code and configurations name it.
HALF = frozenset("torch.float16 torch.half torch.bfloat16 float16 bfloat16".split())
# The keyword of `from_pretrained` for it (huggingface.co/docs/transformers, main_classes/model).
LOADED_AS = "torch_dtype"
# docs.pytorch.org "Tensor Views", and methods that give their receiver back where there is nothing to do.
VIEWS = frozenset(
    "view view_as reshape reshape_as permute transpose swapaxes swapdims t squeeze unsqueeze flatten unflatten ravel"
    " expand expand_as detach contiguous narrow select diagonal chunk split tensor_split hsplit vsplit dsplit unbind"
    " unfold movedim moveaxis broadcast_to real imag view_as_real view_as_complex float double half bfloat16 long int"
    " short char byte bool type type_as numpy cpu conj indices values pin_memory adjoint unsafe_chunk"
    " broadcast_tensors atleast_1d atleast_2d atleast_3d meshgrid split_with_sizes rename align_to refine_names"
    " resolve_conj resolve_neg requires_grad_ astype asarray __array__".split()
)
# Modules of which no function calls what is not its own: Python's, and torch's.
OWN_CALLS = ("builtins.", "abc.", "typing.", "torch.")
# What `forward` and `backward` of these share, their first argument, is like `self` (docs.pytorch.org notes/extending).
AUTOGRAD_FUNCTIONS = frozenset({"torch.autograd.Function", "torch.autograd.function.Function"})
