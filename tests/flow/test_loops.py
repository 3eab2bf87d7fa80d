"""What a loop goes over, and what leaves it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.model import Level
from transferlint.reasons import Cause, Reason

LookUp = Callable[..., Any]


@pytest.mark.parametrize(
    "loop",
    [
        "for batch in loader:",
        "for i, batch in enumerate(train_loader):",
        "for batch in tqdm(self.val_dataloader):",
        "for x, y in DataLoader(data):",
        "for batch in tqdm.tqdm(batches):",
        "for step in range(1000):",
        "for it in range(max_iter):",
        "for t in range(args.num_steps):",
        "for _ in range(n_iterations):",
        "for episode in range(n):",
        "while True:",
        "while step < max_steps:",
        "while not done:",
        "for batch_idx, (x, y) in enumerate(zip(loader_a, loader_b)):",
    ],
)
def test_loops_over_loaders_and_steps(look: LookUp, loop: str) -> None:
    found = look(f"from torch.utils.data import DataLoader\ndef main(loader, args, data):\n    {loop}\n        seen\n")
    warmth = found.warmth("seen")
    assert warmth.level == Level.PER_STEP
    assert warmth.seen
    assert warmth.hot


@pytest.mark.parametrize(
    "loop",
    [
        "for epoch in range(10):",
        "for ep in range(args.n):",
        "for e in range(num_epochs):",
        "for epoch in tqdm(range(start_epoch, epochs)):",
        "for _ in range(args.epochs):",
        "while epoch < 10:",
    ],
)
def test_loops_over_epochs(look: LookUp, loop: str) -> None:
    warmth = look(f"def main(args):\n    {loop}\n        seen\n").warmth("seen")
    assert warmth.level == Level.PER_EPOCH
    assert warmth.seen
    assert not warmth.hot


@pytest.mark.parametrize("loop", ["for i, n in enumerate([10, 20]):", "for mode in reversed(('a', 'b')):"])
def test_counted_loops_over_a_few(look: LookUp, loop: str) -> None:
    assert look(f"def main(args):\n    {loop}\n        seen\n").warmth("seen").level == Level.ONCE


def test_parallel_sizes_are_no_epochs(look: LookUp) -> None:
    found = look("def forward(self, x):\n    for r in range(self.ep_size):\n        seen\n")
    assert found.warmth("seen").hot


def test_loops_in_loops(look: LookUp) -> None:
    found = look(
        """
        def main(loader, rows):
            for epoch in range(10):
                at_epoch
                for batch in loader:
                    at_step
                    for row in rows:
                        at_element
                after_steps
            at_end
        """
    )
    assert found.warmth("at_epoch").level == Level.PER_EPOCH
    assert found.warmth("at_step").level == Level.PER_STEP
    assert found.warmth("at_element").level == Level.PER_ELEMENT
    assert found.warmth("after_steps").level == Level.PER_EPOCH
    assert not found.warmth("after_steps").hot
    assert found.warmth("at_end").level == Level.ONCE


@pytest.mark.parametrize(
    "loop",
    [
        "for x in (a, b):",
        "for x in ['p', 'q', 'r']:",
        "for _ in range(3):",
        "for g in range(world_size):",
        "for i in range(torch.cuda.device_count()):",
        "for i in range(num_devices):",
        "for i in range(self.gpu_count):",
        "for i in range(ngpu):",
        "for i in range(n_gpus):",
    ],
)
def test_a_handful_of_turns_is_no_loop(look: LookUp, loop: str) -> None:
    warmth = look(f"def main(a, b, world_size):\n    {loop}\n        seen\n").warmth("seen")
    assert warmth.level == Level.ONCE
    assert not warmth.hot


@pytest.mark.parametrize(
    ("element", "source"),
    [
        ("t.item()", "[t.item() for t in rows]"),
        ("t.item()", "{t.item() for t in rows}"),
        ("t.item()", "sum(t.item() for t in rows)"),
        ("t.item()", "{k: t.item() for k, t in rows.items()}"),
    ],
)
def test_comprehensions_are_loops_over_elements(look: LookUp, element: str, source: str) -> None:
    found = look(f"class M:\n    def training_step(self, rows):\n        return {source}\n")
    assert found.warmth(element).level == Level.PER_ELEMENT
    assert found.warmth("rows", 0).level == Level.PER_STEP


def test_a_lambda_runs_where_it_is_made(look: LookUp) -> None:
    found = look(
        "def main(loader):\n    f = lambda q: q.sum().item()\n    for x in loader:\n"
        "        y = list(map(lambda t: t.item(), x))\n"
    )
    assert found.warmth("t.item()").hot
    assert found.warmth("q.sum().item()").level == Level.ONCE


def test_the_else_of_a_loop_runs_once(look: LookUp) -> None:
    found = look("def main(loader):\n    for x in loader:\n        pass\n    else:\n        seen\n")
    assert found.warmth("seen").level == Level.ONCE


def test_the_iterable_is_evaluated_outside(look: LookUp) -> None:
    found = look("def main(x):\n    for row in x.tolist():\n        pass\n    while x.any():\n        pass\n")
    assert found.warmth("x.tolist()").level == Level.ONCE
    assert found.warmth("x.any()").level == Level.PER_STEP


@pytest.mark.parametrize(
    "statement",
    [
        "if x is None:\n                raise ValueError(seen)",
        "try:\n                pass\n            except ValueError:\n                seen",
        "assert x, seen",
        "if x:\n                pass\n            else:\n                y = seen\n                raise ValueError(y)",
    ],
)
def test_error_paths_are_rare(look: LookUp, statement: str) -> None:
    found = look(f"class Net:\n    def forward(self, rows):\n        for x in rows:\n            {statement}\n")
    assert found.warmth("seen").amortised == Reason(Cause.ERROR)


def test_what_follows_a_check_is_the_ordinary_path(look: LookUp) -> None:
    found = look(
        "class Net:\n    def forward(self, x):\n        if x is None:\n            raise ValueError\n        seen\n"
    )
    assert found.warmth("seen").hot


@pytest.mark.parametrize("leave", ["return seen", "y = seen\n            break"])
def test_the_last_turn_runs_once(look: LookUp, leave: str) -> None:
    found = look(f"def main(loader):\n    for x in loader:\n        if x.ready:\n            {leave}\n        other\n")
    assert not found.warmth("seen").hot
    assert found.warmth("other").hot


def test_a_break_out_of_an_inner_loop_is_as_hot_as_the_outer_one(look: LookUp) -> None:
    found = look(
        "def main(loader, rows):\n    for x in loader:\n        for row in rows:\n"
        "            if row:\n                y = seen\n                break\n"
    )
    warmth = found.warmth("seen")
    assert warmth.level == Level.PER_STEP
    assert warmth.hot


def test_a_return_in_a_step_method_is_as_hot_as_the_method(look: LookUp) -> None:
    found = look(
        "class Net:\n    def forward(self, x):\n        if x.ndim == 2:\n"
        "            return seen\n        return other\n"
    )
    assert found.warmth("seen").hot
    assert found.warmth("other").hot


def test_with_and_try_bodies_are_as_hot_as_what_is_around(look: LookUp) -> None:
    found = look(
        """
        def main(loader, torch):
            for x in loader:
                with torch.no_grad():
                    inner
                try:
                    tried
                finally:
                    last
        """
    )
    for name in ("inner", "tried", "last"):
        assert found.warmth(name).hot


TRIES = """
class Solver:
    def forward(self, x, n):
        {loop}
            try:
                seen
                {last}
            except RuntimeError:
                n = n * 10
                {handled}
"""


@pytest.mark.parametrize("loop", ["while True:", "while n < 1:", "for n in dampings:"])
@pytest.mark.parametrize(
    ("last", "handled", "level"),
    [
        ("break", "continue", Level.PER_STEP),
        ("return x", "pass", Level.PER_STEP),
        ("if n:\n                    break", "pass", Level.PER_ELEMENT),
        ("x = x + 1", "break", Level.PER_ELEMENT),
        ("if n:\n                    continue\n                break", "pass", Level.PER_ELEMENT),
    ],
)
def test_a_loop_that_tries_until_it_succeeds(look: LookUp, loop: str, last: str, handled: str, level: Level) -> None:
    warmth = look(TRIES.format(loop=loop, last=last, handled=handled)).warmth("seen")
    assert warmth.level == (level if loop.startswith("for") else Level.PER_STEP)
    assert (warmth.loop < 0) is (level == Level.PER_STEP) or not loop.startswith("for")


@pytest.mark.parametrize(
    ("loop", "level"),
    [
        ("for name, data in sets.items():", Level.ONCE),
        ("for name in sorted(sets.keys()):", Level.ONCE),
        ("for i, data in enumerate(sets.values()):", Level.ONCE),
        ("for name, weight in x.named_parameters():", Level.ONCE),
        ("for part in x.split(8):", Level.PER_STEP),
        ("for one in sets.values(0):", Level.PER_STEP),
    ],
)
def test_the_entries_of_a_mapping_are_no_steps_in_code_that_runs_once(look: LookUp, loop: str, level: Level) -> None:
    assert look(f"def main(sets, x):\n    {loop}\n        seen\n").warmth("seen").level == level
    assert look(f"def forward(self, sets, x):\n    {loop}\n        seen\n").warmth("seen").level == Level.PER_ELEMENT


@pytest.mark.parametrize(
    ("body", "hot"),
    [
        ("if seen:\n            raise ValueError(one)", False),
        ("n = one + 1\n        if seen:\n            raise ValueError(one)", False),
        ("if seen:\n            raise ValueError(one)\n        print(one)", True),
        ("if seen:\n            print(one)", True),
        ("seen", True),
    ],
)
def test_a_loop_that_only_checks(look: LookUp, body: str, hot: bool) -> None:
    assert look(f"def main(args):\n    for one in args.classes:\n        {body}\n").warmth("seen").hot is hot
    assert look(f"def forward(self, args):\n    for one in args.classes:\n        {body}\n").warmth("seen").hot


HOLDING = """
    def train_once(batches):
        feed = iter(batches)
        while True:
            try:
                batch = next(feed)
            except StopIteration:
                break
            at_step

    def walk(rows):
        for row in rows:
            at_row

    def main(tasks, batches, net):
        {loop}
            {body}
            seen
"""


@pytest.mark.parametrize(
    ("loop", "body", "hot"),
    [
        ("for task in tasks:", "train_once(batches)", False),
        ("for task in range(tasks):", "while True: train_once(batches)", False),
        ("for task in range(tasks):", "if task > 0: train_once(batches)", False),
        ("for task in tasks:", "for epoch in range(9): net(task)", False),
        ("while True:", "train_once(batches)", False),
        ("for task in tasks:", "if net.count % 10 == 0: train_once(batches)", True),
        ("while net.count:", "net.count % 10 == 0 and train_once(batches)", True),
        ("for step in range(9):", "train_once(batches)", True),
        ("for task in tasks:", "walk(batches)", True),
        ("while True:", "net(task).backward(); train_once(batches)", True),
        ("while True:", "x = next(batches); train_once(batches)", True),
    ],
)
def test_what_is_around_loops_of_steps_is_no_step(look: LookUp, loop: str, body: str, hot: bool) -> None:
    found = look(HOLDING.format(loop=loop, body=body))
    assert found.warmth("seen").hot is hot
    assert found.warmth("at_step").hot


def test_functions_whose_loops_call_each_other(look: LookUp) -> None:
    text = "def {0}(n):\n    for x in n:\n        {1}(x)\n        seen_{0}\n"
    found = look(text.format("one", "other") + text.format("other", "one"))
    assert found.warmth("seen_one").hot
    assert found.warmth("seen_other").hot


@pytest.mark.parametrize(("body", "hot"), [("time.sleep(1)", False), ("if x: time.sleep(1)", True)])
def test_a_loop_that_always_sleeps_waits(look: LookUp, body: str, hot: bool) -> None:
    assert look(f"import time\ndef f(x):\n    while x:\n        {body}\n        seen\n").warmth("seen").hot is hot


@pytest.mark.parametrize(
    ("parts", "step"),
    [
        ("for opt in self.opts: opt.step(); opt.zero_grad()", True),
        ("for name, opt in self.opts.items(): scaler.step(opt); opt.zero_grad()", True),
        ("for loss in losses: loss.backward()", True),
        ("for loss in losses: scaler.scale(loss).backward()", True),
        ("for x in losses: self.net(x).backward()", False),
    ],
)
def test_a_loop_over_optimizers_or_losses_is_part_of_one_step(look: LookUp, parts: str, step: bool) -> None:
    found = look(f"""
        class Engine:
            def one(self, losses, scaler):
                {parts}
                told = losses

            def run(self, loader, scaler):
                for x in loader:
                    self.one(self.net(x.cuda()), scaler)
    """)
    assert found.warmth("losses", -1).hot is step
