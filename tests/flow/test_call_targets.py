"""Whom a call reaches: through annotations, `super()`, `partial`, arguments and hooks; and what wraps a transfer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice import values as v
from transferlint.model import Level

LookUp = Callable[..., Any]


@pytest.mark.parametrize("annotation", ["Meter", '"Meter"', "Meter | None", "Optional[Meter]"])
def test_an_annotated_argument_is_of_that_class(look: LookUp, annotation: str) -> None:
    found = look(
        f"""
        class Meter:
            def note(self, x):
                at_note

        def train_step(meter: {annotation}, x):
            meter.note(x)
        """
    )
    assert found.warmth("at_note").seen is False
    assert found.warmth("at_note").level is Level.PER_STEP


def test_an_attribute_that_a_class_declares(look: LookUp) -> None:
    found = look(
        """
        class Meter:
            def note(self, x):
                at_note

        class Trainer:
            meter: Meter

            def train_step(self, x):
                self.meter.note(x)
        """
    )
    assert found.warmth("at_note").hot


def test_what_the_annotation_of_a_result_promises(look: LookUp) -> None:
    found = look(
        """
        import torch

        def collect(opt) -> dict[str, torch.Tensor]:
            return opt.whatever()

        def train_step(opt):
            for value in collect(opt).values():
                value
        """
    )
    assert found.value("value").is_a(v.TENSOR)
    assert found.places("value") & v.GIVEN


def test_a_result_that_is_known_beats_its_annotation(look: LookUp) -> None:
    found = look(
        """
        import torch

        def made() -> torch.Tensor:
            return torch.zeros(3)

        def train_step():
            made() + 1
        """
    )
    assert found.places("made() + 1") == v.HOST


def test_super_reaches_the_base(look: LookUp) -> None:
    found = look(
        """
        import torch

        class Base(torch.nn.Module):
            def mix(self, x):
                at_mix

        class Net(Base):
            def forward(self, x):
                return super().mix(x)
        """
    )
    function, _ = found.find("at_mix")
    assert found.warmth("at_mix").caller is not None
    assert function.function.qualname == "Base.mix"


def test_a_function_that_is_handed_on_is_as_hot_as_where_it_is_called(look: LookUp) -> None:
    found = look(
        """
        import functools

        def note(x, scale):
            at_note

        def drive(loader, fn):
            for batch in loader:
                fn(batch)

        def main(loader):
            drive(loader, functools.partial(note, scale=2))
        """
    )
    assert found.warmth("at_note").hot
    assert found.warmth("at_note").seen


@pytest.mark.parametrize(
    ("call", "level"),
    [
        ("Trainer(m, a, preprocess_logits_for_metrics=picked)", Level.PER_STEP),
        ("Further(1, model=m, preprocess_logits_for_metrics=picked)", Level.PER_STEP),
        ("Further(1, model=m, compute_metrics=picked)", Level.PER_EPOCH),
        ("Own(1, model=m, **given)", Level.PER_STEP),
        ("Own(1, model=m, **other)", None),
        ("Unknown(1, model=m, preprocess_logits_for_metrics=picked)", None),
    ],
)
def test_what_a_trainer_calls_may_be_given_to_ones_own_trainer_and_in_a_mapping(
    look: LookUp, call: str, level: Level | None
) -> None:
    found = look(
        f"""
        from transformers import Trainer, Seq2SeqTrainer
        from elsewhere import Unknown

        def picked(logits, labels):
            at_picked

        class Own(Seq2SeqTrainer):
            def __init__(self, more, **kwargs):
                super().__init__(**kwargs)

        class Further(Own):
            pass

        def main(m, a, flag):
            given, other = {{}}, {{}}
            if flag:
                given["preprocess_logits_for_metrics"] = picked
                other["filter"] = picked
            {call}.train()
        """
    )
    warmth = found.warmth("at_picked")
    assert (warmth.level if warmth.seen else None) == level


def test_of_several_functions_none_is_guessed(look: LookUp) -> None:
    found = look(
        """
        def one(x):
            at_one

        def two(x):
            at_two

        def drive(loader, fn):
            for batch in loader:
                fn(batch)

        drive(first, one)
        drive(second, two)
        """
    )
    assert not found.warmth("at_one").hot
    assert not found.warmth("at_two").hot


@pytest.mark.parametrize(
    ("call", "hot"),
    [
        ("model.register_forward_hook(note)", True),
        ("model.register_full_backward_hook(note)", True),
        ("model.register_something(note)", False),
        ("model.register_forward_hook(other)", False),
    ],
)
def test_hooks_run_for_every_pass(look: LookUp, call: str, hot: bool) -> None:
    found = look(
        f"""
        def note(module, inputs, output):
            at_note

        def install(model):
            {call}
        """
    )
    assert found.warmth("at_note").hot is hot


@pytest.mark.parametrize(
    ("event", "hot"),
    [
        ("Events.ITERATION_COMPLETED", True),
        ("Events.ITERATION_COMPLETED(every=100)", False),
        ("Events.EPOCH_COMPLETED", False),
    ],
)
def test_handlers_run_as_often_as_their_event(look: LookUp, event: str, hot: bool) -> None:
    found = look(
        f"""
        @trainer.on({event})
        def note(engine):
            at_note
        """
    )
    assert found.warmth("at_note").hot is hot


WRAPPED = """
    import torch

    def item(x):
        if isinstance(x, torch.Tensor):
            x = x.item()
        return x

    def train(loader, model):
        model.cuda()
        for batch in loader:
            total = item(model(batch.cuda()).mean())
"""


def test_a_call_of_what_wraps_a_read_is_a_read(look: LookUp) -> None:
    found = look(WRAPPED)
    function, call = found.find("item(model(batch.cuda()).mean())")
    (read,) = [t for t in function.transfers if t.register == call]
    assert read.kind == "scalar-read"
    assert read.inside is not None
    assert function.values[call].reads == {call}
    (evidence,) = function.wrapped(read)
    assert evidence.message == "made here, in `item`"


def test_a_round_trip_within_a_function_is_no_read_of_its_calls(look: LookUp) -> None:
    found = look("""
        import torch

        def doubled(x):
            kept = x.cpu().numpy() * 2
            return torch.from_numpy(kept).cuda()

        def train(model, loader):
            for batch in loader:
                doubled(model(batch.cuda()))
    """)
    function, call = found.find("doubled(model(batch.cuda()))")
    assert [t for t in function.transfers if t.register == call] == []


def test_what_is_wrapped_counts_at_its_calls_alone(look: LookUp) -> None:
    found = look(WRAPPED)
    function, read = found.find("x.item()")
    (transfer,) = [t for t in function.transfers if t.register == read]
    assert function.at_calls(transfer)


@pytest.mark.parametrize(
    "body",
    [
        "for part in x: x.item()",
        "if step % 100 == 0: x.item()",
        "try: x.tolist()\n        except ValueError: x.item()",
        "y = torch.ones(2).cuda(); y.item()",
    ],
)
def test_what_not_every_call_does_to_its_argument_is_not_wrapped(look: LookUp, body: str) -> None:
    found = look(
        f"""
    import torch

    def note(x, step):
        {body}

    def train_step(x: torch.Tensor, step):
        note(x, step)
        """
    )
    function, call = found.find("note(x, step)")
    assert ".item()" not in [t.api for t in function.transfers if t.register == call]


def test_a_call_of_a_method_may_be_one_of_what_overrides_it(look: LookUp) -> None:
    found = look(
        """
        class Mixin:
            def transcribe(self, loader):
                for batch in loader:
                    self._finish(batch)

            def _finish(self, x):
                raise NotImplementedError

        class Model(Mixin):
            def _finish(self, x):
                at_finish
        """
    )
    assert found.warmth("at_finish").hot
    assert found.warmth("at_finish").seen


def test_a_wrapper_that_is_only_reached_by_overriding_speaks_for_itself(look: LookUp) -> None:
    found = look(
        """
        class Mixin:
            def transcribe(self, loader):
                for batch in loader:
                    self._finish(batch)

            def _finish(self, x):
                raise NotImplementedError

        class Model(Mixin):
            def _finish(self, x):
                return x.item()
        """
    )
    function, read = found.find("x.item()")
    (transfer,) = [t for t in function.transfers if t.register == read]
    assert not function.at_calls(transfer)


@pytest.mark.parametrize("call", ["wrap(note)", "checkpoint(note, x)", "wrap(fn=note)"])
def test_a_function_that_hot_code_passes_on_is_as_hot(look: LookUp, call: str) -> None:
    found = look(
        f"""
        def note(x):
            at_note

        def train_step(x):
            {call}
        """
    )
    assert found.warmth("at_note").hot


def test_a_function_that_cold_code_passes_on_is_not_cold(look: LookUp) -> None:
    found = look(
        """
        import threading

        class Worker:
            def __init__(self):
                self.thread = threading.Thread(target=self._work)

            def _work(self):
                while True:
                    at_work
        """
    )
    assert found.warmth("at_work").hot


def test_a_property_is_read_by_its_getter(look: LookUp) -> None:
    found = look(
        """
        import torch

        class Graph:
            @property
            def offsets(self) -> torch.Tensor | None:
                return self._get("offsets")

            @offsets.setter
            def offsets(self, value):
                self._set("offsets", value)

            def forward(self, x):
                self.offsets
        """
    )
    assert found.value("self.offsets").is_a(v.TENSOR)


def test_a_method_of_one_subclass_is_not_called_for_another(look: LookUp) -> None:
    found = look(
        """
        class Base:
            def _finish(self, x):
                raise NotImplementedError

        class One(Base):
            def _finish(self, x):
                at_one

        class Two(Base):
            def train_step(self, x):
                self._finish(x)
                super()._finish(x)
        """
    )
    assert not found.warmth("at_one").hot


@pytest.mark.parametrize(
    ("call", "reads"), [("size_of(x)", True), ("size_of(x, None)", True), ("size_of(x, 3)", False)]
)
def test_an_argument_can_switch_off_what_is_wrapped(look: LookUp, call: str, reads: bool) -> None:
    found = look(
        f"""
    import torch

    def size_of(x, size=None):
        if size is None:
            size = x.max().item()
        return size

    def train(loader, model):
        model.cuda()
        for batch in loader:
            x = model(batch.cuda())
            {call}
        """
    )
    function, at = found.find(call)
    assert bool([t for t in function.transfers if t.register == at]) is reads


def test_a_property_that_is_read_is_called(look: LookUp) -> None:
    found = look(
        """
        class Normal:
            @property
            def variance(self):
                at_variance

            def training_step(self, x):
                self.variance
        """
    )
    assert found.warmth("at_variance").hot


def test_a_wrapper_that_uses_what_it_reads_itself_speaks_for_itself(look: LookUp) -> None:
    found = look("""
        import torch

        def check(x):
            total = float(x.float().sum())
            if total == float("inf"):
                raise ValueError("overflow")

        def value(x):
            return float(x.float().sum())

        class Net(torch.nn.Module):
            def forward(self, a, b):
                check(a.grad)
                check(b.grad)
                return value(a.grad)
    """)
    inner, reg = found.find("float(x.float().sum())", 0)
    (read,) = [t for t in inner.transfers if t.register == reg]
    assert not inner.at_calls(read)
    for function in found.facts.functions:
        for transfer in function.transfers:
            if transfer.inside is not None:
                assert function.told_inside(transfer) is function.text(transfer.register).startswith("check(")


def test_what_is_named_for_setup_is_as_hot_as_its_calls(look: LookUp) -> None:
    found = look("""
        class Part:
            @classmethod
            def from_meta(cls, meta):
                part = cls()
                part.sizes = meta.tolist()
                return part

            @classmethod
            def from_pretrained(cls, meta):
                part = cls()
                part.other = meta.sum()
                return part

        def train_step(meta):
            Part.from_meta(meta)
            Part.from_pretrained(meta)
    """)
    assert found.warmth("meta.tolist()").hot
    assert found.warmth("meta.sum()").hot


_BOUND = "self.run = MethodType(self.STEPS[kind], self); self.run(x)"


@pytest.mark.parametrize("call", [_BOUND, "self.STEPS[kind](self, x)"])
def test_functions_of_a_table_that_are_bound_before_they_are_called(look: LookUp, call: str) -> None:
    found = look(f"""
        from types import MethodType

        class Engine:
            def _exec_read(self, x):
                return x.sum()

            def train_batch(self, kind, x):
                {call}

            STEPS = {{"read": _exec_read}}
    """)
    assert found.warmth("x.sum()").hot


OPERATORS = """
import torch


class Box:
    def __getitem__(self, key):
        return torch.zeros(3, device="cuda")

    def __matmul__(self, other):
        return torch.zeros(3, device="cuda")

    def __radd__(self, other):
        return torch.zeros(3, device="cuda")

    def __enter__(self):
        return torch.zeros(3, device="cuda")

    def __exit__(self, *raised):
        pass


class Rows(Box):
    def __iter__(self):
        return Turns()


class Turns:
    def __next__(self):
        return torch.zeros(3, device="cuda")


class Plain:
    def __add__(self, other):
        return self


def f(k):
    box, rows, plain = Box(), Rows(), Plain()
"""


@pytest.mark.parametrize(
    "body",
    [
        "x = box[k]",
        "x = rows[0]",
        "x = box @ k",
        "x = 3 + box",
        "with box as x:\n        pass",
        "for x in rows:\n        pass",
        "box @= k\n    x = box",
    ],
)
def test_an_operator_gives_what_the_method_of_a_class_gives(look: LookUp, body: str) -> None:
    assert look(f"{OPERATORS}    {body}\n    y = x + 1\n").value("x + 1").places == v.DEVICE


def test_an_operator_that_returns_the_object_itself_gives_an_instance_of_its_class(look: LookUp) -> None:
    found = look(OPERATORS + "    plain += 1\n    y = plain + 2\n    z = Box() - 1\n")
    assert found.value("plain + 2").kinds == v.OBJECT
    assert found.value("plain + 2").name == found.value("plain").name
    assert not found.value("Box() - 1").on_device


def test_functions_of_a_table_learn_what_a_call_gives_to_one_of_them(look: LookUp) -> None:
    found = look(
        """
        import torch
        class Loss(torch.nn.Module):
            def labels(self, outputs, indices):
                return [outputs[i] for i in indices]
            def boxes(self, outputs, indices):
                return outputs
            def one(self, name, outputs, indices):
                return {"labels": self.labels, "boxes": self.boxes}[name](outputs, indices)
            def two(self, name, outputs, indices):
                table = {"labels": self.labels, "boxes": self.boxes}
                return table[name](outputs, indices)
            def forward(self, outputs: torch.Tensor, rows: list):
                indices = [torch.as_tensor(row) for row in rows]
                return self.one("labels", outputs, indices), self.two("boxes", outputs, indices)
        """
    )
    assert found.value("i").is_a(v.TENSOR)
    assert found.value("i").places == v.HOST
    assert [one.api for one in found.at("outputs[i]")] == ["x[host tensor]"]
