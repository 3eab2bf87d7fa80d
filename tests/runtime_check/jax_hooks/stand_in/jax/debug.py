"""jax.debug."""

from jax._src.debugging import debug_callback as callback
from jax._src.debugging import debug_print as print

__all__ = ["callback", "print"]
