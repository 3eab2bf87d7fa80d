"""What a run adds to the advice: what the data was, which place crossed and how often, what a library leaves to say."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from runtime_check import advice, library_advice
from runtime_check.expressions import Asked, Expressions
from runtime_check.findings import FoundFinding
from runtime_check.records import Blocked, Executed, Header, Link, LinkKind, Outcome, Run, SiteRecord
from runtime_check.verdicts import Verdict, VerdictKind, judge
from transferlint.model import Direction, Evidence, Part, QuietSite, Site

D2H, H2D = Direction.D2H, Direction.H2D
SCALAR, COPY = "aten::_local_scalar_dense", "aten::copy_"
HEADER = Header(("train.py",), "", "a device", "1", "2.13.0", "3.12.1", "simulate", "modelled", model="a100")


class Program:
    """A program's text, sites in it, and runs of it."""

    def __init__(self, folder: Path, text: str, name: str = "train.py") -> None:
        self.path = folder / name
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(text)
        self._lines = text.splitlines()

    def site(self, text: str) -> Site:
        number, line = next((n, one) for n, one in enumerate(self._lines, start=1) if text in one)
        start = line.index(text) + 1
        return Site(str(self.path), number, start, number, start + len(text))


def record(number: int, site: Site, way: Direction = D2H, count: int = 100, **more: object) -> SiteRecord:
    made = SiteRecord(number, site, way, SCALAR if way is D2H else COPY, count, 4 * count, True, Blocked(10**6 * count))
    return dataclasses.replace(made, **more)  # type: ignore[arg-type]


def run(*sites: SiteRecord, links: tuple[Link, ...] = (), full_steps: int = 100, **more: object) -> Run:
    outcome = Outcome(full_steps + 1 if full_steps else 0, full_steps, 1000, 10**9, 10**9, 0)
    return dataclasses.replace(Run(HEADER, sites, links, outcome=outcome), **more)  # type: ignore[arg-type]


def finding(code: str, site: Site, *others: Site) -> FoundFinding:
    members = tuple(Evidence(one, "and again here", part=Part.SAME) for one in others)
    return FoundFinding(code, "a-rule", site, "train.py", "it does", "as the rule says", members, hot=True)


def only(one: FoundFinding, of: Run) -> Verdict:
    (verdict,) = judge([one], of).verdicts
    return verdict


UPLOADS = """\
for x in loader:
    w = torch.tensor(weights).to(device)
    i = torch.randperm(9).to(device)
    b = torch.tensor(x.rows).to(device)
"""
SAME = "upload it once, before the loop: the content is the same"


@pytest.mark.parametrize(
    ("text", "size", "equal", "act"),
    [
        ("torch.tensor(weights).to(device)", 20, 99, SAME),
        ("torch.tensor(weights).to(device)", 20, 30, "as the rule says"),
        ("torch.randperm(9).to(device)", 72, 99, "as the rule says"),  # the device can make it, whatever it is
    ],
)
def test_what_was_the_same_each_time_goes_up_once(tmp_path: Path, text: str, size: int, equal: int, act: str) -> None:
    site = Program(tmp_path, UPLOADS).site(text)
    up = record(0, site, H2D, bytes=100 * size)
    link = Link(LinkKind.EQUAL_CONTENT, 0, 0, equal, size * equal, False)
    assert only(finding("TL401", site), run(up, links=(link,))).act == act


def test_small_content_that_was_equal_in_a_part_of_the_uploads_is_not_told(tmp_path: Path) -> None:
    site = Program(tmp_path, UPLOADS).site("torch.tensor(weights).to(device)")
    up = record(0, site, H2D, bytes=2000)
    for equal, told in ((99, True), (24, False)):
        link = Link(LinkKind.EQUAL_CONTENT, 0, 0, equal, 20 * equal, False)
        assert ("equal content" in only(finding("TL104", site), run(up, links=(link,))).text) is told


SAMPLES = """\
def to_torch(array):
    return torch.tensor(array, device=device)
"""


def test_new_data_is_kept_on_the_device_or_comes_from_pinned_memory(tmp_path: Path) -> None:
    site = Program(tmp_path, SAMPLES).site("torch.tensor(array, device=device)")
    up = record(0, site, H2D, count=500, bytes=500 * 640, stepped=500)
    act = only(finding("TL104", site), run(up)).act
    start = (
        "new data nearly every time: keep its source on the device, or upload it in one copy together with the upload"
        " here, 5 times per step,"
    )
    small = "by `.to(device, non_blocking=True)`: so small, it need not be pinned"
    assert act.startswith(f"{start} {small}; the host would be blocked for")
    much = dataclasses.replace(up, bytes=500 << 20)
    assert only(finding("TL104", site), run(much)).act.startswith(f"{start} from pinned memory")
    number = dataclasses.replace(up, bytes=500 * 8)  # which the device can fill in
    assert only(finding("TL104", site), run(number)).act == "as the rule says"


BRANCHES = "tokens = [tensor.item()] if tensor.ndim == 0 else tensor.tolist()\nint_token = token.item()\n"


def test_the_branch_that_ran_is_named_and_a_rare_one_is_not_per_step(tmp_path: Path) -> None:
    program = Program(tmp_path, BRANCHES)
    item, tolist = program.site("tensor.item()"), program.site("tensor.tolist()")
    start = item.line, item.column
    ran = Executed(str(program.path), (1, 2), (start,), ())
    often = record(1, program.site("token.item()"), count=76)
    of = run(record(0, tolist, count=2), often, full_steps=0, executed=(ran,))
    verdict = only(finding("TL101", item, tolist), of)
    assert verdict.kind is VerdictKind.PARTLY
    assert f"; transferred `tensor.tolist()` at 1:{tolist.column}; `tensor.item()` never ran" in verdict.text
    assert verdict.text.endswith("; not per step: another line transferred 76 times")
    assert verdict.act == "nothing, if it transfers as rarely as here"


@pytest.mark.parametrize(("count", "full_steps"), [(10, 0), (2, 50)])
def test_what_crosses_often_or_is_held_against_steps_is_confirmed(tmp_path: Path, count: int, full_steps: int) -> None:
    program = Program(tmp_path, BRANCHES)
    of = run(record(0, program.site("tensor.tolist()"), count=count), full_steps=full_steps)
    verdict = only(finding("TL101", program.site("tensor.tolist()")), of)
    assert (verdict.kind, verdict.act) == (VerdictKind.CONFIRMED, "as the rule says")


def test_a_run_without_steps_says_so() -> None:
    assert any("no steps were seen" in note for note in judge([], run(full_steps=0)).notes)
    assert not any("no steps were seen" in note for note in judge([], run()).notes)


READS = """\
for step in range(9):
    token = model(x).item()
    if token in stops:
        break
    loss = model(y).item()
    if step % every == 0:
        print(model(z).item())
    y_neg[step] = 5
    assert model(y).max().item() < 9
    y = y / 2 if model(y).min().item() > 1 else y
    z = z[order]
"""


def test_a_read_that_decides_is_asked_on_the_device(tmp_path: Path) -> None:
    program = Program(tmp_path, READS)
    said = (
        ("model(x).item()", advice.DECIDED),
        ("model(y).item()", advice.SELDOM),
        ("model(y).min().item()", advice.ASKED[Asked.CHOSEN]),
        ("model(y).max().item()", advice.ASKED[Asked.ASSERTED]),
    )
    for text, act in said:
        read = record(0, program.site(text))
        assert advice.advise([read], [], run(read))[0] == act


def test_an_interval_that_let_it_run_each_time_is_named(tmp_path: Path) -> None:
    site = Program(tmp_path, READS).site("model(z).item()")
    quiet = QuietSite(site, D2H, "amortised", "amortised: only every so many steps")
    (miss,) = judge([], run(record(0, site, stepped=100, steps=100)), quiet=[quiet]).missed
    assert miss.act == (
        "keep it on the device if only the device uses it, else read it less often: it ran on at least every"
        " other step, in spite of its condition (amortised: only every so many steps)"
    )


def test_elements_that_are_assigned_one_by_one_go_up_together(tmp_path: Path) -> None:
    up = record(0, Program(tmp_path, READS).site("y_neg[step]"), H2D)
    act, explained = advice.advise([up], [], run(up))
    assert act.startswith("collect the values on the host and upload them in one copy")
    assert explained == ""


def test_an_index_is_made_on_the_device(tmp_path: Path) -> None:
    up = record(0, Program(tmp_path, READS).site("z[order]"), H2D)
    assert advice.advise([up], [], run(up)) == ("create the index on the device once, or use a slice", "")
    equal = Link(LinkKind.EQUAL_CONTENT, 0, 0, 99, 400, False)
    assert advice.advise([up], [equal], run(up))[0].startswith("upload it once")


def test_numbers_that_the_host_draws_are_drawn_on_the_device(tmp_path: Path) -> None:
    site = Program(tmp_path, "z = torch.cuda.FloatTensor(np.random.random(9))\n").site("torch.cuda.F")
    call = dataclasses.replace(site, end_column=len("z = torch.cuda.FloatTensor(np.random.random(9))") + 1)
    up = record(0, call, H2D)
    (miss,) = judge([], run(up)).missed
    assert miss.explained == ""  # a miss of the linter's
    assert miss.act.startswith("create it on the device (`device=` of its function; `torch.rand`")


BACK_AGAIN = "for x, y in loader:\n    x, y = x.to(device), y.to(device)\n    seen += y.cpu()\n"


@pytest.mark.parametrize(
    ("changed", "count", "act"),
    [
        (False, 100, "use the data on the host: what was uploaded at train.py:2 comes back unchanged"),
        (False, 50, "as the rule says"),
        (None, 100, "as the rule says"),
    ],
)
def test_what_comes_back_as_it_went_up_is_there_already(
    tmp_path: Path, changed: bool | None, count: int, act: str
) -> None:
    program = Program(tmp_path, BACK_AGAIN)
    up, back = record(0, program.site("y.to(device)"), H2D), record(1, program.site("y.cpu()"))
    link = Link(LinkKind.HOST_DEVICE_HOST, 0, 1, count, 4 * count, changed)
    of = run(up, back, links=(link,))
    assert only(finding("TL202", back.site), of).act.replace(str(tmp_path) + "/", "") == act
    told = advice.advise([back], [link], of)[0].replace(str(tmp_path) + "/", "")
    assert (told == act) is (act != "as the rule says")


ACTING = """\
obs, _ = envs.reset()
for step in range(9):
    action = model(torch.Tensor(obs).to(device)).cpu()
    obs, reward, done = envs.step(action)
    r = torch.tensor(reward).to(device)
"""


def test_what_an_environment_gives_goes_up_from_a_pinned_buffer(tmp_path: Path) -> None:
    program = Program(tmp_path, ACTING)
    up, other = (record(n, program.site(f"torch.{text}.to(device)"), H2D, bytes=10 << 20) for n, text in enumerate(
        ("Tensor(obs)", "tensor(reward)")))  # fmt: skip
    act, explained = advice.advise([up], [], run(up))
    assert act.startswith(
        "it has to be uploaded, because the host computes it: in one copy for several environments, from"
    )
    assert explained == "new data every time, from an environment"
    act, _ = advice.advise([up], [], run(up, other))
    assert "in one copy together with the upload at line 5, from a reused pinned buffer" in act
    act, _ = advice.advise([dataclasses.replace(up, bytes=400)], [], run(up))
    assert "for several environments, by `.to(device, non_blocking=True)`: so small, it need not be pinned" in act
    ones = Link(LinkKind.EQUAL_CONTENT, 1, 1, 99, 16, False)  # a reward that is 1 in every step
    assert advice.advise([other], [ones], run(up, other))[0].startswith("it has to be uploaded")


LIBRARY = """\
def pool(x, batch, size=None):
    return scatter(x, batch, size)


def scatter(x, index, dim_size):
    return int(index.max())


class Conv:
    def __init__(self, loops=True):
        self.loops = loops

    def forward(self, x):
        if self.loops:
            x = x[x.isnan()]
        x.sum().item()
"""


def below(folder: Path, call: str, *inside: str) -> SiteRecord:
    """The record of a read in a library's line, the innermost of some, below a call of the program's."""
    library = Program(folder, LIBRARY, "lib/site-packages/library/nn.py")
    user = Program(folder, f"x = {call}\n").site(call)
    site, *callers = [library.site(text) for text in inside]
    return record(0, site, user=user, function="scatter", chain=(*callers, user))


def test_a_size_that_a_library_reads_can_be_told_to_it(tmp_path: Path) -> None:
    read = below(tmp_path, "pool(x, batch)", "int(index.max())", "scatter(x, batch, size)")
    assert library_advice.size_argument(read, Expressions()) == "`size=` of `pool`"
    verdict = only(finding("TL304", read.user or read.site), run(read))
    assert verdict.act == "pass `size=` of `pool` if it is known"
    given = below(tmp_path, "pool(x, batch, size=3)", "int(index.max())", "scatter(x, batch, size)")
    assert library_advice.size_argument(given, Expressions()) == ""


def test_the_option_that_a_librarys_line_depends_on_is_named(tmp_path: Path) -> None:
    asked = dataclasses.replace(below(tmp_path, "conv(x)", "x[x.isnan()]"), direction=Direction.NONE)
    assert advice.advise([asked], [], run(asked))[0].startswith(
        "turn it off if possible: in library it depends on the option `loops`"
    )
    plain = below(tmp_path, "conv(x)", "x.sum().item()")
    assert advice.advise([plain], [], run(plain))[0].startswith(
        "no cheaper way is known: library has no visible option that avoids it"
    )


def test_of_several_places_of_a_library_each_is_told_with_its_part(tmp_path: Path) -> None:
    asked = dataclasses.replace(below(tmp_path, "conv(x)", "x[x.isnan()]"), count=40)
    plain = dataclasses.replace(below(tmp_path, "conv(x)", "x.sum().item()"), id=1, count=50)
    few = dataclasses.replace(plain, id=2, count=10)
    act, explained = advice.advise([few, asked, plain], [], run(few, asked, plain))
    assert act.startswith("50 of 100: no cheaper way is known")
    assert "; 40 of 100: turn it off if possible: in library it depends on the option `loops`" in act
    assert explained == ""


def test_what_a_library_copies_from_pinned_memory_it_is_to_copy_without_waiting(tmp_path: Path) -> None:
    up = dataclasses.replace(below(tmp_path, "fit(x)", "x.sum().item()"), direction=H2D, pinned=100)
    act, _ = advice.advise([up], [], run(up))
    assert act.startswith("make library copy with `non_blocking=True`: the memory is pinned")


@pytest.mark.parametrize("package", ["lightning/fabric", "lightning_fabric"])
def test_what_a_trainer_logs_is_logged_less_often(package: str) -> None:
    site = Site(f"/venv/lib/python3.12/site-packages/{package}/utilities/apply_func.py", 134, 16, 134, 28)
    for function in ("convert_tensors_to_scalars.<locals>.to_item", "to_item"):  # as Python 3.10 has it
        asked = record(0, site, user=Site("/p.py", 3, 1, 3, 9), function=function)
        assert advice.advise([asked], [], run(asked))[0].startswith("log less often (`log_every_n_steps=`")


def test_the_question_of_generate_whether_all_have_ended_has_no_option() -> None:
    site = Site("/venv/lib/python3.12/site-packages/transformers/generation/utils.py", 395, 16, 395, 48)
    asked = record(0, site, user=Site("/p.py", 3, 1, 3, 9), function="StopCheck.__call__")
    act, explained = advice.advise([asked], [], run(asked))
    assert act.startswith("no cheaper way is known: transformers has no option to check less often")
    assert explained.endswith("`generate` checks after every token whether all sequences have ended")
