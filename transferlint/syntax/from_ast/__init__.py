"""The second lowering: from Python's own `ast` to the program that the lowering from LibCST makes, offsets included.

Every file here has the shape of its namesake in `syntax/`, which is the reference.
"""
