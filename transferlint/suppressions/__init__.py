"""What is not reported: comments that silence findings, and baselines of findings that are known."""
