"""Explicit transfers, one that is let through, and one that is not."""

import jax
import numpy as np

x = jax.device_put(np.ones(4, np.float32))
print("explicit", jax.device_get(x)[0])
y = jax.device_put(np.ones(2, np.float32))
with jax.transfer_guard("allow"):
    print("allowed", y.tolist())
z = jax.device_put(np.ones(3, np.float32))
print("refused", z.tolist())
