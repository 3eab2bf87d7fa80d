"""jax.tree_util."""

from typing import Any


def tree_leaves(tree: Any) -> list[Any]:
    """What is in lists, tuples and dictionaries."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        return [leaf for one in tree for leaf in tree_leaves(one)]
    return [] if tree is None else [tree]
