"""transferlint: find the host-device transfers and synchronisations that PyTorch programs make by accident."""


def load_ipython_extension(shell: object) -> None:
    """What `%load_ext transferlint` calls: the magic `%%transfers` (transferlint/runtime/jupyter.py)."""
    from transferlint.runtime import jupyter

    jupyter.load(shell)
