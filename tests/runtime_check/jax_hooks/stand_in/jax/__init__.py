"""As much of JAX as its hooks look for, over numpy: what runs here runs on the host."""

from jax import core, debug, monitoring, numpy, tree_util
from jax._src.api import block_until_ready, device_get, device_put, jit
from jax._src.array import ArrayImpl as Array
from jax._src.callback import pure_callback
from jax._src.config import config

__all__ = [
    "Array",
    "block_until_ready",
    "config",
    "core",
    "debug",
    "device_get",
    "device_put",
    "jit",
    "monitoring",
    "numpy",
    "pure_callback",
    "tree_util",
]
__version__ = "0.10.0"
