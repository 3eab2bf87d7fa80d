"""Running the steps of the composite action as GitHub's runner does: expressions are put in, each step of commands is
run by the shell that it names, and what it writes to `GITHUB_OUTPUT` is there for the next ones. Steps that use other
actions are only noted. And the component of GitLab, with its inputs put in."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner

ROOT = Path(__file__).resolve().parents[1]
BUG = """\
import torch


def train(model, loader, device):
    total = 0.0
    for x in loader:
        loss = model(x.to(device)).mean()
        loss.backward()
        total += loss.item()
    return total
"""
# What stands for an interpreter: `-m venv` makes an environment whose programs are those of the tests, and what pip is
# asked to install is noted.
PYTHON = """#!/usr/bin/env bash
set -euo pipefail
case "$1 $2" in
"-m venv")
    mkdir -p "$3/bin"
    cp "$0" "$3/bin/python"
    printf '#!/usr/bin/env bash\\nexec "{python}" -m transferlint "$@"\\n' > "$3/bin/transferlint"
    chmod +x "$3/bin/transferlint" ;;
"-m pip") echo "$*" >> "{log}" ;;
*) exec "{python}" "$@" ;;
esac
"""


@dataclasses.dataclass
class Ran:
    """What a run of the action did: the exit code of the step that failed, else 0, all that was printed, the outputs
    of `check`, the actions that would have run, and what pip was asked for."""

    code: int = 0
    said: str = ""
    outputs: dict[str, str] = dataclasses.field(default_factory=dict)
    used: list[str] = dataclasses.field(default_factory=list)
    installed: str = ""
    summary: str = ""


class Action:
    """The action in a folder of its own: `work` is what is checked, `temp` what the runner calls RUNNER_TEMP."""

    def __init__(self, folder: Path) -> None:
        self.work, self.temp = folder / "work", folder / "temp"
        for one in (self.work, self.temp):
            one.mkdir()
        self._log, self._python = folder / "pip.log", folder / "python3"
        self._python.write_text(PYTHON.replace("{python}", sys.executable).replace("{log}", str(self._log)))
        self._python.chmod(0o755)

    def run(self, inputs: dict[str, str], event: dict[str, Any] | None = None, **environment: str) -> Ran:
        """Run all steps, with what `inputs` says in place of defaults, until one fails."""
        action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
        number = (event or {}).get("pull_request", {}).get("number", "")
        known = {"github.action_path": str(ROOT), "github.event.pull_request.number": str(number)}
        known |= {"github.token": "token", "github.sha": "abc", "runner.os": "Linux", "runner.arch": "X64"}
        known |= {"runner.temp": str(self.temp)}
        given = {name: _filled(about.get("default", ""), known) for name, about in action["inputs"].items()}
        known |= {f"inputs.{name}": value for name, value in (given | inputs | {"python": str(self._python)}).items()}
        ran = Ran()
        for step in action["runs"]["steps"]:
            known |= {f"steps.check.outputs.{name}": value for name, value in ran.outputs.items()}
            if not _holds(step.get("if", "true"), known):
                continue
            if "uses" in step:
                ran.used.append(step["uses"].partition("@")[0])
                continue
            self._step(step, known, environment, ran)
            if ran.code:
                break
        ran.installed = self._log.read_text() if self._log.exists() else ""
        return ran

    def _step(self, step: dict[str, Any], known: dict[str, str], environment: dict[str, str], ran: Ran) -> None:
        """As the runner starts `shell: bash`: docs.github.com, "Workflow syntax", `jobs.<job_id>.steps[*].shell`."""
        assert step["shell"] == "bash"
        out, summary = self.temp / "output", self.temp / "summary"
        out.write_text("")
        summary.touch()
        variables = {
            **os.environ,
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_OUTPUT": str(out),
            "GITHUB_STEP_SUMMARY": str(summary),
            **{name: _filled(value, known) for name, value in step.get("env", {}).items()},
            **environment,
        }
        assert "${{" not in step["run"], "an expression within a script is run as what it says"
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
        made = subprocess.run(command, cwd=self.work, env=variables, capture_output=True, text=True, check=False)
        ran.code, ran.said = made.returncode, ran.said + made.stdout + made.stderr
        ran.summary = summary.read_text()
        ran.outputs |= dict(line.split("=", 1) for line in out.read_text().splitlines())


def _filled(text: str, known: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda found: known.get(found[1], ""), str(text))


def _holds(condition: str, known: dict[str, str]) -> bool:
    """A condition of comparisons with constants and of names, joined by &&."""
    if condition == "true":
        return True
    for part in condition.split("&&"):
        name, operator, constant = re.fullmatch(r" *([\w.-]+) *(?:(==|!=) *'([^']*)')? *", part).groups()  # type: ignore[union-attr]
        value = known.get(name, "")
        if not (bool(value) if operator is None else (value == constant) == (operator == "==")):
            return False
    return True


def component() -> tuple[Any, Any]:
    """The header of GitLab's component, and its jobs with the defaults of the inputs."""
    header, jobs = yaml.safe_load_all((ROOT / "templates" / "transferlint.yml").read_text(encoding="utf-8"))
    return header, _with_inputs(jobs, header["spec"]["inputs"])


def _with_inputs(part: Any, inputs: dict[str, Any]) -> Any:
    """A part of the component, with the defaults of its inputs put in as GitLab does."""
    if isinstance(part, dict):
        return {key: _with_inputs(value, inputs) for key, value in part.items()}
    if isinstance(part, list):
        return [_with_inputs(value, inputs) for value in part]
    if not isinstance(part, str):
        return part
    for name, about in inputs.items():
        whole = f"$[[ inputs.{name} ]]"
        if part == whole:
            return about["default"]
        part = part.replace(whole, str(about["default"]))
    assert "$[[" not in part
    return part


def complaints(schema: str, path: Path) -> str:
    """What the schema says against a file; "" where nothing."""
    made = CliRunner().invoke(check_jsonschema, ["--builtin-schema", f"vendor.{schema}", str(path)])
    return "" if made.exit_code == 0 else made.output
