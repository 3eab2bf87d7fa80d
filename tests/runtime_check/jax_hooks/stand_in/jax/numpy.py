"""jax.numpy."""

from jax._src.numpy import asarray

__all__ = ["asarray"]
