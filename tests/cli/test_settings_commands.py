"""`config`, `init`, `schema settings`, and settings that extend others."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transferlint.settings import loading, setting_keys
from transferlint.settings.loading import Settings
from transferlint.settings.setting_keys import KEYS, SettingsError

VALIDATOR = jsonschema.Draft7Validator(setting_keys.schema())
words = st.sampled_from(["TL1", "*.py", "a.b", "text", "cost", "likely", "file", "mylib.*.to", "no name", ""])
plain = st.one_of(words, st.booleans(), st.integers(-2, 3), st.just(0.5), st.none())
tables = st.dictionaries(words | st.sampled_from(["moves", "hot"]), st.lists(plain), max_size=2)
values = st.one_of(plain, st.lists(plain, max_size=3), tables)


@given(st.dictionaries(st.sampled_from([*KEYS, "odd", "extend_select"]), values, max_size=3))
def test_the_schema_takes_what_is_taken_and_nothing_else(table):
    table.pop("extend", None)  # it names a file, which is read before
    try:
        loading.from_table(table, "here", Settings())
    except SettingsError as error:
        taken, beyond = False, "stands under both" in str(error)  # two lists that exclude each other: beyond a schema
    else:
        taken, beyond = True, False
    assert beyond or VALIDATOR.is_valid(table) is taken


def test_the_schema_is_printed_and_says_what_keys_are_for(run):
    schema = json.loads(run("schema", "settings").out)
    jsonschema.Draft7Validator.check_schema(schema)
    assert list(schema["properties"]) == list(KEYS)
    assert all(one["description"].endswith(".") for one in schema["properties"].values())


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_file_says_otherwise_than_the_one_it_extends(folder):
    put(folder / ".git" / "HEAD", "")
    put(folder / "base.toml", 'extend = "root.toml"\nselect = ["TL1"]\nbaseline = "known.json"\n')
    put(folder / "root.toml", 'ignore = ["TL101"]\nselect = ["TL5"]\njobs = 3\n')
    path = put(folder / "sub" / "transferlint.toml", 'extend = "../base.toml"\njobs = 1\nextend-exclude = ["x/"]\n')
    found = loading.read(str(path))
    assert (found.select, found.ignore, found.jobs) == (("TL1",), ("TL101",), 1)
    assert (found.baseline, found.root, found.source) == ("known.json", str(folder / "sub"), str(path))
    assert {key: Path(one).name for key, one in loading.origins(str(path)).items()} == {
        "ignore": "root.toml", "select": "base.toml", "baseline": "base.toml", "jobs": "transferlint.toml",
        "extend-exclude": "transferlint.toml",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("extend", "said"),
    [
        ('"a.toml"', "`extend` leads in a circle"),
        ('"gone.toml"', "gone.toml: cannot be read: No such file"),
        ('"../other.toml"', "`extend` leads out of its repository"),
        ("3", "`extend` must be the name of a file, not 3"),
        ('"pyproject.toml"', "which has no [tool.transferlint]"),
    ],
)
def test_extending_what_cannot_be_extended(folder, extend, said):
    inner = folder / "repository"
    put(inner / ".git" / "HEAD", "")
    put(inner / "pyproject.toml", "[tool.ruff]\n")
    put(folder / "other.toml", "jobs = 1\n")
    put(inner / "a.toml", f"extend = {extend}\n")
    path = put(inner / "transferlint.toml", 'extend = "a.toml"\n')
    with pytest.raises(SettingsError) as caught:
        loading.read(str(path))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_was_named_may_extend_any(folder):
    put(folder / "repository" / ".git" / "HEAD", "")
    put(folder / "other.toml", "jobs = 2\n")
    path = put(folder / "repository" / "a.toml", 'extend = "../other.toml"\n')
    assert loading.read(str(path), named=True).jobs == 2


def test_rules_of_an_extended_file_run_only_where_it_is_named(folder):
    put(folder / ".git" / "HEAD", "")
    put(folder / "base.toml", 'rules = ["mine.py"]\n')
    path = put(folder / "transferlint.toml", 'extend = "base.toml"\n')
    found = loading.read(str(path))
    assert found.rules == ()
    assert "base.toml: `rules` is code" in found.refused
    assert loading.read(str(path), named=True).rules == ("mine.py",)


def test_extend_on_the_command_line_is_refused(run, write):
    ran = run("check", "--config", "extend = 'a.toml'")
    assert (ran.code, ran.err) == (
        2, "transferlint: --config: `extend` can only stand in a settings file; --config FILE names one\n",
    )  # fmt: skip


def test_config_shows_what_holds_and_where_it_comes_from(run, folder):
    put(folder / ".git" / "HEAD", "")
    put(folder / "base.toml", "jobs = 3\n")
    put(folder / "transferlint.toml", 'extend = "base.toml"\nfix = true\n')
    lines = run("config").out.splitlines()
    assert "jobs               3  # base.toml" in lines
    assert "fix                true  # transferlint.toml" in lines
    assert 'output-format      "text"' in lines
    rows = {row["key"]: row for row in json.loads(run("config", "-f", "json").out)}
    assert (rows["jobs"]["value"], rows["jobs"]["default"], rows["jobs"]["source"]) == (3, 0, "base.toml")


def test_config_explains_a_key(run, folder):
    put(folder / "transferlint.toml", 'min-confidence = "certain"\n')
    assert run("config", "--explain", "min-confidence").out == (
        'min-confidence: one of "possible", "likely", "certain"\n\n'
        "Minimum confidence of reported findings.\n\n"
        'usual: "likely"\nnow:   "certain", from transferlint.toml\n'
        "on the command line: --min-confidence; in the environment: TRANSFERLINT_MIN_CONFIDENCE\n"
    )
    assert all(run("config", "--explain", key).code == 0 for key in KEYS)
    ran = run("config", "--explain", "jbs")
    assert (ran.code, ran.err) == (2, "transferlint: no key 'jbs'; did you mean jobs?\n")


def test_the_options_that_an_explanation_names_exist(run):
    from transferlint.cli.check_command import COMMAND

    options = {name for one in COMMAND.params for name in one.opts}
    for key in KEYS:
        for line in run("config", "--explain", key).out.splitlines():
            if line.startswith("on the command line: "):
                assert line.split()[4].rstrip(";") in options


def test_init_writes_a_table_that_is_read(run, write, folder):
    put(folder / ".git" / "HEAD", "")
    (folder / "vendor").mkdir()
    put(folder / "pyproject.toml", "[project]\nname = 'x'")
    write("a.py", "x = bad\n")
    ran = run("init", "--hook", "--baseline")
    assert (ran.code, ran.err) == (0, "")
    assert (folder / "pyproject.toml").read_text().startswith("[project]\nname = 'x'\n\n[tool.transferlint]\n")
    found = loading.read(str(folder / "pyproject.toml"))
    assert (found.extend_exclude, found.baseline) == (("vendor/",), "transferlint-baseline.json")
    assert "id: transferlint" in (folder / ".pre-commit-config.yaml").read_text()
    assert run("check").out == "Nothing found in 1 file. 1 finding of the baseline not shown.\n"
    ran = run("init")
    assert (ran.code, ran.err) == (
        2, "transferlint: pyproject.toml has settings already; `transferlint config` shows them\n",
    )  # fmt: skip


def test_init_without_a_pyproject_and_with_hooks(run, folder):
    put(folder / ".git" / "HEAD", "")
    put(folder / ".pre-commit-config.yaml", "repos: []\n")
    ran = run("init", "--hook")
    assert ran.out.startswith(
        "Wrote transferlint.toml.\n.pre-commit-config.yaml is there; add below `repos:`\n  - repo: "
    )
    assert (folder / ".pre-commit-config.yaml").read_text() == "repos: []\n"
    assert loading.read(str(folder / "transferlint.toml")).min_confidence.name == "LIKELY"


def test_a_shell_completes_commands_options_and_choices():
    from click.shell_completion import BashComplete

    from transferlint.cli.root import GROUP

    complete = BashComplete(GROUP, {}, "transferlint", "_TRANSFERLINT_COMPLETE")
    assert [one.value for one in complete.get_completions([], "che")] == ["check"]
    assert "--output-format" in [one.value for one in complete.get_completions(["check"], "--out")]
    assert [one.value for one in complete.get_completions(["check", "-f"], "json")] == ["json", "json-lines"]
