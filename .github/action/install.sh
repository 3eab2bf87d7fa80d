#!/usr/bin/env bash
# Installs transferlint into an environment of its own, so that the job's Python stays as it is.
set -euo pipefail
home="$RUNNER_TEMP/transferlint"
mkdir -p "$home"
"$INPUT_PYTHON" -m venv "$home/venv"
what="$ACTION_PATH"
if [ -n "$INPUT_VERSION" ]; then
    what="transferlint==$INPUT_VERSION"
fi
"$home/venv/bin/python" -m pip --disable-pip-version-check install --quiet "$what"
