"""Every code block of the pages does what the page says, or at least is what its language says.

Python with a title is a file of the page, and is there when the page's commands run. Python without one is run where
the page is about running, with the simulated accelerator, and is parsed where it shows parts of programs. A `console`
block shows a command and what it prints. Of `sh` blocks the options exist, YAML and TOML are as the services
and the settings want them.
"""

from __future__ import annotations

import ast
import json
import os
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import click
import pages
import pytest
import yaml
from acting import complaints
from pages import PAGES, ROOT, Block, agrees, blocks, commands, of, run

from transferlint.cli.root import GROUP
from transferlint.settings import loading

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib
LANGUAGES = {"python", "console", "text", "sh", "toml", "yaml", "json", "lua", "elisp"}
RUN = "runtime.md"  # whose Python without a title is a program; on other pages it is part of one
COUNTS = """
import pytest
import torch


def test_it_counts(transfers):
    torch.ones(3).to("cuda").sum().item()
    assert (transfers.h2d, transfers.d2h) == (1, 1)
"""
SCHEMAS = {".gitlab-ci.yml": "gitlab-ci", "azure-pipelines.yml": "azure-pipelines"}
EVERYWHERE = [*PAGES, *pages.RULE_PAGES]


def places(found: list[Block]) -> list[object]:
    return [pytest.param(block, id=str(block)) for block in found]


def names(found: list[Path]) -> list[object]:
    return [pytest.param(path, id=path.name) for path in found]


def test_every_block_says_what_it_is() -> None:
    every = [block for page in EVERYWHERE for block in blocks(page)]
    assert len(every) > 150
    assert [str(block) for block in every if block.language not in LANGUAGES] == []


def test_python_is_python() -> None:
    for block in of("python", EVERYWHERE):
        ast.parse(block.text, str(block))


@pytest.mark.parametrize("page", names([page for page in PAGES if of("console", [page])]))
def test_commands_print_what_is_shown(page: Path, tmp_path: Path) -> None:
    for block in of("python", [page]):
        if block.title:
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
    shown = [one for block in of("console", [page]) if block.text.startswith("$ ") for one in commands(block)]
    assert shown or page.name == "README.md"  # whose console block is the demo's: tests/runtime_check/test_demo.py
    for command, expected in shown:
        if " verify " in command and not pages.HAS_TORCH:
            continue
        printed = run(command, tmp_path)
        if " verify " in command and "cannot start" in printed:
            continue  # where there is neither an accelerator nor a simulated one
        assert agrees(expected, printed), f"{page.name}: {command} prints:\n{printed}"


def test_the_programs_and_tests_of_the_page_about_the_run_time_run(tmp_path: Path) -> None:
    """All in one run of pytest: what is shown of tests as these files, and the programs as one more test."""
    pytest.importorskip("torch")
    page = next(page for page in PAGES if page.name == RUN)
    shown = {block.title: block.text for block in of("python", [page]) if block.title}
    assert set(shown) == {"test_model.py"}
    programs = [block.text for block in of("python", [page]) if not block.title]
    assert programs.pop(0).endswith("simulation = simulate()\n")  # which the option does here
    shown["test_programs.py"] = "def test_programs():\n" + textwrap.indent("\n".join(programs), "    ")
    shown["test_count.py"] = COUNTS
    for name, text in shown.items():
        (tmp_path / name).write_text(text)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["OMP_NUM_THREADS"] = "1"
    command = [sys.executable, "-m", "pytest", "-q", "--transfers=simulate", "-p", "no:cacheprovider", "."]
    made = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    if "--transfers=simulate: " in made.stderr:
        pytest.skip(made.stderr.strip())  # no accelerator, and none that can be simulated
    assert made.returncode == 0, made.stdout + made.stderr
    assert "4 passed" in made.stdout


@pytest.mark.parametrize("block", places(of("sh")))
def test_options_that_are_shown_exist(block: Block) -> None:
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line.partition(" | ")[0].partition(" > ")[0], comments=True)
        if words[:1] == ["transferlint"] and len(words) > 1:
            command = GROUP.get_command(click.Context(GROUP), words[1])
            assert command is not None, line
            command.make_context(words[1], words[2:], resilient_parsing=True)


@pytest.mark.parametrize("block", places(of("toml")))
def test_settings_that_are_shown_are_accepted(block: Block, tmp_path: Path) -> None:
    text = block.text.replace('extend = "../transferlint.toml"', "")
    name = block.title or ("pyproject.toml" if "[tool.transferlint" in text else "")
    if name not in ("pyproject.toml", "transferlint.toml"):
        tomllib.loads(text)  # of other tools
        return
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert loading.read(str(path)) is not None


def test_json_is_json() -> None:
    for block in of("json"):
        json.loads(block.text)


@pytest.mark.parametrize("block", places(of("yaml")))
def test_what_services_read_is_as_they_say(block: Block, tmp_path: Path) -> None:
    if block.title == ".pre-commit-config.yaml":
        ours = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
        (repo,) = yaml.safe_load(block.text)["repos"]
        assert {hook["id"] for hook in repo["hooks"]} <= {hook["id"] for hook in ours}
        return
    schema = SCHEMAS.get(block.title) or ("github-workflows" if block.title.startswith(".github/workflows/") else "")
    assert schema, f"{block}: give it the title of the file that it is"
    path = tmp_path / Path(block.title).name
    path.write_text(block.text, encoding="utf-8")
    assert complaints(schema, path) == ""


@pytest.mark.parametrize("block", places(of("yaml", [page for page in PAGES if page.name == "ci.md"])))
def test_the_inputs_that_are_shown_exist(block: Block) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    for job in yaml.safe_load(block.text).get("jobs", {}).values():
        for step in job["steps"]:
            if "transferlint@" in step.get("uses", ""):
                assert set(step["with"]) <= set(action["inputs"])


def test_the_table_of_inputs_is_complete() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    text = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    assert [name for name in action["inputs"] if f"| `{name}` |" not in text] == []
