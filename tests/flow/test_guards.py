"""Which conditions make rare what they guard, and on which side of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.reasons import Cause, Reason

LookUp = Callable[..., Any]

INTERVALS = [
    "step % 100 == 0",
    "0 == step % 100",
    "not step % 100",
    "(step + 1) % 100 == 0",
    "self.global_step % args.interval == 0",
    "i % 10 == 9",
    "step % 100 == 0 and step > 0",
    "step > 0 and step % 100 == 0",
    "not (step % 100 != 0)",
    "not (step % 100)",
    "step % 100 == 0 and verbose",
    "step % 100 == 0 or (epoch + 1) % 5 == 0",
]
ELSE_INTERVALS = ["step % 100", "step % 100 != 0", "not step % 100 == 0", "step % 100 != 0 or not args.n"]
SWITCHES = [
    "verbose",
    "args.verbose",
    "self.debug",
    "self.viewer and self.debug_viz",
    "should_log",
    "log_interval_reached or verbose",
    "self.should_log()",
    "config.do_eval",
    "logger.isEnabledFor(10)",
    "args.log_every",
    "self.hparams.save_interpretations",
]
SAMPLES = [
    "random.random() < 0.002",
    "0.01 > rng.random() and args.n",
    "np.random.rand() <= 0.1",
    "torch.rand(1) > 0.99",
    "not random.random() >= 0.05",
]
MAINS_OF_FILES = ['__name__ == "__main__"', '"__main__" == __name__']
DRAWN = SAMPLES + MAINS_OF_FILES
RANKS = ["rank == 0", "args.local_rank == 0", "dist.get_rank() == 0", "local_rank in (0, -1)", "local_rank in [-1, 0]"]
MAINS = ["accelerator.is_main_process", "is_master", "is_rank_zero()", "self.trainer.is_global_zero"]
FIRST_TIMES = [
    "self.cache is None",
    "key not in self.cache",
    "step == 0",
    "i == 0",
    "self.iter_num == 1",
    "state['step'] == 0",
]
EXPORTS = [
    "torch.onnx.is_in_onnx_export()",
    "torch.jit.is_tracing()",
    "is_torch_jit_scripting()",
    "torch.compiler.is_exporting()",
    "is_in_onnx_export_without_custom_ops()",
    "torch.onnx.is_in_onnx_export() and verbose",
]
HOSTS = ["not cuda", "not use_cuda", "not args.use_gpu", "not torch.cuda.is_available()", "x.device.type != 'cuda'"]
EMPTY = [
    "len(x) == 0",
    "0 == len(x)",
    "not len(x)",
    "len(batch.boxes) < 1",
    "x.shape[0] == 0",
    "x.size(0) <= 0",
    "x.numel() == 0",
    "not x.numel()",
]
LAST_TIMES = [
    "i == len(loader) - 1",
    "step == total_steps",
    "args.is_last_step",
    "step % 100 == 0 or n and args.is_last_step",
]
ORDINARY = [
    "batch_size == 1",
    "x.batch.shape[0] == 1",
    "t.stride(0) == 1",
    "self.num_frames == 1",
    "tokens.size(1) == 1",
    "step > 100",
    "step",
    "n == 3",
    "x is None",
    "x is not None",
    "mode == 'train'",
    "self.training",
    "args.is_last_stage",
    "args.last_step",
    "rank != 0",
    "rank",
    "step != 0",
    "self.cache is not None",
    "width % 8 == 0",
    "step % 100 == 0 or n",
    "not verbose or step % 100 == 0",
    "args.n",
    "hasattr(self, 'log')",
    "isinstance(x, list)",
    "x.shape[0] == 1",
    "cuda",
    "torch.cuda.is_available()",
    "use_cuda and n > 3",
    "not (use_cuda and n > 3)",
    "x.is_available()",
    "x.device.type == 'cuda'",
    "device != 'cuda:1'",
    "len(x) > 0",
    "len(x) > 1",
    "not len(x) == 0",
    "len(self.adapters) == 0",
    "len(extra) == 0",
    "len(rest) == 0",
    "len(past_keys) == 0",
    "x.size() == 0",
    "len(x) == 3",
    "len(x.shape) == 0",
    "not len(x.shape)",
    "not x.sum()",
]


def program(test: str, arms: str = "then") -> str:
    before = f"            if {test}:\n"
    body = {
        "then": "                seen\n",
        "else": "                pass\n            else:\n                seen\n",
    }[arms]
    return (
        "import torch\n"
        "class Job:\n"
        "    def run(self, loader, args, rank, key, x, n, verbose, config, mode, width, cuda, use_cuda, device, "
        "past_keys, extra=(), *rest):\n"
        f"        for step, batch in enumerate(loader):\n            i = epoch = step\n{before}{body}"
    )


@pytest.mark.parametrize("test", INTERVALS + SWITCHES + FIRST_TIMES + LAST_TIMES + HOSTS + EMPTY + EXPORTS + DRAWN)
def test_what_is_guarded_is_amortised(look: LookUp, test: str) -> None:
    warmth = look(program(test)).warmth("seen")
    assert warmth.amortised
    assert not warmth.hot


@pytest.mark.parametrize("test", INTERVALS + SWITCHES + FIRST_TIMES + LAST_TIMES + HOSTS + EMPTY + EXPORTS + DRAWN)
def test_what_stands_in_the_other_arm_is_not(look: LookUp, test: str) -> None:
    assert look(program(test, "else")).warmth("seen").hot


@pytest.mark.parametrize("test", ["random.random() < 0.5", "random.random() < self.p", "random.random(n) < 0.01"])
def test_what_is_drawn_often_is_not_rare(look: LookUp, test: str) -> None:
    assert look(program(test)).warmth("seen").hot


@pytest.mark.parametrize("test", RANKS + MAINS)
def test_what_one_process_does_alone_it_does_in_every_step(look: LookUp, test: str) -> None:
    assert look(program(test)).warmth("seen").hot


def test_what_fills_a_table_that_outlives_the_call_is_amortised(look: LookUp) -> None:
    text = (
        "class Net:\n    def forward(self, x):\n        made = {}\n        n = len(x)\n"
        "        if n not in Net.ops:\n            seen\n            Net.ops[n] = self.make(n)\n"
        "        if n not in Net.ops:\n            other\n"
        "        if n not in made:\n            anew\n            made[n] = self.make(n)\n"
    )
    found = look(text)
    assert found.warmth("seen").amortised
    assert found.warmth("other").hot
    assert found.warmth("anew").hot


def test_what_only_an_old_version_does_is_amortised(look: LookUp) -> None:
    assert look(program("required_torch_version(min_version=1.8)", "else")).warmth("seen").amortised
    assert look(program("required_torch_version(min_version=1.8)")).warmth("seen").hot


@pytest.mark.parametrize("test", ELSE_INTERVALS)
def test_the_else_of_a_negated_interval_is_amortised(look: LookUp, test: str) -> None:
    assert look(program(test, "else")).warmth("seen").amortised
    assert look(program(test)).warmth("seen").hot


@pytest.mark.parametrize("test", ORDINARY)
@pytest.mark.parametrize("arms", ["then"])
def test_an_ordinary_condition_makes_nothing_rare(look: LookUp, test: str, arms: str) -> None:
    assert look(program(test, arms)).warmth("seen").hot


@pytest.mark.parametrize("test", ["step != 0", "self.cache is not None"])
def test_the_other_arm_of_a_negated_guard_is_amortised(look: LookUp, test: str) -> None:
    assert look(program(test, "else")).warmth("seen").amortised


@pytest.mark.parametrize(
    ("test", "leave"),
    [
        ("step % 100", "continue"),
        ("step % 100 != 0", "continue"),
        ("not verbose", "continue"),
        ("not should_log", "return"),
    ],
)
def test_what_follows_a_guard_that_leaves_is_amortised(look: LookUp, test: str, leave: str) -> None:
    found = look(
        f"""
        def run(loader, verbose, rank, should_log, is_main_process):
            for step, batch in enumerate(loader):
                before
                if {test}:
                    {leave}
                after
        """
    )
    assert found.warmth("before").hot
    assert found.warmth("after").amortised


def test_a_skipped_batch_leaves_the_rest_hot(look: LookUp) -> None:
    found = look(
        "def run(loader):\n    for batch in loader:\n        if batch is None:\n            continue\n        after\n"
    )
    assert found.warmth("after").hot


@pytest.mark.parametrize(
    "test",
    [
        "step % 100 == 0",
        "verbose",
        "not step % 100",
        "verbose and rank == 0",
    ],
)
def test_a_guard_kept_in_a_variable(look: LookUp, test: str) -> None:
    found = look(
        f"""
        def run(loader, verbose, rank, accelerator):
            for step, batch in enumerate(loader):
                now = {test}
                if now:
                    seen
                if not now:
                    other
        """
    )
    assert found.warmth("seen").amortised
    assert found.warmth("other").hot


def test_a_conditional_expression_guards_its_arms(look: LookUp) -> None:
    found = look(
        "def run(loader):\n    for step, x in enumerate(loader):\n"
        "        y = x.item() if step % 100 == 0 else x.sum()\n"
    )
    assert found.warmth("x.item()").amortised
    assert found.warmth("x.sum()").hot


def test_the_innermost_of_two_guards_counts_and_so_does_the_outermost(look: LookUp) -> None:
    found = look(
        """
        def run(loader, n):
            for step, x in enumerate(loader):
                if step % 100 == 0:
                    if n:
                        inner
                if n:
                    if step % 100 == 0:
                        other
        """
    )
    assert found.warmth("inner").amortised
    assert found.warmth("other").amortised


def test_a_loop_within_a_guard_stays_rare(look: LookUp) -> None:
    found = look(
        """
        def run(loader, rows):
            for step, x in enumerate(loader):
                if step % 100 == 0:
                    for row in rows:
                        seen
        """
    )
    assert not found.warmth("seen").hot


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("if step % 10 == 0:", Reason(Cause.INTERVAL)),
        ("if verbose:", Reason(Cause.SWITCH, "verbose")),
        ("if random.random() < 0.01:", Reason(Cause.SAMPLED)),
        ('if __name__ == "__main__":', Reason(Cause.AS_PROGRAM)),
        ("if self.cache is None:", Reason(Cause.FIRST_TIME)),
        ("if step == len(loader) - 1:", Reason(Cause.LAST_TIME)),
        ("if torch.onnx.is_in_onnx_export():", Reason(Cause.EXPORT)),
    ],
)
def test_the_reason_is_told(look: LookUp, source: str, reason: Reason) -> None:
    found = look(
        "def run(self, loader, verbose, rank):\n    for step, x in enumerate(loader):\n"
        f"        {source}\n            seen\n"
    )
    assert found.warmth("seen").amortised == reason


@pytest.mark.parametrize("test", ["not state", "len(state) == 0", "'step' not in state", "not self.state[p]"])
def test_state_that_is_set_up_once(look: LookUp, test: str) -> None:
    found = look(
        f"""
        class Optimizer:
            def step(self):
                state = self.state[p]
                if {test}:
                    here
        """
    )
    assert found.warmth("here").amortised == Reason(Cause.FIRST_TIME)


def test_an_arm_that_counts_failures_is_an_error_path(look: LookUp) -> None:
    found = look(
        """
        def training_step(self, loss):
            if loss < self.limit:
                ordinary
            else:
                self.nonfinite_count += 1
                here
        """
    )
    assert found.warmth("here").amortised == Reason(Cause.ERROR)
    assert found.warmth("ordinary").hot


def test_only_what_always_raises_is_an_error_path(look: LookUp) -> None:
    found = look(
        """
        def training_step(self, x):
            if x:
                return 1
            here
            if isinstance(x, int):
                return 2
            else:
                raise TypeError
        """
    )
    assert found.warmth("here").hot


@pytest.mark.parametrize(
    ("test", "kept"),
    [
        ("not self.mask", "self.mask = x"),
        ("self.mask is None or n", "self.mask = x"),
        ("n > self.longest", "self.longest = n"),
        ("self.longest < n", "self.longest = n"),
        ("mask is None", "table[n] = mask"),
        ("not mask", "table[n] = mask"),
    ],
)
def test_what_is_made_to_be_kept_is_rare(look: LookUp, test: str, kept: str) -> None:
    arm = f"            seen\n            {kept}\n"
    text = f"class Net:\n    def forward(self, x, n, mask, table):\n        if {test}:\n{arm}        after\n"
    found = look(text)
    assert found.warmth("seen").amortised
    assert found.warmth("after").hot


@pytest.mark.parametrize(
    ("test", "kept"),
    [
        ("self.last is not None", "self.last = x"),
        ("n > self.longest", "self.other = n"),
        ("self.training", "self.last = x"),
        ("mask is None", "table[n] = x"),
    ],
)
def test_what_is_stored_whatever_was_asked_is_not(look: LookUp, test: str, kept: str) -> None:
    arm = f"            seen\n            {kept}\n"
    assert look(f"class Net:\n    def forward(self, x, n, mask, table):\n        if {test}:\n{arm}").warmth("seen").hot


@pytest.mark.parametrize("test", ["x.device.type == 'cpu'", "not x.is_cuda", "x.is_cpu", "'cpu' == x.device.type"])
def test_an_arm_for_the_host_does_not_run_on_a_device(look: LookUp, test: str) -> None:
    assert look(program(test)).warmth("seen").amortised == Reason(Cause.CPU_ONLY)
    assert look(program(test, "else")).warmth("seen").hot


@pytest.mark.parametrize("test", ["n == self.sample_begin", "print_probability", "self.sync_cuda", "synchronize"])
def test_beginnings_and_more_switches_are_rare(look: LookUp, test: str) -> None:
    assert look(program(test)).warmth("seen").amortised


def test_the_choice_of_what_stands_for_nothing(look: LookUp) -> None:
    text = "class Net:\n    def forward(self, rows):\n        y = rows.sum() if len(rows) > 0 else zero()\n"
    assert look(text).warmth("zero()").amortised == Reason(Cause.NO_DATA)
    assert look(text).warmth("rows.sum()").hot


def test_what_follows_an_option_that_is_set_is_the_other_way_to_do_it(look: LookUp) -> None:
    found = look("""
        import torch

        class Decoder(torch.nn.Module):
            def forward(self, x):
                if self.graph is not None:
                    return self.graph.replay(x)
                return x.sum().item()
    """)
    assert found.warmth("x.sum().item()").hot


@pytest.mark.parametrize(("test", "hot"), [("len(losses) == 0", False), ("len(losses) > 0", True)])
def test_a_list_that_is_filled_here_is_seldom_empty(look: LookUp, test: str, hot: bool) -> None:
    found = look(f"""
        import torch

        class Loss(torch.nn.Module):
            def forward(self, pairs, device):
                losses = []
                for a, b in pairs:
                    if a.shape == b.shape:
                        losses.append((a - b).sum())
                if {test}:
                    return torch.zeros([1]).to(device)
                return sum(losses)
    """)
    assert found.warmth("torch.zeros([1]).to(device)").hot is hot


@pytest.mark.parametrize(
    ("arm", "rare"),
    [
        ("assert False\n            seen", True),
        ("assert (False), n\n            for one in x:\n                seen", True),
        ("n = 1\n            assert 0\n            seen", True),
        ("assert n\n            seen", False),
        ("for one in x:\n                seen\n            assert False", False),
    ],
)
def test_what_begins_with_a_failure_is_never_done(look: LookUp, arm: str, rare: bool) -> None:
    text = f"class Net:\n    def forward(self, x, n):\n        if n:\n            {arm}\n        after\n"
    assert bool(look(text).warmth("seen").amortised) is rare
    assert look(text).warmth("after").hot
