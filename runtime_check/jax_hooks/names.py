"""What an operation of JAX's is called, from the function of JAX's that the program called."""

from __future__ import annotations

# What puts a number on the device by name: of it, single numbers are told, too.
CONSTRUCTORS = frozenset(
    "jax.numpy.array jax.numpy.asarray jax.numpy.copy jax.device_put jax.numpy.scalar".split()
)  # fmt: skip
_PUBLIC = (("jax._src.numpy", "jax.numpy"), ("jax._src.lax", "jax.lax"), ("jax._src.random", "jax.random"))


def operation_of(module: str, qualified: str) -> str:
    """The public name of a function of JAX's, as far as it can be told from the module and the qualified name that the
    function's code has: "jax.Array.__float__", "jax.numpy.asarray", "jax.device_get"."""
    owner, _, name = qualified.rpartition(".")
    owner = owner.rpartition(".")[2]
    if owner == "_ScalarMeta":  # jax.numpy.float32(...)
        return "jax.numpy.scalar"
    if owner == "ufunc":
        return "jax.numpy.ufunc"
    if owner == "ArrayImpl":
        return f"jax.Array.{name}"
    if module == "jax._src.numpy.array_methods":  # the functions that become methods of arrays
        plain = name.removeprefix("_")
        operator = plain.removeprefix("operator_")
        return f"jax.Array.{f'__{operator}__' if operator != plain else plain}"
    public = next((ours for inner, ours in _PUBLIC if module == inner or module.startswith(f"{inner}.")), "jax")
    return f"{public}.{name.removeprefix('_')}"
