"""Def-use, and the conditions that code stands under, from the code of a function alone."""
