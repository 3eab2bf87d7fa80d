"""The exit codes: findings, something could not be done, interrupted."""

FOUND, FAILED, INTERRUPTED = 1, 2, 130
