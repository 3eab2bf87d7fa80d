"""Which files: those that are checked, and those of their project that matter for them."""
