"""Edits of findings to text: in rounds until nothing changes, laid out as the file is, applied where that is safe."""
