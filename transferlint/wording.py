"""Text of what the analysis decided: made when it is shown, and compared by nobody."""

from __future__ import annotations

from transferlint.reasons import Cause, Reason

_WORDS = {
    Cause.ERROR: "only on an error path",
    Cause.CACHE_FILL: "only when a cached value is missing or too small",
    Cause.TABLE_GROWTH: "only for inputs longer than what was computed in advance",
    Cause.FLAG_CLEARED: "only once each time its flag is set",
    Cause.OPTION_UNUSED: "only with an option that no caller passes",
    Cause.FIRST_TIME: "only the first time",
    Cause.LAST_TIME: "only the last time",
    Cause.ONE_ITERATION: "only in one iteration of the loop",
    Cause.INTERVAL: "only every N steps",
    Cause.SAMPLED: "only in a small share of the steps, at random",
    Cause.AS_PROGRAM: "only where its file is run as a program",
    Cause.NO_DATA: "only when there is no data",
    Cause.CPU_ONLY: "only where there is no CUDA device",
    Cause.OLD_VERSION: "only with an older version of a library",
    Cause.EXPORT: "only during an export of the model",
    Cause.SWITCH: "only if `{name}` is set",
    Cause.LOOP_EXIT: "only when the loop exits",
    Cause.BESIDE_PLOT: "in a loop that draws a plot in each iteration",
    Cause.BESIDE_FILE: "in a loop that writes a file in each iteration",
    Cause.DEVICE_CODE: "compiled for the device",
    Cause.TEST: "test or benchmark code",
    Cause.OFFLINE: "export, conversion or preparation of data",
    Cause.CACHED_RESULT: "its result is cached after the first call",
    Cause.DATA_PIPELINE: "runs in the data pipeline, on the host",
    Cause.RARE_EVENT: "`{name}` handles an event of an epoch or a run",
    Cause.FILTERED_EVENT: "`{name}` handles an event only for some steps",
    Cause.REPORTING_CLASS: "`{name}` displays results",
    Cause.EXPORTED_MODEL: "`{name}` runs an exported model",
    Cause.EPOCH_HOOK: "`{name}` runs once per epoch",
    Cause.HOST_DATA: "`{name}` prepares data on the host",
    Cause.SETUP: "`{name}` is setup, saving or display code",
    Cause.REMOVES_ITSELF: "`{name}` is a hook that removes itself after its first call",
    Cause.RARE_CALLERS: "called only from code that runs rarely ({of})",
    Cause.HAS_LOOP: "`{name}` contains the loop over the steps",
    Cause.IMPORT: "runs once, on import",
    Cause.REQUEST: "runs once per request",
    Cause.CALLERS_RUN_ONCE: "all of its callers run rarely",
    Cause.EPOCH_RESULT: "`{name}` returns the result of an epoch",
    Cause.EVERY_BATCH: "`{name}` runs for every batch",
    Cause.EVERY_ELEMENT: "runs for every element that `{name}` iterates over",
    Cause.EVERY_INPUT: "`{name}` runs for every input",
    Cause.STEP_EVENT: "`{name}` handles an event of every step",
    Cause.METER: "`{name}` is given the results of every batch",
    Cause.TRAINING_STEP: "`{name}` performs a training step",
    Cause.COMPUTES: "`{name}` takes tensors and computes on them",
    Cause.SAVED: "`{name}` saves it",
    Cause.HANDED_OVER: "`{name}` passes it to another process",
    Cause.ENVIRONMENT: "`{name}` takes it",
    Cause.HOST_LIBRARY: "`{name}` works on it",
    Cause.KNOWN: "{name}",
    Cause.NOT_PLACED: "nothing that uses this file moves anything to an accelerator",
    Cause.NOT_REPEATED: "no program in this project calls it from a loop over training or inference steps",
    Cause.NOT_ASKED_FOR: "it is behind an option that no program in this project is seen to turn on",
}


def words(reason: Reason | None) -> str:
    """A reason as part of a sentence: "only every N steps", "`forward` runs for every batch"; "" for none."""
    if reason is None:
        return ""
    return _WORDS[reason.cause].format(name=reason.name, of=words(reason.of))
