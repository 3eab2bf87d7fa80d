"""Text to program: the only package that knows how Python is written down."""
