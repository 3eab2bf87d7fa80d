"""Reading `object.name`."""

from __future__ import annotations

from transferlint.flow.lattice.values import (
    ANYWHERE,
    ARRAY,
    CONTAINER,
    DEVICE_NAME,
    DTYPE_VALUE,
    FRAMEWORKS,
    FRESH,
    FROM_PARAMETER,
    GIVEN,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    KEPT,
    LOADER,
    MAPPING,
    MODULE,
    NAME,
    NOTHING,
    OBJECT,
    ON_DEVICE,
    OPTIMIZER,
    PARAMETER,
    PINNED,
    PYTHON,
    RESIDENT,
    TENSOR,
    UNKNOWN,
    Value,
    element,
)
from transferlint.flow.placement import foreign_members
from transferlint.flow.placement.annotated import promised
from transferlint.flow.placement.devices import DTYPES
from transferlint.flow.placement.frame import Frame
from transferlint.flow.placement.narrowing import narrow
from transferlint.knowledge import roles
from transferlint.knowledge.torch import RESULTS
from transferlint.syntax.program import Attr, Reg

_SAME = frozenset({"data", "T", "mT", "H", "mH", "real", "imag", "grad"})
_METADATA = frozenset(
    {
        "shape",
        "ndim",
        "requires_grad",
        "is_cuda",
        "is_leaf",
        "layout",
        "names",
        "itemsize",
        "nbytes",
        "_version",
        "is_sparse",
    }
)
# Methods of every module, whose meaning a class that has its own keeps (docs.pytorch.org torch.nn.Module).
_MODULE_METHODS = frozenset(
    "to cuda cpu xpu float double half bfloat16 type to_empty train eval requires_grad_ zero_grad apply share_memory"
    " parameters named_parameters buffers named_buffers children named_children modules named_modules state_dict"
    " load_state_dict register_buffer register_parameter register_module add_module forward compile".split()
)
_MODULE_TENSORS = frozenset({"weight", "bias", "running_mean", "running_var"})
# What `save_for_backward` was given: tensors.
_SAVED = Value(CONTAINER, GIVEN, RESIDENT, item=Value(UNKNOWN, GIVEN, RESIDENT))
# docs.pytorch.org torch.optim.Optimizer.add_param_group: a dict of "params", "what Tensors should be optimized", and
# of options. `indexing.py` reads it.
_PARAM_GROUPS = Value(CONTAINER, ANYWHERE, item=Value(OPTIMIZER, ANYWHERE))


def read(frame: Frame, reg: Reg, made: Attr) -> Value:
    """The value of an attribute, as far as tests around it tell it apart."""
    value = _read(frame, reg, made)
    if value.is_none:
        value = NOTHING  # what is read holds something by then, which somebody else has put there
    told = frame.told(reg, frame.path(reg)) if frame.narrowed else None
    return narrow(value, told) if told is not None else value


def _read(frame: Frame, reg: Reg, made: Attr) -> Value:
    """What this function stored in an attribute, what the class holds, what torch says it is."""
    path = frame.path(reg)
    if path:
        stored = frame.state.paths.get(path)
        if stored is not None:
            return stored
    base = frame.values[made.object]
    name = made.name
    if base.kinds == NAME and "#" not in base.name:
        return variable(frame, f"{base.name}.{name}") or _of_name(base, name)
    if base.flags & FRAMEWORKS or (base.is_a(MODULE | OPTIMIZER) and frame.file.tracing.framework is not None):
        found = foreign_members.attribute(frame, base, name)
        if found is not None:
            return found
    if name == "device":
        told = base.kinds & (TENSOR | MODULE) and base.places & ~ANYWHERE and not moves_along(frame, made.object, base)
        places = base.places if told else GIVEN
        own = _of_class(frame, base, name) if base.kinds & OBJECT else None
        if own is not None and own.kinds & DEVICE_NAME:
            return own
        theirs = base.flags & FROM_PARAMETER if base.is_a(TENSOR | UNKNOWN) else 0
        return Value(DEVICE_NAME, places, theirs, base.why)
    if name.endswith("dtype"):
        return DTYPE_VALUE
    if name == "saved_tensors" and base.kinds == OBJECT:
        return _of_class(frame, base, name) or _SAVED
    if base.kinds & OBJECT or base.kinds == NAME or (base.is_a(MODULE) and name not in _MODULE_METHODS):
        given = base.field(name) if base.fields else None
        if given is not None and given.on_device:  # what it held on the host may have been replaced since
            return given
        found = _of_class(frame, base, name, reg)
        if found is not None and found.flags & KEPT and not path.startswith("self."):
            found = found.but(flags=found.flags & ~KEPT)  # the object may be another at every call
        if found is not None and given is not None and given.is_a(TENSOR) and given.on_host and found.places & HOST:
            return given  # what is on the device is in other objects
        if found is not None:
            there = base.kinds == OBJECT and base.on_device and found.is_a(TENSOR) and bool(found.places & ~ON_DEVICE)
            lost = PINNED | FRESH | KEPT  # what it had on the host
            return found.but(places=base.places & ON_DEVICE, flags=found.flags & ~lost) if there else found
    if base.kinds & (TENSOR | ARRAY) and not base.kinds & ~(TENSOR | ARRAY | UNKNOWN):
        if name in _SAME:
            return base
        if name in _METADATA:
            return PYTHON
    if name == "shape" or (name in ("size", "ndim") and frame.file.tracing.framework is not None):
        return PYTHON
    if name == "grad" and base.kinds & UNKNOWN and not base.on_host:
        return Value(TENSOR, base.places & ~ANYWHERE or GIVEN, base.flags | RESIDENT, base.why or (reg,))
    if base.is_a(MODULE) and name in _MODULE_TENSORS and moves_along(frame, made.object, base):
        return Value(TENSOR, GIVEN, PARAMETER | RESIDENT, base.why)
    part = path.startswith("self.") and path.count(".") > 1 and not base.kinds & (TENSOR | ARRAY)
    if part and roles.SETTING_WORDS.search(name):
        return PYTHON  # `self.encoder.subsampling_factor`: what a module was made with
    if name in RESULTS and base.is_a(CONTAINER) and not base.flags & MAPPING and (one := element(base)).kinds & TENSOR:
        return one  # `x.max(dim=1).values`
    return _by_name(base, name, reg)


def moves_along(frame: Frame, reg: Reg, value: Value) -> bool:
    """True for a module that is an attribute of `self`, itself a module, made on the host: it is where its owner is
    moved to, and only the constructor sees it before that."""
    info = frame.file.class_of(frame.function)
    own = frame.path(reg).startswith("self.")
    return bool(info is not None and info.module and own and value.on_host and frame.function.name != "__init__")


def variable(frame: Frame, name: str) -> Value | None:
    """What a module of the project binds to a name, where that is neither a function nor a class."""
    project = frame.file.project
    if project is None or name.startswith(("torch.", "numpy.")):
        return None
    found = project.variable(name, frame.file.key)
    return found.foreign() if found is not None else None


def _of_name(base: Value, name: str) -> Value:
    full = f"{base.name}.{name}"
    if base.name == "torch" and name in DTYPES:
        return DTYPE_VALUE
    if base.name == "numpy" and name in ("pi", "e", "inf", "nan", "newaxis"):
        return PYTHON
    if full in ("math.pi", "math.inf", "torch.inf", "torch.pi", "torch.nan", "math.e", "math.nan"):
        return PYTHON
    return Value(NAME, ANYWHERE, name=full)


def _of_class(frame: Frame, base: Value, name: str, reg: Reg | None = None) -> Value | None:
    """What `self.name` holds: a method, or what the methods of the class store."""
    info = frame.file.info_of(base.name)
    if info is None:
        return None
    method = frame.file.located(info.methods.get(name, ""))
    if method is not None:
        function = method[0].program.functions[method[1]]
        if any(d.endswith("property") for d in function.decorators):
            placed = method[0].place(method[1])
            if reg is not None:
                frame.calls[reg] = info.methods[name]
                if not frame.file.roles[frame.function.index].cold:
                    method[0].callers.called(method[1], (frame.file.key, frame.function.index, reg), {})
            if name.endswith("device"):
                return Value(DEVICE_NAME, GIVEN)
            returned = placed.returns if placed is not None else None
            if returned is None or returned.is_a(UNKNOWN | HOST_VALUE):
                returned = promised(method[0], function) or returned
            return returned.foreign() if returned is not None else NOTHING
        return Value(NAME, ANYWHERE, name=info.methods[name])
    if base.kinds & OBJECT:
        stored = frame.file.attribute(info, name)
        if stored is not None:
            return stored
        if info.module and name == "training":
            return PYTHON
        if info.data:
            return Value(UNKNOWN, HOST)
    return None


def _by_name(base: Value, name: str, reg: Reg) -> Value:
    if roles.DEVICE_WORDS.search(name) and name != "accelerator" and not base.kinds & (TENSOR | ARRAY):
        return Value(DEVICE_NAME, GIVEN)
    if base.kinds & MODULE and not base.kinds & UNKNOWN and name in _MODULE_TENSORS:
        places = base.places if base.places & ~ANYWHERE else GIVEN
        return Value(TENSOR, places, PARAMETER | RESIDENT, base.why)
    if name.endswith(("_loader", "_dataloader", "loader", "dataloader")) and not base.kinds & TENSOR:
        return Value(LOADER, HOST)
    if name.endswith("optimizer"):
        return Value(OPTIMIZER, ANYWHERE)
    if name == "param_groups":
        return _PARAM_GROUPS
    if name.endswith(("_np", "_numpy")):
        return HOST_ARRAY
    if roles.MODEL_WORDS.search(name) and base.kinds & (OBJECT | MODULE):
        return Value(MODULE | UNKNOWN, ANYWHERE)
    if base.kinds & UNKNOWN and not base.kinds & (OBJECT | NAME):
        return Value(UNKNOWN, base.places, base.flags, base.why, reads=base.reads, uploads=base.uploads)
    if base.is_a(MODULE):
        return Value(UNKNOWN, base.places, why=base.why)
    return NOTHING
