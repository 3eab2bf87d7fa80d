"""Traces that others recorded on real devices (torch.profiler, nsys), read as records of a run. Nothing here runs the
program, and nothing imports torch."""
