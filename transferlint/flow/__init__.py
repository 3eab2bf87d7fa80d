"""Program to facts: where every value lives, how often every line runs, and what crosses."""
