"""Hugging Face's datasets: what their samples are made of when they are taken (huggingface.co docs datasets,
`Dataset.with_format`, `Dataset.set_format`; 'Use with PyTorch': "To load the data as tensors on a GPU, specify the
`device` argument")."""

from __future__ import annotations

SETTERS = frozenset({"with_format", "set_format"})
# Formats of tensors, by the names that `type` takes.
FORMATS = frozenset({"torch", "pytorch", "pt", "jax", "tensorflow", "tf"})
