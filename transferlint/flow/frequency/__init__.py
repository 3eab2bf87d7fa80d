"""How often code runs: branches, loops, calls, and what is seen to run."""
