"""What is quiet on purpose is told with its reason, and what is quiet for lack of knowledge is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from transferlint.flow.quiet import quiet_sites
from transferlint.model import Direction

LOOP = """
    import torch

    def train(model, loader, envs, optimizer, device):
        model.to("cuda")
        for step, x in enumerate(loader):
            x = x.to("cuda")
            action = model(x).argmax(1)
            envs.step(action.cpu().numpy())
            loss = model(x).sum()
            loss.backward()
            optimizer.step()
            if step % 100 == 0:
                print(loss.item())
            total = loss.item()
        return total

    def save_checkpoint(model):
        return {name: value.cpu() for name, value in model.state_dict().items()}
"""


def said(look: Callable[[str], object], source: str) -> dict[str, tuple[str, str]]:
    """Kind and reason by the text of the first line's part."""
    facts = look(source).facts  # type: ignore[attr-defined]
    lines = facts.text.splitlines()
    return {
        lines[one.site.line - 1][one.site.column - 1 : one.site.end_column - 1]: (one.kind, one.reason)
        for one in quiet_sites(facts, ())
    }


def test_each_reason_of_purpose_is_told(look) -> None:
    found = said(look, LOOP)
    assert found["action.cpu()"] == ("host", "`envs.step` takes it, which only the host can do")
    assert found["value.cpu()"][0] == "cold"
    assert found['x.to("cuda")'][0] == "new data"
    assert "total = loss.item()" not in found
    amortised = [one for one in quiet_sites(look(LOOP).facts, ()) if one.kind == "amortised"]
    assert [one.direction for one in amortised] == [Direction.D2H]
    assert "every N steps" in amortised[0].reason


def test_a_call_of_nobody_knows_how_often_is_no_reason(look) -> None:
    found = said(look, "import torch\ndef read(x: torch.Tensor):\n    y = x.cuda()\n    return y.item()\n")
    assert not [kind for kind, _ in found.values() if kind == "rare"]


def test_what_is_reported_is_not_told(look) -> None:
    facts = look(LOOP).facts
    whole = list(quiet_sites(facts, ()))
    rest = list(quiet_sites(facts, {whole[0].site}))
    assert len(rest) < len(whole)
    assert whole[0] not in rest


QUEUE = """
    import {imported}
    import torch

    def work(model: torch.nn.Module, loader, q, result_queue, optimizer):
        model.to("cuda")
        last = None
        for step, x in enumerate(loader):
            loss = model(x.to("cuda")).sum()
            loss.backward()
            optimizer.step()
            last = loss.item()
            if step % 10 == 0:
                result_queue.put(last)
            each = loss.cpu()
            q.put(each)
        q.put(last)
    {made}
"""


def test_a_queue_excuses_only_what_goes_into_it(look) -> None:
    found = said(look, QUEUE.format(imported="torch.multiprocessing as mp", made="q = mp.Queue()"))
    assert found["loss.cpu()"] == ("handed over", "`q.put` passes it to another process, which only the host can do")
    assert "loss.item()" not in found


def test_a_queue_of_this_process_excuses_nothing(look) -> None:
    for imported, made in (("queue", "q = queue.Queue()"), ("asyncio", "q = asyncio.Queue()")):
        assert "loss.cpu()" not in said(look, QUEUE.format(imported=imported, made=made))


LIBRARY = """
    import torch
    from scipy.optimize import linear_sum_assignment

    class Matcher(torch.nn.Module):
        def forward(self, x):
            cost = self.net(x)
            rows, columns = linear_sum_assignment(cost.cpu())
            {more}
            return rows
"""


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("scipy.optimize", "linear_sum_assignment"), ("sklearn.metrics", "f1_score"), ("pandas", "DataFrame"),
        ("PIL.Image", "fromarray"), ("cv2", "resize"),
    ],
)  # fmt: skip
def test_what_a_library_of_the_host_works_on_is_for_the_host(look, module: str, name: str) -> None:
    text = LIBRARY.replace("scipy.optimize", module).replace("linear_sum_assignment", name)
    found = said(look, text.format(more="pass"))
    assert found["cost.cpu()"] == ("host", f"`{module}.{name}` works on it, which only the host can do")


def test_what_goes_back_to_the_device_might_have_stayed_there(look) -> None:
    assert "cost.cpu()" not in said(look, LIBRARY.format(more="x = torch.as_tensor(columns).to(x.device)"))


def test_a_number_that_is_read_on_the_way_is_not_what_the_library_takes(look) -> None:
    text = LIBRARY.replace("cost = self.net(x)", "cost = torch.nn.functional.pad(x, (0, 3), value=x.max())")
    found = said(look, text.format(more="pass"))
    assert list(found) == ["cost.cpu()"]


def test_what_a_library_takes_of_a_whole_loop_could_be_read_at_once(look) -> None:
    found = said(
        look,
        """
        import pandas as pd
        import torch

        class Scores(torch.nn.Module):
            def forward(self, x, names):
                scores = self.net(x).sum(0)
                rows = pd.DataFrame([(name, scores[at].item()) for at, name in enumerate(names)])
                more = pd.Series([scores[at].item() for at, _ in enumerate(names)])
                whole = pd.Series(scores.cpu().numpy())
                return rows, more, whole
        """,
    )
    assert list(found) == ["scores.cpu()"]
