"""`--add-ignore`: whatever is found is silent afterwards, the program the same, and a second time nothing happens."""

from __future__ import annotations

import ast
import textwrap

import pytest

from proving import default_rules
from transferlint.engine import pipeline
from transferlint.engine.plan import Plan
from transferlint.suppressions.silencing import Silent, reason_fault, silence_text

REASON = "H100 runs, TL500 or not"
PLAN = Plan(default_rules())


def silenced(text: str, reason: str = REASON) -> Silent:
    """What is made of a text; fails where it is not quiet, is another program, or changes a second time."""

    def check(now: str):
        checked = pipeline.check_text("a.py", now, PLAN)
        assert checked.troubles == ()
        return list(checked.findings)

    assert check(text), "nothing is found in the first place"
    made = silence_text("a.py", text, check, reason)
    assert made.remaining == ()
    assert check(made.text) == []
    assert ast.dump(ast.parse(made.text)) == ast.dump(ast.parse(text))
    again = silence_text("a.py", made.text, check, reason)
    assert again == Silent(made.text, (), ())
    return made


def in_loop(body: str) -> str:
    head = "import torch\n\n\ndef train(model, loader, device):\n    total = 0.0\n    for x in loader:\n"
    return head + "        loss = model(x.to(device)).mean()\n" + textwrap.indent(textwrap.dedent(body), " " * 8)


def only_line(made: Silent, text: str) -> str:
    """The one line that changed."""
    before, after = text.splitlines(), made.text.splitlines()
    assert len(before) == len(after)
    (changed,) = [new for old, new in zip(before, after, strict=True) if old != new]
    return changed.strip()


MARK = f"# transferlint: ignore[TL101] {REASON}"


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("total += loss.item()\n", f"total += loss.item()  {MARK}"),
        ("total += loss.item()   \n", f"total += loss.item()  {MARK}"),
        ("total += loss.item()", f"total += loss.item()  {MARK}"),
        ("total += loss.item()  # why\n", f"total += loss.item()  # why  {MARK}"),
        ("total += loss.item()  # type: ignore\n", f"total += loss.item()  # type: ignore  {MARK}"),
        ("total += (\n    loss\n    .item()\n)\n", f")  {MARK}"),
        ("total += (\n    loss  # a\n    .item()  # b\n)  # c\n", f")  # c  {MARK}"),
        ("total += \\\n    loss.item()\n", f"loss.item()  {MARK}"),
        ("total += loss.item() + \\\n    1\n", f"1  {MARK}"),
        ('print("""a\n  b""", loss.item())\n', f'b""", loss.item())  {MARK}'),
        ('total += loss.item() + len("""\n# no comment\n""")\n', f'""")  {MARK}'),
        ("total += loss.item(); total += 1\n", f"total += loss.item(); total += 1  {MARK}"),
        ("with open('f') as f: f.write(str(loss.item()))\n", None),
        ("while loss.item() > 1:\n    total += 1\n", "while loss.item() > 1:  # noqa: TL101 - " + REASON),
        ("if loss.item() > 1:\n    total += 1\n", f"if loss.item() > 1:  {MARK}"),
        ("while (\n    loss.item()\n    > 1\n):\n    total += 1\n", "loss.item()  # noqa: TL101 - " + REASON),
        ("while 1 > 2 or \\\n  loss.item() > 1:\n    total += 1\n", "loss.item() > 1:  # noqa: TL101 - " + REASON),
        ("while loss.item() > \\\n        1:\n    total += 1\n", f"1:  {MARK}"),
    ],
)
def test_where_the_comment_stands(body, line):
    text = in_loop(body)
    codes = {finding.code for finding in pipeline.check_text("a.py", text, PLAN).findings}
    made = silenced(text)
    if line is not None and codes == {"TL101"}:
        assert only_line(made, text) == line
    assert REASON in made.text


@pytest.mark.parametrize(
    ("comment", "line"),
    [
        ("# transferlint: ignore[TL303] shown", "# transferlint: ignore[TL101, TL303] shown"),
        ("# transferlint: ignore[tl303]", "# transferlint: ignore[TL101, TL303]"),
        ("# noqa: E501", f"# noqa: E501  {MARK}"),
        ("# transferlint: ignroe[TL101]", f"# transferlint: ignroe[TL101]  # noqa: TL101 - {REASON}"),
        ("# transferlint: ignroe  # noqa: E501", "# transferlint: ignroe  # noqa: E501, TL101"),
    ],
)
def test_comments_that_are_there_already(comment, line):
    plan = Plan(tuple(rule for rule in default_rules() if rule.code != "TL002"))
    text = in_loop(f"total += loss.item()  {comment}\n")
    made = silence_text("a.py", text, lambda now: list(pipeline.check_text("a.py", now, plan).findings), REASON)
    assert made.remaining == ()
    assert only_line(made, text) == f"total += loss.item()  {line}"


def test_several_codes_of_a_line_share_a_comment_and_without_reason_it_is_bare():
    text = in_loop("if loss.item() > 1 or (x.to(device) > 0).any():\n    torch.cuda.synchronize()\n")
    made = silenced(text, "")
    assert made.text.count("transferlint: ignore[") == made.text.count("#")
    assert all(line == line.rstrip() for line in made.text.splitlines())


def test_line_ends_and_other_characters_stay():
    text = in_loop("s = 'ü€🙂'; total += loss.item()\n").replace("\n", "\r\n")
    made = silenced(text)
    assert made.text.count("\r\n") == text.count("\r\n") == made.text.count("\n")


def test_everything_is_silenced_in_a_whole_program():
    text = in_loop(
        """
        total += loss.item()
        if loss > 0: total += float(loss)
        scale = torch.tensor(0.5 * total, device=device)
        for row in (loss * scale).tolist():
            print(row, (x.to(device)
                        .cpu()  # keep
                        ))
        assert (loss > 0).all(), "no"
        """
    )
    made = silenced(text)
    assert sum(len(one.members()) for one in made.silenced) >= 3
    assert "# keep" in made.text


def test_findings_about_suppressions_are_not_silenced():
    text = in_loop("total += 1  # transferlint: ignore[TL101] none\n")
    check = lambda now: list(pipeline.check_text("a.py", now, PLAN).findings)  # noqa: E731
    made = silence_text("a.py", text, check, REASON)
    assert made.text == text
    assert [finding.code for finding in made.remaining] == ["TL002"]


@pytest.mark.parametrize(
    ("reason", "fault"),
    [("why not", ""), ("a\nb", "more than one line"), ("see #12", "`#` would end it"), ("[x] y", "begins with `[`")],
)
def test_reasons(reason, fault):
    assert (fault in reason_fault(reason)) if fault else reason_fault(reason) == ""
