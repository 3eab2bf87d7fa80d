"""Write what follows from the code: docs/rules/ from the rule files, one page a rule and a table of all; the list of
them in zensical.toml; and the table of keys in docs/settings.md. `--check` writes nothing and says what is not current
(exit code 1).
"""

from __future__ import annotations

import argparse
import ast
import functools
import json
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transferlint import registry
from transferlint.cli.cards import beside_torch
from transferlint.engine import pipeline
from transferlint.model import Safety
from transferlint.rule import Example, Rule
from transferlint.rule_tests import without_marks
from transferlint.settings import selection
from transferlint.settings.setting_keys import KEYS

DOCS = Path(__file__).parent
FOLDER = DOCS / "rules"
SITE = DOCS.parent / "zensical.toml"
FIXTURES = DOCS.parent / "tests" / "fixtures"
RESULTS = DOCS.parent / "benchmarks" / "results"
SETTINGS = DOCS / "settings.md"
MARKS = {
    SITE: ("  # rules, written by docs/generate.py\n", "  # end of rules\n"),
    SETTINGS: ("<!-- keys, written by docs/generate.py -->\n", "<!-- end of keys -->\n"),
}
NOTE = "<!-- Written by docs/generate.py from the rule's file; edit that. -->"
FIXES = {None: "none", Safety.SAFE: "safe", Safety.UNSAFE: "unsafe", Safety.DISPLAY: "shown only"}
CATEGORIES = {
    "linter": "The linter itself",
    "repeated": "Repeated transfers",
    "round-trip": "Round trips",
    "hidden-sync": "Implicit syncs",
    "wasteful": "Inefficient transfers",
    "mistake": "Wrong device",
}
# Pages of documentation that are not about one function, by how their addresses end.
TITLES = {
    "notes/cuda.html#asynchronous-execution": "CUDA semantics: asynchronous execution",
    "notes/cuda.html#use-pinned-memory-buffers": "CUDA semantics: use pinned memory buffers",
    "notes/cuda.html#device-agnostic-code": "CUDA semantics: device-agnostic code",
    "data.html#memory-pinning": "torch.utils.data: memory pinning",
    "data.html#multi-process-data-loading": "torch.utils.data: multi-process data loading",
    "tensors.html#data-types": "torch.Tensor: data types",
    "tensors.html": "torch.Tensor",
    "tensor_attributes.html": "Tensor attributes: torch.device",
    "distributed.html": "torch.distributed",
    "pinmem_nonblock.html": "A guide on good usage of non_blocking and pin_memory()",
    "tuning_guide.html": "Performance tuning guide",
    "external-callbacks.html": "JAX: external callbacks",
    "tf/py_function": "tf.py_function",
    "tf/distribute/Strategy": "tf.distribute.Strategy",
    "use_with_pytorch": "Hugging Face datasets: use with PyTorch",
}
_HEADING = re.compile(r"^(\S.*)\n-+$", re.MULTILINE)
_CODE = re.compile(r"(`[^`]*`)")


def page(rule: Rule, rules: tuple[Rule, ...]) -> str:
    """The page of one rule: its identity, what its docstring says, an example that is run as a test, what was counted
    of it, and where to read on."""
    pieces = _HEADING.split(rule.doc.strip())
    lead, texts = pieces[0].strip(), dict(zip(pieces[1::2], pieces[2::2], strict=True))
    facts = f"{CATEGORIES[rule.category]} · {'on' if rule.default else 'off'} by default · "
    facts += f"fix: {FIXES[rule.fix_safety]} · since {rule.since}"
    parts = [NOTE, f"# {rule.code} {rule.name}", facts, _linked(lead, rule)]
    for heading, text in texts.items():
        if heading == "See also":
            parts += _counted(rule.code)
        parts += [f"## {heading}", *(_see_also(text, rules) if heading == "See also" else _prose(text, rule))]
        if heading == "Use instead":
            parts += [*_example(rule, rules), *_beside_torch(rule)]
    return "\n\n".join(parts) + "\n"


def _prose(text: str, rule: Rule) -> Iterator[str]:
    """Paragraphs, lists and code of a docstring, with other rules linked, and code fenced."""
    for code, group in _blocks(text.strip("\n")):
        yield _fenced(textwrap.dedent(group).rstrip()) if code else _linked(group.rstrip(), rule)


def _fenced(code: str) -> str:
    """A fragment as a block of its language; what is no Python is a command, or shows just that."""
    try:
        ast.parse(code)
        language = "python"
    except SyntaxError:
        language = "sh" if code.startswith("transferlint ") else "text"
    return f"```{language}\n{code}\n```"


def _blocks(text: str) -> Iterator[tuple[bool, str]]:
    """A text in pieces, each with whether it is code: paragraphs that are indented and follow a blank line."""
    now: list[str] = []
    code = False
    for paragraph in re.split(r"\n\s*\n", text):
        indented = paragraph.startswith("    ")
        if now and indented != code:
            yield code, "\n\n".join(now)
            now = []
        code = indented
        now.append(paragraph)
    yield code, "\n\n".join(now)


def _linked(text: str, rule: Rule) -> str:
    """Prose, with the rules that it names linked to their pages."""
    pieces = _CODE.split(text)
    for at in range(0, len(pieces), 2):
        pieces[at] = re.sub(rf"\b(?!{rule.code})(TL\d{{3}})\b", r"[\1](\1.md)", pieces[at])
    return "".join(pieces)


def _example(rule: Rule, rules: tuple[Rule, ...]) -> Iterator[str]:
    """The first example of a rule: before, what is said of it, after, and what the fix writes where that differs."""
    if not rule.examples:
        return
    example = rule.examples[0]
    yield "## Before and after"
    yield f"```python\n{without_marks(example.bad).rstrip()}\n```"
    yield f"```text\n{_said(rule, example, rules)}\n```"
    if example.fixed and example.fixed != example.good:
        option = "--fix --unsafe-fixes" if example.unsafe else "--fix"
        yield f"`transferlint check {option}` rewrites it to:"
        yield f"```python\n{example.fixed.rstrip()}\n```"
        yield "No findings in:"
    else:
        yield "No findings in:" if not example.fixed else "The fix rewrites it to this, without findings:"
    yield f"```python\n{example.good.rstrip()}\n```"


def _beside_torch(rule: Rule) -> Iterator[str]:
    """For each framework beside torch that a rule serves: what it advises there, what fires, and what does not."""
    for one in beside_torch(rule):
        yield f"## {one['framework']}"
        yield "Use instead: " + "\n".join(textwrap.wrap(f"{one['advice']}. There is no automatic fix.", 107))
        if one["asked"]:
            yield "\n".join(textwrap.wrap(f"{one['asked']} in code that was not tuned for it.", 107))
        yield f"```python\n{one['bad'].rstrip()}\n```"
        yield "No findings in:"
        yield f"```python\n{one['good'].rstrip()}\n```"


def _said(rule: Rule, example: Example, rules: tuple[Rule, ...]) -> str:
    """What `check` prints of an example, in one line a finding."""
    beside = (rule,) if rule.judge is None else selection.choose(rules, None, (rule.code,), ())
    plan = pipeline.Plan(beside)
    found = pipeline.check_bytes("example.py", without_marks(example.bad).encode(), plan).findings
    sites = ((one.site.line, one.site.column, one) for one in found if one.code == rule.code)
    return "\n".join(f"example.py:{line}:{column} {one.code} {one.message}" for line, column, one in sites)


@functools.cache
def _results(name: str) -> dict[str, Any]:
    """A file of benchmarks/results, {} where it was not written."""
    path = RESULTS / name
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return read


def _counted(code: str) -> Iterator[str]:
    """What crosses in a step of the rule's program before and after its fix, and what that costs where it is known."""
    row = _results("crossings.json").get("rules", {}).get(code)
    if row is None:
        return
    yield "## What it costs"
    about = row["about"].rstrip(".")
    about = about[0].lower() + about[1:]
    yield (
        f"In [a small training program](https://github.com/OWNER/transferlint/blob/main/benchmarks/pairs/{code}.py) "
        f"in which {about}, counted per step on the simulated accelerator (`python -m benchmarks.crossings`):"
    )
    lines = ["| | uploads | downloads | host waits |", "| --- | ---: | ---: | ---: |"]
    for name in ("before", "after"):
        lines.append(f"| {name} | " + " | ".join(f"{row[name][kind]:.3g}" for kind in ("h2d", "d2h", "waits")) + " |")
    yield "\n".join(lines)
    measured = _results("fixes.json")
    times = {one["code"]: one["step_ns"] for one in measured.get("rules", []) if not measured["dry"]}
    if code in times:
        step, device = times[code], measured["about"]["device"]
        gain = f"{step['ratio']:.2f} ({step['low']:.2f} to {step['high']:.2f})"
        yield f"Time per step on {device}, before over after: {gain} (`python -m benchmarks.fixes`)."
    else:
        yield "How long that takes depends on the device and the queued work: `transferlint verify` measures it."


def _see_also(text: str, rules: tuple[Rule, ...]) -> Iterator[str]:
    names = {rule.code: rule.name for rule in rules}
    lines = []
    for line in text.strip().splitlines():
        item = line.removeprefix("- ")
        if item.startswith("https://"):
            lines.append(f"- [{_title(item)}]({item})")
        else:
            code, _, words = item.partition(" ")
            lines.append(f"- [{code} {names[code]}]({code}.md): {words}")
    yield "\n".join(lines)


def _title(address: str) -> str:
    generated = re.search(r"/generated/([\w.]+)\.html(?:#([\w.]+))?$", address)
    if generated:
        return f"`{generated[2] or generated[1]}`"
    return next(title for end, title in TITLES.items() if address.endswith(end))


def table(rules: tuple[Rule, ...]) -> str:
    """The index: every rule by category."""
    parts = [NOTE, "", "# Rules", "", "● on by default. Fix: S safe, U unsafe (`--unsafe-fixes`), - none.", ""]
    marks = {Safety.SAFE: "S", Safety.UNSAFE: "U"}
    for category, title in CATEGORIES.items():
        chosen = [rule for rule in rules if rule.category == category]
        if not chosen:
            continue
        parts += [f"## {title}", "", "| code | name | what it reports | fix |", "| --- | --- | --- | --- |"]
        for rule in chosen:
            code = f"[{rule.code}]({rule.code}.md){' ●' if rule.default else ''}"
            summary = rule.summary.replace("|", "\\|")
            parts.append(f"| {code} | {rule.name} | {summary} | {marks.get(rule.fix_safety or Safety.DISPLAY, '-')} |")
        parts.append("")
    return "\n".join(parts)


def within(path: Path, text: str) -> str:
    """A file that is written by hand, with a text between its marks."""
    begin, end = MARKS[path]
    before, rest = path.read_text(encoding="utf-8").split(begin)
    return before + begin + text + end + rest.split(end)[1]


def navigation(rules: tuple[Rule, ...]) -> str:
    """The rules in the navigation of the site."""
    lines = ['  { "Rules" = [\n    "rules/README.md",\n']
    for category, title in CATEGORIES.items():
        chosen = [rule for rule in rules if rule.category == category]
        lines.append(f'    {{ "{title}" = [\n')
        lines += [f'      {{ "{rule.code} {rule.name}" = "rules/{rule.code}.md" }},\n' for rule in chosen]
        lines.append("    ] },\n")
    return "".join(lines) + "  ] },\n"


def keys() -> str:
    """The keys of the settings, as `transferlint config --explain` tells them."""
    rows = [f"| `{name}` | {key.doc.replace('|', chr(92) + '|')} |" for name, key in KEYS.items()]
    return "\n".join(["\n| key | what it is for |", "| --- | --- |", *rows]) + "\n\n"


def pages() -> dict[Path, str]:
    """What is to be written: files and texts. Only the built-in pack is documented here.

    Ends the program where a pack was refused, so that no page is removed for want of its rule.
    """
    loaded = registry.load()
    if loaded.refused:
        raise SystemExit("\n".join(loaded.refused))
    own = tuple(rule for rule in loaded.rules if rule.code.startswith("TL"))
    written = {FOLDER / "README.md": table(own)}
    written |= {SITE: within(SITE, navigation(own)), SETTINGS: within(SETTINGS, keys())}
    return written | {FOLDER / f"{rule.code}.md": page(rule, loaded.rules) for rule in own}


def main() -> int:
    """Write the pages, or compare them with `--check`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    wanted = pages()
    FOLDER.mkdir(exist_ok=True)
    present = {path: path.read_text(encoding="utf-8") for path in (*FOLDER.glob("*.md"), *MARKS)}
    stale = sorted(path for path in wanted.keys() | present.keys() if wanted.get(path) != present.get(path))
    for path in stale:
        name = path.relative_to(DOCS.parent).as_posix()
        print(f"{name}: {'not current' if check else 'written' if path in wanted else 'removed'}")
        if not check and path in wanted:
            path.write_text(wanted[path], encoding="utf-8", newline="\n")
        elif not check:
            path.unlink()
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
