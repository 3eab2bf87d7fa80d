"""Generated and mutated programs and projects, and what must hold of each: `make fuzz SECONDS=60`, or `python -m fuzz`
with `tests/` on the path.

A round is named by its family, the seed and its number, which make it again. What fails is made as small as can be by
taking away statements and files, and written down.
"""
