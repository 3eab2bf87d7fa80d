"""What is called from where nobody sees: it is neither rare for the callers that are seen, nor what they alone say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from transferlint.flow.analysis import analyse
from transferlint.flow.callgraph.modules import ModuleIndex
from transferlint.flow.facts import FileFacts
from transferlint.flow.lattice import values as v
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.flow.project import Project
from transferlint.reasons import Cause
from transferlint.syntax import program as p
from transferlint.syntax.lower import lower
from transferlint.syntax.portable import FrozenSpans, freeze
from transferlint.syntax.source import decode, parse
from transferlint.syntax.spans import Spans


def linked(files: Mapping[str, str], entered: Iterable[str] | None = None) -> dict[str, FileFacts]:
    """The facts of the files of a small project, path to text, of those that are entered."""
    programs, lines = {}, {}
    for path, text in files.items():
        tree = parse(decode(path, text.encode()))
        spans = Spans(tree, text)
        programs[path] = freeze(lower(tree, path), spans)
        lines[path] = spans.line_starts()
    options = AnalysisOptions()
    project = Project(programs, ModuleIndex(list(programs), "."), options, lines.__getitem__, entered)
    return {
        path: analyse(path, files[path], programs[path], FrozenSpans(files[path], lines[path]), options, project)
        for path in (files if entered is None else entered)
    }


def base(facts: FileFacts, name: str) -> object:
    """What is known of how often a function runs: why it is cold, or how hot it is."""
    function = next(one for one in facts.functions if one.function.qualname == name)
    warmth = facts.heat.base(function.index)
    return warmth.cold.cause if warmth.cold is not None else warmth.level.name


MODEL = """\
class Model:
    def warmup(self):
        self.advance([])

    def advance(self, ids):
        return ids
"""
SERVER = """\
class Service:
    def {name}(self, request):
        return self.model.advance(request)
"""


def test_a_method_that_setup_code_alone_calls_is_rare():
    assert base(linked({"model.py": MODEL})["model.py"], "Model.advance") is Cause.RARE_CALLERS


def test_not_where_an_object_of_which_nothing_is_known_has_it_called():
    found = linked({"model.py": MODEL, "server.py": SERVER.format(name="decode")})
    assert base(found["model.py"], "Model.advance") != Cause.RARE_CALLERS


def test_but_where_that_is_setup_code_too():
    found = linked({"model.py": MODEL, "server.py": SERVER.format(name="setup")})
    assert base(found["model.py"], "Model.advance") is Cause.RARE_CALLERS


def test_who_passes_a_function_on_does_not_call_it():
    patch = """\
from layers import compute


def setup(model):
    model.hook = compute
    model.apply(compute)
"""
    layers = """\
def compute(x):
    return inner(x)


def inner(x):
    return x
"""
    found = linked({"patch.py": patch, "layers.py": layers})
    assert base(found["layers.py"], "compute") != Cause.RARE_CALLERS
    assert base(found["layers.py"], "inner") != Cause.RARE_CALLERS


def test_variables_that_functions_of_files_set_that_nobody_enters():
    groups = """\
import torch

READY = None


def initialize():
    global READY
    READY = torch.zeros(1).cuda()


def ready():
    return READY
"""
    train = "from groups import ready\n\n\ndef train():\n    flag = ready()\n    print(flag)\n"
    facts = linked({"groups.py": groups, "train.py": train}, entered=["train.py"])["train.py"]
    function = next(one for one in facts.functions if one.function.name == "train")
    (flag,) = (function.values[reg] for reg in function.of(p.Store))
    assert flag.may_be(v.TENSOR)
    assert flag.on_device


def test_attributes_that_methods_of_files_set_that_nobody_enters():
    base = """\
class Processor:
    def __init__(self):
        self.device = "cpu"

    def to(self, device):
        self.device = device
        return self

    def preprocess(self, batch):
        return batch["x"].to(self.device)
"""
    use = """\
from base import Processor


def forward(processor: Processor, batch):
    x = processor.preprocess(batch)
    return x
"""
    facts = linked({"base.py": base, "use.py": use}, entered=["use.py"])["use.py"]
    function = next(one for one in facts.functions if one.function.name == "forward")
    (x,) = (function.values[reg] for reg in function.of(p.Store))
    assert not x.on_host
