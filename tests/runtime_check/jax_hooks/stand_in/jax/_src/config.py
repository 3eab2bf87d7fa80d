"""jax.config."""


class Config:
    """Settings by name."""

    jax_enable_x64 = True
    jax_transfer_guard: "str | None" = None
    jax_transfer_guard_device_to_host: "str | None" = None

    def update(self, name: str, value: str) -> None:
        """Set one; of the guard, those of the directions as well."""
        setattr(self, name, value)
        if name == "jax_transfer_guard":
            self.jax_transfer_guard_device_to_host = value


config = Config()
