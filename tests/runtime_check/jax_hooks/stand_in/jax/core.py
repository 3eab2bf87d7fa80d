"""jax.core."""


class Tracer:
    """Stands for a value while a function is traced."""
