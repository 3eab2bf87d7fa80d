"""The run: files to findings, in groups and over workers, with what is kept of the runs before."""
