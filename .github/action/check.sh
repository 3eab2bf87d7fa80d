#!/usr/bin/env bash
# Checks, once for each form of report that is wanted; what the first run read, the others take from the cache.
# The exit code is an output, so that reports are uploaded before the job fails.
set -euo pipefail
home="$RUNNER_TEMP/transferlint"
umask 022
mkdir -p "$home/cache"
chmod -R go-w "$home/cache" # a cache that others can write is not used
export TRANSFERLINT_CACHE_DIR="$home/cache"

paths=()
while IFS= read -r line; do
    [ -z "$line" ] || paths+=("$line")
done <<<"${INPUT_PATHS:-.}"
read -r -a options <<<"$(tr '\n' ' ' <<<"$INPUT_ARGS")" || true
options+=(--force-exclude)
if [ -n "$INPUT_DIFF_BASE" ]; then
    options+=(--diff-base "$INPUT_DIFF_BASE")
fi

code=0
run() {
    local ended=0
    "$home/venv/bin/transferlint" check "${options[@]}" "$@" -- "${paths[@]}" || ended=$?
    if [ "$ended" -gt "$code" ]; then
        code=$ended
    fi
}

if [ "$INPUT_ANNOTATIONS" = true ]; then
    run --output-format github
else
    run --output-format text --no-color
fi
if [ "$INPUT_SARIF" = true ]; then
    run --output-format sarif --output-file "$home/transferlint.sarif"
    if [ -s "$home/transferlint.sarif" ]; then
        echo "sarif-file=$home/transferlint.sarif" >>"$GITHUB_OUTPUT"
    fi
fi
if [ "$INPUT_COMMENT" = true ]; then
    run --output-format markdown --output-file "$home/comment.md"
    if [ -s "$home/comment.md" ] && [ "$code" -ne 0 ]; then
        cat "$home/comment.md" >>"$GITHUB_STEP_SUMMARY"
    fi
fi
echo "exit-code=$code" >>"$GITHUB_OUTPUT"
