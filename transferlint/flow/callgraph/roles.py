"""What part a function plays: hot by what calls it, cold by what it is for, or on the host side of the pipeline."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from transferlint import late
from transferlint.flow.callgraph.names import ClassInfo
from transferlint.flow.callgraph.source_file import SourceFile
from transferlint.flow.callgraph.tracing import Tracing
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.knowledge import roles as knowledge
from transferlint.knowledge.lookup import event, heat_of
from transferlint.model import Level
from transferlint.reasons import Cause, Reason, is_a
from transferlint.syntax import program as p
from transferlint.syntax.program import Function

if TYPE_CHECKING:
    import pathspec


@late.dataclass(frozen=True, slots=True)
class Role:
    """`hot`: why it is taken to run every step; `cold`: why it runs rarely; `host_side`: its
    tensors are on the host (datasets, collation, transforms); `tensors_in`: its arguments are taken for tensors on the
    device; `skip`: it is no Python that the host runs (a Triton or Numba kernel); `request`: it serves one request a
    call, so that it runs once, and its own loops count; `named`: it is cold for nothing but its name, which a loop of
    its own over a loader, or a call in hot code, contradicts; `traced`: why a framework traces it, so that it never
    runs on data."""

    hot: Reason | None = None
    cold: Reason | None = None
    host_side: bool = False
    tensors_in: bool = False
    skip: bool = False
    request: bool = False
    named: bool = False
    traced: str = ""

    @property
    def testing(self) -> bool:
        """Whether it is test or benchmark code."""
        return is_a(self.cold, Cause.TEST)


_KERNELS = (
    "triton.jit",
    "triton.autotune",
    "tl.jit",
    "numba.njit",
    "numba.jit",
    "cuda.jit",
    "jit.kernel",
    "cute.jit",
    "cute.kernel",
    "tilelang.jit",
    "T.prim_func",
    "helion.kernel",
    "helion.jit",
    "gluon.jit",
    "warp.kernel",
    "warp.func",
    "wp.kernel",
    "wp.func",
    "ti.kernel",
    "ti.func",
)
_KEEPING = late.pattern(r"^(functools\.)?(lru_cache|cache|cached_property)(\(|$)")


def keeps_result(function: Function) -> bool:
    """True for a function whose result is kept for the next call with the same arguments (docs.python.org,
    library/functools)."""
    return any(_KEEPING.match(decorator) for decorator in function.decorators)


def role_of(
    file: SourceFile, tracing: Tracing, function: Function, options: AnalysisOptions, above: Sequence[Role]
) -> Role:
    """The role of one function, from its name, class, decorators and path; nested functions take their parent's, which
    is among those of the functions `above` it."""
    if any(d.startswith(_KERNELS) for d in function.decorators):
        return Role(skip=True)
    if keeps_result(function):
        return Role(cold=Reason(Cause.CACHED_RESULT))
    if is_test(file.program.path, options.test_paths):
        return Role(cold=Reason(Cause.TEST))
    if lies_in(file.program.path, knowledge.OFFLINE_PATHS):
        return Role(cold=Reason(Cause.OFFLINE))
    traced = tracing.traced.get(function.index)
    if traced is not None:
        return Role(hot=tracing.hot.get(function.index), traced=traced)
    if _for_host(file, function):
        return Role(host_side=True)
    if function.kind in ("module", "class"):
        return Role()
    info = file.class_of(function)
    is_method = info is not None and function.parent == info.index
    name = function.name
    if info is not None and info.data and is_method and not info.module:
        return Role(cold=Reason(Cause.DATA_PIPELINE), host_side=True)
    if not is_method and function.parent > 0:
        parent = above[function.parent]
        if parent.hot or parent.skip or parent.host_side or parent.testing:
            return parent
    module = info is not None and info.module and is_method
    hot, cold = heat_of(
        file.program.path, function.qualname, options.knowledge, info.bases if info is not None and is_method else None
    )
    if cold:
        return Role(cold=Reason(Cause.KNOWN, cold))
    if hot:
        return Role(hot=Reason(Cause.KNOWN, hot), tensors_in=is_method)
    for decorator in function.decorators:
        attached = event(decorator)
        if attached is not None:
            level, amortised = attached
            if level >= Level.PER_STEP and not amortised:
                return Role(hot=Reason(Cause.STEP_EVENT, name))
            return Role(cold=Reason(Cause.FILTERED_EVENT if amortised else Cause.RARE_EVENT, name))
    if is_method and info is not None and knowledge.DISPLAY_CLASSES.search(info.name) and not info.module:
        return Role(cold=Reason(Cause.REPORTING_CLASS, info.name))
    if is_method and info is not None and knowledge.EXPORTED_CLASSES.match(info.name) and not info.module:
        return Role(cold=Reason(Cause.EXPORTED_MODEL, info.name))
    if knowledge.EPOCH_HOOKS.match(name):
        return Role(cold=Reason(Cause.EPOCH_HOOK, name))
    if is_method and info is not None and _serves(file, name, info.bases):
        return Role(tensors_in=module, request=True)
    plain = name.lstrip("_") if not name.endswith("__") else name
    reason = knowledge.HOT_METHODS.get(plain)
    if reason and (is_method or plain not in knowledge.METHODS_ALONE):
        return Role(hot=Reason(Cause.EVERY_BATCH, name), tensors_in=plain != "step")
    if is_method and info is not None and name in knowledge.METER_METHODS and knowledge.METERS.search(info.name):
        return Role(hot=Reason(Cause.METER, f"{info.name}.{name}"))
    if knowledge.DATA_PATTERN.match(name) and not module and not _on_device(function) and not _of_mapping(info, name):
        return Role(cold=Reason(Cause.HOST_DATA, name), host_side=True)
    if name in knowledge.COLD_EXACT or knowledge.COLD_PATTERN.match(name):
        return Role(cold=Reason(Cause.SETUP, name), named=name != "__init__")
    if name.startswith(("test_", "bench")):
        return Role(cold=Reason(Cause.TEST), named=True)
    if knowledge.HOT_PATTERN.match(name) and not name.startswith("__") and not reference(file, function):
        return Role(hot=Reason(Cause.EVERY_BATCH, name), tensors_in=False)
    if name == "__call__" and is_method and info is not None and knowledge.REQUEST_CLASSES.search(info.name):
        return Role(tensors_in=module, request=True)
    if name == "__call__" and module:
        return Role(hot=Reason(Cause.EVERY_INPUT, name), tensors_in=True)
    return Role(tensors_in=module and name != "__call__" and "staticmethod" not in function.decorators)


def reference(file: SourceFile, function: Function) -> bool:
    """True for the plain twin of a function of the same name, which is there to compare it with: `scan_ref`."""
    if function.parent == 0:
        found = knowledge.REFERENCES.match(function.name)
        return found is not None and found[1] in file.program.functions[0].slots
    info = file.class_of(function)
    found = knowledge.NAIVE.match(function.name)
    return found is not None and info is not None and function.parent == info.index and found[1] in info.methods


def _serves(file: SourceFile, name: str, bases: tuple[str, ...]) -> bool:
    """True for `forward`, in a folder for serving, of what answers requests: a class that is no plain module. What
    serves may hold the model itself: that is hot as ever."""
    if name not in ("forward", "__call__") or not bases or not knowledge.MODULE_BASES.isdisjoint(bases):
        return False
    return serving(file.program.path)


def serving(path: str) -> bool:
    """True for a file in a folder of what serves requests."""
    return lies_in(path, knowledge.SERVING_PATHS)


def _for_host(file: SourceFile, function: Function) -> bool:
    """True for code that its function's, class's or file's name gives to the host: `fill_indices_cpu`."""
    if function.kind != "function":
        return False
    if knowledge.HOST_FUNCTIONS.match(function.name) or lies_in(file.program.path, knowledge.HOST_PATHS):
        return True
    info = file.class_of(function)
    return info is not None and bool(knowledge.HOST_CLASSES.match(info.name))


def _on_device(function: Function) -> bool:
    """True for a function that is told which device to work on, `preprocess(batch, device)`, that asks an argument or
    its object for it, `image.device`, or that names the GPU: `.cuda()`, `torch.cuda`. One that loads is not."""
    if not knowledge.WORK_PATTERN.match(function.name):
        return False
    slots = {given.slot for given in function.parameters}
    asks = any(
        isinstance(made, p.Attr)
        and (
            made.name == "cuda"
            or (
                made.name == "device"
                and isinstance(asked := function.code[made.object], p.Load)
                and asked.slot in slots
            )
        )
        for made in function.code
    )
    return asks or any(knowledge.DEVICE_WORDS.search(given.name) for given in function.parameters)


def _of_mapping(info: ClassInfo | None, name: str) -> bool:
    """True for the `__getitem__` of a class that derives from nothing but Python's containers: no dataset's."""
    if name != "__getitem__" or info is None or not info.bases:
        return False
    return all(base.startswith(("builtins.", "collections.", "typing.")) for base in info.bases)


def is_test(path: str, globs: tuple[str, ...] | None) -> bool:
    """True for a file of tests or benchmarks: one that a glob of the setting `test-paths` matches, or (None) a built-in
    one."""
    if globs is None:
        return lies_in(path, knowledge.TEST_PATHS)
    return _matches(globs, path)


@functools.lru_cache(maxsize=64)
def lies_in(path: str, globs: tuple[str, ...]) -> bool:
    """True for a path that one of the built-in globs matches, as pathspec matches it, which takes long to import."""
    return _pattern(globs).search(path.replace(os.sep, "/")) is not None


@functools.lru_cache(maxsize=8)
def _pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    """`**/a/**`, `**/a_*.py` and `**/a/**/b_*.py` as one pattern of paths with slashes."""
    parts = []
    for glob in globs:
        inner = glob.removeprefix("**/").removesuffix("**")
        text = re.escape(inner).replace(r"/\*\*/", "/(?:.*/)?").replace(r"\*", "[^/]*")
        parts.append(text if glob.endswith("/**") else f"{text}(?:$|/)")
    return re.compile(f"(?:^|/)(?:{'|'.join(parts)})")


@functools.lru_cache(maxsize=64)
def _matches(globs: tuple[str, ...], path: str) -> bool:
    return _spec(globs).match_file(path)


@functools.lru_cache(maxsize=8)
def _spec(globs: tuple[str, ...]) -> pathspec.GitIgnoreSpec:
    import pathspec  # which takes long, for the few settings that have globs of their own

    return pathspec.GitIgnoreSpec.from_lines(globs)
