"""transferlint: find the host-device transfers and synchronisations that PyTorch programs make by accident."""
